// The matrix view: source words are rows, target words columns, a filled cell is a link, a framed cell is gold.
// Words stay in sight while a big matrix is scrolled; fitted, it is made as small as it takes to be seen whole.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

bitweft.LETTERS = { most: 16, least: 7 }; // pixels

bitweft.drawMatrix = (root, pair, marks, { fit = false } = {}) => {
  const field = bitweft.make("div", { class: fit ? "field matrix fitted" : "field matrix", tabindex: -1 });
  root.replaceChildren(field);
  const edge = bitweft.matrixEdge(root, field, pair, fit);
  const { n, m, cell, gutter, lean, letters, names } = edge;
  const sheet = (name, width, height) => bitweft.draw("svg", { class: `sheet ${name}`, width, height, viewBox: `0 0 ${width} ${height}` });
  const wide = m * cell + lean + 14;
  const sheets = { source: sheet("names", gutter, n * cell + 8), target: sheet("heads", wide, edge.head), body: sheet("body", wide, n * cell + 8) };
  field.append(sheet("corner", gutter, edge.head), sheets.target, sheets.source, sheets.body);
  sheets.body.setAttribute("data-cell", cell);
  sheets.body.append(bitweft.washes(edge), bitweft.ruling(edge));
  for (const mark of marks) sheets.body.append(bitweft.cell(mark, edge));
  const at = bitweft.byWord(pair, marks);
  for (const side of ["source", "target"]) {
    names[side].forEach((name, k) => {
      const look = bitweft.wordLook(pair, at[side][k], side, k);
      const text = bitweft.draw("text", { role: "button", ...look, ...bitweft.labelPlace(side, k, edge) }, name);
      text.style.fontSize = `${letters}px`;
      sheets[side].append(text);
    });
  }
};

// The measures of a matrix: cells that can be pointed at, or, fitted, as big as the screen allows.
bitweft.matrixEdge = (root, field, pair, fit) => {
  const [n, m] = [pair.source.words.length, pair.target.words.length];
  const ruler = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(field).fontFamily;
  const style = getComputedStyle(root);
  const width = root.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const height = fit ? Math.max(240, innerHeight - Math.max(0, root.getBoundingClientRect().top) - 60) : Infinity;
  const most = width < bitweft.NARROW ? 92 : 170;
  const measured = (letters) => {
    ruler.font = `${letters}px ${family}`;
    const cut = (word) => bitweft.fitted(word, (most * letters) / bitweft.LETTERS.most, ruler);
    const names = { source: pair.source.words.map(cut), target: pair.target.words.map(cut) };
    const longest = (side) => names[side].reduce((all, name) => Math.max(all, ruler.measureText(name).width), 0);
    const [gutter, lean] = [longest("source") + 18, Math.SQRT1_2 * longest("target")];
    const head = lean + letters + 10;
    const room = Math.min((width - gutter - lean - 16) / Math.max(m, 1), (height - head - 8) / Math.max(n, 1));
    return { names, letters, gutter, lean, head, room, n, m, left: 0, top: 0 };
  };
  let edge = measured(bitweft.LETTERS.most);
  if (!fit) return { ...edge, cell: Math.max(22, Math.min(36, Math.floor(edge.room))) };
  for (let letters = edge.letters - 1; letters >= bitweft.LETTERS.least && edge.room < 1.35 * edge.letters; letters--) edge = measured(letters);
  return { ...edge, cell: Math.max(3, Math.min(36, edge.room)) };
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

bitweft.FRAMED = new Set(["sure", "possible", "missed", "open", "both", "only-b"]);

bitweft.cell = (mark, { left, top, cell }) => {
  const [x, y] = [left + mark.t * cell, top + mark.s * cell];
  const scale = Math.min(1, cell / 22);
  const box = (inset, name) => {
    const side = cell - 2 * inset * scale;
    return bitweft.draw("rect", { class: name, x: x + inset * scale, y: y + inset * scale, width: side, height: side, rx: 3 * scale });
  };
  const group = bitweft.draw("g", { class: `cell ${mark.kind}`, "data-s": mark.s, "data-t": mark.t });
  group.style.setProperty("--p", mark.p ?? 1);
  group.append(box(0, "grip"));
  const framed = bitweft.FRAMED.has(mark.kind);
  if (mark.p !== undefined) group.append(box(framed || mark.kind === "wrong" ? 6 : 3, "fill"));
  if (framed) group.append(box(3, "frame"));
  if (mark.kind === "wrong") {
    const [cx, cy, arm] = [x + cell / 2, y + cell / 2, 4 * scale];
    group.append(bitweft.draw("path", { class: "cross", d: `M${cx - arm} ${cy - arm}l${2 * arm} ${2 * arm}m0 ${-2 * arm}l${-2 * arm} ${2 * arm}` }));
  }
  return group;
};

bitweft.labelPlace = (side, at, { gutter, head, cell }) => {
  const middle = (at + 0.5) * cell;
  return side === "source"
    ? { x: gutter - 8, y: middle, dy: ".35em", "text-anchor": "end" }
    : { transform: `translate(${middle} ${head - 6}) rotate(-45)`, dy: ".3em" };
};
