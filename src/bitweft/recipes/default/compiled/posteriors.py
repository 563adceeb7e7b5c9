"""Posteriors of sentence pairs: of all cells of one, or of those above a floor of many."""

from __future__ import annotations

import math

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.arrays import longer
from bitweft.recipes.default.compiled.chain import chain
from bitweft.recipes.default.compiled.emissions import emissions, total_counts
from bitweft.recipes.default.compiled.explain import explain
from bitweft.recipes.default.compiled.types import (
    ONE,
    Cells,
    Direction,
    Explained,
    Floats,
    Inputs,
    Ints,
    Longs,
    Sums,
    Tally,
    Words,
)
from bitweft.recipes.default.compiled.whole import whole


@compiled(entry=True)
def posteriors(inputs: Inputs, pairs: Longs, known: Cells, floor: float, out: Sums) -> Cells:
    """Find the cells √(forward · backward) ≥ floor of some pairs.

    What `known` says that the pairs added to the counts is left out.
    """
    source, target, (s_nulls, t_nulls) = inputs.source, inputs.target, out.nulls
    s_token = t_token = 0
    totals = total_counts(inputs.counts)
    cells = Cells(
        np.zeros(len(pairs) + 1, np.int64),
        np.empty(1024, np.int32),
        np.empty(1024, np.int32),
        np.empty(1024, np.float32),
    )
    for place in range(len(pairs)):
        pair = pairs[place]
        n_source = source.offsets[pair + 1] - source.offsets[pair]
        n_target = target.offsets[pair + 1] - target.offsets[pair]
        out.scores[place] = 0.0
        cells.offsets[place + 1] = cells.offsets[place]
        if len(s_nulls):
            s_nulls[s_token : s_token + n_source] = 1.0
            t_nulls[t_token : t_token + n_target] = 1.0
            s_token += n_source
            t_token += n_target
        if n_source == 0 or n_target == 0:
            continue
        own = _known_cells(known, place, n_source, n_target)
        both = emissions(inputs, pair, totals, own)
        t_own, s_own = explain_both(inputs, pair, both, (out.tally, out.group))
        if len(s_nulls):
            _put_nulls(s_own.posterior, s_nulls[s_token - n_source :])
            _put_nulls(t_own.posterior, t_nulls[t_token - n_target :])
        if len(out.tally.cognates):
            _tally_cognates(inputs, pair, t_own.posterior, s_own.posterior, out.tally.cognates[out.group])
        out.scores[place] = mean_log_ratio(t_own.scales, s_own.scales)
        cells = _with_cells(cells, place, t_own.posterior, s_own.posterior, floor)
    n = cells.offsets[-1]
    return Cells(cells.offsets, cells.source[:n].copy(), cells.target[:n].copy(), cells.values[:n].copy())


@compiled(entry=True)
def matrices(inputs: Inputs, pair: int, tally: Tally) -> tuple[Floats, Floats]:
    """Return one pair's posteriors of both directions: (target, source) and (source, target)."""
    totals, nothing = total_counts(inputs.counts), np.empty((0, 0), np.float32)
    forward, backward = emissions(inputs, pair, totals, nothing)
    both = (forward, backward)
    t_own, s_own = _rooms(forward, backward)
    for number in range(2):
        own, out = direction(inputs, pair, number, both[number]), (t_own, s_own)[number]
        explain(own, inputs.prior, out, tally, np.int64(0))
    return t_own.posterior, s_own.posterior


@compiled()
def explain_both(
    inputs: Inputs, pair: int, both: tuple[Floats, Floats], tallied: tuple[Tally, int | np.int64]
) -> tuple[Explained, Explained]:
    """Explain by jumps, from both directions' ratios, a pair's target words, and its source words.

    The room of the ratios of the first direction is taken for the posteriors of the second.
    """
    tally, group = tallied
    forward, backward = both
    kept = len(tally.jumps) > 0
    t_own = Explained(np.empty_like(forward), np.empty(len(forward), np.float32))
    s_own = Explained(forward.reshape(backward.shape), np.empty(len(backward), np.float32))
    for number in range(2):  # a loop, because code for both is compiled once
        own, out = direction(inputs, pair, number, both[number]), (t_own, s_own)[number]
        jumps = tally.jumps[group, number] if kept else np.empty((0, 0, 0), np.int64)
        starts = tally.starts[group, number] if kept else np.empty((0, 0), np.int64)
        chain(own, inputs.prior, out, jumps, starts)
    return t_own, s_own


@compiled()
def _rooms(forward: Floats, backward: Floats) -> tuple[Explained, Explained]:
    """Make room for both directions' results."""
    return (
        Explained(np.empty_like(forward), np.empty(len(forward), np.float32)),
        Explained(np.empty_like(backward), np.empty(len(backward), np.float32)),
    )


@compiled()
def direction(inputs: Inputs, pair: int, number: int, emission: Floats) -> Direction:
    """Return what one direction of a pair explains, and by what."""
    sides = (inputs.source, inputs.target)
    classes, _ = classes_and_nulls(sides[number], pair, inputs.prior.null)
    _, nulls = classes_and_nulls(sides[1 - number], pair, inputs.prior.null)
    return Direction(number, emission, nulls, classes)


@compiled()
def classes_and_nulls(side: Words, pair: int, null: float) -> tuple[Ints, Floats]:
    """Return of each word of a sentence its class and its prior probability to have no link.

    Unseen words are of the class of rare ones.
    """
    first, last = side.offsets[pair], side.offsets[pair + 1]
    classes = np.zeros(last - first, np.int32)
    nulls = np.full(last - first, null, np.float32)
    tokens, own_classes, own_nulls = side.tokens, side.classes, side.nulls
    for place in range(last - first):
        word = tokens[first + place]
        if word < len(own_classes):
            classes[place] = own_classes[word]
            nulls[place] = own_nulls[word]
    return classes, nulls


@compiled()
def mean_log_ratio(t_scales: Floats, s_scales: Floats) -> float:
    """Return the mean log ratio per word."""
    score = 0.0
    for t in range(len(t_scales)):
        score += math.log(t_scales[t])
    for s in range(len(s_scales)):
        score += math.log(s_scales[s])
    return score / (len(t_scales) + len(s_scales))


@compiled()
def _with_cells(cells: Cells, place: int, t_posterior: Floats, s_posterior: Floats, floor: float) -> Cells:
    """Add the cells of the pair at a place, which follow those of the place before."""
    offsets, s_cells, t_cells, values = cells
    n_source, n_target = s_posterior.shape
    n = offsets[place]
    while n + n_source * n_target > len(values):  # not in the loop: an array that may change is counted there
        s_cells, t_cells, values = longer(s_cells), longer(t_cells), longer(values)
    least = np.float32(floor * floor * 0.999)
    for s in range(n_source):
        for t in range(n_target):
            product = t_posterior[t, s] * s_posterior[s, t]
            if product >= least:
                value = math.sqrt(product)
                if value >= floor:
                    s_cells[n] = s
                    t_cells[n] = t
                    values[n] = value
                    n += 1
    offsets[place + 1] = n
    return Cells(offsets, s_cells, t_cells, values)


@compiled()
def _tally_cognates(
    inputs: Inputs, pair: int, t_posterior: Floats, s_posterior: Floats, tally: Longs
) -> None:
    """Tally how often the words of a pair that are spelled alike are linked, and how many there are."""
    source, target, cognates = inputs.source, inputs.target, inputs.counts.cognates
    s_tokens = source.tokens[source.offsets[pair] : source.offsets[pair + 1]]
    t_tokens = target.tokens[target.offsets[pair] : target.offsets[pair + 1]]
    for t in range(len(t_tokens)):
        cognate = cognates[t_tokens[t]]
        if cognate < 0:
            continue
        for s in range(len(s_tokens)):
            if cognate == s_tokens[s]:
                tally[0] += whole(math.sqrt(t_posterior[t, s] * s_posterior[s, t]))
                tally[1] += ONE


@compiled()
def _put_nulls(posterior: Floats, out: Floats) -> None:
    """Put down of each word of a sentence the posterior of NULL."""
    for place in range(posterior.shape[0]):
        linked = np.float32(0.0)
        for k in range(posterior.shape[1]):
            linked += posterior[place, k]
        out[place] = max(np.float32(1.0) - linked, np.float32(0.0))


@compiled()
def _known_cells(known: Cells, place: int, n_source: int, n_target: int) -> Floats:
    """Lay out the cells of one pair as a matrix; none where no cells are known."""
    if len(known.offsets) == 0:
        return np.empty((0, 0), np.float32)
    own = np.zeros((n_source, n_target), np.float32)
    offsets, source, target, values = known
    for at in range(offsets[place], offsets[place + 1]):
        own[source[at], target[at]] = values[at]
    return own
