"""The gradient of the soft margin over one group of pairs, by distinct word."""

from __future__ import annotations

import math

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.explain import explain
from bitweft.recipes.default.compiled.exponentials import exponentials
from bitweft.recipes.default.compiled.types import (
    Direction,
    Doubles,
    Explained,
    Floats,
    Gradient,
    Ints,
    Longs,
    Margin,
    Prior,
    Side,
    Step,
    Tally,
)
from bitweft.recipes.default.compiled.vectors import compose


@compiled()
def gradients(sides: tuple[Side, Side], pairs: Longs, margin: Margin, group: int, out: Step) -> None:
    """Find the gradient of the soft margin over one group: each pair's words are negatives of all others."""
    (source, target), prior, tally = sides, margin.prior, out.tally
    s_places = np.empty(out.source.words.shape[0], np.int32)
    t_places = np.empty(out.target.words.shape[0], np.int32)
    s_words = _distinct(source, pairs, s_places)
    t_words = _distinct(target, pairs, t_places)
    s_vectors = np.empty((len(s_words), source.table.shape[1]), np.float32)
    t_vectors = np.empty((len(t_words), target.table.shape[1]), np.float32)
    compose(s_words, source.rows, source.row_offsets, source.table, s_vectors)
    compose(t_words, target.rows, target.row_offsets, target.table, t_vectors)
    ratio = np.dot(t_vectors, s_vectors.T)  # (target words, source words)
    exponentials(ratio)
    s_counts = _occurrences(source, pairs, s_places, len(s_words))
    t_counts = _occurrences(target, pairs, t_places, len(t_words))
    s_shares, t_shares = _shares(s_counts), _shares(t_counts)
    weight = margin.negatives / max(len(pairs) - 1, 1)  # a pair alone has no negatives
    loss = tally.loss[group]
    t_weights = _negative_weights(np.dot(ratio, s_shares), t_counts, prior.null, weight, loss)
    s_weights = _negative_weights(np.dot(ratio.T.copy(), t_shares), s_counts, prior.null, weight, loss)
    slope = np.dot(t_weights, s_shares.T)  # d loss / d score
    other = np.dot(t_shares, s_weights.T)
    for t in range(ratio.shape[0]):
        for s in range(ratio.shape[1]):
            slope[t, s] = (slope[t, s] + other[t, s]) * ratio[t, s]
    s_start = t_start = 0
    for pair in pairs:
        n_source = source.offsets[pair + 1] - source.offsets[pair]
        n_target = target.offsets[pair + 1] - target.offsets[pair]
        places = (s_places[s_start : s_start + n_source], t_places[t_start : t_start + n_target])
        _add_positive(ratio, slope, places, prior, (tally, group))
        s_start += n_source
        t_start += n_target
    _put(out.target, group, t_words, np.dot(slope, s_vectors))
    _put(out.source, group, s_words, np.dot(slope.T.copy(), t_vectors))


@compiled()
def _distinct(side: Side, pairs: Longs, places: Ints) -> Ints:
    """Return the distinct words of some pairs; `places` says which of them each token is."""
    tokens, offsets = side.tokens, side.offsets
    size = 0
    for pair in pairs:
        size += offsets[pair + 1] - offsets[pair]
    slots = 1
    while slots < 2 * size:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    distinct = np.empty(size, np.int32)
    n = token = 0
    for pair in pairs:
        for at in range(offsets[pair], offsets[pair + 1]):
            word = tokens[at]
            slot = (word * 40503) & (slots - 1)
            while table[slot] >= 0 and distinct[table[slot]] != word:
                slot = (slot + 1) & (slots - 1)
            if table[slot] < 0:
                table[slot] = n
                distinct[n] = word
                n += 1
            places[token] = table[slot]
            token += 1
    return distinct[:n]


@compiled()
def _occurrences(side: Side, pairs: Longs, places: Ints, n_words: int) -> Floats:
    """Count each distinct word in each pair of a group."""
    counts = np.zeros((n_words, len(pairs)), np.float32)
    offsets = side.offsets
    token = 0
    for b in range(len(pairs)):
        for _ in range(offsets[pairs[b]], offsets[pairs[b] + 1]):
            counts[places[token], b] += 1.0
            token += 1
    return counts


@compiled()
def _shares(counts: Floats) -> Floats:
    """Divide each column by its sum."""
    shares = np.empty_like(counts)
    for b in range(counts.shape[1]):
        total = np.float32(0.0)
        for w in range(counts.shape[0]):
            total += counts[w, b]
        for w in range(counts.shape[0]):
            shares[w, b] = counts[w, b] / total
    return shares


@compiled()
def _negative_weights(
    aggregated: Floats, counts: Floats, null: float, weight: float, loss: Doubles
) -> Floats:
    """Turn a of each word and each sentence of the group into the slope of log(1 + a), but for its own."""
    n_words, n_pairs = counts.shape
    lost = 0.0
    for w in range(n_words):
        total = np.float32(0.0)
        for b in range(n_pairs):
            total += counts[w, b]
        for b in range(n_pairs):
            a = np.float32(null) + np.float32(1.0 - null) * aggregated[w, b]
            times = np.float32(weight) * (total - counts[w, b])
            lost += times * math.log(np.float32(1.0) + a)
            aggregated[w, b] = times * np.float32(1.0 - null) / (np.float32(1.0) + a)
    loss[0] += lost
    return aggregated


@compiled()
def _add_positive(
    ratio: Floats, slope: Floats, places: tuple[Ints, Ints], prior: Prior, tallied: tuple[Tally, int]
) -> None:
    """Add the gradient of log(1 + 1/a) of one pair's words, both directions drawn towards agreement."""
    (s_own, t_own), (tally, group) = places, tallied
    n_source, n_target = len(s_own), len(t_own)
    forward = np.empty((n_target, n_source), np.float32)
    backward = np.empty((n_source, n_target), np.float32)
    for t in range(n_target):
        for s in range(n_source):
            forward[t, s] = backward[s, t] = ratio[t_own[t], s_own[s]]
    t_posterior = np.empty_like(forward)
    s_posterior = np.empty_like(backward)
    t_scales = np.empty(n_target, np.float32)
    s_scales = np.empty(n_source, np.float32)
    longest = max(n_source, n_target)
    nulls = np.full(longest, prior.null, np.float32)
    classes = np.zeros(longest, np.int32)
    emissions, posteriors, scales = (forward, backward), (t_posterior, s_posterior), (t_scales, s_scales)
    for number in range(2):  # a loop, because code for both is compiled once
        own = Direction(number, emissions[number], nulls, classes)
        explain(own, prior, Explained(posteriors[number], scales[number]), tally, group)
    t_slopes = np.float32(1.0) / (np.float32(1.0) + t_scales)
    s_slopes = np.float32(1.0) / (np.float32(1.0) + s_scales)
    for t in range(n_target):
        for s in range(n_source):
            agreed = math.sqrt(t_posterior[t, s] * s_posterior[s, t])
            slope[t_own[t], s_own[s]] -= agreed * (t_slopes[t] + s_slopes[s])
    loss = tally.loss[group]
    for t in range(n_target):
        loss[0] += math.log(1.0 + 1.0 / t_scales[t])
    for s in range(n_source):
        loss[0] += math.log(1.0 + 1.0 / s_scales[s])
    loss[1] += n_target + n_source


@compiled()
def _put(out: Gradient, group: int, words: Ints, values: Floats) -> None:
    """Write the gradient of a group's distinct words to the place of the group."""
    out_words, out_values = out.words, out.values
    start = out.starts[group]
    out.sizes[group] = len(words)
    for w in range(len(words)):
        out_words[start + w] = words[w]
        for c in range(values.shape[1]):
            out_values[start + w, c] = values[w, c]
