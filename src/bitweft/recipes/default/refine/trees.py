"""Boosted trees as flat arrays, and their application, compiled by numba.

A node sends a cell left if its number is at most the node's bound. A child below 0 is a leaf: leaf k is ~k.
Nodes and leaves of all trees stand one after the other; a tree without a split is one leaf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitweft.recipes.default.kernels import Doubles, Floats, Ints, inner, kernel


class Trees(NamedTuple):
    """Hold trees, whose leaves' values add up to log odds."""

    roots: Ints  # (trees): a node, or a leaf as ~leaf
    features: Ints  # (nodes)
    bounds: Floats  # (nodes)
    children: Ints  # (nodes, 2): left, right
    values: Floats  # (leaves)


def no_trees() -> Trees:
    """Make a sum of nothing."""
    ints = np.empty(0, np.int32)
    floats = np.empty(0, np.float32)
    return Trees(ints, ints, floats, np.empty((0, 2), np.int32), floats)


def joined(first: Trees, second: Trees) -> Trees:
    """Put trees after others, so that all of them add up."""
    nodes, leaves = len(first.features), len(first.values)

    def moved(places: Ints) -> Ints:
        return np.where(places >= 0, places + nodes, places - leaves).astype(np.int32)

    return Trees(
        np.concatenate([first.roots, moved(second.roots)]),
        np.concatenate([first.features, second.features]),
        np.concatenate([first.bounds, second.bounds]),
        np.concatenate([first.children, moved(second.children)]),
        np.concatenate([first.values, second.values]),
    )


@inner
def add_margins(trees: Trees, cells: Floats, share: float, out: Doubles) -> None:
    """Add to out[n] the trees' sum for the numbers cells[n], times a share."""
    roots, features, bounds, children, values = trees
    if share == 0.0:
        return
    for n in range(len(cells)):
        own = cells[n]
        total = 0.0
        for root in roots:
            node = root
            while node >= 0:
                node = children[node, int(own[features[node]] > bounds[node])]
            total += values[~node]
        out[n] += share * total


@kernel
def margins(trees: Trees, cells: Floats) -> Doubles:
    """Return the log odds of each row of numbers."""
    out = np.zeros(len(cells), np.float64)
    add_margins(trees, cells, 1.0, out)
    return out
