"""The tuples of arrays that the default recipe's inner loops share, with the shape of each array.

Words and rows are numbers: source and target words count from 0 each, and words that training did not see
follow those that it saw. Index 0 of a direction is forward, 1 is backward.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int32]
Longs: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]

CLIP = 10  # jumps of so many words and more weigh alike
BUCKETS = 16  # of the distance to the diagonal
LARGEST = 14.0  # of a score: exp(14) is more than any ratio that a million pairs can show
COMMON = 1024  # words of each side whose counts are found at once
ONE = 1 << 24  # one, in sums of whole numbers: they do not depend on the order


class Side(NamedTuple):
    """Hold one side of the text to learn from, and the table that its words' vectors are made of.

    The vector of word w is the sum of `table[rows[row_offsets[w]:row_offsets[w + 1]]]` over the root of
    their number.
    """

    tokens: Ints  # (tokens): the word at each place of the text
    offsets: Longs  # (pairs + 1): where each sentence begins in `tokens`
    rows: Ints  # (rows of all words, one word after the other)
    row_offsets: Longs  # (words + 1): where each word begins in `rows`
    table: Floats  # (rows, dimensions)


class Words(NamedTuple):
    """Hold one side of the text to align, and what is known of its words."""

    tokens: Ints  # (tokens): the word at each place of the text
    offsets: Longs  # (pairs + 1): where each sentence begins in `tokens`
    classes: Ints  # (words): the class whose jumps are made from each word
    nulls: Floats  # (words): the prior probability of each word to have no link
    scales: Floats  # (words): what makes the ratios of a word's translations sum to one
    vectors: Floats  # (words, dimensions)
    unseen: Floats  # (further words, dimensions): vectors of words that training did not see


class Counts(NamedTuple):
    """Hold expected counts of linked word pairs, sorted by target word, then source word, and of words."""

    offsets: Longs  # (target words + 1): where each target word begins in `sources` and `values`
    sources: Ints  # (pairs of words): the source word of each pair
    values: Floats  # (pairs of words): how often the two are expected to be linked
    source: Longs  # (source words): how often each occurs
    target: Longs  # (target words): how often each occurs
    strength: float  # weight, in counts, of the prior that the vectors give; 0: no counts are used
    cognates: Ints  # (target words, unseen ones too): the source word spelled alike, or −1
    cognate_probability: float  # of a word to be translated by its cognate


class Prior(NamedTuple):
    """Hold what is known of positions before the words are seen."""

    null: float  # probability of a word to have no link
    mixture: float  # probability of a jump to anywhere
    chained: bool  # whether positions follow each other by jumps, or each lies near the diagonal
    jumps: Floats  # (direction, classes, 2 · CLIP + 1): weight of a jump by −CLIP … CLIP and beyond
    starts: Floats  # (direction, CLIP + 1): weight of the first position 0 … CLIP and beyond
    diagonals: Floats  # (direction, BUCKETS): weight of a distance to the diagonal


class Tally(NamedTuple):
    """Count, by group and direction, how often a jump or distance was taken [0] and could have been [1].

    All but the loss is in whole numbers of ONE parts.
    """

    jumps: Longs  # (groups, direction, 2, classes, 2 · CLIP + 1)
    starts: Longs  # (groups, direction, 2, CLIP + 1)
    diagonals: Longs  # (groups, direction, 2, BUCKETS)
    cognates: Longs  # (groups, 2): how often words spelled alike were linked, and how often they met
    loss: Doubles  # (groups, 2): the sum, and the words that it is of

    def of(self, group: int) -> Tally:
        """Return the tally of one group, in the same arrays."""
        own = slice(group, group + 1)
        jumps, starts, diagonals = self.jumps[own], self.starts[own], self.diagonals[own]
        return Tally(jumps, starts, diagonals, self.cognates[own], self.loss[own])


class Direction(NamedTuple):
    """Hold what one direction of a pair explains, and by what."""

    number: int | np.int64  # 0: target words by source words, 1: source words by target words
    emission: Floats  # (steps, states): the ratio of each word and each that may explain it
    nulls: Floats  # (steps or more): the prior probability of each word to have no link
    classes: Ints  # (states or more): the class of each word that may explain others


class Explained(NamedTuple):
    """Hold the room for one direction's result."""

    posterior: Floats  # (steps, states): probability that the word is linked to the state
    scales: Floats  # (steps or more): the scaling factors, whose product is the likelihood


class Common(NamedTuple):
    """Hold the counts of common target words, those with the first numbers, in another order.

    With common source words they stand in a table; with any other, by the source word, which has few.
    """

    table: Floats  # (common target words, as many source words)
    offsets: Longs  # (source words + 1): where each begins in `targets` and `values`
    targets: Ints  # (pairs of words): the target word of each pair
    values: Floats  # (pairs of words)


NONE_COMMON = Common(
    np.empty((0, 0), np.float32), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
)


class Inputs(NamedTuple):
    """Hold all that the posteriors of pairs follow from."""

    source: Words
    target: Words
    counts: Counts
    prior: Prior
    common: Common = NONE_COMMON


class Sums(NamedTuple):
    """Hold the room for what is found of some pairs besides their links."""

    tally: Tally  # of no groups: not kept
    group: int  # of the tally
    scores: Doubles  # (pairs): the mean log ratio per word, of both directions
    nulls: tuple[
        Floats, Floats
    ]  # (tokens of the pairs) of each side: NULL posteriors; of no length: not kept


class Cells(NamedTuple):
    """Hold the word pairs of sentence pairs with a probability above a floor, by their places.

    Those of pair n are `offsets[n]:offsets[n + 1]`.
    """

    offsets: Longs  # (pairs + 1); of no length: nothing is known of any pair
    source: Ints  # (cells): source position
    target: Ints  # (cells): target position
    values: Floats  # (cells): probability


class CountTable(NamedTuple):
    """Hold sums by word pair in a hash table; there is at least one free slot."""

    keys: Longs  # (slots, a power of 2): target word · 2³² + source word, or −1
    sums: Longs  # (slots): in whole numbers of ONE parts
    size: int  # how many slots are taken


class Gradient(NamedTuple):
    """Hold the gradient of each group's distinct words: those of group g stand from `starts[g]` on."""

    starts: Longs  # (groups)
    sizes: Longs  # (groups): how many distinct words each has
    words: Ints  # (tokens)
    values: Floats  # (tokens, dimensions)


class Margin(NamedTuple):
    """Hold what the soft margin depends on besides the vectors."""

    prior: Prior
    negatives: float  # weight of the words of other pairs


class Step(NamedTuple):
    """Hold the room for what one step of learning finds, group by group."""

    tally: Tally
    source: Gradient
    target: Gradient


class Adam(NamedTuple):
    """Hold the state of Adam with one second moment a row."""

    first: Floats  # (rows, dimensions): the decaying mean of gradients
    second: Floats  # (rows): the decaying mean of their squares
    steps: Longs  # (rows): how often each was updated


class AdamRoom(NamedTuple):
    """Hold what an update by Adam needs besides its state."""

    touched: Longs  # (rows): zero before and after
    sums: Floats  # (rows, dimensions): the gradient of each row that is touched
    decays: Floats  # (2, powers): the powers 0, 1, … of both moments' decay rates


def common_counts(counts: Counts, most: int = COMMON) -> Common:
    """Lay out the counts of the commonest target words."""
    size = min(most, len(counts.target), len(counts.source))
    table = np.zeros((size, size), np.float32)
    end = counts.offsets[size]
    sources, values = counts.sources[:end], counts.values[:end]
    targets = np.repeat(np.arange(size, dtype=np.int32), np.diff(counts.offsets[: size + 1]))
    common = sources < size
    table[targets[common], sources[common]] = values[common]
    others = np.flatnonzero(~common)
    others = others[np.argsort(sources[others], kind="stable")]
    offsets = np.zeros(len(counts.source) + 1, np.int64)
    np.cumsum(np.bincount(sources[others], minlength=len(counts.source)), out=offsets[1:])
    return Common(table, offsets, targets[others], values[others])


def new_tally(groups: int, classes: int = 1) -> Tally:
    """Make a tally for so many groups and classes, each at zero."""
    jumps = np.zeros((groups, 2, 2, classes, 2 * CLIP + 1), np.int64)
    starts, diagonals = (np.zeros((groups, 2, 2, size), np.int64) for size in (CLIP + 1, BUCKETS))
    return Tally(jumps, starts, diagonals, np.zeros((groups, 2), np.int64), np.zeros((groups, 2)))


def sum_of_tallies(one: Tally, other: Tally) -> Tally:
    """Add two tallies of the same shape."""
    return Tally(
        one.jumps + other.jumps,
        one.starts + other.starts,
        one.diagonals + other.diagonals,
        one.cognates + other.cognates,
        one.loss + other.loss,
    )


def no_cells() -> Cells:
    """Make cells of which nothing is known."""
    ints = np.empty(0, np.int32)
    return Cells(np.empty(0, np.int64), ints, ints, np.empty(0, np.float32))


def new_count_table(slots: int = 1 << 12) -> CountTable:
    """Make an empty table with room for half as many word pairs as there are slots."""
    return CountTable(np.full(slots, -1, np.int64), np.zeros(slots, np.int64), 0)
