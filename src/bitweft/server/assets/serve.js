// The page of `bitweft serve`: two fields, the links of what stands in them, and what else the model thought of.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

bitweft.PAUSE = 120; // milliseconds without a key before the server is asked
bitweft.MOST = 6; // alternatives a word
bitweft.LEAST = 0.01; // the probability below which they are left out, but for the best two

bitweft.NONE = "no partner";

bitweft.Desk = class {
  constructor() {
    this.at = (id) => document.getElementById(id);
    this.state = { matrix: false, answer: null, chosen: null };
    this.stage = new bitweft.Stage(this.at("stage"), { lit: (seed) => this.read(seed) });
    this.listen();
    this.introduce();
    this.ask();
  }

  listen() {
    const on = (id, type, act) => this.at(id).addEventListener(type, act);
    for (const id of ["source", "target"]) on(id, "input", () => this.soon());
    on("tokenize", "input", () => this.ask());
    on("as-links", "click", () => this.turn(false));
    on("as-matrix", "click", () => this.turn(true));
    on("copy-pharaoh", "click", () => this.copy("pharaoh"));
    on("copy-json", "click", () => this.copy("json"));
    on("theme", "click", bitweft.turnTheme);
    on("ask", "click", () => this.at("help").showModal());
    on("close", "click", () => this.escape());
    on("stage", "click", (event) => this.choose(event.target.closest(".word")?.dataset));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  // Say which model this is.
  async introduce() {
    try {
      const model = await (await fetch("model")).json();
      this.at("model").textContent = model.name;
      document.title = `${model.name} – bitweft`;
      const words = model.sizes;
      const count = (number) => number.toLocaleString("en");
      const named = [`recipe ${model.recipe}`, `${count(words.source_words)} and ${count(words.target_words)} words`];
      if (model.note) named.push(model.note);
      this.at("note").textContent = named.join(" · ");
      if (model.languages) {
        [this.at("source-name").textContent, this.at("target-name").textContent] = model.languages;
      }
      if (model.tokenize === "char") this.at("tokenize").value = "char";
    } catch {
      this.at("note").textContent = "the server does not answer";
    }
  }

  // Ask when the typing pauses; an answer to what stood there before comes too late.
  soon() {
    this.drop();
    this.timer = setTimeout(() => this.ask(), bitweft.PAUSE);
  }

  drop() {
    clearTimeout(this.timer);
    this.asked?.abort();
    this.asked = null;
    this.busy(true);
  }

  // Say whether what is shown is yet to follow what was typed.
  busy(so) {
    this.stage.root.setAttribute("aria-busy", String(so));
  }

  async ask() {
    this.drop();
    const [source, target] = ["source", "target"].map((id) => this.at(id).value);
    if (!source.trim() || !target.trim()) {
      const half = source.trim() || target.trim();
      return this.say(half ? "The other sentence is missing." : "Type a sentence and its translation: the links appear as you type.");
    }
    const asked = (this.asked = new AbortController());
    try {
      const question = { source, target, tokenize: this.at("tokenize").value, alternatives: bitweft.MOST };
      const reply = await fetch("align", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question), signal: asked.signal,
      });
      const answer = await reply.json();
      if (this.asked !== asked) return;
      if (reply.ok) this.show(answer);
      else this.say(answer.detail, { fault: true });
    } catch (error) {
      if (this.asked === asked) this.say("The server does not answer. Is it still running?", { fault: true });
    }
  }

  say(text, { fault = false } = {}) {
    this.busy(false);
    this.state.answer = null;
    this.stage.say(text);
    this.stage.root.firstChild.classList.toggle("fault", fault);
    this.at("spoken").textContent = fault ? text : "";
    this.choose(null);
    for (const id of ["numbers", "legend", "readout"]) this.at(id).replaceChildren();
    for (const id of ["copy-pharaoh", "copy-json"]) this.at(id).disabled = true;
  }

  show(answer) {
    const side = ({ text, tokens }) => ({ text, words: tokens });
    this.busy(false);
    this.state.answer = answer;
    this.pair = bitweft.makePair(side(answer.source), side(answer.target), answer.links);
    this.choose(null);
    this.paint({ keep: false });
    const { links } = answer;
    const loose = [answer.source.unaligned.length, answer.target.unaligned.length];
    const items = [["Links", links.length], ["Unaligned", `${loose[0]} + ${loose[1]}`]];
    const mass = links.reduce((sum, link) => sum + (link[2] ?? 0), 0);
    if (this.pair.scored) items.push(["Mean probability", bitweft.percent(mass / links.length)]);
    if (answer.score !== null) items.push(["Score", answer.score.toFixed(2)]);
    bitweft.fillNumbers(this.at("numbers"), items);
    this.at("spoken").textContent = `${links.length} links, ${loose[0] + loose[1]} words without a link`;
    for (const id of ["copy-pharaoh", "copy-json"]) this.at(id).disabled = false;
  }

  paint({ keep = true } = {}) {
    if (!this.state.answer) return;
    const { matrix } = this.state;
    this.stage.show(this.pair, bitweft.shown(this.pair, { threshold: 0 }), { matrix, keep });
    bitweft.fillLegend(this.at("legend"), { scored: this.pair.scored, matrix });
  }

  read(seed) {
    const line = this.at("readout");
    bitweft.fillReadout(line, this.stage.pair, this.stage.marks, seed);
    if (!seed && this.state.answer?.alternatives) line.textContent = "Point at a word to see its partners; click it to see what else they might be.";
  }

  // Show the alternatives of a word that was clicked; none if it was so before, or if it is no word.
  choose(word) {
    const { chosen, answer } = this.state;
    const now = word?.side ? { side: word.side, at: Number(word.at) } : null;
    const same = now && chosen && now.side === chosen.side && now.at === chosen.at;
    this.state.chosen = same ? null : now;
    const panel = this.at("alternatives");
    panel.hidden = !this.state.chosen || !answer?.alternatives;
    if (panel.hidden) return;
    this.list(now, answer.alternatives[now.side][now.at]);
    this.word(now).scrollIntoView({ block: "nearest" });
  }

  list({ side, at }, { null: none, partners }) {
    const other = side === "source" ? "target" : "source";
    const words = this.pair[other].words;
    const linked = new Set(this.pair.links.filter((link) => (side === "source" ? link.s : link.t) === at)
      .map((link) => (side === "source" ? link.t : link.s)));
    const name = bitweft.make("b", { dir: "auto" }, this.pair[side].words[at]);
    const tail = bitweft.make("span", { class: "tail" }, ": how probable each link is");
    this.at("alternatives-title").replaceChildren("Partners of ", name, tail);
    const rows = partners.map(([k, p]) => ({ k, p })).filter(({ p }, rank) => rank < 2 || p >= bitweft.LEAST);
    rows.push({ k: null, p: none });
    rows.sort((a, b) => b.p - a.p);
    const said = rows.map(({ k, p }) => `${k === null ? bitweft.NONE : words[k]} ${bitweft.percent(p)}`);
    this.at("spoken").textContent = `${this.pair[side].words[at]}: ${said.join(", ")}`;
    this.at("partners").replaceChildren(...rows.map(({ k, p }) => {
      const twice = k !== null && words.filter((word) => word === words[k]).length > 1;
      const term = bitweft.make("span", { class: "term", dir: "auto" }, k === null ? bitweft.NONE : words[k]);
      if (twice) term.append(bitweft.make("sub", {}, String(k + 1)));
      const fill = bitweft.make("i");
      fill.style.setProperty("--p", p);
      const bar = bitweft.make("span", { class: "bar", "aria-hidden": "true" }, fill);
      const chance = bitweft.make("span", { class: "chance" }, p > 0 && p < 0.005 ? "< 1 %" : bitweft.percent(p));
      return bitweft.make("li", {}, this.row(k, other, { side, at }, linked.has(k), [term, bar, chance]));
    }));
  }

  // A row that leads to the word it names.
  row(k, side, from, linked, parts) {
    if (k === null) return bitweft.make("div", { class: "partner" }, ...parts);
    const row = bitweft.make("button", { type: "button", class: linked ? "partner linked" : "partner" }, ...parts);
    const light = (seed) => this.stage.light(seed);
    row.addEventListener("pointerenter", () => light({ side, at: k }));
    row.addEventListener("pointerleave", () => light(from));
    row.addEventListener("focus", () => light({ side, at: k }));
    row.addEventListener("blur", () => this.state.chosen && light(from));
    row.addEventListener("click", () => {
      this.word({ side, at: k }).dispatchEvent(new MouseEvent("click", { bubbles: true }));
      this.at("partners").querySelector("button")?.focus({ preventScroll: true });
    });
    return row;
  }

  word({ side, at }) {
    return this.at("stage").querySelector(`.word[data-side=${side}][data-at="${at}"]`);
  }

  turn(matrix) {
    this.state.matrix = matrix;
    this.at("as-links").setAttribute("aria-pressed", !matrix);
    this.at("as-matrix").setAttribute("aria-pressed", matrix);
    this.paint();
  }

  // The links as text: a Pharaoh line, or a line of the JSON that every verb of bitweft reads.
  written(format) {
    const { source, target, links, score, pharaoh } = this.state.answer;
    if (format === "pharaoh") return pharaoh;
    const line = { src: source.text, tgt: target.text, links, score, src_spans: source.spans, tgt_spans: target.spans };
    if (score === null) delete line.score;
    return JSON.stringify(line);
  }

  async copy(format) {
    if (!this.state.answer) return;
    const text = this.written(format);
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      this.copyOldWay(text); // a page that did not come from this machine may not use the clipboard
    }
    const button = this.at(`copy-${format}`);
    button.classList.add("done");
    this.at("spoken").textContent = `Copied ${text}`;
    clearTimeout(button.timer);
    button.timer = setTimeout(() => button.classList.remove("done"), 1500);
  }

  copyOldWay(text) {
    const field = bitweft.make("textarea", { class: "unseen" });
    const before = document.activeElement;
    document.body.append(field);
    field.value = text;
    field.select();
    document.execCommand("copy");
    field.remove();
    before?.focus();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.at("help").open) return;
    if (event.key === "Escape") this.escape();
    if (event.target.closest("textarea, select")) return;
    const acts = {
      v: () => this.turn(!this.state.matrix),
      t: bitweft.turnTheme,
      w: () => this.stage.focus(),
      p: () => this.copy("pharaoh"),
      j: () => this.copy("json"),
      "/": () => this.at("source").select(),
      "?": () => this.at("help").showModal(),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  escape() {
    if (document.activeElement?.localName === "textarea") document.activeElement.blur();
    this.choose(null);
    this.stage.release();
  }
};

bitweft.desk = new bitweft.Desk();
