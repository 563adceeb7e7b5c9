// The hand: what clicks, drags, taps and keys do to the links of the pair that is drawn.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

bitweft.FAR = 6; // pixels a pointer moves before it drags
bitweft.PRESS = 350; // milliseconds a finger rests before it drags: sooner, it scrolls

bitweft.DROPS = ["Delete", "Backspace"]; // keys that take a link away

// A link's next kind: no link, sure, possible, no link; or straight to possible and back.
bitweft.nextKind = (kind, possible) =>
  possible ? (kind === "possible" ? "none" : "possible") : { none: "sure", sure: "possible", possible: "none" }[kind];

// `kindAt(s, t)` tells a link's kind, `set(changes)` makes changes [[s, t, kind], …].
bitweft.Hand = class {
  #drag = null;
  #skip = false; // the click that ends a drag is no click
  cursor = { s: 0, t: 0 };
  #corner = null; // where a block of cells begins

  constructor(stage, { kindAt, set }) {
    Object.assign(this, { stage, kindAt, set });
    const root = stage.root;
    root.classList.add("editing");
    root.addEventListener("click", (event) => this.#click(event), { capture: true });
    root.addEventListener("keydown", (event) => this.#key(event), { capture: true });
    root.addEventListener("pointerdown", (event) => this.#down(event));
    addEventListener("pointermove", (event) => this.#move(event));
    addEventListener("pointerup", (event) => this.#up(event));
    addEventListener("pointercancel", () => this.#end());
    const held = (event) => {
      const resting = Boolean(this.#drag?.touch);
      if (resting && this.#drag.armed) event.preventDefault(); // no scrolling, no menu
      return resting;
    };
    root.addEventListener("touchmove", held, { passive: false });
    root.addEventListener("contextmenu", (event) => held(event) || this.#drop(event));
  }

  // A pair was drawn: lay the board over the cells of a matrix, and the cursor on it.
  dress() {
    const body = this.stage.root.querySelector(".sheet.body");
    this.dressWords();
    if (!body) return;
    const [n, m] = this.#sizes();
    const cell = Number(body.dataset.cell);
    this.cursor = { s: Math.min(this.cursor.s, n - 1), t: Math.min(this.cursor.t, m - 1) };
    body.append(bitweft.draw("rect", { class: "board", x: 0, y: 0, width: m * cell, height: n * cell }),
      bitweft.draw("rect", { class: "cursor", tabindex: 0, role: "button" }));
    this.#place();
  }

  // The word that the next click links from.
  dressWords() {
    const held = this.stage.holds;
    for (const word of this.stage.root.querySelectorAll(".word")) {
      word.classList.toggle("anchor", held?.side === word.dataset.side && held.at === Number(word.dataset.at));
    }
  }

  focus() {
    (this.stage.root.querySelector(".cursor") ?? this.stage.root.querySelector(".word[tabindex='0']"))?.focus({ preventScroll: false });
  }

  #sizes() {
    return [this.stage.pair.source.words.length, this.stage.pair.target.words.length];
  }

  #seat(event) {
    const body = this.stage.root.querySelector(".sheet.body");
    if (!body || !event.target.closest?.(".board")) return null;
    const box = body.getBoundingClientRect();
    const cell = Number(body.dataset.cell);
    const [n, m] = this.#sizes();
    const within = (at, size) => Math.max(0, Math.min(size - 1, Math.floor(at / cell)));
    return { s: within(event.clientY - box.top, n), t: within(event.clientX - box.left, m) };
  }

  #turn(s, t, possible) {
    this.set([[s, t, bitweft.nextKind(this.kindAt(s, t), possible)]]);
  }

  // The other button of the mouse takes a link away at once.
  #drop(event) {
    const { s, t } = this.#seat(event) ?? event.target.closest?.("[data-s]")?.dataset ?? {};
    if (s === undefined || this.kindAt(s, t) === "none") return;
    event.preventDefault();
    this.set([[Number(s), Number(t), "none"]]);
  }

  // A word while one of the other side is held: their link. A thread or a cell: its link.
  #click(event) {
    if (this.#skip) {
      this.#skip = false;
      event.stopPropagation();
      return;
    }
    const seat = this.#seat(event);
    const link = event.target.closest?.("[data-s]")?.dataset;
    const word = event.target.closest?.(".word")?.dataset;
    const held = this.stage.holds;
    if (seat) {
      this.cursor = seat;
      this.#turn(seat.s, seat.t, event.shiftKey);
    } else if (link) this.#turn(Number(link.s), Number(link.t), event.shiftKey);
    else if (word && held?.side && held.side !== word.side) this.#join(held, word, event.shiftKey);
    else return;
    event.stopPropagation();
  }

  // The positions [s, t] of two words of different sides.
  #link(one, other) {
    return (one.side === "source" ? [one.at, other.at] : [other.at, one.at]).map(Number);
  }

  #join(one, other, possible) {
    this.#turn(...this.#link(one, other), possible);
  }

  #down(event) {
    if (event.button !== 0) return;
    this.#end();
    this.#skip = false;
    const word = event.target.closest?.(".word");
    const seat = this.#seat(event);
    if (!word && !seat) return;
    this.#drag = { x: event.clientX, y: event.clientY, seat, word: word?.dataset, far: false, possible: event.shiftKey };
    const touch = event.pointerType === "touch";
    Object.assign(this.#drag, { touch, armed: !touch, timer: touch ? setTimeout(() => this.#arm(), bitweft.PRESS) : 0 });
    if (word) event.target.releasePointerCapture?.(event.pointerId);
  }

  // The finger has rested: what it does now is a drag.
  #arm() {
    this.#drag.armed = true;
    this.stage.root.classList.add("dragging");
    if (this.#drag.seat) Object.assign(this, { cursor: this.#drag.seat });
    this.#place();
  }

  #move(event) {
    const drag = this.#drag;
    if (!drag) return;
    if (!drag.far && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < bitweft.FAR) return;
    if (!drag.armed) return this.#end();
    if (drag.seat) {
      const seat = this.#seat(event) ?? drag.end ?? drag.seat;
      drag.far = seat.s !== drag.seat.s || seat.t !== drag.seat.t || drag.far;
      drag.end = seat;
      this.#corner = drag.seat;
      this.cursor = seat;
      this.#place();
      return;
    }
    drag.far = true;
    this.#rubber(event);
  }

  #rubber(event) {
    const svg = this.stage.root.querySelector("svg.threads");
    if (!svg) return;
    const box = svg.getBoundingClientRect();
    const { x, y } = this.#drag;
    const line = { x1: x - box.left, y1: y - box.top, x2: event.clientX - box.left, y2: event.clientY - box.top };
    const drawn = svg.querySelector(".rubber") ?? svg.appendChild(bitweft.draw("line", { class: "rubber" }));
    bitweft.set(drawn, line);
  }

  #up(event) {
    const drag = this.#drag;
    this.#end();
    if (!drag?.far) return;
    this.#skip = true;
    setTimeout(() => (this.#skip = false)); // a drag that ends elsewhere has no click
    if (drag.seat) this.#fill(drag.seat, drag.end, drag.possible);
    else {
      const word = document.elementFromPoint(event.clientX, event.clientY)?.closest?.(".word")?.dataset;
      if (word && word.side !== drag.word.side) this.#join(drag.word, word, drag.possible);
    }
  }

  #end() {
    clearTimeout(this.#drag?.timer);
    this.stage.root.classList.remove("dragging");
    this.#drag = null;
    this.#corner = null;
    this.stage.root.querySelector(".rubber")?.remove();
    if (this.stage.pair) this.#place();
  }

  // A block: all of it linked, or none of it if all of it was.
  #fill(from, to, possible) {
    const kind = possible ? "possible" : "sure";
    const cells = this.#cells(from, to);
    const full = cells.every(([s, t]) => this.kindAt(s, t) === kind);
    this.set(cells.map(([s, t]) => [s, t, full ? "none" : kind]));
  }

  #cells(from, to) {
    const cells = [];
    for (let s = Math.min(from.s, to.s); s <= Math.max(from.s, to.s); s++) {
      for (let t = Math.min(from.t, to.t); t <= Math.max(from.t, to.t); t++) cells.push([s, t]);
    }
    return cells;
  }

  #place() {
    const body = this.stage.root.querySelector(".sheet.body");
    const mark = body?.querySelector(".cursor");
    if (!mark) return;
    const cell = Number(body.dataset.cell);
    const { s, t } = this.cursor;
    bitweft.set(mark, { x: t * cell, y: s * cell, width: cell, height: cell, "aria-label": this.#spoken() });
    body.querySelector(".block")?.remove();
    const from = this.#corner;
    if (!from) return;
    const [top, left] = [Math.min(from.s, s), Math.min(from.t, t)];
    const size = { width: (Math.abs(from.t - t) + 1) * cell, height: (Math.abs(from.s - s) + 1) * cell };
    body.insertBefore(bitweft.draw("rect", { class: "block", x: left * cell, y: top * cell, ...size }), mark);
  }

  #spoken() {
    const { source, target } = this.stage.pair;
    const kind = this.kindAt(this.cursor.s, this.cursor.t);
    return `${source.words[this.cursor.s]} – ${target.words[this.cursor.t]}: ${kind === "none" ? "no link" : kind}`;
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest(".cursor")) return this.#cursorKey(event);
    const [held, word] = [this.stage.holds, event.target.closest(".word")?.dataset];
    const drops = bitweft.DROPS.includes(event.key);
    if (!word || !(drops || (event.key === "Enter" && event.shiftKey))) return;
    event.preventDefault();
    event.stopPropagation();
    if (!held?.side || held.side === word.side) return;
    if (drops) this.set([[...this.#link(held, word), "none"]]);
    else this.#join(held, word, true);
  }

  #cursorKey(event) {
    const [n, m] = this.#sizes();
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (step) {
      if (!event.shiftKey) this.#corner = null;
      else this.#corner ??= { ...this.cursor };
      this.cursor = {
        s: Math.max(0, Math.min(n - 1, this.cursor.s + step[0])), t: Math.max(0, Math.min(m - 1, this.cursor.t + step[1])),
      };
      this.#place();
      this.stage.light({ mark: this.cursor });
      this.stage.root.querySelector(".cursor").scrollIntoView({ block: "nearest", inline: "nearest" });
    } else if (event.key === "Enter" || event.key === " ") {
      const corner = this.#corner;
      this.#corner = null;
      if (corner) this.#fill(corner, this.cursor, event.shiftKey);
      else this.#turn(this.cursor.s, this.cursor.t, event.shiftKey);
    } else if (bitweft.DROPS.includes(event.key)) {
      const cells = this.#cells(this.#corner ?? this.cursor, this.cursor);
      this.#corner = null;
      this.set(cells.map(([s, t]) => [s, t, "none"]));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
};
