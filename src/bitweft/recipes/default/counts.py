"""Passes of counting: what some pairs add to the counts of linked words, and what all of it comes to.

    part = count(state, shard, before)      of any part of the text, by anyone
    state = merge(state, parts)             in any order

All sums are whole numbers of ONE parts: they are the same bits in any order, in whatever parts the text is
cut and by however many threads they are added. What a pair itself added to the counts in the pass before is
left out when it is judged: it is either at hand, or found again from the state `before` that pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitweft.links.alignment import Alignment
from bitweft.recipes.default.blas import one_blas_thread
from bitweft.recipes.default.compiled.counting import add_unlinked
from bitweft.recipes.default.compiled.types import (
    ONE,
    Cells,
    Counts,
    Doubles,
    Floats,
    Inputs,
    Ints,
    Longs,
    Prior,
    Sums,
    Tally,
    Words,
    common_counts,
    new_count_table,
    new_tally,
    no_cells,
    sum_of_tallies,
)
from bitweft.recipes.default.config import DefaultConfig
from bitweft.recipes.default.knowledge import merged_counts, sorted_counts, with_links
from bitweft.recipes.default.loops import Compiled, Loops

CHUNK = 2048  # pairs that one thread counts in a turn, if there are enough of them
TURNS = 16  # as many at least, for all threads to have some: fewer pairs each, but no fewer than LEAST
LEAST = 128
FLOOR = 0.01  # of a probability that is counted
TABLES = 16  # of sums, by target word: as many threads can add at a time

NO_LINKS: Mapping[int, Alignment] = MappingProxyType({})


class WordFacts(NamedTuple):
    """Hold what is known of the words of one side; `Words` says what each array is."""

    classes: Ints
    nulls: Floats
    scales: Floats
    vectors: Floats


class State(NamedTuple):
    """Hold all that a pass of counting follows from, besides the text."""

    source: WordFacts
    target: WordFacts
    counts: Counts
    prior: Prior
    strength: float  # of the prior that the vectors give, once there are counts


class Shard(NamedTuple):
    """Hold a part of a text in numbers; its pair n is pair `first + n` of the whole."""

    source: tuple[Ints, Longs]  # tokens, and where each sentence begins
    target: tuple[Ints, Longs]
    pairs: Longs  # those that are learned from
    first: int = 0


class Part(NamedTuple):
    """Hold what some pairs add, in whole numbers of ONE parts: parts add up to the same in any order."""

    keys: Longs  # (word pairs): target << 32 | source, sorted
    sums: Longs  # (word pairs): how often the two are expected to be linked
    tally: Tally  # of one group: jumps, starts, cognates
    unlinked: tuple[Longs, Longs]  # (words, 2) of each side: expected without a link, and met


def learnable(offsets: Sequence[Longs], longest: int) -> Longs:
    """Return the pairs with words on both sides, and not too many."""
    lengths = np.array([np.diff(own) for own in offsets])
    return np.flatnonzero((lengths.min(0) > 0) & (lengths.max(0) <= longest))


def chunks_of(pairs: Longs) -> list[Longs]:
    """Cut pairs into the chunks that a thread counts in a turn."""
    size = min(CHUNK, max(LEAST, -(-len(pairs) // TURNS)))
    return [pairs[start : start + size] for start in range(0, len(pairs), size)]


class Counting:
    """Count the links of a shard; any threads give it chunks of pairs, in any order."""

    def __init__(
        self,
        state: State,
        shard: Shard,
        *,
        links: Mapping[int, Alignment] = NO_LINKS,
        loops: Loops | None = None,
    ) -> None:
        self.shard = shard
        self.links = links  # known ones, by the number of the pair in the whole text
        self.loops = loops or Compiled()
        source, target = (
            _words(own, facts)
            for own, facts in zip((shard.source, shard.target), (state.source, state.target), strict=True)
        )
        self.inputs = Inputs(source, target, state.counts, state.prior, common_counts(state.counts))
        self._tally = new_tally(1, state.prior.jumps.shape[1])
        self._unlinked = tuple(np.zeros((len(side.nulls), 2), np.int64) for side in (source, target))
        self._tables = [new_count_table() for _ in range(TABLES)]
        self._locks = [Lock() for _ in range(TABLES + 1)]

    def cells(self, pairs: Longs, known: Cells) -> Cells:
        """Find the cells of some pairs without counting them; `known` is what they added before."""
        nothing = np.empty(0, np.float32)
        sums = Sums(new_tally(0), 0, np.empty(len(pairs)), (nothing, nothing))
        return self._found(pairs, known, sums)

    def add(self, pairs: Longs, known: Cells) -> Cells:
        """Count the links of some pairs, and return their cells; `known` is what they added before."""
        source, target = self.inputs.source, self.inputs.target
        tally = new_tally(1, self.inputs.prior.jumps.shape[1])
        s_nulls, t_nulls = (
            np.empty((side.offsets[pairs + 1] - side.offsets[pairs]).sum(), np.float32)
            for side in (source, target)
        )
        sums = Sums(tally, 0, np.empty(len(pairs)), (s_nulls, t_nulls))
        found = self._found(pairs, known, sums)
        first = int(pairs[0]) // LEAST if len(pairs) else 0
        for place in range(TABLES):  # threads begin with different tables
            number = (first + place) % TABLES
            with self._locks[number]:
                table = self._tables[number]
                self._tables[number] = self.loops.add_counts(
                    source, target, pairs, found, table, number, TABLES
                )
        with self._locks[-1]:
            self._tally = sum_of_tallies(self._tally, tally)
            add_unlinked(source, pairs, s_nulls, self._unlinked[0])
            add_unlinked(target, pairs, t_nulls, self._unlinked[1])
        return found

    def _found(self, pairs: Longs, known: Cells, sums: Sums) -> Cells:
        found = self.loops.posteriors(self.inputs, pairs, known, FLOOR, sums)
        return with_links(found, pairs + self.shard.first, self.links)

    def part(self) -> Part:
        """Return what was added so far."""
        taken = [table.keys >= 0 for table in self._tables]
        keys = np.concatenate([table.keys[own] for table, own in zip(self._tables, taken, strict=True)])
        sums = np.concatenate([table.sums[own] for table, own in zip(self._tables, taken, strict=True)])
        order = np.argsort(keys)
        return Part(keys[order], sums[order], self._tally, (self._unlinked[0], self._unlinked[1]))


def count(
    state: State,
    shard: Shard,
    before: State | None = None,
    *,
    known: Sequence[Cells] = (),
    links: Mapping[int, Alignment] = NO_LINKS,
    loops: Loops | None = None,
) -> tuple[Part, list[Cells]]:
    """Count the links of a shard; return what they add, and the cells of each chunk of pairs.

    Args:
        state: what to judge by.
        shard: the pairs, with their numbers in the whole text.
        before: the state before the pass that led to `state`; none for the first pass.
        known: the cells that it had; they are found again where none are given.
        links: known links, by the number of the pair in the whole text.
        loops: the inner loops, compiled ones by default.
    """
    counting = Counting(state, shard, links=links, loops=loops)
    earlier = None if before is None else Counting(before, shard, links=links, loops=loops)
    found = []
    with one_blas_thread():
        for number, pairs in enumerate(chunks_of(shard.pairs)):
            own = no_cells()
            if earlier is not None:
                own = known[number] if known else earlier.cells(pairs, own)
            found.append(counting.add(pairs, own))
    return counting.part(), found


def cell_arrays(chunks: Iterable[Cells]) -> dict[str, npt.NDArray[Any]]:
    """Return the cells of chunks of pairs as arrays."""
    return {
        f"cells.{number}.{field}": value
        for number, cells in enumerate(chunks)
        for field, value in cells._asdict().items()
    }


def added(parts: Iterable[Part]) -> Part:
    """Add parts up, in any order; there must be one at least."""
    total: Part | None = None
    for part in parts:
        total = part if total is None else _sum(total, part)
    if total is None:
        raise ValueError("no parts to add")
    return total


def _sum(one: Part, other: Part) -> Part:
    keys = np.concatenate([one.keys, other.keys])
    keys.sort(kind="stable")  # it finds the two runs, and merges them
    keys = keys[np.diff(keys, prepend=-1) > 0]
    sums = np.zeros(len(keys), np.int64)
    for part in (one, other):
        sums[np.searchsorted(keys, part.keys)] += part.sums
    unlinked = (one.unlinked[0] + other.unlinked[0], one.unlinked[1] + other.unlinked[1])
    return Part(keys, sums, sum_of_tallies(one.tally, other.tally), unlinked)


def merge(state: State, parts: Iterable[Part], known: Counts | None = None) -> State:
    """Return the state after a pass, from what all pairs of the text added and the state that they had.

    `known` counts of a dictionary or an earlier model are added to those of the text.
    """
    total = added(parts)
    values = (total.sums / ONE).astype(np.float32)
    counts = merged_counts(sorted_counts(state.counts, total.keys, values, state.strength), known)
    linked, met = total.tally.cognates[0].tolist()
    counts = counts._replace(cognate_probability=min(linked / max(met, 1), 0.9))
    source, target = (
        facts._replace(nulls=_null_probabilities(own, state.prior.null))
        for facts, own in zip((state.source, state.target), total.unlinked, strict=True)
    )
    return State(source, target, counts, updated(state.prior, total.tally), state.strength)


def state_by(
    facts: Iterable[tuple[Ints, Floats, Floats, Floats]], counts: Counts, prior: Prior, config: DefaultConfig
) -> State:
    """Return what a pass of counting goes by; `facts` are classes, nulls, scales and vectors of each side."""
    source, target = (WordFacts(*own) for own in facts)
    classes = 1 + max(int(own.classes.max(initial=0)) for own in (source, target))
    prior = with_classes(prior, classes)._replace(chained=True, mixture=config.mixture)
    return State(source, target, counts, prior, config.strength)


def with_classes(prior: Prior, classes: int) -> Prior:
    """Give each class of words the jumps that all have had so far, unless classes have their own."""
    if prior.jumps.shape[1] == classes:
        return prior
    return prior._replace(jumps=np.repeat(prior.jumps, classes, axis=1))


def updated(prior: Prior, tally: Tally) -> Prior:
    """Set each weight to how often it was taken, of all the times that it could have been."""
    if not prior.chained:
        return prior._replace(diagonals=_weights(*_shares(tally.diagonals)))
    taken, chances = _shares(tally.jumps)  # (direction, classes, jumps)
    jumps = _weights(taken.sum(1, keepdims=True), chances.sum(1, keepdims=True))
    if taken.shape[1] > 1:  # a class begins with 50 jumps such as all words make
        common = 50 * taken.sum(1, keepdims=True) / np.maximum(taken.sum((1, 2), keepdims=True), 1)
        jumps = _weights(taken + common, chances + common / jumps, 1e-3)
    return prior._replace(jumps=jumps, starts=_weights(*_shares(tally.starts)))


def _shares(tally: Longs) -> tuple[Doubles, Doubles]:
    """Return what was taken, and what could have been, of one group."""
    return tally[0, :, 0] / ONE, tally[0, :, 1] / ONE


def _weights(taken: Doubles, chances: Doubles, more: float = 1.0) -> Floats:
    fresh = (taken + more) / (chances + more)
    floored: Floats = np.maximum(fresh / fresh.max(-1, keepdims=True), 1e-3).astype(np.float32)
    return floored


def _null_probabilities(unlinked: Longs, null: float) -> Floats:
    """Return each word's prior of no link: that of all, times how much oftener than others it had none."""
    without, met = unlinked[:, 0] / ONE, unlinked[:, 1]
    mean = max(float(without.sum()) / max(int(met.sum()), 1), 1e-3)
    probabilities: Floats = (null * (without + 20 * mean) / (met + 20) / mean).astype(np.float32)
    return probabilities


def _words(text: tuple[Ints, Longs], facts: WordFacts) -> Words:
    none = np.empty((0, facts.vectors.shape[1]), np.float32)
    return Words(*text, facts.classes, facts.nulls, facts.scales, facts.vectors, none)
