// What is searched for: words that must all occur, a phrase as it is written, or a regular expression.
"use strict";
globalThis.bitweft = globalThis.bitweft || {};

bitweft.Query = class {
  // `mode` is words, exact or pattern; `error` says what is wrong with a regular expression.
  constructor(text = "", mode = "words") {
    const sought = text.trim().normalize("NFC");
    this.error = "";
    this.patterns = [];
    try {
      this.patterns = bitweft.Query.sources(sought, mode).map((source) => new RegExp(source, mode === "exact" ? "gu" : "giu"));
    } catch (error) {
      this.error = `No regular expression: ${String(error.message).replace(/^Invalid regular expression:\s*/, "")}`;
    }
  }

  static sources(sought, mode) {
    if (!sought) return [];
    const literal = (part) => part.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    if (mode === "pattern") return [sought];
    if (mode === "words") return sought.split(/\s+/u).map(literal);
    // A phrase ends where its words do; beside other signs than letters there is nothing to look for.
    const [first, last] = [[...sought][0], [...sought].at(-1)];
    const letter = /[\p{L}\p{M}\p{N}]/u;
    const before = letter.test(first) ? "(?<![\\p{L}\\p{M}\\p{N}])" : "";
    const after = letter.test(last) ? "(?![\\p{L}\\p{M}\\p{N}])" : "";
    return [before + sought.split(/\s+/u).map(literal).join("\\s+") + after];
  }

  get empty() {
    return !this.patterns.length;
  }

  // Whether each pattern occurs in one of the texts, which are in the normal form NFC.
  fits(texts) {
    return this.patterns.every((pattern) => texts.some((text) => {
      pattern.lastIndex = 0;
      return pattern.test(text);
    }));
  }

  // Where a text in NFC is hit: [start, end] in order, none overlapping.
  ranges(text) {
    const found = this.patterns.flatMap((pattern) => {
      pattern.lastIndex = 0; // matchAll begins where the last test ended
      return [...text.matchAll(pattern)].filter(([hit]) => hit).map((hit) => [hit.index, hit.index + hit[0].length]);
    });
    found.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    const apart = [];
    for (const [start, end] of found) {
      const last = apart.at(-1);
      if (last && start < last[1]) last[1] = Math.max(last[1], end);
      else apart.push([start, end]);
    }
    return apart;
  }

  // The words of a sentence {text, words} that are hit, by their positions.
  words(sentence) {
    if (this.empty) return new Set();
    const text = sentence.text.normalize("NFC");
    const ranges = this.ranges(text);
    const hit = new Set();
    let end = 0;
    sentence.words.forEach((word, at) => {
      const form = word.normalize("NFC");
      const start = text.indexOf(form, end);
      if (start < 0) return;
      end = start + form.length;
      if (ranges.some(([from, to]) => from < end && to > start)) hit.add(at);
    });
    return hit;
  }
};

// A text with what was searched for marked in it, the first hit near its beginning.
bitweft.marked = (written, query) => {
  const text = written.normalize("NFC");
  const ranges = query.ranges(text);
  const from = ranges.length && ranges[0][0] > 24 ? ranges[0][0] - 12 : 0;
  const end = (ranges[0]?.[1] ?? 0) + 300;
  const parts = [from ? "…" : ""];
  let at = from;
  for (const [start, stop] of ranges) {
    if (start >= end) break;
    parts.push(text.slice(at, start), bitweft.make("mark", {}, text.slice(start, stop)));
    at = stop;
  }
  return [...parts, text.slice(at, end)];
};
