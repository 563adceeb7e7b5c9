// The page: what is chosen, and what the controls and keys do about it.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

bitweft.ROW = 66; // pixels a row of the list

bitweft.Page = class {
  constructor(data) {
    this.prepare(data);
    this.corpus = new bitweft.Corpus(data);
    const { about, scored, graded } = this.corpus;
    // Links were cut somewhere: below the least probable one, nothing is to be seen.
    this.least = scored ? Math.floor(100 * this.corpus.least) / 100 : 0;
    this.state = {
      k: null, matrix: false, fit: false, threshold: Math.max(about.threshold, this.least),
      sure: about.gold, possible: about.gold && this.corpus.sparse(), compare: Boolean(about.compare),
    };
    this.query = new bitweft.Query();
    this.at = (id) => document.getElementById(id);
    const has = { gold: about.gold, probability: scored, score: scored || graded, compare: about.compare, ...this.has };
    for (const element of document.querySelectorAll("[data-needs]")) {
      if (!has[element.dataset.needs]) element.remove();
    }
    for (const element of document.querySelectorAll(".score-name")) {
      element.textContent = graded ? "Score" : "Mean probability";
    }
    this.stage = new bitweft.Stage(this.at("stage"), {
      lit: (seed) => this.read(seed),
      held: (seed) => this.concord(seed),
      drawn: () => this.drawn(),
    });
    this.list = new bitweft.VirtualList(this.at("list"), {
      height: bitweft.ROW,
      fill: (row, k) => this.fillRow(row, k),
      choose: (k) => this.choose(k, { leave: true }),
    });
    this.listen();
    this.measure();
    const asked = Number.parseInt(location.hash.slice(1), 10) - about.first;
    this.find(asked >= 0 && asked < this.corpus.size ? asked : this.opening());
  }

  // For pages that do more: before anything is shown, and whenever a pair was drawn.
  prepare() {}

  drawn() {}

  // The pair to begin with.
  opening() {
    return 0;
  }

  hint(pair) {
    return bitweft.hint(pair);
  }

  // Say what is lit; of the word that is held, also where its places are listed: that may be out of sight.
  read(seed) {
    const held = this.stage.holds;
    bitweft.fillReadout(this.at("readout"), this.stage.pair, this.stage.marks, seed, this.hint(this.stage.pair));
    this.at("places").hidden = !seed?.side || seed.side !== held?.side || seed.at !== held.at;
  }

  // A control that the page may lack (no gold, no probabilities): then a silent stand-in.
  control(id) {
    return this.at(id) || { value: { score: "100", against: "any", apart: "any" }[id], addEventListener() {}, hidden: true };
  }

  listen() {
    const on = (id, type, act) => this.control(id).addEventListener(type, act);
    for (const id of ["search", "mode", "score", "unaligned", "against", "apart"]) on(id, "input", () => this.soon("find"));
    on("order", "input", () => this.soon("reorder"));
    on("reset", "click", () => this.reset());
    on("previous", "click", () => this.choose(this.list.after(-1)));
    on("next", "click", () => this.choose(this.list.after(1)));
    on("place", "change", () => this.go(Number(this.at("place").value)));
    on("as-links", "click", () => this.turn(false));
    on("as-matrix", "click", () => this.turn(true));
    on("threshold", "input", () => this.setThreshold(Number(this.at("threshold").value)));
    for (const id of ["sure", "possible", "compare"]) {
      on(id, "change", () => this.setGold({ [id]: this.at(id).checked }));
      this.control(id).checked = this.state[id];
    }
    on("fit", "change", () => this.setFit(this.at("fit").checked));
    on("places", "click", () => {
      this.at("concordance").scrollIntoView();
      this.at("concordance").querySelector("button").focus({ preventScroll: true });
    });
    on("theme", "click", bitweft.turnTheme);
    on("ask", "click", () => this.at("help").showModal());
    on("browse-open", "click", () => this.browse(true));
    on("close", "click", () => this.browse(false));
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => this.go(Number.parseInt(location.hash.slice(1), 10)));
    matchMedia("(max-width: 60rem)").addEventListener("change", () => this.browse(false));
    this.control("threshold").min = this.least;
    this.control("threshold").value = this.state.threshold;
  }

  // Many events in one frame (a slider being dragged) are one piece of work.
  soon(name) {
    if (this.waiting === name) return;
    this.waiting = name;
    requestAnimationFrame(() => {
      this.waiting = null;
      this[name]();
    });
  }

  measure() {
    this.corpus.measure(this.state.threshold);
    const totals = this.corpus.totals;
    const items = [["Pairs", this.corpus.size.toLocaleString("en")], ["Links", totals.made.toLocaleString("en")]];
    bitweft.fillNumbers(this.at("totals"), items.concat(this.rateItems(totals), this.compareItems(totals)));
    if (this.at("threshold-value")) this.at("threshold-value").textContent = this.state.threshold.toFixed(2);
  }

  rateItems(counts) {
    if (!this.corpus.about.gold) return [];
    const { precision, recall, aer } = bitweft.rates(counts);
    const shown = (rate) => (rate === null ? "–" : `${(100 * rate).toFixed(1)} %`);
    return [["Precision", shown(precision)], ["Recall", shown(recall)], ["AER", shown(aer)]];
  }

  compareItems({ made, other, both }) {
    if (!this.corpus.about.compare) return [];
    return [["Both", both], ["Only A", made - both], ["Only B", other - both]].map(([name, n]) => [name, n.toLocaleString("en")]);
  }

  // Another order is read from its top.
  reorder() {
    this.find(null);
  }

  // What the controls ask for.
  question() {
    this.query = new bitweft.Query(this.at("search").value, this.at("mode").value);
    return {
      query: this.query,
      score: this.scoreLimit(),
      unaligned: Number(this.at("unaligned").value) || 0,
      against: [this.control("against").value, this.control("apart").value],
      order: this.at("order").value,
    };
  }

  find(wanted = this.state.k) {
    const before = this.query;
    const question = this.question();
    const found = this.corpus.select(question);
    if (this.at("score-value")) this.at("score-value").textContent = this.corpus.written(question.score === Infinity ? this.corpus.scale()[1] : question.score);
    const filters = (question.score < Infinity) + (question.unaligned > 0) + question.against.filter((each) => each !== "any").length;
    this.at("active").textContent = filters ? `(${filters})` : "";
    const all = found.length === this.corpus.size;
    const count = found.length.toLocaleString("en");
    this.at("found").textContent = this.query.error || (all ? "" : `${count} of ${this.corpus.size.toLocaleString("en")} pairs`);
    this.at("found").classList.toggle("fault", Boolean(this.query.error));
    const chosen = found.includes(wanted) ? wanted : found[0] ?? -1;
    const stays = chosen === this.state.k && !(before.empty && this.query.empty);
    this.list.show(found, chosen);
    this.choose(chosen);
    if (stays) this.paint(); // other words are hit
  }

  // The score where the slider stands; at its right end it lets everything through.
  scoreLimit() {
    const share = Number(this.control("score").value) / 100;
    const [least, most] = this.corpus.scale();
    return share < 1 ? least + share * (most - least) : Infinity;
  }

  reset() {
    this.at("search").value = "";
    this.control("score").value = 100;
    this.at("unaligned").value = 0;
    for (const id of ["against", "apart"]) this.control(id).value = "any";
    this.at("order").value = "file";
    this.at("mode").value = "words";
    this.find();
  }

  // -1 is no pair: the filter leaves none.
  choose(k, { leave = false } = {}) {
    if (k !== -1 && !(k >= 0 && k < this.corpus.size)) k = this.state.k;
    const moved = k !== this.state.k;
    this.state.k = k;
    this.list.mark(k);
    if (leave) this.browse(false);
    if (!moved) return;
    this.paint({ keep: false });
    this.speak();
  }

  go(number) {
    const k = number - this.corpus.about.first;
    if (k >= 0 && k < this.corpus.size) this.choose(k);
    this.speak();
  }

  speak() {
    const { k } = this.state;
    const first = this.corpus.about.first;
    this.at("place").min = first;
    this.at("place").max = first + this.corpus.size - 1;
    this.at("place").value = k < 0 ? "" : k + first;
    this.at("of").textContent = `of ${(first + this.corpus.size - 1).toLocaleString("en")}`;
    if (k < 0) {
      this.at("spoken").textContent = "No pair";
      return;
    }
    const [source, target] = this.corpus.texts(k);
    this.at("spoken").textContent = `Pair ${k + first}: ${source} – ${target}`;
    try {
      history.replaceState(null, "", `#${k + first}`);
    } catch {
      // Some browsers do not let a file change its address; the page works without.
    }
  }

  paint({ keep = true } = {}) {
    const { k, matrix, fit } = this.state;
    if (k < 0) {
      this.stage.say(this.corpus.size ? "No pair fits the filter." : "There are no sentence pairs.");
      for (const id of ["numbers", "legend", "readout"]) this.at(id).replaceChildren();
      this.concord(null);
      return;
    }
    const pair = this.corpus.pair(k);
    const hits = { source: this.query.words(pair.source), target: this.query.words(pair.target) };
    this.stage.show(pair, this.marks(pair), { matrix, fit, keep, hits });
    if (!this.stage.pair) this.at("readout").replaceChildren(); // nothing to point at
    this.numbers();
    bitweft.fillLegend(this.at("legend"), { scored: this.corpus.scored, kinds: this.kinds(), matrix });
  }

  // The kinds of links that are drawn, and what they mean.
  kinds() {
    const { sure, possible, compare } = this.state;
    if (compare) return bitweft.compared(this.corpus.about.compare);
    return sure || possible ? bitweft.LEGEND : [];
  }

  // What is drawn of the pair that is chosen.
  marks(pair) {
    const { threshold, sure, possible, compare } = this.state;
    return bitweft.shown(pair, { threshold, sure, possible, compare });
  }

  // Every place of the word that is held, with its links; nothing if none is.
  concord(seed) {
    const panel = this.at("concordance");
    panel.hidden = !seed?.side;
    if (panel.hidden) return panel.replaceChildren();
    const word = this.stage.pair[seed.side].words[seed.at];
    bitweft.fillConcordance(panel, { corpus: this.corpus, side: seed.side, word, threshold: this.state.threshold, go: (k) => this.choose(k) });
  }

  numbers() {
    const counts = this.corpus.counts(this.state.k, this.state.threshold);
    const items = [["Links", counts.made], ["Unaligned", `${counts.loose[0]} + ${counts.loose[1]}`]];
    if (this.corpus.rows[this.state.k][3]) items.push(["Mean probability", counts.made ? bitweft.percent(counts.mass / counts.made) : "–"]);
    if (this.corpus.graded) items.push(["Score", this.corpus.written(this.corpus.score[this.state.k])]);
    bitweft.fillNumbers(this.at("numbers"), items.concat(this.rateItems(counts), this.compareItems(counts)));
  }

  fillRow(row, k) {
    const corpus = this.corpus;
    const [source, target] = corpus.texts(k);
    const number = (k + corpus.about.first).toLocaleString("en");
    const badge = corpus.about.gold ? `AER ${(100 * corpus.aer[k]).toFixed(0)}` : corpus.scored || corpus.graded ? corpus.written(corpus.score[k]) : "";
    const line = (text) => bitweft.make("span", { class: "text", dir: "auto" }, ...bitweft.marked(text, this.query));
    row.append(bitweft.make("span", { class: "number" }, number), line(source), line(target), bitweft.make("span", { class: "badge" }, badge));
  }

  turn(matrix) {
    this.state.matrix = matrix;
    this.at("as-links").setAttribute("aria-pressed", !matrix);
    this.at("as-matrix").setAttribute("aria-pressed", matrix);
    this.at("fit-tick").hidden = !matrix;
    this.paint();
  }

  setFit(fit) {
    this.state.fit = fit;
    this.at("fit").checked = fit;
    if (this.state.matrix) this.paint();
  }

  setThreshold(value) {
    this.state.threshold = Math.round(100 * Math.max(this.least, Math.min(1, value))) / 100;
    this.control("threshold").value = this.state.threshold;
    this.soon("recount");
  }

  recount() {
    this.measure();
    this.list.renew();
    this.find();
    this.paint();
  }

  // Switch what the links are compared with: `sure`, `possible` and `compare` are on or off.
  setGold(switched) {
    for (const [name, on] of Object.entries(switched)) {
      if (!this.at(name)) continue;
      this.state[name] = on;
      this.at(name).checked = on;
    }
    // Gold and the other system are shown one at a time: the last that was asked for.
    if (switched.sure || switched.possible) this.setGold({ compare: false });
    this.paint();
  }

  turnGold() {
    const on = !(this.state.sure || this.state.possible);
    this.setGold({ sure: on, possible: on && this.corpus.sparse() });
  }

  // On a narrow screen the list lies over the page; on others it is there anyway.
  browse(open) {
    const over = open && matchMedia("(max-width: 60rem)").matches;
    document.body.classList.toggle("browsing", over);
    this.at("browse-open").setAttribute("aria-expanded", over);
    for (const element of document.querySelectorAll("header, main")) element.inert = over;
    if (over) this.list.mark(this.state.k); // its row could not be scrolled to while the list was hidden
    if (open) this.at("search").focus();
    else if (this.at("browse").contains(document.activeElement)) this.at("browse-open").focus();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.at("help").open) return;
    if (event.key === "Escape") this.escape();
    if (event.target.closest("input:not([type=range], [type=checkbox]), select, textarea")) return;
    const acts = {
      j: () => this.choose(this.list.after(1)),
      k: () => this.choose(this.list.after(-1)),
      v: () => this.turn(!this.state.matrix),
      f: () => this.state.matrix && this.setFit(!this.state.fit),
      g: () => this.turnGold(),
      c: () => this.setGold({ compare: !this.state.compare }),
      t: bitweft.turnTheme,
      w: () => this.stage.focus(),
      "[": () => this.corpus.scored && this.setThreshold(this.state.threshold - 0.05),
      "]": () => this.corpus.scored && this.setThreshold(this.state.threshold + 0.05),
      "/": () => (this.browse(true), this.at("search").select()),
      "?": () => this.at("help").showModal(),
    };
    const act = acts[{ n: "j", p: "k" }[event.key] ?? event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  escape() {
    this.stage.release();
    if (document.body.classList.contains("browsing")) this.browse(false);
    else if (document.activeElement === this.at("search")) this.at("search").blur();
  }
};

bitweft.data = document.getElementById("data")?.textContent.trim();
if (bitweft.data) bitweft.page = new bitweft.Page(JSON.parse(bitweft.data));
