// Where words go: directions, bands of long sentences, and the elements both views are made of.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

bitweft.make = (name, properties = {}, ...children) => {
  const element = document.createElement(name);
  bitweft.set(element, properties);
  element.append(...children);
  return element;
};

bitweft.draw = (name, properties = {}, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  bitweft.set(element, properties);
  element.append(...children);
  return element;
};

bitweft.set = (element, properties) => {
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
};

// The direction of a row: that of its first letter. (dir=auto would not look into words that have
// a dir of their own.)
bitweft.direction = (words) => {
  const first = words.join(" ").match(/\p{L}/u);
  const rightToLeft =
    /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Adlam}\p{Script=Hanifi_Rohingya}]/u;
  return first && rightToLeft.test(first[0]) ? "rtl" : "ltr";
};

bitweft.percent = (p) => `${Math.round(100 * p)} %`;

// What is shown of a pair: its links from the threshold up, and the gold links that are not among them (the sure
// ones, the possible ones, or both), or how they stand to another system's.
bitweft.shown = (pair, { threshold, sure = false, possible = false, compare = false }) => {
  const links = pair.links.filter((link) => link.p >= threshold);
  if (compare) return pair.compared(links);
  if (!sure && !possible) return links.map((link) => ({ ...link, kind: "link" }));
  return links.concat(pair.unmade(links).filter(({ kind }) => (kind === "missed" ? sure : possible)));
};

// The marks at each word of either side.
bitweft.byWord = (pair, marks) => {
  const at = { source: pair.source.words.map(() => []), target: pair.target.words.map(() => []) };
  for (const mark of marks) {
    at.source[mark.s].push(mark);
    at.target[mark.t].push(mark);
  }
  return at;
};

// What the marks at a word of this side link it with, for a name that can be read out.
bitweft.partners = (pair, marks, side) => {
  const [other, there] = side === "source" ? ["target", "t"] : ["source", "s"];
  const says = { wrong: ", wrong", missed: ", missed", open: ", possible but not linked", "only-a": ", only A", "only-b": ", only B" };
  return marks.map((mark) => ({
    word: pair[other].words[mark[there]],
    note: (mark.p !== undefined && pair.scored ? ` ${bitweft.percent(mark.p)}` : "") + (mark.note ?? says[mark.kind] ?? ""),
  }));
};

// What is said of a word, by its look and by its name.
bitweft.wordLook = (pair, marks, side, at) => ({
  class: marks.some((mark) => mark.p !== undefined) ? "word" : "word loose",
  tabindex: side === "source" && !at ? 0 : -1,
  "data-side": side,
  "data-at": at,
  "aria-label": bitweft.spoken(pair[side].words[at], bitweft.partners(pair, marks, side)),
});

bitweft.spoken = (word, partners) =>
  `${word}: ${partners.length ? partners.map(({ word, note }) => word + note).join("; ") : "no link"}`;

// Cut two rows of words into bands no wider than `room`, so that as many links as can be stay within
// their band: [from source word, to, from target word, to] for each.
bitweft.bands = (source, target, links, room, gap) => {
  const [n, m] = [source.length, target.length];
  const ends = (widths) => {
    const sums = new Float64Array(widths.length + 1);
    widths.forEach((width, i) => (sums[i + 1] = sums[i] + width + gap));
    return sums;
  };
  const [across, along] = [ends(source), ends(target)];
  if (across[n] - gap <= room && along[m] - gap <= room) return [[0, n, 0, m]];
  const reach = (sums, from) => {
    let to = from;
    while (to < sums.length - 1 && (to === from || sums[to + 1] - sums[from] - gap <= room)) to++;
    return to;
  };
  const furthest = [across.map((_, s) => reach(across, s)), along.map((_, t) => reach(along, t))];
  if (n * m > 4e6) return bitweft.evenBands(n, m, furthest);
  // A band costs as much as two links that leave theirs, and more if it is not as wide as the others.
  const inside = bitweft.inside(n, m, links);
  const whole = Math.max(across[n], along[m]) / room;
  const share = whole / Math.ceil(whole);
  const gain = (s, s2, t, t2) => {
    const off = Math.max(across[s2] - across[s], along[t2] - along[t]) / room - share;
    return inside(s, s2, t, t2) - 2 - 2 * off * off;
  };
  return bitweft.bestBands(n, m, furthest, gain);
};

// For sentences of thousands of words: as much as fits of the source, and its share of the target.
bitweft.evenBands = (n, m, furthest) => {
  const cuts = [];
  for (let s = 0, t = 0; s < n || t < m; ) {
    const s2 = furthest[0][s];
    const t2 = Math.min(furthest[1][t], Math.max(t, n ? Math.ceil((m * s2) / n) : m));
    cuts.push([s, s2, t, t2]);
    [s, t] = [s2, t2];
  }
  return cuts;
};

// Dynamic programming over the places where a band may end, near the diagonal.
bitweft.bestBands = (n, m, furthest, gain) => {
  const [short, long] = [Math.max(1, Math.min(n, m)), Math.max(n, m)];
  const slack = Math.max(Math.min(0.12, 10000 / (short * long)), 12 / long, 2 / short);
  const near = (s, t) => s === n || t === m || Math.abs(s / n - t / m) <= slack;
  const width = m + 1;
  const best = new Float64Array((n + 1) * width).fill(-Infinity);
  const from = new Int32Array((n + 1) * width);
  best[0] = 0;
  for (let s = 0; s <= n; s++) {
    for (let t = 0; t <= m; t++) {
      const here = best[s * width + t];
      if (here === -Infinity) continue;
      for (let s2 = s; s2 <= furthest[0][s]; s2++) {
        for (let t2 = t + (s2 === s); t2 <= furthest[1][t]; t2++) {
          const value = near(s2, t2) ? here + gain(s, s2, t, t2) : -Infinity;
          if (value <= best[s2 * width + t2]) continue;
          best[s2 * width + t2] = value;
          from[s2 * width + t2] = s * width + t;
        }
      }
    }
  }
  const cuts = [];
  for (let state = n * width + m; state > 0; state = from[state]) {
    const before = from[state];
    cuts.unshift([Math.floor(before / width), Math.floor(state / width), before % width, state % width]);
  }
  return cuts;
};

// A function that counts the links in a rectangle, by sums over its corners.
bitweft.inside = (n, m, links) => {
  const width = m + 1;
  const sums = new Float64Array((n + 1) * width);
  for (const { s, t } of links) sums[(s + 1) * width + t + 1] += 1;
  for (let s = 1; s <= n; s++) {
    for (let t = 1; t <= m; t++) {
      sums[s * width + t] += sums[(s - 1) * width + t] + sums[s * width + t - 1] - sums[(s - 1) * width + t - 1];
    }
  }
  return (s, s2, t, t2) =>
    sums[s2 * width + t2] - sums[s * width + t2] - sums[s2 * width + t] + sums[s * width + t];
};

// Light a word, or a link, and everything it is linked with; nothing if `seed` is null.
bitweft.light = (root, marks, seed) => {
  const on = { source: new Set(), target: new Set() };
  const lit = (mark) =>
    seed && (seed.mark ? mark.s === seed.mark.s && mark.t === seed.mark.t
      : mark[seed.side === "source" ? "s" : "t"] === seed.at);
  for (const mark of marks.filter(lit)) {
    on.source.add(mark.s);
    on.target.add(mark.t);
  }
  if (seed && !seed.mark) on[seed.side].add(seed.at);
  root.classList.toggle("lit", Boolean(seed));
  for (const element of root.querySelectorAll("[data-side]")) {
    element.classList.toggle("on", on[element.dataset.side].has(Number(element.dataset.at)));
  }
  for (const element of root.querySelectorAll("[data-s]")) {
    element.classList.toggle("on", Boolean(lit({ s: Number(element.dataset.s), t: Number(element.dataset.t) })));
  }
};
