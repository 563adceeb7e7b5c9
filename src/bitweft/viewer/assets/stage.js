// The stage: an element that shows one pair, and lights words and their partners as one points at them, taps
// them, or walks along them with the arrow keys. Any page can have one.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

bitweft.Stage = class {
  #held = null;
  #width = 0;

  // `lit` is called with what is lit, `held` with what a click holds: {side, at}, {mark: {s, t}} or null;
  // `drawn` whenever the pair was drawn.
  constructor(root, { lit = () => {}, held = () => {}, drawn = () => {} } = {}) {
    Object.assign(this, { root, lit, held, drawn });
    this.pair = null;
    root.addEventListener("pointerover", (event) => {
      if (event.pointerType === "mouse") this.light(this.#seed(event.target) ?? this.#held);
    });
    root.addEventListener("pointerleave", () => this.light(this.#held));
    root.addEventListener("focusin", (event) => this.#seed(event.target) && this.light(this.#seed(event.target)));
    root.addEventListener("focusout", () => this.light(this.#held));
    root.addEventListener("click", (event) => this.#click(event));
    root.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => Math.abs(root.clientWidth - this.#width) >= 1 && this.#draw()).observe(root);
  }

  // Draw a pair; `marks` is what bitweft.shown gives, `hits` the words of either side that were searched for.
  // The same pair again keeps the word that is held.
  show(pair, marks, { matrix = false, fit = false, keep = false, hits = null } = {}) {
    Object.assign(this, { pair, marks, matrix, fit, hits });
    if (!keep) this.#hold(null);
    this.#draw();
  }

  // Say something instead of drawing a pair.
  say(text) {
    this.pair = null;
    this.root.replaceChildren(bitweft.make("p", { class: "empty" }, text));
  }

  release() {
    this.#hold(null);
    this.light(null);
  }

  #hold(seed) {
    const other = JSON.stringify(seed) !== JSON.stringify(this.#held);
    this.#held = seed;
    if (other) this.held(seed);
  }

  light(seed) {
    if (!this.pair) return;
    bitweft.light(this.root, this.marks, seed);
    this.lit(seed);
  }

  focus() {
    this.root.querySelector(".word[tabindex='0']")?.focus();
  }

  #draw() {
    this.#width = this.root.clientWidth;
    if (!this.pair) return;
    if (!this.pair.source.words.length && !this.pair.target.words.length) return this.say(bitweft.hint(this.pair));
    (this.matrix ? bitweft.drawMatrix : bitweft.drawLinks)(this.root, this.pair, this.marks, { fit: this.fit });
    for (const word of this.hits ? this.root.querySelectorAll(".word") : []) {
      word.classList.toggle("hit", this.hits[word.dataset.side].has(Number(word.dataset.at)));
    }
    this.drawn();
    this.light(this.#held);
  }

  // The word or link that is held.
  get holds() {
    return this.#held;
  }

  #seed(target) {
    const { side, at, s, t } = target.closest?.(".word, [data-s]")?.dataset ?? {};
    return side ? { side, at: Number(at) } : s ? { mark: { s: Number(s), t: Number(t) } } : null;
  }

  #click(event) {
    const now = this.#seed(event.target);
    const same = JSON.stringify(now) === JSON.stringify(this.#held);
    this.#hold(same ? null : now);
    this.light(this.#held);
  }

  // Arrow keys go along the words the way they run, and across to the first partner.
  #key(event) {
    const word = event.target.closest(".word");
    if (!word) return;
    // Words of the matrix are not buttons by nature: Enter and space hold them as a click does.
    if ((event.key === "Enter" || event.key === " ") && word.localName === "text") {
      event.preventDefault();
      word.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    }
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const { side } = word.dataset;
    const at = Number(word.dataset.at);
    const step = this.#step(event.key, side);
    const [here, there, other] = side === "source" ? ["s", "t", "target"] : ["t", "s", "source"];
    const sizes = [this.pair[side].words.length, this.pair[other].words.length];
    const partner = this.marks.find((mark) => mark[here] === at)?.[there] ?? Math.floor(((at + 0.5) / sizes[0]) * sizes[1]);
    this.#move(word, step ? side : other, step ? at + step : partner);
  }

  #step(key, side) {
    const columns = this.root.querySelector(".columns");
    if (this.matrix ? side === "source" : columns) return { ArrowUp: -1, ArrowDown: 1 }[key] ?? 0;
    const back = !this.matrix && bitweft.direction(this.pair[side].words) === "rtl" ? -1 : 1;
    return back * ({ ArrowLeft: -1, ArrowRight: 1 }[key] ?? 0);
  }

  #move(word, side, at) {
    const next = this.root.querySelector(`.word[data-side=${side}][data-at="${at}"]`);
    if (!next) return;
    word.setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  }
};
