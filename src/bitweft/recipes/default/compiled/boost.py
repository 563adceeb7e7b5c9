"""One tree of gradient boosting, by histograms of slopes and curves."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.types import Doubles, Floats, Ints, Longs

Bytes: TypeAlias = npt.NDArray[np.uint8]
BINS = 64


@compiled(entry=True)
def grow(
    codes: Bytes, rows: Longs, asked: Longs, slope: Doubles, curve: Doubles, depth: int, ridge: float
) -> tuple[Ints, Ints, Doubles]:
    """Grow one tree on some rows, asking for some features.

    Returns:
        Its questions' features and bins, and its answers before the rate.
    """
    features, bins = np.zeros(depth, np.int32), np.full(depth, BINS, np.int32)
    leaves = np.zeros(len(rows), np.int64)
    width = len(asked)
    for level in range(depth):
        sums = np.zeros((2**level, width, BINS, 2))
        flat = sums.reshape(sums.size)
        for k in range(len(rows)):
            g, h, row = slope[k], curve[k], rows[k]
            first = 2 * leaves[k] * width * BINS
            for at in range(width):
                place = first + 2 * (at * BINS + np.int64(codes[row, asked[at]]))
                flat[place] += g
                flat[place + 1] += h
        at, bins[level] = _best_question(sums, ridge)
        features[level] = asked[at]
        for k in range(len(rows)):
            if codes[rows[k], features[level]] > bins[level]:
                leaves[k] += 1 << level
    totals = np.zeros((2**depth, 2))
    for k in range(len(rows)):
        totals[leaves[k], 0] += slope[k]
        totals[leaves[k], 1] += curve[k]
    return features, bins, -totals[:, 0] / (totals[:, 1] + ridge)


@compiled()
def _best_question(sums: Doubles, ridge: float) -> tuple[int, int]:
    """Return the feature and the bin whose question gains most over all leaves; if none gains, none asks."""
    best, best_feature, best_bin = 1e-9, 0, BINS
    for feature in range(sums.shape[1]):
        gains = np.zeros(BINS - 1)
        for leaf in range(sums.shape[0]):
            g = h = 0.0
            for k in range(BINS):
                g += sums[leaf, feature, k, 0]
                h += sums[leaf, feature, k, 1]
            left_g = left_h = 0.0
            for k in range(BINS - 1):
                left_g += sums[leaf, feature, k, 0]
                left_h += sums[leaf, feature, k, 1]
                right_g, right_h = g - left_g, h - left_h
                gains[k] += left_g * left_g / (left_h + ridge) + right_g * right_g / (right_h + ridge)
                gains[k] -= g * g / (h + ridge)
        for k in range(BINS - 1):
            if gains[k] > best:
                best, best_feature, best_bin = gains[k], feature, k
    return best_feature, best_bin


@compiled(entry=True)
def add_tree(codes: Bytes, features: Ints, bins: Ints, values: Floats, odds: Doubles) -> None:
    """Add a tree's answers to the log odds of all cells."""
    for row in range(len(codes)):
        place = 0
        for depth in range(len(features)):
            if codes[row, features[depth]] > bins[depth]:
                place += 1 << depth
        odds[row] += values[place]
