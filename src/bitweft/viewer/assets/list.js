// A list that holds as many rows as the screen shows, however many there are.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

bitweft.VirtualList = class {
  #items = [];
  #rows = new Map();
  #chosen = -1;

  constructor(root, { height, fill, choose }) {
    Object.assign(this, { root, height, fill, choose });
    this.track = bitweft.make("div", { class: "track", role: "presentation" });
    root.replaceChildren(this.track);
    root.addEventListener("scroll", () => this.refresh(), { passive: true });
    root.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (row) this.choose(Number(row.dataset.item));
    });
    root.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.refresh()).observe(root);
  }

  show(items, chosen) {
    this.#items = items;
    this.track.style.height = `${items.length * this.height}px`;
    this.#clear();
    this.mark(chosen);
  }

  get items() {
    return this.#items;
  }

  // Fill the rows anew: the numbers in them have changed.
  renew() {
    this.#clear();
    this.refresh();
  }

  mark(item) {
    this.#chosen = item;
    const at = this.#items.indexOf(item);
    if (at >= 0) {
      const [top, bottom] = [at * this.height, (at + 1) * this.height];
      const { scrollTop, clientHeight } = this.root;
      if (top < scrollTop) this.root.scrollTop = top;
      else if (bottom > scrollTop + clientHeight) this.root.scrollTop = bottom - clientHeight;
    }
    this.refresh();
  }

  // The item that many places after the chosen one, or the nearest there is.
  after(step) {
    const at = this.#items.indexOf(this.#chosen);
    if (at < 0) return this.#items[0];
    return this.#items[Math.max(0, Math.min(this.#items.length - 1, at + step))];
  }

  // The next item after the chosen one, around the end, that passes a test; undefined if none does.
  following(test) {
    const at = this.#items.indexOf(this.#chosen);
    return [...this.#items.slice(at + 1), ...this.#items.slice(0, Math.max(at, 0))].find(test);
  }

  refresh() {
    const first = Math.max(0, Math.floor(this.root.scrollTop / this.height) - 4);
    const last = Math.min(this.#items.length, Math.ceil((this.root.scrollTop + this.root.clientHeight) / this.height) + 4);
    for (const [at, row] of this.#rows) {
      if (at >= first && at < last) continue;
      row.remove();
      this.#rows.delete(at);
    }
    for (let at = first; at < last; at++) {
      if (!this.#rows.has(at)) this.#rows.set(at, this.track.appendChild(this.#row(at)));
      const chosen = this.#items[at] === this.#chosen;
      this.#rows.get(at).setAttribute("aria-selected", chosen);
      if (chosen) this.root.setAttribute("aria-activedescendant", `row-${at}`);
    }
  }

  #clear() {
    for (const row of this.#rows.values()) row.remove();
    this.#rows.clear();
    this.root.removeAttribute("aria-activedescendant");
  }

  #row(at) {
    const row = bitweft.make("div", {
      role: "option", id: `row-${at}`, "data-item": this.#items[at],
      "aria-posinset": at + 1, "aria-setsize": this.#items.length,
    });
    row.style.transform = `translateY(${at * this.height}px)`;
    row.style.height = `${this.height}px`;
    this.fill(row, this.#items[at]);
    return row;
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.root.clientHeight / this.height) - 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey || !this.#items.length) return;
    event.preventDefault();
    this.choose(this.after(step));
  }
};
