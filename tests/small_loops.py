"""Small random texts, priors and counts for tests of the inner loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bitweft.recipes.default.compiled.types import (
    BUCKETS,
    CLIP,
    Adam,
    Cells,
    Counts,
    Floats,
    Inputs,
    Longs,
    Prior,
    Side,
    Sums,
    Tally,
    Words,
    new_tally,
    no_cells,
)
from bitweft.recipes.default.loops import Loops

Random = np.random.Generator


def some_prior(random: Random, *, classes: int = 1, mixture: float = 0.0, chained: bool = True) -> Prior:
    """Draw weights of jumps, starts and diagonals, different ones for each direction and class."""

    def weights(*shape: int) -> Floats:
        return np.exp(random.normal(0, 1, shape)).astype(np.float32)

    jumps, starts, diagonals = weights(2, classes, 2 * CLIP + 1), weights(2, CLIP + 1), weights(2, BUCKETS)
    return Prior(0.1, mixture, chained, jumps, starts, diagonals)


def some_side(random: Random, lengths: Sequence[int], *, words: int = 12, dimensions: int = 4) -> Side:
    """Draw a text of some lengths; words share rows, and have up to three."""
    numbers = random.integers(1, 4, words)
    rows = [random.choice(words + 3, number, replace=False) for number in numbers]
    table = random.normal(0, 0.5, (words + 3, dimensions)).astype(np.float32)
    tokens = random.integers(0, words, sum(lengths)).astype(np.int32)
    return Side(tokens, offsets(lengths), np.concatenate(rows).astype(np.int32), offsets(numbers), table)


def some_words(
    random: Random, lengths: Sequence[int], *, words: int = 12, classes: int = 1, unseen: int = 0
) -> Words:
    """Draw a text of some lengths and values for its words; the last `unseen` ones training did not see."""
    known = (
        random.integers(0, classes, words).astype(np.int32),
        random.uniform(0.02, 0.3, words).astype(np.float32),
        random.uniform(0.5, 2, words).astype(np.float32),
        random.normal(0, 0.7, (words, 4)).astype(np.float32),
        random.normal(0, 0.7, (unseen, 4)).astype(np.float32),
    )
    tokens = random.integers(0, words + unseen, sum(lengths)).astype(np.int32)
    return Words(tokens, offsets(lengths), *known)


def some_counts(random: Random, *, words: int = 12, unseen: int = 0, strength: float = 3.0) -> Counts:
    """Draw counts for about half of all pairs of words, and cognates for about half of the words."""
    filled = random.uniform(0, 1, (words, words)) < 0.5  # (target, source)
    sources = np.nonzero(filled)[1].astype(np.int32)
    cognates = random.permutation(words + unseen).astype(np.int32)
    cognates[random.uniform(0, 1, words + unseen) < 0.5] = -1
    return Counts(
        offsets(filled.sum(1)),
        sources,
        random.uniform(0, 5, len(sources)).astype(np.float32),
        random.integers(1, 40, words),
        random.integers(1, 40, words),
        strength,
        cognates,
        0.3,
    )


def plain_words(scores: npt.NDArray[np.float64], nulls: Any, classes: Any) -> tuple[Words, Words]:
    """Make one pair of distinct words with these (target, source) scores; the rest is by side."""
    n_target, n_source = scores.shape
    vectors = (np.eye(n_source, dtype=np.float32), scores.astype(np.float32))
    none = np.empty((0, n_source), np.float32)
    source, target = (
        Words(
            np.arange(size, dtype=np.int32),
            offsets([size]),
            np.asarray(own_classes, np.int32),
            np.asarray(own_nulls, np.float32),
            np.ones(size, np.float32),
            own_vectors,
            none,
        )
        for size, own_classes, own_nulls, own_vectors in zip(
            (n_source, n_target), classes, nulls, vectors, strict=True
        )
    )
    return source, target


def vectors_alone(source: int, target: int) -> Counts:
    """Make counts that leave every decision to the vectors."""
    ints, zeros = np.empty(0, np.int32), np.zeros(target + 1, np.int64)
    none = np.full(target, -1, np.int32)
    ones = np.ones(max(source, target), np.int64)
    return Counts(zeros, ints, np.empty(0, np.float32), ones[:source], ones[:target], 0.0, none, 0.0)


def adam_of(side: Side) -> Adam:
    """Begin Adam at zero."""
    rows = len(side.table)
    return Adam(np.zeros_like(side.table), np.zeros(rows, np.float32), np.zeros(rows, np.int64))


def offsets(lengths: Any) -> Longs:
    """Return where each of some stretches begins, and the end."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def infer(
    loops: Loops,
    source: Words,
    target: Words,
    counts: Counts,
    prior: Prior,
    *,
    pairs: Any = None,
    floor: float = 0.0,
    known: Cells | None = None,
) -> tuple[Cells, npt.NDArray[np.float64], Tally, list[Floats]]:
    """Find the posteriors of some pairs, or all; return cells, scores, tally, NULL posteriors by token."""
    pairs = np.arange(len(source.offsets) - 1) if pairs is None else np.asarray(pairs, np.int64)
    scores = np.full(len(pairs), np.nan)
    tally = new_tally(1, prior.jumps.shape[1])
    s_nulls, t_nulls = (
        np.full((side.offsets[pairs + 1] - side.offsets[pairs]).sum(), np.nan, np.float32)
        for side in (source, target)
    )
    known = no_cells() if known is None else known
    sums = Sums(tally, 0, scores, (s_nulls, t_nulls))
    cells = loops.posteriors(Inputs(source, target, counts, prior), pairs, known, floor, sums)
    return cells, scores, tally, [s_nulls, t_nulls]
