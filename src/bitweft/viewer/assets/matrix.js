// The matrix view: source words are rows, target words columns, a filled cell is a link, a framed cell is gold.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

bitweft.drawMatrix = (root, pair, marks) => {
  const field = bitweft.make("div", { class: "field matrix" });
  root.replaceChildren(field);
  const [n, m] = [pair.source.words.length, pair.target.words.length];
  const ruler = document.createElement("canvas").getContext("2d");
  ruler.font = `16px ${getComputedStyle(field).fontFamily}`;
  const most = root.clientWidth < bitweft.NARROW ? 92 : 170;
  const fit = (word) => bitweft.fitted(word, most, ruler);
  const names = { source: pair.source.words.map(fit), target: pair.target.words.map(fit) };
  const longest = (side) => names[side].reduce((all, name) => Math.max(all, ruler.measureText(name).width), 0);
  const [gutter, lean] = [longest("source") + 18, Math.SQRT1_2 * longest("target")];
  const room = (root.clientWidth - gutter - lean - 20) / Math.max(m, 1);
  const edge = { left: 8, top: lean + 26, cell: Math.max(22, Math.min(36, Math.floor(room))), n, m };
  const height = edge.top + n * edge.cell + 8;
  const sheet = (width, name) =>
    bitweft.draw("svg", { class: name, width, height, viewBox: `0 0 ${width} ${height}` });
  // The source words are a sheet of their own: it stays while a wide matrix is scrolled.
  const sheets = { source: sheet(gutter, "sheet names"), target: sheet(edge.left + m * edge.cell + lean + 14, "sheet") };
  field.append(sheets.source, sheets.target);
  sheets.target.append(bitweft.washes(edge), bitweft.ruling(edge));
  for (const mark of marks) sheets.target.append(bitweft.cell(mark, edge));
  const at = bitweft.byWord(pair, marks);
  for (const side of ["source", "target"]) {
    names[side].forEach((name, k) => {
      const place = bitweft.labelPlace(side, k, side === "source" ? { ...edge, left: gutter } : edge);
      const look = bitweft.wordLook(pair, at[side][k], side, k);
      sheets[side].append(bitweft.draw("text", { role: "button", ...look, ...place }, name));
    });
  }
};

bitweft.fitted = (word, room, ruler) => {
  if (ruler.measureText(word).width <= room) return word;
  const letters = [...word];
  while (letters.length && ruler.measureText(`${letters.join("")}…`).width > room) letters.pop();
  return `${letters.join("")}…`;
};

bitweft.ruling = ({ left, top, cell, n, m }) => {
  let path = "";
  for (let s = 0; s <= n; s++) path += `M${left} ${top + s * cell}h${m * cell}`;
  for (let t = 0; t <= m; t++) path += `M${left + t * cell} ${top}v${n * cell}`;
  return bitweft.draw("path", { class: "ruling", d: path });
};

bitweft.washes = ({ left, top, cell, n, m }) => {
  const group = bitweft.draw("g", { class: "washes" });
  for (let s = 0; s < n; s++) {
    group.append(bitweft.draw("rect", { "data-side": "source", "data-at": s, x: left, y: top + s * cell, width: m * cell, height: cell }));
  }
  for (let t = 0; t < m; t++) {
    group.append(bitweft.draw("rect", { "data-side": "target", "data-at": t, x: left + t * cell, y: top, width: cell, height: n * cell }));
  }
  return group;
};

bitweft.cell = (mark, { left, top, cell }) => {
  const [x, y] = [left + mark.t * cell, top + mark.s * cell];
  const box = (inset, name) =>
    bitweft.draw("rect", { class: name, x: x + inset, y: y + inset, width: cell - 2 * inset, height: cell - 2 * inset, rx: 3 });
  const group = bitweft.draw("g", { class: `cell ${mark.kind}`, "data-s": mark.s, "data-t": mark.t });
  group.style.setProperty("--p", mark.p ?? 1);
  group.append(box(0, "grip"));
  if (mark.p !== undefined) group.append(box(mark.kind === "link" ? 3 : 6, "fill"));
  if (mark.kind !== "link" && mark.kind !== "wrong") group.append(box(3, "frame"));
  if (mark.kind === "wrong") {
    const [cx, cy] = [x + cell / 2, y + cell / 2];
    group.append(bitweft.draw("path", { class: "cross", d: `M${cx - 4} ${cy - 4}l8 8m0 -8l-8 8` }));
  }
  return group;
};

bitweft.labelPlace = (side, at, { left, top, cell }) => {
  const middle = (at + 0.5) * cell;
  return side === "source"
    ? { x: left - 8, y: top + middle, dy: ".35em", "text-anchor": "end" }
    : { transform: `translate(${left + middle} ${top - 8}) rotate(-45)`, dy: ".3em" };
};
