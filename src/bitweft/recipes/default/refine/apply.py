"""Refined links of pairs, compiled by numba: posteriors, the numbers of cells worth a look, trees.

A pair's links are a function of the model and that pair: pairs share nothing but the call.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bitweft.recipes.default.kernels import (
    Cells,
    Counts,
    Doubles,
    Floats,
    Ints,
    Longs,
    Prior,
    Tally,
    Words,
    _emissions,
    _longer,
    _totals,
    _word_facts,
    explain,
    inner,
    kernel,
)
from bitweft.recipes.default.refine.features import MARGIN, WIDTH, Facts, agreed_of, candidates, features
from bitweft.recipes.default.refine.trees import Trees, add_margins


class Spelt(NamedTuple):
    """Say of each word of both sides, those that training did not see included, whether it is a sign."""

    source: Floats
    target: Floats


class Looked(NamedTuple):
    """Hold the cells worth a look: those of pair n are `offsets[n]:offsets[n + 1]`."""

    offsets: Longs  # (pairs + 1)
    source: Ints
    target: Ints
    numbers: Floats  # (cells, features)


@inner
def _sentence_facts(
    side: Words, pair: int, counts: Longs, total: float, nulls: Floats, signs: Floats
) -> Facts:
    """Return what is known of the words of one sentence; one that training did not see counts half."""
    first, last = side.offsets[pair], side.offsets[pair + 1]
    common = np.empty(last - first, np.float32)
    seen = np.empty(last - first, np.float32)
    sign = np.empty(last - first, np.float32)
    tokens = side.tokens
    size = math.log(max(total, 1.0))
    for place in range(last - first):
        word = tokens[first + place]
        often = 0.5 + (counts[word] if word < len(counts) else 0)
        seen[place] = math.log(often)
        common[place] = math.log(often) - size
        sign[place] = signs[word]
    return Facts(common, seen, nulls, sign)


@inner
def _log_ratios(forward: Floats, backward: Floats) -> Floats:
    """Return the mean of both directions' log ratios, (source, target), padded."""
    n, m = backward.shape
    out = np.zeros((n + 2 * MARGIN, m + 2 * MARGIN), np.float32)
    for s in range(n):
        for t in range(m):
            product = (forward[t, s] + 1e-6) * (backward[s, t] + 1e-6)
            out[s + MARGIN, t + MARGIN] = 0.5 * math.log(product)
    return out


@inner
def _look(
    source: Words, target: Words, pair: int, counts: Counts, totals: tuple[float, float], prior: Prior,
    signs: Spelt, tally: Tally,
) -> tuple[Ints, Ints, Floats, float]:  # fmt: skip
    """Find the cells of one pair that are worth a look, their numbers, and the pair's score."""
    nothing = np.empty((0, 0), np.float32)
    ahead, back = _emissions(source, target, pair, counts, totals, nothing)
    n_target, n_source = ahead.shape
    t_posterior, backward = np.empty_like(ahead), np.empty_like(back)
    t_scales, s_scales = np.empty(n_target, np.float32), np.empty(n_source, np.float32)
    s_classes, s_nulls = _word_facts(source, pair, prior.null)
    t_classes, t_nulls = _word_facts(target, pair, prior.null)
    explain(ahead, t_nulls, prior, 0, s_classes, t_posterior, t_scales, tally, 0)
    explain(back, s_nulls, prior, 1, t_classes, backward, s_scales, tally, 0)
    score = 0.0
    for t in range(n_target):
        score += math.log(t_scales[t])
    for s in range(n_source):
        score += math.log(s_scales[s])
    forward = t_posterior.T.copy()
    agreed = agreed_of(forward, backward)
    s_cells, t_cells = candidates(forward, backward, agreed)
    numbers = np.empty((len(s_cells), WIDTH), np.float32)
    s_facts = _sentence_facts(source, pair, counts.source, totals[0], s_nulls, signs.source)
    t_facts = _sentence_facts(target, pair, counts.target, totals[1], t_nulls, signs.target)
    ratios = _log_ratios(ahead, back)
    features(forward, backward, ratios, agreed, s_cells, t_cells, s_facts, t_facts, numbers)
    return s_cells, t_cells, numbers, score / (n_source + n_target)


@kernel
def look(
    source: Words, target: Words, pairs: int, counts: Counts, prior: Prior, signs: Spelt, tally: Tally
) -> Looked:
    """Return all cells of the first pairs that are worth a look, with their numbers."""
    totals = _totals(counts)
    offsets = np.zeros(pairs + 1, np.int64)
    s_all, t_all = np.empty(1024, np.int32), np.empty(1024, np.int32)
    numbers = np.empty((1024, WIDTH), np.float32)
    n = 0
    for pair in range(pairs):
        offsets[pair + 1] = n
        if _empty(source, pair) or _empty(target, pair):
            continue
        s_cells, t_cells, own, _ = _look(source, target, pair, counts, totals, prior, signs, tally)
        while n + len(own) > len(s_all):
            s_all, t_all = _longer(s_all), _longer(t_all)
            longer = np.empty((2 * len(numbers), WIDTH), np.float32)
            longer[:n] = numbers[:n]
            numbers = longer
        s_all[n : n + len(own)], t_all[n : n + len(own)] = s_cells, t_cells
        numbers[n : n + len(own)] = own
        n += len(own)
        offsets[pair + 1] = n
    return Looked(offsets, s_all[:n].copy(), t_all[:n].copy(), numbers[:n].copy())


@inner
def _empty(side: Words, pair: int) -> bool:
    return bool(side.offsets[pair + 1] == side.offsets[pair])


@kernel
def refine(
    source: Words,
    target: Words,
    pairs: int,
    counts: Counts,
    prior: Prior,
    signs: Spelt,
    tally: Tally,
    trees: tuple[Trees, Trees],
    shares: tuple[float, float],
    bound: float,
    scores: Doubles,
) -> Cells:
    """Find the links of the first pairs whose log odds, the trees' sums by their shares, reach the bound.

    `scores` gets each pair's mean log ratio a word, both ways. The values are probabilities.
    """
    totals = _totals(counts)
    offsets = np.zeros(pairs + 1, np.int64)
    s_links, t_links = np.empty(1024, np.int32), np.empty(1024, np.int32)
    values = np.empty(1024, np.float32)
    n = 0
    for pair in range(pairs):
        scores[pair] = 0.0
        offsets[pair + 1] = n
        if _empty(source, pair) or _empty(target, pair):
            continue
        s_cells, t_cells, own, score = _look(source, target, pair, counts, totals, prior, signs, tally)
        scores[pair] = score
        odds = np.zeros(len(own))
        add_margins(trees[0], own, np.float64(shares[0]), odds)
        add_margins(trees[1], own, np.float64(shares[1]), odds)
        for at in range(len(own)):
            if odds[at] < bound:
                continue
            if n == len(values):
                s_links, t_links, values = _longer(s_links), _longer(t_links), _longer(values)
            s_links[n], t_links[n] = s_cells[at], t_cells[at]
            values[n] = 1.0 / (1.0 + math.exp(-odds[at]))
            n += 1
        offsets[pair + 1] = n
    return Cells(offsets, s_links[:n].copy(), t_links[:n].copy(), values[:n].copy())
