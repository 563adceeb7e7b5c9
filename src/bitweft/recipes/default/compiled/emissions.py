"""Ratios of a pair's words, from the vectors, the spelling, and the counts of linked words."""

from __future__ import annotations

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.exponentials import exponentials
from bitweft.recipes.default.compiled.types import Counts, Floats, Inputs, Ints, Longs
from bitweft.recipes.default.compiled.vectors import pick, products


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
def look_up(counts: Counts, common: Floats, s_tokens: Ints, t_tokens: Ints, own: Floats) -> Floats:
    """Look up the counts of a pair's cells, (target, source), less what the pair itself added to them.

    Those of two common words stand in a table, most of the others in the short rows of rare target words.
    """
    found = np.zeros((len(t_tokens), len(s_tokens)), np.float32)
    offsets, sources, values = counts.offsets, counts.sources, counts.values
    for t in range(len(t_tokens)):
        target = t_tokens[t]
        if target + 1 >= len(offsets):  # a word that training did not see
            continue
        first, end = offsets[target], offsets[target + 1]
        at_once = len(common) if target < len(common) else 0
        for s in range(len(s_tokens)):
            source = s_tokens[s]
            if source < at_once:
                found[t, s] = common[target, source]
                continue
            low, high = first, end
            while low < high:
                middle = (low + high) // 2
                if sources[middle] < source:
                    low = middle + 1
                else:
                    high = middle
            if low < end and sources[low] == source:
                found[t, s] = values[low]
    if len(own):
        for t in range(len(t_tokens)):
            for s in range(len(s_tokens)):
                found[t, s] = max(found[t, s] - own[s, t], np.float32(0.0))
    return found


@compiled()
def total_counts(counts: Counts) -> tuple[float, float]:
    """Return how many source words and target words the text of training has."""
    source = target = 0
    for count in counts.source:
        source += count
    for count in counts.target:
        target += count
    return float(source), float(target)
