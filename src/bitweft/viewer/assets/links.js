// The link view: two rows of words and a thread for every link; bands of rows where the sentences are
// long, two columns where the screen is narrow. A link from one band to another would run through the words
// between: it has a stub at each end, and is drawn whole while it is lit.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

bitweft.NARROW = 560;
bitweft.GAP = 6;

bitweft.drawLinks = (root, pair, marks) => {
  const field = bitweft.make("div", { class: "field links" });
  root.replaceChildren(field);
  const at = bitweft.byWord(pair, marks);
  const words = { source: bitweft.wordButtons(pair, at, "source"), target: bitweft.wordButtons(pair, at, "target") };
  const upright = root.clientWidth >= bitweft.NARROW;
  field.classList.add(upright ? "rows" : "columns");
  if (upright) bitweft.placeRows(field, pair, marks, words);
  else {
    for (const side of ["source", "target"]) {
      field.append(bitweft.make("div", { class: `line ${side}` }, ...words[side]));
    }
  }
  const threads = bitweft.draw("svg", { class: "threads", "aria-hidden": "true" });
  field.prepend(threads);
  const frame = field.getBoundingClientRect();
  bitweft.set(threads, { width: frame.width, height: frame.height, viewBox: `0 0 ${frame.width} ${frame.height}` });
  const boxes = {};
  for (const side of ["source", "target"]) {
    boxes[side] = words[side].map((word) => {
      const box = word.getBoundingClientRect();
      return { left: box.left - frame.left, right: box.right - frame.left, top: box.top - frame.top,
        bottom: box.bottom - frame.top, x: (box.left + box.right) / 2 - frame.left,
        y: (box.top + box.bottom) / 2 - frame.top, band: word.parentNode.dataset.band };
    });
  }
  for (const mark of marks) {
    threads.append(...bitweft.thread(boxes.source[mark.s], boxes.target[mark.t], mark, upright));
  }
};

bitweft.wordButtons = (pair, marks, side) =>
  pair[side].words.map((word, at) =>
    bitweft.make("button", { type: "button", dir: "auto", ...bitweft.wordLook(pair, marks[side][at], side, at) }, word));

bitweft.placeRows = (field, pair, marks, words) => {
  const measure = bitweft.make("div", { class: "line measure" }, ...words.source, ...words.target);
  field.append(measure);
  const widths = (side) => words[side].map((word) => word.getBoundingClientRect().width);
  const made = marks.filter((mark) => mark.p !== undefined);
  const bands = bitweft.bands(widths("source"), widths("target"), made, field.clientWidth, bitweft.GAP);
  measure.remove();
  field.classList.toggle("long", bands.length > 1);
  bands.forEach(([s, s2, t, t2], band) => {
    for (const [side, from, to] of [["source", s, s2], ["target", t, t2]]) {
      const line = bitweft.make("div", { class: `line ${side}`, dir: bitweft.direction(pair[side].words), "data-band": band });
      line.append(...words[side].slice(from, to));
      field.append(line);
    }
  });
  bitweft.spread(field, words, marks);
};

// Room between two rows: the further a link runs sideways, the higher the rows stand apart.
bitweft.spread = (field, words, marks) => {
  const middle = (word) => word.offsetLeft + word.offsetWidth / 2;
  const reach = new Map();
  for (const mark of marks) {
    const [a, b] = [words.source[mark.s], words.target[mark.t]];
    if (a.parentNode.dataset.band !== b.parentNode.dataset.band) continue;
    const far = Math.abs(middle(a) - middle(b));
    reach.set(b.parentNode, Math.max(far, reach.get(b.parentNode) ?? 0));
  }
  const least = field.classList.contains("long") ? 64 : 88;
  for (const line of field.querySelectorAll(".line.target")) {
    line.style.marginTop = `${Math.round(Math.min(150, least + 0.2 * (reach.get(line) ?? 0)))}px`;
  }
};

bitweft.thread = (a, b, mark, upright) => {
  let [x1, y1, x2, y2] = [a.right, a.y, b.left, b.y];
  if (upright) {
    const down = b.top > a.bottom;
    [x1, y1, x2, y2] = [a.x, down ? a.bottom : a.top, b.x, down ? b.top : b.bottom];
  }
  const [cx, cy] = [(x1 + x2) / 2, (y1 + y2) / 2];
  const path = upright ? `M${x1} ${y1}C${x1} ${cy} ${x2} ${cy} ${x2} ${y2}` : `M${x1} ${y1}C${cx} ${y1} ${cx} ${y2} ${x2} ${y2}`;
  const far = upright && a.band !== b.band ? " far" : "";
  const place = { "data-s": mark.s, "data-t": mark.t };
  const line = bitweft.draw("path", { class: `thread ${mark.kind}${far}`, d: path, ...place });
  line.style.setProperty("--p", mark.p ?? 1);
  if (far) return [line, ...bitweft.stubs(a, b, mark, place)];
  const drawn = [bitweft.draw("path", { class: "grip", d: path, ...place }), line];
  if (mark.kind === "wrong") {
    drawn.push(bitweft.draw("path", { class: "sign wrong", d: `M${cx - 5} ${cy - 5}l10 10m0 -10l-10 10`, ...place }));
  } else if (mark.kind === "missed") {
    drawn.push(bitweft.draw("circle", { class: "sign missed", cx, cy, r: 5, ...place }));
  }
  return drawn;
};

bitweft.STUB = 14;

bitweft.stubs = (a, b, mark, place) =>
  [[a.x, a.bottom, 1, Math.sign(b.x - a.x)], [b.x, b.top, -1, Math.sign(a.x - b.x)]].flatMap(([x, y, down, aside]) => {
    const path = `M${x} ${y}q0 ${0.7 * down * bitweft.STUB} ${5 * aside} ${down * bitweft.STUB}`;
    const stub = bitweft.draw("path", { class: `stub ${mark.kind}`, d: path, ...place });
    stub.style.setProperty("--p", mark.p ?? 1);
    const knot = bitweft.draw("circle", { class: `knot ${mark.kind}`, cx: x + 5 * aside, cy: y + down * bitweft.STUB, r: 2.6, ...place });
    return [bitweft.draw("path", { class: "grip", d: path, ...place }), stub, knot];
  });
