// The words around the picture: numbers, legend, the line that says what is lit, marked search results.
"use strict";
globalThis.weft = globalThis.weft || {};

weft.fillNumbers = (list, items) => {
  list.replaceChildren(...items.map(([name, value]) =>
    weft.make("div", {}, weft.make("dt", {}, name), weft.make("dd", {}, String(value)))));
};

weft.LEGEND = [
  ["sure", "sure, as in gold"],
  ["possible", "possible, as in gold"],
  ["wrong", "wrong: not in gold"],
  ["missed", "missed: sure in gold"],
  ["open", "possible, not linked"],
];

weft.fillLegend = (list, scored, gold) => {
  const sample = (kind) => {
    const picture = weft.draw("svg", { class: "threads", viewBox: "0 0 44 14", width: 44, height: 14, "aria-hidden": "true" });
    const line = weft.draw("path", { class: `thread ${kind}`, d: "M2 7H42" });
    line.style.setProperty("--p", 1);
    picture.append(line);
    if (kind === "wrong") picture.append(weft.draw("path", { class: "sign wrong", d: "M17 2l10 10m0 -10l-10 10" }));
    if (kind === "missed") picture.append(weft.draw("circle", { class: "sign missed", cx: 22, cy: 7, r: 5 }));
    return picture;
  };
  const entry = (picture, text) => weft.make("li", {}, picture, weft.make("span", {}, text));
  const entries = gold ? weft.LEGEND.map(([kind, text]) => entry(sample(kind), text)) : [];
  if (scored) {
    const ramp = weft.draw("svg", { class: "threads", viewBox: "0 0 44 14", width: 44, height: 14, "aria-hidden": "true" });
    [0, 0.33, 0.66, 1].forEach((p, i) => {
      const line = weft.draw("path", { class: "thread link", d: `M${2 + 11 * i} 7h7` });
      line.style.setProperty("--p", p);
      ramp.append(line);
    });
    entries.push(entry(ramp, "less to more probable"));
  }
  entries.push(weft.make("li", {}, weft.make("span", { class: "loose" }, "word"), weft.make("span", {}, "without a link")));
  list.replaceChildren(...entries);
};

weft.fillReadout = (line, pair, marks, seed) => {
  const bold = (word) => weft.make("b", { dir: "auto" }, word);
  line.classList.toggle("hint", !seed);
  if (!seed) return line.replaceChildren("Point at a word, or tap it, to see its partners.");
  if (seed.mark) {
    const mark = marks.find(({ s, t }) => s === seed.mark.s && t === seed.mark.t);
    if (!mark) return line.replaceChildren();
    const [{ note }] = weft.partners(pair, [mark], "source");
    return line.replaceChildren(bold(pair.source.words[mark.s]), " – ", bold(pair.target.words[mark.t]), note);
  }
  const partners = weft.partners(pair, weft.byWord(pair, marks)[seed.side][seed.at], seed.side);
  const named = partners.flatMap(({ word, note }, i) => [i ? "; " : " – ", bold(word), note]);
  return line.replaceChildren(bold(pair[seed.side].words[seed.at]), ...(named.length ? named : [" has no link"]));
};

// A text with what was searched for marked in it, and near its beginning.
weft.marked = (text, query) => {
  const lower = text.toLowerCase();
  const at = query && lower.length === text.length ? lower.indexOf(query) : -1;
  if (at < 0) return [text.slice(0, 300)];
  const end = at + query.length;
  const before = at > 24 ? `…${text.slice(at - 12, at)}` : text.slice(0, at);
  return [before, weft.make("mark", {}, text.slice(at, end)), text.slice(end, end + 300)];
};
