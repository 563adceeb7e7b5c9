// What is said of each pair: kept, changed, undone, and saved at once. Nothing is drawn here.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

bitweft.RETRY = 2000; // milliseconds until a server that did not answer is asked again
bitweft.UNTOUCHED = "untouched";

// A record is {links: Map of "s-t" to sure or possible, unlinked: [Set, Set], comment, done}: never changed,
// only followed by another.
bitweft.Record = {
  of({ sure, possible, unlinked, comment, done }) {
    const links = new Map([...possible.map(([s, t]) => [`${s}-${t}`, "possible"]), ...sure.map(([s, t]) => [`${s}-${t}`, "sure"])]);
    return { links, unlinked: unlinked.map((side) => new Set(side)), comment, done };
  },

  // With links set to kinds: [[s, t, sure, possible or none], …]. A word that gets a link is linked again.
  linked(record, changes) {
    const links = new Map(record.links);
    const unlinked = record.unlinked.map((side) => new Set(side));
    for (const [s, t, kind] of changes) {
      if (kind === "none") links.delete(`${s}-${t}`);
      else {
        links.set(`${s}-${t}`, kind);
        unlinked[0].delete(s);
        unlinked[1].delete(t);
      }
    }
    return { ...record, links, unlinked };
  },

  // With a word (side 0 or 1) that has no link on purpose, or no longer so.
  freed(record, side, at) {
    const unlinked = record.unlinked.map((each) => new Set(each));
    if (unlinked[side].delete(at)) return { ...record, unlinked };
    unlinked[side].add(at);
    const links = new Map([...record.links].filter(([key]) => Number(key.split("-")[side]) !== at));
    return { ...record, links, unlinked };
  },

  pairs(record, kind) {
    return [...record.links].filter(([, each]) => each === kind).map(([key]) => key.split("-").map(Number));
  },

  sent(record) {
    return {
      sure: this.pairs(record, "sure"), possible: this.pairs(record, "possible"),
      unlinked: { source: [...record.unlinked[0]], target: [...record.unlinked[1]] },
      comment: record.comment, done: record.done,
    };
  },
};

// `told` is called whenever something about saving has changed, `changed(k)` when others have changed a pair.
bitweft.Records = class {
  #said = new Map();
  #known = new Map(); // k: {version, by, at} of what the server has
  #waiting = new Set();
  #sending = new Set();
  #past = [];
  #future = [];

  constructor({ records, revision }, { told, changed }) {
    Object.assign(this, { revision, told, changed, conflicts: new Map(), failing: "" });
    for (const [k, record] of Object.entries(records)) this.#take(Number(k), record);
  }

  get(k) {
    return this.#said.get(k);
  }

  known(k) {
    return this.#known.get(k);
  }

  get undoable() {
    return this.#past.length > 0;
  }

  get redoable() {
    return this.#future.length > 0;
  }

  get unsaved() {
    return this.#waiting.size + this.#sending.size;
  }

  count(test) {
    return [...this.#said.values()].filter(test).length;
  }

  // Say something of pair k; `before` is what stood there, for undo.
  change(k, before, after) {
    this.#past.push({ k, before, after });
    this.#future = [];
    this.#put(k, after);
  }

  // Take the last change back, or make it again; the pair that was changed.
  undo() {
    return this.#step(this.#past, this.#future, "before");
  }

  redo() {
    return this.#step(this.#future, this.#past, "after");
  }

  #step(from, to, which) {
    const step = from.pop();
    if (!step) return undefined;
    to.push(step);
    this.#put(step.k, step[which]);
    return step.k;
  }

  #put(k, record) {
    this.#said.set(k, record);
    this.#waiting.add(k);
    this.told();
    this.#send(k);
  }

  #take(k, record) {
    this.#said.set(k, bitweft.Record.of(record));
    this.#known.set(k, { version: record.version, by: record.by, at: record.at });
  }

  // One request a pair at a time: the next one builds on the version that the last one gave.
  async #send(k) {
    if (this.#sending.has(k) || !this.#waiting.has(k) || this.conflicts.has(k)) return;
    this.#waiting.delete(k);
    this.#sending.add(k);
    const version = this.#known.get(k)?.version ?? bitweft.UNTOUCHED;
    try {
      const body = JSON.stringify({ pair: k, version, ...bitweft.Record.sent(this.#said.get(k)) });
      const answer = await fetch("edit/save", { method: "POST", headers: { "content-type": "application/json" }, body, keepalive: body.length < 60000 });
      if (answer.status === 409) await this.#clash(k);
      else if (!answer.ok) throw new Error((await answer.json()).detail);
      else {
        const { record } = await answer.json();
        this.#known.set(k, { version: record.version, by: record.by, at: record.at });
      }
      this.failing = "";
    } catch (error) {
      this.failing = error instanceof TypeError ? "the server does not answer" : error.message;
      this.#waiting.add(k);
      setTimeout(() => this.#send(k), bitweft.RETRY);
      return;
    } finally {
      this.#sending.delete(k);
      this.told();
    }
    this.#send(k);
  }

  async #clash(k) {
    const answer = await fetch("edit/changes?since=0");
    const { records } = await answer.json();
    if (records[k]) this.conflicts.set(k, records[k]);
  }

  // Let the server take the suggestions of many pairs at once; what went wrong, if anything.
  async acceptAll(pairs, threshold) {
    try {
      const answer = await fetch("edit/accept", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ pairs, threshold }) });
      if (!answer.ok) return (await answer.json()).detail;
      await this.refresh();
      return "";
    } catch {
      return "the server does not answer";
    }
  }

  // End a conflict: with their record, or with one's own on top of it.
  settle(k, mine) {
    const theirs = this.conflicts.get(k);
    if (!theirs) return;
    this.conflicts.delete(k);
    const own = this.#said.get(k);
    this.#take(k, theirs);
    this.#waiting.delete(k);
    if (mine) this.#put(k, own);
    else {
      this.#past = this.#past.filter((step) => step.k !== k);
      this.#future = this.#future.filter((step) => step.k !== k);
    }
    this.told();
  }

  // Ask what others have changed. What is being changed here is left to the conflict that saving finds.
  async refresh() {
    try {
      const answer = await fetch(`edit/changes?since=${this.revision}`);
      if (!answer.ok) return;
      const { revision, records } = await answer.json();
      this.revision = revision;
      for (const [name, record] of Object.entries(records)) {
        const k = Number(name);
        const busy = this.#waiting.has(k) || this.#sending.has(k) || this.conflicts.has(k);
        if (busy || this.#known.get(k)?.version === record.version) continue;
        this.#take(k, record);
        this.changed(k);
      }
    } catch {
      // The next look will tell; saving says by itself if the server has gone.
    }
  }
};
