"""Sums of whole numbers: the same in any order."""

from __future__ import annotations

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.types import ONE


@compiled()
def whole(value: float | np.float32) -> np.int64:
    """Return a number of at least 0 in whole ONEths."""
    return np.int64(value * np.float64(ONE) + 0.5)
