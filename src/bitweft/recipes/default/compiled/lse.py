"""Posteriors of one direction by sums over independent words, likelier near the diagonal."""

from __future__ import annotations

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.types import Direction, Explained, Longs, Prior
from bitweft.recipes.default.compiled.whole import whole


@compiled()
def lse(own: Direction, prior: Prior, out: Explained, tally: Longs) -> None:
    """Find the posteriors and sums of independent words, with a prior by distance to the diagonal."""
    emission, posterior, scales = own.emission, out.posterior, out.scales
    null, diagonal = prior.null, prior.diagonals[own.number]
    n_steps, n = emission.shape
    buckets = len(diagonal)
    places = np.empty(n, np.int64)
    for step in range(n_steps):
        total = np.float32(0.0)
        for k in range(n):
            distance = abs((2 * step + 1) * n - (2 * k + 1) * n_steps)  # in whole numbers: exact anywhere
            places[k] = min(distance * buckets // (2 * n_steps * n), buckets - 1)
            total += diagonal[places[k]]
        scale = np.float32(null)
        for k in range(n):
            posterior[step, k] = np.float32(1.0 - null) / total * diagonal[places[k]] * emission[step, k]
            scale += posterior[step, k]
        scales[step] = scale
        chance = np.float32(0.0)
        for k in range(n):
            posterior[step, k] /= scale
            chance += posterior[step, k]
        if len(tally):
            possible = whole(chance / total)
            for k in range(n):
                tally[0, places[k]] += whole(posterior[step, k])
                tally[1, places[k]] += possible
