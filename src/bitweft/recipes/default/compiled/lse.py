"""Posteriors of one direction by sums over independent words, likelier near the diagonal."""

from __future__ import annotations

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.types import BUCKETS, Direction, Explained, Longs, Prior
from bitweft.recipes.default.compiled.whole import whole


@compiled()
def lse(own: Direction, prior: Prior, out: Explained, tally: Longs) -> None:
    """Find the posteriors and sums of independent words, with a prior by distance to the diagonal."""
    emission, posterior, scales = own.emission, out.posterior, out.scales
    null, diagonal = prior.null, prior.diagonals[own.number]
    n_steps, n = emission.shape
    places, weights = np.empty(n, np.int32), np.empty(n, np.float32)
    taken, chances = np.zeros(BUCKETS, np.float32), np.zeros(BUCKETS, np.float32)
    per_word = BUCKETS / (2.0 * n_steps * n)
    for step in range(n_steps):
        total = np.float32(0.0)
        for k in range(n):
            distance = abs((2 * step + 1) * n - (2 * k + 1) * n_steps)
            # A bit more than rounding errors, and less than from any quotient to the next whole number.
            places[k] = min(np.int32(distance * per_word + 1e-9), np.int32(BUCKETS - 1))
        for k in range(n):
            weights[k] = diagonal[places[k]]
            total += weights[k]
        share = np.float32(1.0 - null) / total
        scale = np.float32(null)
        for k in range(n):
            weights[k] = share * weights[k] * emission[step, k]
            scale += weights[k]
        scales[step] = scale
        inverse = np.float32(1.0) / scale
        for k in range(n):
            posterior[step, k] = weights[k] * inverse
        if len(tally):
            chance = (scale - np.float32(null)) * inverse / total
            for k in range(n):
                taken[places[k]] += posterior[step, k]
                chances[places[k]] += chance
    if len(tally):
        for bucket in range(BUCKETS):
            tally[0, bucket] += whole(taken[bucket])
            tally[1, bucket] += whole(chances[bucket])
