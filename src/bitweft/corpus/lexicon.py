"""Dictionaries from text and links: counts, probabilities both ways, examples of each entry.

The probabilities are those of Moses' and Marian's lexical tables. A word without a link counts as linked
to NULL, so p(t|s) is the share of the links of s, its unlinked occurrences among them, that go to t.
Instead of links, whole phrases can be counted (`phrases/entries.py`); instead of words, their tags.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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
_LINE = (1 << _LINE_BITS) - 1
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
    lines: tuple[int, ...]  # of its examples

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
        return Entry(self.target, self.source, self.count, self.target_count, self.source_count, self.lines)


class Unit(NamedTuple):
    """Hold the words [start, end) of both sides that make an entry; no words are NULL."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int
    alone: bool = True  # whether these words have no other link


Units: TypeAlias = Callable[[Sequence[str], Sequence[str], Alignment], Iterator[Unit]]


class Example(NamedTuple):
    """Hold a line number, counted from one, and the words around an entry's on both sides."""

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


def linked_words(source: Sequence[str], target: Sequence[str], alignment: Alignment) -> Iterator[Unit]:
    """Give every link, then the unlinked words of both sides."""
    s_links, t_links = (Counter(map(itemgetter(side), alignment.links)) for side in (0, 1))
    for s, t in alignment.links:
        yield Unit(s, s + 1, t, t + 1, s_links[s] == t_links[t] == 1)
    yield from unlinked_words(source, target, alignment)


def unlinked_words(source: Sequence[str], target: Sequence[str], alignment: Alignment) -> Iterator[Unit]:
    """Give the unlinked words of both sides."""
    s_linked, t_linked = (set(map(itemgetter(side), alignment.links)) for side in (0, 1))
    for s in range(len(source)):
        if s not in s_linked:
            yield Unit(s, s + 1, 0, 0)
    for t in range(len(target)):
        if t not in t_linked:
            yield Unit(0, 0, t, t + 1)


@dataclass(slots=True)
class _Seen:
    """Count an entry, and keep where its best examples are."""

    count: int = 0
    places: list[int] = field(default_factory=list)

    def add(self, place: int, most: int) -> None:
        self.count += 1
        if len(self.places) < most or place < self.places[-1]:
            by_line = {other & _LINE: other for other in self.places}  # a line is one example
            by_line[place & _LINE] = min(place, by_line.get(place & _LINE, place))
            self.places = sorted(by_line.values())[:most]

    def lines(self) -> tuple[int, ...]:
        return tuple(place & _LINE for place in self.places)


class Lexicon:
    """Count how often words are linked, in memory for the distinct pairs of words alone.

    `examples` is how many lines are remembered for each pair.
    """

    def __init__(self, examples: int = 1) -> None:
        self._ids: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self._words: tuple[list[Word], list[Word]] = ([None], [None])
        self._totals: tuple[list[int], list[int]] = ([0], [0])
        self._seen: dict[tuple[int, int], _Seen] = {}
        self._most = examples

    @classmethod
    def count(
        cls,
        pairs: Iterable[SentencePair],
        alignments: Iterable[Alignment],
        *,
        lower: bool = False,
        units: Units = linked_words,
        examples: int = 1,
        names: tuple[str, str] = ("text", "links"),
    ) -> Lexicon:
        """Count the links of a text, or other `units` of it.

        A word's tag, if it has one, is counted in its place. `lower` lower-cases what is counted.
        """
        lexicon = cls(examples)
        for line, pair, alignment in linked_pairs(pairs, alignments, names=names):
            lexicon.add(line, *keys_of(pair, lower), units(*_words(pair), alignment))
        return lexicon

    def add(self, line: int, source: Sequence[str], target: Sequence[str], units: Iterable[Unit]) -> None:
        """Count the units of one sentence pair; its words are those to count."""
        # The best example: words linked to each other alone, in the shortest pair, the first of these.
        place = min(len(source) + len(target), _LENGTH_LIMIT) << _LINE_BITS | line
        shared = 1 << _LINE_BITS + _LENGTH_LIMIT.bit_length()
        sources = [self._id(0, word) for word in source]
        targets = [self._id(1, word) for word in target]
        for s, s_end, t, t_end, alone in units:
            first = sources[s] if s_end == s + 1 else self._phrase_id(0, source[s:s_end])
            second = targets[t] if t_end == t + 1 else self._phrase_id(1, target[t:t_end])
            seen = self._seen.get((first, second))
            if seen is None:
                seen = self._seen[first, second] = _Seen()
            seen.add(place if alone else shared | place, self._most)
            self._totals[0][first] += 1
            self._totals[1][second] += 1

    def _phrase_id(self, side: int, words: Sequence[str]) -> int:
        return self._id(side, " ".join(words)) if words else 0

    def _id(self, side: int, word: str) -> int:
        identity = self._ids[side].get(word)
        if identity is None:
            identity = self._ids[side][word] = len(self._words[side])
            self._words[side].append(word)
            self._totals[side].append(0)
        return identity

    def __len__(self) -> int:
        """Give the number of distinct pairs, those with NULL among them."""
        return len(self._seen)

    def _entry(self, key: tuple[int, int]) -> Entry:
        source, target = key
        return Entry(
            self._words[0][source],
            self._words[1][target],
            self._seen[key].count,
            self._totals[0][source],
            self._totals[1][target],
            self._seen[key].lines(),
        )

    def get(self, source: Word, target: Word) -> Entry | None:
        """Give the entry of two words, or None if they are never linked."""
        key = self._key(source, target)
        return self._entry(key) if key in self._seen else None

    def p_target(self, source: Word, target: Word) -> float:
        """Give p(target | source), zero if they are never linked."""
        key = self._key(source, target)
        return self._seen[key].count / self._totals[0][key[0]] if key in self._seen else 0.0

    def p_source(self, source: Word, target: Word) -> float:
        """Give p(source | target), zero if they are never linked."""
        key = self._key(source, target)
        return self._seen[key].count / self._totals[1][key[1]] if key in self._seen else 0.0

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
            return words[key[side]] or "", -self._seen[key].count, others[key[1 - side]] or ""

        keys = sorted((key for key in self._seen if pruning.null or 0 not in key), key=order)
        for _, group in groupby(keys, key=itemgetter(side)):
            best: int | None = None
            for rank, key in enumerate(group):
                count = self._seen[key].count
                best = count if best is None else best
                full = pruning.top is not None and rank >= pruning.top
                if full or count < pruning.min_count or count < pruning.threshold * best:
                    break
                yield key


def keys_of(pair: SentencePair, lower: bool = False) -> tuple[Sequence[str], Sequence[str]]:
    """Give what stands for each word of both sides: its tag, or the word."""
    source, target = (sentence.tokens if sentence.tags is None else sentence.tags for sentence in pair)
    if lower:
        return [word.lower() for word in source], [word.lower() for word in target]
    return source, target


def _words(pair: SentencePair) -> tuple[Sequence[str], Sequence[str]]:
    return pair.source.tokens, pair.target.tokens


def examples(
    entries: Iterable[Entry],
    pairs: Iterable[SentencePair],
    alignments: Iterable[Alignment],
    *,
    lower: bool = False,
    units: Units = linked_words,
) -> dict[tuple[Word, Word], list[Example]]:
    """Find the examples of each entry, walking the text again, as far as needed."""
    wanted: dict[int, set[tuple[Word, Word]]] = {}
    found: dict[tuple[Word, Word], dict[int, Example | None]] = {}
    for entry in entries:
        found[entry.source, entry.target] = dict.fromkeys(entry.lines)  # the best first
        for line in entry.lines:
            wanted.setdefault(line, set()).add((entry.source, entry.target))
    last = max(wanted, default=0)
    for line, pair, alignment in linked_pairs(pairs, alignments):
        if line > last:
            break
        if line in wanted:
            sides = keys_of(pair, lower)
            for unit in sorted(units(*_words(pair), alignment), key=lambda unit: not unit.alone):
                key = _key_of(unit, *sides)
                if key in wanted[line] and found[key][line] is None:
                    found[key][line] = _example(line, pair, unit)
    return {key: [each for each in own.values() if each is not None] for key, own in found.items()}


def _key_of(unit: Unit, source: Sequence[str], target: Sequence[str]) -> tuple[Word, Word]:
    words = source[unit.source_start : unit.source_end], target[unit.target_start : unit.target_end]
    return " ".join(words[0]) or None, " ".join(words[1]) or None


def _example(line: int, pair: SentencePair, unit: Unit) -> Example:
    source = _context(pair.source.tokens, unit.source_start, unit.source_end)
    return Example(line, source, _context(pair.target.tokens, unit.target_start, unit.target_end))


def _context(tokens: Sequence[str], first: int, last: int) -> str:
    """Show words in brackets among their neighbors; without a word, the beginning of the sentence."""
    if first == last:
        shown, rest = list(tokens[: 2 * CONTEXT + 1]), len(tokens) > 2 * CONTEXT + 1
        return " ".join(shown + ["…"] * rest)
    start, end = max(0, first - CONTEXT), last + CONTEXT
    marked = f"[{' '.join(tokens[first:last])}]"
    shown = [*tokens[start:first], marked, *tokens[last:end]]
    return " ".join(["…"] * (start > 0) + shown + ["…"] * (end < len(tokens)))


COLUMNS = ("source", "target", "count", "source_count", "target_count", "p_target", "p_source")
OF_EXAMPLE = ("line", "source_context", "target_context")
Examples: TypeAlias = Callable[[Entry], Sequence[Example]]


def write_tsv(entries: Iterable[Entry], examples_of: Examples, stream: TextIO, *, most: int = 1) -> None:
    """Write entries as tab-separated columns under a header, three for each of at `most` so many examples."""
    numbered = [f"{name}{number or ''}" for number in (0, *range(2, most + 1)) for name in OF_EXAMPLE]
    stream.write("\t".join([*COLUMNS, *numbered]) + "\n")
    for entry in entries:
        columns = [
            entry.source or NULL,
            entry.target or NULL,
            str(entry.count),
            str(entry.source_count),
            str(entry.target_count),
            f"{entry.p_target:.7f}",
            f"{entry.p_source:.7f}",
        ]
        for example in examples_of(entry):
            columns += map(str, example)
        columns += [""] * (len(COLUMNS) + len(numbered) - len(columns))
        stream.write("\t".join(columns) + "\n")


def write_json(entries: Iterable[Entry], examples_of: Examples, stream: TextIO, *, most: int = 1) -> None:
    """Write entries as JSON, one object a line, with at `most` so many examples; NULL is null."""
    for entry in entries:
        record = {
            "source": entry.source,
            "target": entry.target,
            "count": entry.count,
            "source_count": entry.source_count,
            "target_count": entry.target_count,
            "p_target": round(entry.p_target, 7),
            "p_source": round(entry.p_source, 7),
            "examples": [example._asdict() for example in examples_of(entry)[:most]],
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
