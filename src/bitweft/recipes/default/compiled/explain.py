"""Posteriors of one direction, by the prior that holds at the time."""

from __future__ import annotations

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.chain import chain
from bitweft.recipes.default.compiled.lse import lse
from bitweft.recipes.default.compiled.types import Direction, Explained, Prior, Tally


@compiled()
def explain(own: Direction, prior: Prior, out: Explained, tally: Tally, group: int | np.int64) -> None:
    """Find one direction's posteriors and scaling factors; a tally of no groups is not kept."""
    kept = len(tally.jumps) > 0
    if prior.chained:
        jumps = tally.jumps[group, own.number] if kept else np.empty((0, 0, 0), np.int64)
        starts = tally.starts[group, own.number] if kept else np.empty((0, 0), np.int64)
        chain(own, prior, out, jumps, starts)
    else:
        diagonals = tally.diagonals[group, own.number] if kept else np.empty((0, 0), np.int64)
        lse(own, prior, out, diagonals)
