// Sentence pairs, and what can be counted on them. Nothing is drawn here.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

// One pair as the drawing code takes it, of {text, words} twice, [s, t, probability, if known] for each link, and
// gold links {sure, possible} and another system's links, if known. Its links are {s, t, p, kind}, kind being link
// (no gold known), sure, possible or wrong; those it has not made are {s, t, kind}, kind being missed (sure) or open
// (possible only). Against the other system, kinds are both, only-a and only-b.
bitweft.makePair = (source, target, links, gold = null, other = null) => {
  const key = (s, t) => `${s}-${t}`;
  const sure = new Set(gold ? gold.sure.map(([s, t]) => key(s, t)) : []);
  const possible = new Set(gold ? gold.possible.map(([s, t]) => key(s, t)) : []);
  const kindOf = (s, t) =>
    !gold ? "link" : sure.has(key(s, t)) ? "sure" : possible.has(key(s, t)) ? "possible" : "wrong";
  return {
    source, target,
    scored: links.some((link) => link[2] !== undefined),
    links: links.map(([s, t, p = 1]) => ({ s, t, p, kind: kindOf(s, t) })),
    unmade(shown) {
      if (!gold) return [];
      const made = new Set(shown.map(({ s, t }) => key(s, t)));
      return gold.sure.map(([s, t]) => ({ s, t, kind: "missed" }))
        .concat(gold.possible.map(([s, t]) => ({ s, t, kind: "open" })))
        .filter(({ s, t }) => !made.has(key(s, t)));
    },
    compared(shown) {
      const made = new Set(shown.map(({ s, t }) => key(s, t)));
      const theirs = new Set(other.map(([s, t]) => key(s, t)));
      return shown.map((link) => ({ ...link, kind: theirs.has(key(link.s, link.t)) ? "both" : "only-a" }))
        .concat(other.filter(([s, t]) => !made.has(key(s, t))).map(([s, t]) => ({ s, t, kind: "only-b" })));
    },
  };
};

bitweft.NOTHING = new Set();

// P, R and AER of counts; P and R are null where there is nothing to divide by.
bitweft.rates = ({ made, sure, possible, gold }) => ({
  precision: made ? possible / made : null,
  recall: gold ? sure / gold : null,
  aer: made + gold ? 1 - (sure + possible) / (made + gold) : 0,
});

bitweft.Corpus = class {
  constructor({ about, pairs }) {
    this.about = about;
    this.rows = pairs;
    this.size = pairs.length;
    this.graded = pairs.some((row) => Number.isFinite(row[4]));
    this.normal = [];
    this.#lay();
    this.scored = this.least < 1; // probabilities that are all 1 tell nothing
  }

  // All links of all pairs in a few flat arrays: counting ten thousand pairs takes milliseconds.
  #lay() {
    const total = this.rows.reduce((sum, row) => sum + row[2].length / 2, 0);
    this.start = new Uint32Array(this.size + 1);
    this.lengths = new Uint32Array(2 * this.size);
    this.goldSize = new Uint32Array(this.size);
    this.s = new Uint32Array(total);
    this.t = new Uint32Array(total);
    this.p = new Float64Array(total);
    this.kind = new Uint8Array(total);
    let at = 0;
    this.rows.forEach((row, k) => {
      const [source, target, links, probabilities, , sure = [], possible = []] = row;
      this.lengths[2 * k] = bitweft.Corpus.count(source);
      this.lengths[2 * k + 1] = bitweft.Corpus.count(target);
      this.goldSize[k] = sure.length / 2;
      const width = this.lengths[2 * k + 1];
      const known = new Map();
      for (let i = 0; i < possible.length; i += 2) known.set(possible[i] * width + possible[i + 1], 2);
      for (let i = 0; i < sure.length; i += 2) known.set(sure[i] * width + sure[i + 1], 1);
      for (let i = 0; i < links.length; i += 2, at++) {
        this.s[at] = links[i];
        this.t[at] = links[i + 1];
        this.p[at] = probabilities ? probabilities[i / 2] / 1000 : 1;
        this.kind[at] = this.about.gold ? known.get(links[i] * width + links[i + 1]) || 3 : 0;
      }
      this.start[k + 1] = at;
    });
    this.least = this.p.reduce((least, p) => Math.min(least, p), 1);
    this.seen = new Uint32Array(this.lengths.reduce((most, length) => Math.max(most, length), 0));
    this.stamp = 0;
  }

  // Words are packed as one string, or as [text, word, word, …] where spaces do not tell them apart.
  static count(packed) {
    return typeof packed !== "string" ? packed.length - 1 : packed ? packed.split(" ").length : 0;
  }

  static sentence(packed) {
    return typeof packed !== "string"
      ? { text: packed[0], words: packed.slice(1) }
      : { text: packed, words: packed ? packed.split(" ") : [] };
  }

  // The two sentences of pair k as they were written.
  texts(k) {
    return this.rows[k].slice(0, 2).map((packed) => (typeof packed === "string" ? packed : packed[0]));
  }

  pair(k) {
    const [source, target, , , , sure, possible, other] = this.rows[k];
    const scored = Boolean(this.rows[k][3]);
    const links = [];
    for (let i = this.start[k]; i < this.start[k + 1]; i++) links.push([this.s[i], this.t[i], scored ? this.p[i] : undefined]);
    const couples = (flat) => Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]);
    const gold = this.about.gold ? { sure: couples(sure), possible: couples(possible) } : null;
    const sentences = [source, target].map(bitweft.Corpus.sentence);
    return bitweft.makePair(...sentences, links, gold, this.about.compare ? couples(other) : null);
  }

  // The positions that the word at `at` of a side (0 or 1) of pair k is linked with.
  partners(k, side, at, threshold) {
    const [here, there] = side ? [this.t, this.s] : [this.s, this.t];
    const found = [];
    for (let i = this.start[k]; i < this.start[k + 1]; i++) {
      if (here[i] === at && this.p[i] >= threshold) found.push(there[i]);
    }
    return found;
  }

  // What pair k comes to if only links of at least this probability are made.
  counts(k, threshold) {
    const counts = { made: 0, sure: 0, possible: 0, wrong: 0, gold: this.goldSize[k], mass: 0, loose: [0, 0], both: 0, other: 0 };
    const theirs = this.#theirs(k);
    counts.other = theirs.size;
    for (let i = this.start[k]; i < this.start[k + 1]; i++) {
      if (this.p[i] < threshold) continue;
      counts.made++;
      counts.mass += this.p[i];
      if (theirs.has(this.s[i] * this.lengths[2 * k + 1] + this.t[i])) counts.both++;
      if (this.kind[i] === 1) counts.sure++;
      if (this.kind[i] === 3) counts.wrong++;
      else counts.possible++;
    }
    counts.loose = [this.#loose(k, this.s, threshold, 0), this.#loose(k, this.t, threshold, 1)];
    return counts;
  }

  // The other system's links of pair k, each as one number.
  #theirs(k) {
    if (!this.about.compare) return bitweft.NOTHING;
    const [flat, width] = [this.rows[k][7], this.lengths[2 * k + 1]];
    const found = new Set();
    for (let i = 0; i < flat.length; i += 2) found.add(flat[i] * width + flat[i + 1]);
    return found;
  }

  #loose(k, positions, threshold, side) {
    this.stamp++;
    let linked = 0;
    for (let i = this.start[k]; i < this.start[k + 1]; i++) {
      if (this.p[i] < threshold || this.seen[positions[i]] === this.stamp) continue;
      this.seen[positions[i]] = this.stamp;
      linked++;
    }
    return this.lengths[2 * k + side] - linked;
  }

  // Count every pair once for a threshold; the list, the filters and the totals read from this.
  measure(threshold) {
    if (this.measured === threshold) return;
    this.measured = threshold;
    const totals = { made: 0, sure: 0, possible: 0, gold: 0, both: 0, other: 0 };
    this.apart = new Uint32Array(this.size);
    this.score = new Float64Array(this.size);
    this.loose = new Uint32Array(this.size);
    this.wrong = new Uint32Array(this.size);
    this.missed = new Uint32Array(this.size);
    this.aer = new Float32Array(this.size);
    for (let k = 0; k < this.size; k++) {
      const counts = this.counts(k, threshold);
      for (const name of Object.keys(totals)) totals[name] += counts[name];
      const mean = counts.made ? counts.mass / counts.made : 0;
      this.score[k] = this.graded ? this.rows[k][4] ?? -Infinity : mean;
      this.loose[k] = counts.loose[0] + counts.loose[1];
      this.wrong[k] = counts.wrong;
      this.missed[k] = counts.gold - counts.sure;
      this.aer[k] = bitweft.rates(counts).aer;
      this.apart[k] = counts.made + counts.other - 2 * counts.both;
    }
    this.totals = totals;
  }

  // Whether there are at most as many gold links that are only possible as sure ones: more of them are a thicket.
  sparse() {
    let [sure, possible] = [0, 0];
    for (const row of this.rows) {
      sure += row[5]?.length ?? 0;
      possible += row[6]?.length ?? 0;
    }
    return possible <= sure;
  }

  // The lowest and the highest score: means of probabilities lie between 0 and 1.
  scale() {
    if (!this.graded) return [0, 1];
    const known = this.rows.map((row) => row[4]).filter(Number.isFinite);
    return [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
  }

  // A score as it is written.
  written(score) {
    if (!Number.isFinite(score)) return "–";
    return this.graded ? String(Number(score.toPrecision(3))) : bitweft.percent(score);
  }

  // The pairs that a question leaves, in the order it asks for.
  select({ query, score, unaligned, against, order, also = () => true, ranks: more = {} }) {
    const holding = {
      any: () => true,
      differs: (k) => this.wrong[k] + this.missed[k] > 0,
      missed: (k) => this.missed[k] > 0,
      wrong: (k) => this.wrong[k] > 0,
      agrees: (k) => this.wrong[k] + this.missed[k] === 0,
      apart: (k) => this.apart[k] > 0,
      alike: (k) => this.apart[k] === 0,
    };
    const holds = against.map((name) => holding[name]);
    const found = [];
    for (let k = 0; k < this.size; k++) {
      if (this.loose[k] < unaligned || !holds.every((each) => each(k)) || !also(k) || this.score[k] > score) continue;
      if (!query.empty && !query.fits(this.#normal(k))) continue;
      found.push(k);
    }
    const ranks = {
      ...more,
      low: (k) => this.score[k],
      high: (k) => -this.score[k],
      unaligned: (k) => -this.loose[k],
      aer: (k) => -this.aer[k],
      apart: (k) => -this.apart[k],
      length: (k) => -this.lengths[2 * k] - this.lengths[2 * k + 1],
    };
    const rank = ranks[order];
    return rank ? found.sort((a, b) => rank(a) - rank(b) || a - b) : found;
  }

  // Texts are brought to one normal form when they are first searched, and kept for the next letter that is typed.
  #normal(k) {
    return (this.normal[k] ??= this.texts(k).map((text) => text.normalize("NFC")));
  }
};
