"""Batches cut into groups, whose pairs are each other's negatives."""

from __future__ import annotations

import numpy as np

from bitweft.recipes.default.compiled.types import Longs


def group_bounds(pairs: int, group: int) -> Longs:
    """Cut a batch into groups; a last pair that would stand alone joins the group before it."""
    bounds = np.arange(0, pairs, group)
    if len(bounds) > 1 and pairs - bounds[-1] == 1:
        bounds = bounds[:-1]
    return np.append(bounds, pairs)
