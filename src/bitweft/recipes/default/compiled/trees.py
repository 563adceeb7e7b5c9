"""Boosted trees as flat arrays, and their application, compiled by numba.

All nodes of one depth ask the same question, so a tree is a row of questions and a table of answers: the
answer's place has bit d set if the cell's number features[d] is above bounds[d]. There is nothing to walk,
and many cells are looked up at a time.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.types import Doubles, Floats, Ints

Place: TypeAlias = int | np.int64  # no literals: numba compiles anew for each of them
Some: TypeAlias = tuple[Place, Place]


class Trees(NamedTuple):
    """Hold trees, whose answers add up to log odds."""

    features: Ints  # (trees, depth)
    bounds: Floats  # (trees, depth)
    values: Floats  # (trees, 2 ** depth)

    def first(self, count: int) -> Trees:
        """Return the first trees alone."""
        return Trees(self.features[:count], self.bounds[:count], self.values[:count])


def no_trees() -> Trees:
    """Make a sum of nothing."""
    return Trees(np.empty((0, 0), np.int32), np.empty((0, 0), np.float32), np.empty((0, 1), np.float32))


@compiled()
def add_margins(trees: Trees, some: Some, numbers: Floats, share: float, out: Doubles) -> None:
    """Add to out[n] the sum of the trees from one on, up to another, for numbers[:, n], times a share."""
    features, bounds, values = trees
    if share == 0.0:
        return
    cells, width, answers = np.uint64(len(out)), np.uint64(numbers.shape[1]), np.uint64(values.shape[1])
    places = np.empty(cells, np.int32)
    flat, flat_values = numbers.reshape(numbers.size), values.reshape(values.size)  # no view for each tree
    for tree in range(some[0], min(some[1], features.shape[0])):
        for n in range(cells):
            places[n] = 0
        for depth in range(features.shape[1]):
            # Places without a sign, which cannot count from the end: many cells are then compared together.
            first, bound = np.uint64(features[tree, depth]) * width, bounds[tree, depth]
            bit = np.int32(1 << depth)
            for n in range(cells):
                places[n] |= bit if flat[first + n] > bound else np.int32(0)
        first = np.uint64(tree) * answers
        for n in range(cells):
            out[n] += share * flat_values[first + np.uint64(places[n])]


@compiled(entry=True)
def _margins(trees: Trees, numbers: Floats) -> Doubles:
    out = np.zeros(numbers.shape[1], np.float64)
    add_margins(trees, (np.int64(0), len(trees.features)), numbers, 1.0, out)
    return out


def margins(trees: Trees, cells: Floats) -> Doubles:
    """Return the log odds of each row of numbers."""
    odds: Doubles = _margins(trees, np.ascontiguousarray(cells.T))
    return odds
