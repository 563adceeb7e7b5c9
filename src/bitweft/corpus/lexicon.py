"""Dictionaries of words from text and links: counts, probabilities both ways, an example for each entry.

The probabilities are those of Moses' and Marian's lexical tables. A word without a link counts as linked
to NULL, so p(t|s) is the share of the links of s, its unlinked occurrences among them, that go to t.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, TextIO, TypeAlias

from bitweft.errors import InputError
from bitweft.links.alignment import Alignment, outside
from bitweft.storage.lockstep import lockstep
from bitweft.text.bitext import SentencePair

NULL = "NULL"
CONTEXT = 3  # words shown on each side of an example
_LINE_BITS = 40
_LENGTH_LIMIT = (1 << 20) - 1

Word: TypeAlias = str | None
"""A word, or None for NULL, which is no word of the text even if the text has a word spelt NULL."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold a source word, a target word, how often they are linked, and what that says of each."""

    source: Word
    target: Word
    count: int
    source_count: int
    target_count: int
    line: int

    @property
    def p_target(self) -> float:
        """Give p(target | source)."""
        return self.count / self.source_count

    @property
    def p_source(self) -> float:
        """Give p(source | target)."""
        return self.count / self.target_count

    def inverse(self) -> Entry:
        """Swap source and target."""
        return Entry(self.target, self.source, self.count, self.target_count, self.source_count, self.line)


class Example(NamedTuple):
    """Hold a line number, counted from one, and the words around a link on both sides."""

    line: int
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Pruning:
    """Say which entries to leave out; probabilities stay those of the whole text.

    `min_count` is the least number of links, `top` the number of translations kept for each word; an entry
    below `threshold` times the probability of its word's best translation goes.
    """

    min_count: int = 1
    top: int | None = None
    threshold: float = 0.0
    null: bool = False


def linked_pairs(
    pairs: Iterable[SentencePair],
    alignments: Iterable[Alignment],
    *,
    names: tuple[str, str] = ("text", "links"),
) -> Iterator[tuple[int, SentencePair, Alignment]]:
    """Walk text and links together, with line numbers; fail at the line where they do not fit.

    `names` are those of the text and of the links, for the message.
    """
    for line, (pair, alignment) in enumerate(lockstep(pairs, alignments, names=names), 1):
        fault = outside(alignment.links, len(pair.source), len(pair.target))
        if fault is not None:
            raise InputError(fault, file=names[1], line=line)
        yield line, pair, alignment


class Lexicon:
    """Count how often words are linked, in memory for the distinct pairs of words alone."""

    def __init__(self) -> None:
        self._ids: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._words: tuple[list[Word], list[Word]] = ([None], [None])
        self._totals: tuple[list[int], list[int]] = ([0], [0])
        self._counts: dict[tuple[int, int], int] = {}
        self._examples: dict[tuple[int, int], int] = {}

    @classmethod
    def count(
        cls,
        pairs: Iterable[SentencePair],
        alignments: Iterable[Alignment],
        *,
        lower: bool = False,
        names: tuple[str, str] = ("text", "links"),
    ) -> Lexicon:
        """Count the links of a text, lower-casing its words if `lower` is set."""
        lexicon = cls()
        for line, pair, alignment in linked_pairs(pairs, alignments, names=names):
            lexicon.add(line, *_words(pair, lower), alignment)
        return lexicon

    def add(self, line: int, source: Sequence[str], target: Sequence[str], alignment: Alignment) -> None:
        """Count the links of one sentence pair."""
        sources = [self._id(0, word) for word in source]
        targets = [self._id(1, word) for word in target]
        linked_sources: dict[int, int] = {}
        linked_targets: dict[int, int] = {}
        for s, t in alignment.links:
            linked_sources[s] = linked_sources.get(s, 0) + 1
            linked_targets[t] = linked_targets.get(t, 0) + 1
        # The best example: the words linked to each other alone, in the shortest pair, the first of these.
        place = min(len(source) + len(target), _LENGTH_LIMIT) << _LINE_BITS | line
        shared = 1 << _LINE_BITS + _LENGTH_LIMIT.bit_length()
        for s, t in alignment.links:
            alone = linked_sources[s] == linked_targets[t] == 1
            self._link(sources[s], targets[t], place if alone else shared | place)
        for s, word in enumerate(sources):
            if s not in linked_sources:
                self._link(word, 0, place)
        for t, word in enumerate(targets):
            if t not in linked_targets:
                self._link(0, word, place)

    def _id(self, side: int, word: str) -> int:
        identity = self._ids[side].get(word)
        if identity is None:
            identity = self._ids[side][word] = len(self._words[side])
            self._words[side].append(word)
            self._totals[side].append(0)
        return identity

    def _link(self, source: int, target: int, place: int) -> None:
        key = (source, target)
        self._counts[key] = self._counts.get(key, 0) + 1
        self._totals[0][source] += 1
        self._totals[1][target] += 1
        best = self._examples.get(key)
        if best is None or place < best:
            self._examples[key] = place

    def __len__(self) -> int:
        """Give the number of distinct pairs, those with NULL among them."""
        return len(self._counts)

    def _entry(self, key: tuple[int, int]) -> Entry:
        source, target = key
        return Entry(
            self._words[0][source],
            self._words[1][target],
            self._counts[key],
            self._totals[0][source],
            self._totals[1][target],
            self._examples[key] & (1 << _LINE_BITS) - 1,
        )

    def get(self, source: Word, target: Word) -> Entry | None:
        """Give the entry of two words, or None if they are never linked."""
        key = self._key(source, target)
        return self._entry(key) if key in self._counts else None

    def p_target(self, source: Word, target: Word) -> float:
        """Give p(target | source), zero if they are never linked."""
        key = self._key(source, target)
        return self._counts[key] / self._totals[0][key[0]] if key in self._counts else 0.0

    def p_source(self, source: Word, target: Word) -> float:
        """Give p(source | target), zero if they are never linked."""
        key = self._key(source, target)
        return self._counts[key] / self._totals[1][key[1]] if key in self._counts else 0.0

    def _key(self, source: Word, target: Word) -> tuple[int, int]:
        return (
            0 if source is None else self._ids[0].get(source, -1),
            0 if target is None else self._ids[1].get(target, -1),
        )

    def by_source(self, pruning: Pruning | None = None) -> Iterator[Entry]:
        """Give the entries by source word, for each the most probable target words first."""
        return map(self._entry, self._ranked(0, pruning or Pruning()))

    def by_target(self, pruning: Pruning | None = None) -> Iterator[Entry]:
        """Give the entries by target word, for each the most probable source words first."""
        return map(self._entry, self._ranked(1, pruning or Pruning()))

    def _ranked(self, side: int, pruning: Pruning) -> Iterator[tuple[int, int]]:
        """Give the pairs by the word of one side, for each the most frequent first, and prune them."""
        words, others = self._words[side], self._words[1 - side]

        def order(key: tuple[int, int]) -> tuple[str, int, str]:
            return words[key[side]] or "", -self._counts[key], others[key[1 - side]] or ""

        keys = sorted((key for key in self._counts if pruning.null or 0 not in key), key=order)
        for _, group in groupby(keys, key=itemgetter(side)):
            best: int | None = None
            for rank, key in enumerate(group):
                count = self._counts[key]
                best = count if best is None else best
                full = pruning.top is not None and rank >= pruning.top
                if full or count < pruning.min_count or count < pruning.threshold * best:
                    break
                yield key


def _words(pair: SentencePair, lower: bool) -> tuple[Sequence[str], Sequence[str]]:
    source, target = pair.source.tokens, pair.target.tokens
    if lower:
        return [word.lower() for word in source], [word.lower() for word in target]
    return source, target


def examples(
    entries: Iterable[Entry],
    pairs: Iterable[SentencePair],
    alignments: Iterable[Alignment],
    *,
    lower: bool = False,
) -> dict[tuple[Word, Word], Example]:
    """Find the example of each entry, walking the text again, as far as needed."""
    wanted: dict[int, set[tuple[Word, Word]]] = {}
    for entry in entries:
        wanted.setdefault(entry.line, set()).add((entry.source, entry.target))
    found: dict[tuple[Word, Word], Example] = {}
    last = max(wanted, default=0)
    for line, pair, alignment in linked_pairs(pairs, alignments):
        if line > last:
            break
        if line in wanted:
            words = _words(pair, lower)
            for s, t in _with_null(alignment, len(words[0]), len(words[1])):
                key = (None if s is None else words[0][s], None if t is None else words[1][t])
                if key in wanted[line] and key not in found:
                    found[key] = Example(
                        line, _context(pair.source.tokens, s), _context(pair.target.tokens, t)
                    )
    return found


def _with_null(alignment: Alignment, sources: int, targets: int) -> Iterator[tuple[int | None, int | None]]:
    """Give the links that stand alone first, then the others, then the unlinked words."""
    linked_sources = [s for s, _ in alignment.links]
    linked_targets = [t for _, t in alignment.links]
    yield from sorted(
        alignment.links,
        key=lambda link: linked_sources.count(link[0]) > 1 or linked_targets.count(link[1]) > 1,
    )
    yield from ((s, None) for s in range(sources) if s not in linked_sources)
    yield from ((None, t) for t in range(targets) if t not in linked_targets)


def _context(tokens: Sequence[str], position: int | None) -> str:
    """Show a word in brackets among its neighbors; without a word, the beginning of the sentence."""
    if position is None:
        shown, rest = list(tokens[: 2 * CONTEXT + 1]), len(tokens) > 2 * CONTEXT + 1
        return " ".join(shown + ["…"] * rest)
    start, end = max(0, position - CONTEXT), position + CONTEXT + 1
    shown = [f"[{tokens[p]}]" if p == position else tokens[p] for p in range(start, min(end, len(tokens)))]
    return " ".join(["…"] * (start > 0) + shown + ["…"] * (end < len(tokens)))


COLUMNS = (
    "source",
    "target",
    "count",
    "source_count",
    "target_count",
    "p_target",
    "p_source",
    "line",
    "source_context",
    "target_context",
)


def write_tsv(entries: Iterable[Entry], example_of: Callable[[Entry], Example], stream: TextIO) -> None:
    """Write entries as tab-separated columns under a header."""
    stream.write("\t".join(COLUMNS) + "\n")
    for entry in entries:
        example = example_of(entry)
        columns = (
            entry.source or NULL,
            entry.target or NULL,
            str(entry.count),
            str(entry.source_count),
            str(entry.target_count),
            f"{entry.p_target:.7f}",
            f"{entry.p_source:.7f}",
            str(example.line),
            example.source,
            example.target,
        )
        stream.write("\t".join(columns) + "\n")


def write_json(entries: Iterable[Entry], example_of: Callable[[Entry], Example], stream: TextIO) -> None:
    """Write entries as JSON, one object a line; NULL is null."""
    for entry in entries:
        example = example_of(entry)
        record = {
            "source": entry.source,
            "target": entry.target,
            "count": entry.count,
            "source_count": entry.source_count,
            "target_count": entry.target_count,
            "p_target": round(entry.p_target, 7),
            "p_source": round(entry.p_source, 7),
            "example": example._asdict(),
        }
        stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def write_table(entries: Iterable[Entry], stream: TextIO) -> int:
    """Write `target source p(target|source)`, as Moses, Marian and bicleaner read; return what was left out.

    These readers split at any white space: a word that holds some (a no-break space, say) is left out.
    """
    unwritable = 0
    for entry in entries:
        source, target = entry.source or NULL, entry.target or NULL
        if source.split() == [source] and target.split() == [target]:
            stream.write(f"{target} {source} {entry.p_target:.7f}\n")
        else:
            unwritable += 1
    return unwritable
