// The concordance: every place where a word stands, with what it is linked with there.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

bitweft.LINES = 60; // lines that are shown; all are counted

// All places of a word of one side, as the threshold leaves its links: how often each translation, and lines.
bitweft.concordance = (corpus, side, word, threshold) => {
  const [own, sought] = [side === "source" ? 0 : 1, word.toLowerCase()];
  const found = { places: 0, pairs: 0, translations: new Map(), lines: [] };
  for (let k = 0; k < corpus.size; k++) {
    if (!corpus.texts(k)[own].toLowerCase().includes(sought)) continue;
    const sentences = [0, 1].map((at) => bitweft.Corpus.sentence(corpus.rows[k][at]));
    let here = 0;
    sentences[own].words.forEach((each, at) => {
      if (each.toLowerCase() !== sought) return;
      here++;
      const partners = corpus.partners(k, own, at, threshold);
      const translation = partners.map((there) => sentences[1 - own].words[there].toLowerCase()).join(" … ");
      found.translations.set(translation, (found.translations.get(translation) ?? 0) + 1);
      if (found.lines.length < bitweft.LINES) found.lines.push({ k, at, partners, sentences });
    });
    found.places += here;
    found.pairs += here > 0;
  }
  return found;
};

bitweft.fillConcordance = (panel, { corpus, side, word, threshold, go }) => {
  const own = side === "source" ? 0 : 1;
  const found = bitweft.concordance(corpus, side, word, threshold);
  const count = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
  const title = bitweft.make("h2", {}, bitweft.make("b", { dir: "auto" }, word), ` – ${count(found.places, "place")} in ${count(found.pairs, "pair")}`);
  const ranked = [...found.translations].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const translations = bitweft.make("ul", { class: "translations", "aria-label": "Linked with" }, ...ranked.slice(0, 12).map(([text, n]) =>
    bitweft.make("li", {}, bitweft.make("span", { dir: "auto", class: text ? "term" : "term none" }, text || "no link"), ` ${n.toLocaleString("en")}`)));
  const lines = found.lines.map((line) => bitweft.concordanceLine(line, own, corpus.about.first, go));
  panel.replaceChildren(title, translations, bitweft.make("div", { class: "kwic" }, ...lines));
  const more = found.places - found.lines.length;
  if (more > 0) panel.append(bitweft.make("p", { class: "more" }, `and ${count(more, "more place")}`));
};

bitweft.concordanceLine = ({ k, at, partners, sentences }, own, first, go) => {
  const cut = (words, marks) => {
    const middle = marks[0] ?? 0;
    const from = Math.max(0, middle - 7);
    const shown = words.slice(from, middle + 8);
    const parts = shown.flatMap((word, i) => [i ? " " : "", marks.includes(from + i) ? bitweft.make("b", {}, word) : word]);
    return bitweft.make("span", { class: "text", dir: "auto" }, from ? "… " : "", ...parts, middle + 8 < words.length ? " …" : "");
  };
  const sides = [own === 0 ? [at] : partners, own === 0 ? partners : [at]];
  const line = bitweft.make("button", { type: "button", class: "kwic-line" },
    bitweft.make("span", { class: "number" }, (k + first).toLocaleString("en")),
    cut(sentences[0].words, sides[0]), cut(sentences[1].words, sides[1]));
  line.addEventListener("click", () => go(k));
  return line;
};
