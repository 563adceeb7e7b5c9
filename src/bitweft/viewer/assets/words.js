// The words around the picture: numbers, legend, the line that says what is lit.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

bitweft.fillNumbers = (list, items) => {
  list.replaceChildren(...items.map(([name, value]) =>
    bitweft.make("div", {}, bitweft.make("dt", {}, name), bitweft.make("dd", {}, String(value)))));
};

bitweft.LEGEND = [
  ["sure", "sure, as in gold"],
  ["possible", "possible, as in gold"],
  ["wrong", "wrong: not in gold"],
  ["missed", "missed: sure in gold"],
  ["open", "possible, not linked"],
];

// A small picture of some marks, as the view draws them.
bitweft.sample = (marks, matrix) => {
  const picture = bitweft.draw("svg", { class: "threads", viewBox: "0 0 44 20", width: 44, height: 20, "aria-hidden": "true" });
  const step = 44 / marks.length;
  marks.forEach((mark, i) => {
    const [a, b] = [{ right: i * step + 2, y: 10 }, { left: (i + 1) * step - 2, y: 10 }];
    const [left, cell] = marks.length > 1 ? [i * step - 4, 18] : [12, 20];
    picture.append(...(matrix ? [bitweft.cell({ ...mark, s: 0, t: 0 }, { left, top: (20 - cell) / 2, cell })] : bitweft.thread(a, b, mark, false)));
  });
  return picture;
};

bitweft.compared = ([a, b]) => [["both", "both"], ["only-a", `only A: ${a}`], ["only-b", `only B: ${b}`]];

bitweft.fillLegend = (list, { scored, kinds = [], matrix }) => {
  const entry = (picture, text) => bitweft.make("li", {}, picture, bitweft.make("span", {}, text));
  const marks = (kind) => [{ kind, p: ["missed", "open", "only-b"].includes(kind) ? undefined : 1 }];
  const entries = kinds.map(([kind, text]) => entry(bitweft.sample(marks(kind), matrix), text));
  if (scored) {
    const ramp = [0, 0.33, 0.66, 1].map((p) => ({ kind: "link", p }));
    entries.push(entry(bitweft.sample(ramp, matrix), "less to more probable"));
  }
  entries.push(entry(bitweft.make("span", { class: "loose" }, "word"), "without a link"));
  list.replaceChildren(...entries);
};

bitweft.fillReadout = (line, pair, marks, seed, hint = bitweft.hint(pair)) => {
  const bold = (word) => bitweft.make("b", { dir: "auto" }, word);
  line.classList.toggle("hint", !seed);
  if (!seed) return line.replaceChildren(hint);
  if (seed.mark) {
    const mark = marks.find(({ s, t }) => s === seed.mark.s && t === seed.mark.t);
    if (!mark) return line.replaceChildren();
    const [{ note }] = bitweft.partners(pair, [mark], "source");
    return line.replaceChildren(bold(pair.source.words[mark.s]), " – ", bold(pair.target.words[mark.t]), note);
  }
  const partners = bitweft.partners(pair, bitweft.byWord(pair, marks)[seed.side][seed.at], seed.side);
  const named = partners.flatMap(({ word, note }, i) => [i ? "; " : " – ", bold(word), note]);
  return line.replaceChildren(bold(pair[seed.side].words[seed.at]), ...(named.length ? named : [" has no link"]));
};

// What to do with a pair, or why nothing can be done.
bitweft.hint = (pair) => {
  const bare = ["source", "target"].filter((side) => !pair[side].words.length);
  if (bare.length === 2) return "Both sentences of this pair are empty.";
  if (bare.length) return `The ${bare[0]} sentence is empty: there is nothing to link.`;
  return "Point at a word, or tap it, to see its partners.";
};

// Light becomes dark and dark light, whatever the system prefers.
bitweft.turnTheme = () => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = (root.dataset.theme ?? (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
};
