"""Batches cut into groups, and tallies with a place for each group."""

from __future__ import annotations

import numpy as np

from bitweft.recipes.default.kernels import CLIP, Longs, Tally

BUCKETS = 16  # of the distance to the diagonal


def group_bounds(pairs: int, group: int) -> Longs:
    """Cut a batch into groups; a last pair that would stand alone joins the group before it."""
    bounds = np.arange(0, pairs, group)
    if len(bounds) > 1 and pairs - bounds[-1] == 1:
        bounds = bounds[:-1]
    return np.append(bounds, pairs)


def new_tally(groups: int, classes: int = 1) -> Tally:
    """Make a tally for so many groups and classes, each at zero."""
    jumps = np.zeros((groups, 2, 2, classes, 2 * CLIP + 1))
    starts, diagonals = (np.zeros((groups, 2, 2, size)) for size in (CLIP + 1, BUCKETS))
    return Tally(jumps, starts, diagonals, np.zeros((groups, 2)), np.zeros((groups, 2)))
