"""What is known before learning: a dictionary, links of some pairs, an earlier model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from bitweft.links.alignment import Alignment
from bitweft.links.known import KnownLinks, WordPair
from bitweft.recipes.default.compiled.types import Cells, Counts, Floats, Ints, Longs, Prior
from bitweft.recipes.default.spelling import Spelling
from bitweft.text.bitext import SentencePair
from bitweft.text.vocabulary import RESERVED


def beside(
    bitext: Iterable[SentencePair], known: KnownLinks | None
) -> Iterable[tuple[SentencePair, Alignment]]:
    """Give each pair with its known links, if any are."""
    return ((pair, Alignment()) for pair in bitext) if known is None else known.beside(bitext)


class Knowledge(NamedTuple):
    """Hold what is known before learning, from a dictionary or an earlier model."""

    counts: Counts | None = None  # of linked words, and of the words themselves; added to those of the text
    links: Mapping[int, Alignment] = MappingProxyType({})  # of some pairs, by number
    tables: Sequence[Floats] | None = None  # to begin from
    prior: Prior | None = None  # to begin from


def sorted_counts(counts: Counts, keys: Longs, sums: Floats, strength: float) -> Counts:
    """Put sums by word pair, a key each (none below 0), in place of those of some counts."""
    taken = np.flatnonzero(keys >= 0)
    taken = taken[np.argsort(keys[taken])]
    offsets = np.searchsorted(keys[taken] >> 32, np.arange(len(counts.offsets)))
    sources = (keys[taken] & 0xFFFFFFFF).astype(np.int32)
    return counts._replace(offsets=offsets, sources=sources, values=sums[taken], strength=strength)


def merged_counts(counts: Counts, more: Counts | None) -> Counts:
    """Add the counts of linked words that were known before."""
    if more is None:
        return counts
    parts = [
        (np.repeat(np.arange(len(c.target)), np.diff(c.offsets)) << 32) | c.sources for c in (counts, more)
    ]
    keys, places = np.unique(np.concatenate(parts), return_inverse=True)
    sums = np.bincount(places, np.concatenate([counts.values, more.values])).astype(np.float32)
    return sorted_counts(counts, keys, sums, counts.strength)


def with_links(cells: Cells, pairs: Longs, known: Mapping[int, Alignment]) -> Cells:
    """Make the known links of some pairs certain: a word that has some has no others."""
    if not any(int(pair) in known for pair in pairs):
        return cells
    parts: list[tuple[Any, Any, Any]] = []
    for place, pair in enumerate(pairs):
        own = slice(cells.offsets[place], cells.offsets[place + 1])
        source, target, values = cells.source[own], cells.target[own], cells.values[own]
        if int(pair) in known:
            certain = np.array(known[int(pair)].links, np.int32)
            left = ~np.isin(source, certain[:, 0]) & ~np.isin(target, certain[:, 1])
            source = np.concatenate([source[left], certain[:, 0]])
            target = np.concatenate([target[left], certain[:, 1]])
            values = np.concatenate([values[left], np.ones(len(certain), np.float32)])
        parts.append((source, target, values))
    offsets = np.concatenate([[0], np.cumsum([len(values) for _, _, values in parts])])
    return Cells(offsets, *(np.concatenate(column) for column in zip(*parts, strict=True)))


def lower_cased(lexicon: Iterable[WordPair]) -> list[WordPair]:
    """Lower-case the words of a dictionary."""
    return [WordPair(source.lower(), target.lower(), weight) for source, target, weight in lexicon]


def word_counts(lexicon: Iterable[WordPair]) -> tuple[dict[str, int], dict[str, int]]:
    """Count each word of a dictionary as often as all of its pairs weigh."""
    sides: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for pair in lexicon:
        for counts, word in zip(sides, pair[:2], strict=True):
            counts[word] += math.ceil(pair.weight)
    return dict(sides[0]), dict(sides[1])


def counts_of_lexicon(lexicon: Iterable[WordPair], words: Counts, spellings: Sequence[Spelling]) -> Counts:
    """Make counts of a dictionary, for a text whose spellings know its words."""
    known = [spelling.words.known for spelling in spellings]
    sums: Counter[int] = Counter()
    frequencies = [np.zeros(len(spelling.words), np.int64) for spelling in spellings]
    for source, target, weight in lexicon:
        s, t = known[0][source], known[1][target]
        sums[(t << 32) | s] += weight  # type: ignore[assignment]
        frequencies[0][s] += math.ceil(weight)
        frequencies[1][t] += math.ceil(weight)
    keys = np.array(list(sums), np.int64)
    values = np.array(list(sums.values()), np.float32)
    counts = sorted_counts(words, keys, values, words.strength)
    return counts._replace(source=frequencies[0], target=frequencies[1])


def both_counts(one: Counts | None, other: Counts | None) -> Counts | None:
    """Add two counts of the same words."""
    if one is None or other is None:
        return one or other
    added = merged_counts(one, other)
    return added._replace(source=one.source + other.source, target=one.target + other.target)


class Renumbering:
    """Carry what an earlier model knows over to spellings that know more words."""

    def __init__(self, old: Sequence[Spelling], new: Sequence[Spelling]) -> None:
        self.new = new
        self.rows = [_new_rows(*pair) for pair in zip(old, new, strict=True)]
        self.words = [rows[: len(spelling.words)] for rows, spelling in zip(self.rows, old, strict=True)]

    def tables(self, tables: Sequence[Floats]) -> list[Floats]:
        """Put the rows of tables in their new places; those that are new are not a number."""
        carried = []
        for spelling, rows, table in zip(self.new, self.rows, tables, strict=True):
            wider = np.full((spelling.size, table.shape[1]), np.nan, np.float32)
            wider[rows[rows >= 0]] = table[rows >= 0]
            carried.append(wider)
        return carried

    def counts(self, counts: Counts, words: Counts) -> Counts:
        """Return the counts in new numbers."""
        targets = np.repeat(np.arange(len(counts.target)), np.diff(counts.offsets))
        keys = (self.words[1][targets] << 32) | self.words[0][counts.sources]
        carried = sorted_counts(words, keys, counts.values, counts.strength)
        source, target = (
            self.values(own, side, np.zeros(len(self.new[side].words), np.int64))
            for side, own in enumerate((counts.source, counts.target))
        )
        return carried._replace(source=source, target=target, cognate_probability=counts.cognate_probability)

    def values(self, old: Any, side: int, new: Any) -> Any:
        """Put a value for each word over new ones."""
        carried = new.copy()
        carried[self.words[side]] = old
        return carried

    def of_absent(self, old: Sequence[Floats], new: Sequence[Floats], tokens: Sequence[Ints]) -> list[Floats]:
        """Return new values of both sides' words, but the old ones of words that the text does not have."""
        carried = []
        for side, own in enumerate(new):
            absent = np.bincount(tokens[side], minlength=len(own)) == 0
            carried.append(np.where(absent, self.values(old[side], side, own), own))
        return carried


def _new_rows(old: Spelling, new: Spelling) -> Longs:
    """Return the new row of each old one, or −1: affixes may go, as words come, but words do not."""
    words = [new.words.known[word] for word in old.words.entries]
    first = len(new.words)
    known = new.affixes.known
    affixes = [first + known[affix] if affix in known else -1 for affix in old.affixes.entries]
    return np.array([*range(RESERVED), *words, *range(first, first + RESERVED), *affixes], np.int64)
