// Disagreements of annotators, side by side: what each says of a link, and a button to say the same.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

// `disputed` is [s, t, what each annotator says] of each link; `kindAt` and `set` are the hand's.
bitweft.fillSettle = (panel, { pair, names, disputed, agreement, kindAt, set, light }) => {
  panel.hidden = !names.length;
  if (panel.hidden) return;
  const cell = (name, ...parts) => bitweft.make(name, {}, ...parts);
  const rows = disputed.map(([s, t, ...said]) => {
    const now = kindAt(s, t);
    const words = cell("td", bitweft.make("b", { dir: "auto" }, pair.source.words[s]), " – ", bitweft.make("b", { dir: "auto" }, pair.target.words[t]));
    const buttons = said.map((kind, i) => {
      if (!kind) return cell("td", "–");
      const shown = kind === "none" ? "no link" : kind;
      const label = `${pair.source.words[s]} – ${pair.target.words[t]}: ${shown}, as ${names[i]} says`;
      const button = bitweft.make("button", { type: "button", class: "plain", "aria-pressed": kind === now, "aria-label": label }, shown);
      button.addEventListener("click", () => set([[s, t, kind]]));
      return cell("td", button);
    });
    const row = cell("tr", words, ...buttons);
    row.addEventListener("pointerenter", () => light({ mark: { s, t } }));
    row.addEventListener("pointerleave", () => light(null));
    return row;
  });
  const head = cell("tr", cell("th"), ...names.map((name) => cell("th", name)));
  const title = disputed.length ? `${disputed.length} disputed link${disputed.length === 1 ? "" : "s"}` : "No disagreement on this pair";
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const agreed = agreement.map(({ names: [a, b], sentences, f1, aer, disputed: links }) =>
    bitweft.make("p", { class: "agreed" }, `${a} and ${b}, ${sentences.toLocaleString("en")} pairs done by both: F1 ${percent(f1)}, AER ${percent(aer)}, ${links.toLocaleString("en")} disputed links`));
  panel.replaceChildren(cell("h2", title), ...(rows.length ? [cell("table", head, ...rows)] : []), ...agreed);
};
