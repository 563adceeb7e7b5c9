// The page for editing: the viewer, with a hand, records that are saved, and a model that learns from them.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

bitweft.LOOK = 10000; // milliseconds between looks at what others have changed
bitweft.UNSURE = 0.85; // a link less probable than this is worth a look

bitweft.EditPage = class extends bitweft.Page {
  prepare(state) {
    Object.assign(this, { edit: state.about.edit, disputed: state.disputed, agreement: state.agreement });
    this.has = { learn: this.edit.learn, annotators: this.edit.annotators.length > 0 };
    this.rank(state.order);
    this.records = new bitweft.Records(state, {
      told: () => this.told(),
      changed: (k) => (this.list.renew(), k === this.state.k && this.paint(), this.told()),
    });
    document.title = `${this.edit.title} – bitweft edit`;
    document.querySelector("h1").textContent = this.edit.title;
    document.querySelector("h1 + .note").textContent = `${this.edit.note} · by ${this.edit.by}`;
    document.getElementById("order").value = "teach";
  }

  rank(order) {
    this.ranks = new Map(order.map((k, place) => [k, place]));
  }

  listen() {
    super.listen();
    this.hand = new bitweft.Hand(this.stage, { kindAt: (s, t) => this.kindAt(s, t), set: (changes) => this.say(bitweft.Record.linked(this.record(), changes)) });
    const on = (id, type, act) => this.control(id).addEventListener(type, act);
    on("progress", "input", () => this.soon("find"));
    on("undo", "click", () => this.back(this.records.undo()));
    on("redo", "click", () => this.back(this.records.redo()));
    on("accept", "click", () => this.accept());
    on("accept-all", "click", () => this.acceptAll());
    on("unsure", "click", () => this.nextUnsure());
    on("nolink", "click", () => this.free());
    on("done", "click", () => this.finish());
    on("comment", "change", () => this.comment());
    on("take-theirs", "click", () => this.resolve(false));
    on("keep-mine", "click", () => this.resolve(true));
    on("learn", "click", () => this.learn());
    setInterval(() => document.hidden || this.records.refresh(), bitweft.LOOK);
    document.addEventListener("visibilitychange", () => document.hidden || this.records.refresh());
    addEventListener("focus", () => this.records.refresh());
    addEventListener("beforeunload", (event) => {
      this.comment();
      if (this.records.unsaved) event.preventDefault();
    });
  }

  // What is said of the chosen pair; before anything is said, the suggestions from the threshold up.
  record(k = this.state.k) {
    return this.records.get(k) ?? this.suggested(k);
  }

  suggested(k, from = this.state.threshold) {
    const links = this.corpus.pair(k).links.filter(({ p }) => p >= from);
    return { links: new Map(links.map(({ s, t }) => [`${s}-${t}`, "sure"])), unlinked: [new Set(), new Set()], comment: "", done: false };
  }

  kindAt(s, t) {
    return this.record().links.get(`${s}-${t}`) ?? "none";
  }

  say(next) {
    const { k } = this.state;
    if (k < 0) return;
    const focus = document.activeElement?.closest?.("#stage .word, #stage .cursor");
    const place = focus && (focus.dataset.side ? `.word[data-side=${focus.dataset.side}][data-at="${focus.dataset.at}"]` : ".cursor");
    this.records.change(k, this.record(), next);
    this.list.renew();
    this.paint();
    if (place) this.stage.root.querySelector(place)?.focus({ preventScroll: true });
  }

  back(k) {
    if (k === undefined) return;
    this.list.renew();
    if (k !== this.state.k) this.choose(k);
    else this.paint();
  }

  accept() {
    const { comment, done } = this.record();
    this.say({ ...this.suggested(this.state.k), comment, done });
  }

  // The suggestions from the threshold up, for all pairs of the list of which nothing has been said.
  async acceptAll() {
    const pairs = this.list.items.filter((k) => !this.records.get(k));
    const threshold = this.state.threshold;
    const from = `the suggestions from ${threshold.toFixed(2)} up`;
    if (!pairs.length) this.at("readout").textContent = "All pairs of the list have been begun.";
    else if (confirm(`Accept ${from} in ${pairs.length.toLocaleString("en")} pairs that nobody has begun?`)) {
      const fault = await this.records.acceptAll(pairs, threshold);
      this.at("readout").textContent = fault ? `Nothing was accepted: ${fault}` : `Accepted ${from}.`;
      this.list.renew();
      this.paint();
    }
  }

  // The word that is held or has the focus has no link, on purpose – or again may have.
  free() {
    const word = document.activeElement?.closest?.("#stage .word")?.dataset ?? this.stage.holds;
    if (word?.side) this.say(bitweft.Record.freed(this.record(), word.side === "source" ? 0 : 1, Number(word.at)));
  }

  finish() {
    const record = this.record();
    this.say({ ...record, done: !record.done });
    if (record.done) return;
    const next = this.list.following((k) => !this.records.get(k)?.done);
    if (next !== undefined) this.choose(next);
  }

  comment() {
    const { k } = this.state;
    const text = this.at("comment").value;
    if (k >= 0 && text !== this.record().comment) this.say({ ...this.record(), comment: text });
  }

  resolve(mine) {
    this.records.settle(this.state.k, mine);
    this.list.renew();
    this.paint();
  }

  // Words to look at: with an improbable link, or with none and not on purpose.
  unsureWords() {
    const { pair } = this.stage;
    const { links, unlinked } = this.record();
    const least = { source: pair.source.words.map(() => 2), target: pair.target.words.map(() => 2) };
    const chance = new Map(pair.links.map(({ s, t, p }) => [`${s}-${t}`, p]));
    for (const key of links.keys()) {
      const [s, t] = key.split("-").map(Number);
      const p = this.records.get(this.state.k) ? 1 : chance.get(key) ?? 1;
      least.source[s] = Math.min(least.source[s], p);
      least.target[t] = Math.min(least.target[t], p);
    }
    return ["source", "target"].flatMap((side, i) => least[side].map((p, at) => ({ side, at, p }))
      .filter(({ at, p }) => (p === 2 ? !unlinked[i].has(at) : p < bitweft.UNSURE)));
  }

  nextUnsure() {
    if (!this.stage.pair) return;
    const words = this.unsureWords();
    const now = document.activeElement?.closest?.("#stage .word")?.dataset;
    const here = now ? words.findIndex(({ side, at }) => side === now.side && at === Number(now.at)) : -1;
    const place = (word) => (word.side === "target" ? 1e6 : 0) + Number(word.at);
    const next = here >= 0 ? words[(here + 1) % words.length] : words.find((word) => !now || place(word) > place(now)) ?? words[0];
    if (next) this.stage.root.querySelector(`.word[data-side=${next.side}][data-at="${next.at}"]`).focus();
    else this.at("readout").textContent = "No word of this pair is in doubt.";
  }

  // Where the order begins that is left to do.
  opening() {
    return [...this.ranks.keys()].find((k) => !this.records.get(k)?.done) ?? null;
  }

  hint(pair) {
    if (!pair.source.words.length || !pair.target.words.length) return bitweft.hint(pair);
    return this.state.matrix
      ? "Click a cell: sure, possible, no link. Drag over a block of cells."
      : "Click a word and then a word of the other side, or drag: sure, possible, no link. A click on a link does the same.";
  }

  kinds() {
    const own = [["sure", "sure"], ["possible", "possible"]];
    return this.edit.annotators.length ? [...own, ["open", "somebody says so"]] : own;
  }

  question() {
    const progress = this.at("progress").value;
    const holds = {
      any: () => true, open: (record) => !record?.done, done: (record) => record?.done,
      touched: (record) => record && !record.done, commented: (record) => record?.comment,
    }[progress];
    const also = progress === "disputed" ? (k) => this.disputed[k] : (k) => holds(this.records.get(k));
    const ranks = { teach: (k) => this.ranks.get(k), disputed: (k) => -(this.disputed[k]?.length ?? 0) };
    return { ...super.question(), also, ranks };
  }

  reset() {
    this.at("progress").value = "any";
    super.reset();
  }

  choose(k, options) {
    if (k !== this.state.k && this.state.k !== null) this.comment();
    super.choose(k, options);
  }

  marks(pair) {
    const marks = this.records.get(this.state.k) ? this.said() : super.marks(pair);
    const made = new Set(marks.map(({ s, t }) => `${s}-${t}`));
    const disputed = (this.disputed[this.state.k] ?? []).filter(([s, t]) => !made.has(`${s}-${t}`));
    return marks.concat(disputed.map(([s, t]) => ({ s, t, kind: "open", note: ", disputed" })));
  }

  said() {
    return [...this.record().links].map(([key, kind]) => {
      const [s, t] = key.split("-").map(Number);
      return { s, t, p: 1, kind };
    });
  }

  // Every stroke of the hand draws anew: what was said on purpose, the board, the panels.
  drawn() {
    if (!this.hand || this.state.k < 0) return;
    const { unlinked } = this.record();
    for (const word of this.stage.root.querySelectorAll(".word")) {
      const free = unlinked[word.dataset.side === "source" ? 0 : 1].has(Number(word.dataset.at));
      word.classList.toggle("purpose", free);
      if (free) word.setAttribute("aria-label", `${this.stage.pair[word.dataset.side].words[word.dataset.at]}: no link on purpose`);
    }
    this.hand.dress();
  }

  paint(options) {
    super.paint(options);
    this.told();
    if (this.state.k < 0) return;
    const record = this.record();
    this.at("comment").value = record.comment;
    this.at("done").setAttribute("aria-pressed", record.done);
    if (!this.stage.pair) return;
    bitweft.fillSettle(this.at("settle"), {
      pair: this.stage.pair, names: this.edit.annotators, disputed: this.disputed[this.state.k] ?? [], agreement: this.agreement,
      kindAt: (s, t) => (this.records.get(this.state.k) ? this.kindAt(s, t) : null), // nothing is settled yet
      set: (changes) => this.say(bitweft.Record.linked(this.record(), changes)),
      light: (seed) => this.stage.light(seed),
    });
  }

  concord(seed) {
    super.concord(seed);
    this.at("nolink").disabled = !seed?.side;
    if (this.stage?.pair && this.hand) this.hand.dressWords();
  }

  measure() {
    super.measure();
    this.progress();
  }

  progress() {
    const done = this.records.count((record) => record.done);
    const items = [["Pairs", this.corpus.size.toLocaleString("en")], ["Done", done.toLocaleString("en")]];
    bitweft.fillNumbers(this.at("totals"), items);
    const button = this.at("learn");
    if (!button) return;
    const few = done < this.edit.least;
    button.disabled = this.learning || few;
    this.at("least").textContent = few ? `when ${this.edit.least} pairs are done` : "";
  }

  numbers() {
    const record = this.record();
    const [sure, possible] = ["sure", "possible"].map((kind) => bitweft.Record.pairs(record, kind).length);
    const linked = [0, 1].map((side) => new Set([...record.links.keys()].map((key) => key.split("-")[side])).size);
    const pair = this.corpus.pair(this.state.k);
    const open = ["source", "target"].map((side, i) => pair[side].words.length - linked[i] - record.unlinked[i].size);
    bitweft.fillNumbers(this.at("numbers"), [
      ["Sure", sure], ["Possible", possible], ["Without a link", `${open[0]} + ${open[1]}`],
      ["On purpose", record.unlinked[0].size + record.unlinked[1].size],
    ]);
  }

  fillRow(row, k) {
    super.fillRow(row, k);
    const record = this.records.get(k);
    const badge = row.querySelector(".badge");
    const disputed = this.disputed[k]?.length;
    badge.textContent = record?.done ? "✓ done" : record ? "begun" : disputed ? `${disputed} disputed` : badge.textContent;
    badge.classList.toggle("done", Boolean(record?.done));
  }

  // Say how saving stands.
  told() {
    if (!this.state || this.state.k === null) return;
    const { failing, unsaved, conflicts } = this.records;
    const line = this.at("saved");
    line.classList.toggle("fault", Boolean(failing));
    line.textContent = failing ? `Not saved: ${failing}; trying again` : unsaved ? "Saving …" : this.records.known(this.state.k) ? "Saved" : "";
    this.at("undo").disabled = !this.records.undoable;
    this.at("redo").disabled = !this.records.redoable;
    const theirs = conflicts.get(this.state.k);
    this.at("conflict").hidden = !theirs;
    if (theirs) {
      const links = theirs.sure.length + theirs.possible.length;
      this.at("conflict-text").textContent = `This pair was changed elsewhere, by ${theirs.by} at ${new Date(theirs.at).toLocaleTimeString("en")}: ${links} links${theirs.done ? ", done" : ""}. What you see is yours, and not saved.`;
    }
    this.progress();
  }

  async learn() {
    this.learning = true;
    this.progress();
    this.at("lesson").textContent = "Learning …";
    try {
      const answer = await fetch("edit/learn", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
      const lesson = await answer.json();
      if (!answer.ok) throw new Error(lesson.detail);
      const percent = (share) => `${(100 * share).toFixed(1)} %`;
      this.at("lesson").textContent = `AER ${percent(lesson.before)} before, ${percent(lesson.after)} after, cross-validated on ${lesson.sentences} pairs (${lesson.chosen}). What is not done is suggested anew.`;
      this.renew(lesson);
    } catch (error) {
      this.at("lesson").textContent = `Nothing was learned: ${error.message}`;
    } finally {
      this.learning = false;
      this.progress();
    }
  }

  renew({ pairs, order }) {
    this.corpus = new bitweft.Corpus({ about: this.corpus.about, pairs });
    this.rank(order);
    this.least = this.corpus.scored ? Math.floor(100 * this.corpus.least) / 100 : 0;
    this.control("threshold").min = this.least;
    this.measure();
    this.find();
    this.paint();
  }

  key(event) {
    const typing = event.target.closest("input:not([type=range], [type=checkbox]), select, textarea");
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !typing) {
      const act = { z: event.shiftKey ? "redo" : "undo", y: "redo" }[event.key.toLowerCase()];
      if (!act) return;
      event.preventDefault();
      this.back(this.records[act]());
      return;
    }
    const acts = {
      a: () => this.accept(), d: () => this.finish(), u: () => this.nextUnsure(), x: () => this.free(),
      w: () => this.hand.focus(), m: () => this.at("comment").focus(),
    };
    const act = acts[event.key];
    if (typing || event.ctrlKey || event.metaKey || event.altKey || this.at("help").open || !act) {
      super.key(event);
      return;
    }
    event.preventDefault();
    act();
  }
};

bitweft.open = async () => {
  try {
    const answer = await fetch("edit/state");
    if (!answer.ok) throw new Error((await answer.json()).detail);
    bitweft.page = new bitweft.EditPage(await answer.json());
  } catch (error) {
    document.getElementById("stage").replaceChildren(bitweft.make("p", { class: "empty" }, `The text cannot be shown: ${error.message}`));
    throw error;
  }
};
bitweft.open();
