"""Ratios of a pair's words, from the vectors, the spelling, and the counts of linked words."""

from __future__ import annotations

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.arrays import place_of
from bitweft.recipes.default.compiled.exponentials import exponentials
from bitweft.recipes.default.compiled.types import Common, Counts, Floats, Inputs, Ints, Longs
from bitweft.recipes.default.compiled.vectors import pick, products

SHORT = 64  # keys of a row that are gone through, not searched


@compiled()
def emissions(inputs: Inputs, pair: int, totals: tuple[float, float], own: Floats) -> tuple[Floats, Floats]:
    """Return both directions' ratios, (target, source) and (source, target).

    Counts of links, less the pair's own, are smoothed by the ratios that vectors and cognates give. A word
    that training did not see has no counts: there the vectors and the spelling decide alone.
    """
    source, target, counts = inputs.source, inputs.target, inputs.counts
    s_tokens = source.tokens[source.offsets[pair] : source.offsets[pair + 1]]
    t_tokens = target.tokens[target.offsets[pair] : target.offsets[pair + 1]]
    s_vectors = pick(s_tokens, source.vectors, source.unseen)
    forward = products(pick(t_tokens, target.vectors, target.unseen), s_vectors)
    exponentials(forward)
    backward = np.empty((len(s_tokens), len(t_tokens)), np.float32)
    s_scales, s_inverse, s_weights = _word_weights(
        s_tokens, source.scales, counts.source, totals[0], counts.strength
    )
    t_scales, t_inverse, t_weights = _word_weights(
        t_tokens, target.scales, counts.target, totals[1], counts.strength
    )
    strength, probability = np.float32(counts.strength), np.float32(counts.cognate_probability)
    cognates = counts.cognates
    found = look_up(counts, inputs.common, s_tokens, t_tokens, own)
    for t in range(len(t_tokens)):
        cognate = cognates[t_tokens[t]]
        for s in range(len(s_tokens)):
            ahead, back = forward[t, s] * s_scales[s], forward[t, s] * t_scales[t]
            if cognate == s_tokens[s]:
                ahead += probability * (t_inverse[t] - ahead)
                back += probability * (s_inverse[s] - back)
            if s_weights[s] * t_weights[t] > 0.0:
                ahead = (found[t, s] * t_inverse[t] + strength * ahead) * s_weights[s]
                back = (found[t, s] * s_inverse[s] + strength * back) * t_weights[t]
            forward[t, s] = ahead
            backward[s, t] = back
    return forward, backward


@compiled()
def _word_weights(
    tokens: Ints, scales: Floats, counts: Longs, total: float, strength: float
) -> tuple[Floats, Floats, Floats]:
    """Return of each word its scale, its inverse frequency 1/p(word), and the weight of a count of it.

    A word that training did not see, or counts that have no strength, weigh nothing.
    """
    own = np.ones(len(tokens), np.float32)
    inverse = np.full(len(tokens), total, np.float32)
    weight = np.zeros(len(tokens), np.float32)
    for place in range(len(tokens)):
        word = tokens[place]
        if word < len(scales):
            own[place] = scales[word]
        if word < len(counts) and counts[word] > 0:
            inverse[place] = total / counts[word]
            if strength > 0.0:
                weight[place] = 1.0 / (counts[word] + strength)
    return own, inverse, weight


@compiled()
def look_up(counts: Counts, common: Common, s_tokens: Ints, t_tokens: Ints, own: Floats) -> Floats:
    """Look up the counts of a pair's cells, (target, source), less what the pair itself added to them.

    Those of two common words stand in a table; others are found in the short row of the word that is not
    common. A word that training did not see has no row.
    """
    found = np.zeros((len(t_tokens), len(s_tokens)), np.float32)
    size = len(common.table)
    for t in range(len(t_tokens)):
        target = t_tokens[t]
        if target < size:
            for s in range(len(s_tokens)):
                if s_tokens[s] < size:
                    found[t, s] = common.table[target, s_tokens[s]]
        elif target + 1 < len(counts.offsets):
            row = counts.offsets[target], counts.offsets[target + 1]
            _find(counts.sources, counts.values, row, s_tokens, found[t])
    for s in range(len(s_tokens)):
        source = s_tokens[s]
        if source < size or source + 1 >= len(common.offsets):
            continue
        first, end = common.offsets[source], common.offsets[source + 1]
        for t in range(len(t_tokens)):
            if t_tokens[t] < size:
                place = place_of(common.targets, first, end, t_tokens[t])
                if place < end and common.targets[place] == t_tokens[t]:
                    found[t, s] = common.values[place]
    if len(own):
        for t in range(len(t_tokens)):
            for s in range(len(s_tokens)):
                found[t, s] = max(found[t, s] - own[s, t], np.float32(0.0))
    return found


@compiled()
def _find(keys: Ints, values: Floats, row: tuple[np.int64, np.int64], words: Ints, out: Floats) -> None:
    """Put down the value of each word that is a key of the row."""
    first, end = row
    if end - first > SHORT:
        for n in range(len(words)):
            place = place_of(keys, first, end, words[n])
            if place < end and keys[place] == words[n]:
                out[n] = values[place]
        return
    for place in range(first, end):  # all words are held against each key, without a branch
        key, value = keys[place], values[place]
        for n in range(len(words)):
            out[n] = value if words[n] == key else out[n]


@compiled()
def total_counts(counts: Counts) -> tuple[float, float]:
    """Return how many source words and target words the text of training has."""
    source = target = 0
    for count in counts.source:
        source += count
    for count in counts.target:
        target += count
    return float(source), float(target)
