"""Dot products of chosen pairs of rows, and their gradients.

`place` (pairs, source, target) names a row of `hidden` (rows, units) for each cell, `own` (pairs, target) a
row of `vectors` (words, units) for each column. Numbers without a sign need no check for places counted from
the end, which would keep a loop from being done in lanes.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bitweft.recipes.compile import compiled

Floats: TypeAlias = npt.NDArray[np.float32]
Ints: TypeAlias = npt.NDArray[np.int64]
BLOCK = 8  # columns whose vectors stay in the first cache while the source words pass by


@compiled(entry=True)
def products(hidden: Floats, vectors: Floats, place: Ints, own: Ints, scores: Floats) -> None:
    """Write the product of each cell to `scores` (pairs, source, target)."""
    units = hidden.shape[1]
    for pair in range(place.shape[0]):
        for start in range(0, place.shape[2], BLOCK):
            for s in range(place.shape[1]):
                for t in range(start, min(start + BLOCK, place.shape[2])):
                    row, word = np.uint64(place[pair, s, t]), np.uint64(own[pair, t])
                    total = np.float32(0.0)
                    for unit in range(units):
                        total += hidden[row, unit] * vectors[word, unit]
                    scores[pair, s, t] = total


@compiled(entry=True)
def product_gradients(
    hidden: Floats,
    vectors: Floats,
    place: Ints,
    own: Ints,
    gradient: Floats,
    hidden_gradient: Floats,
    vectors_gradient: Floats,
) -> None:
    """Add what each cell's gradient (pairs, source, target) is to its two rows."""
    units = hidden.shape[1]
    for pair in range(place.shape[0]):
        for start in range(0, place.shape[2], BLOCK):
            for s in range(place.shape[1]):
                for t in range(start, min(start + BLOCK, place.shape[2])):
                    weight = gradient[pair, s, t]
                    if weight == 0:  # padding
                        continue
                    row, word = np.uint64(place[pair, s, t]), np.uint64(own[pair, t])
                    for unit in range(units):
                        hidden_gradient[row, unit] += weight * vectors[word, unit]
                    for unit in range(units):
                        vectors_gradient[word, unit] += weight * hidden[row, unit]
