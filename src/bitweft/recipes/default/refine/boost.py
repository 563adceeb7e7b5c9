"""Gradient boosting of trees on a logistic loss, by histograms; compiled by numba.

Numbers are parted into bins once. A tree grows leaf by leaf, always where a split gains most; of two
children only the smaller one's histogram is summed, the other's is the difference. A leaf's value is the
Newton step −G / (H + ridge), times the rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bitweft.recipes.default.kernels import Doubles, Floats, Ints, Longs, inner, kernel
from bitweft.recipes.default.refine.trees import Trees, joined, no_trees

Bytes: TypeAlias = npt.NDArray[np.uint8]
BINS = 64


@dataclass(frozen=True)
class Boosting:
    """Hold the settings of boosting."""

    rounds: int = 120
    leaves: int = 15
    rate: float = 0.1
    ridge: float = 1.0
    fewest: float = 3.0  # the curve Σ p (1 − p) of a leaf
    gain: float = 0.0  # a split must gain more


class Binned(NamedTuple):
    """Hold numbers parted into bins: bin k of a feature holds what is at most bounds[feature][k]."""

    codes: Bytes  # (cells, features)
    bounds: list[Floats]


def binned(cells: Floats) -> Binned:
    """Part each feature's numbers into bins of about equal size, bounded half-way between numbers."""
    codes = np.empty(cells.shape, np.uint8)
    bounds = []
    for feature in range(cells.shape[1]):
        column = cells[:, feature]
        bounds.append(_bounds(column))
        codes[:, feature] = np.searchsorted(bounds[-1], column, side="left")
    return Binned(codes, bounds)


def _bounds(column: Floats) -> Floats:
    values, counts = np.unique(column, return_counts=True)
    middles = (values[:-1].astype(np.float64) + values[1:]) / 2
    middles = np.where(middles.astype(np.float32) < values[1:], middles, values[:-1]).astype(np.float32)
    if len(values) <= BINS:
        return middles
    ends = np.cumsum(counts)[:-1]
    wanted = np.arange(1, BINS) * (len(column) / BINS)
    chosen = np.unique(np.searchsorted(ends, wanted).clip(0, len(ends) - 1))
    return middles[chosen]


def boosted(
    data: Binned, labels: Floats, weights: Floats, start: Doubles, settings: Boosting
) -> tuple[Trees, Doubles]:
    """Grow trees that add to the log odds `start`; return them, and the log odds in the end."""
    margin = start.astype(np.float64).copy()
    trees = no_trees()
    grown = []
    for _ in range(settings.rounds):
        chance = 1 / (1 + np.exp(-margin))
        slope = ((chance - labels) * weights).astype(np.float64)
        curve = np.maximum(chance * (1 - chance) * weights, 1e-12)
        tree, values = _grow(data, slope, curve, settings)
        margin += values
        grown.append(tree)
    for tree in grown:
        trees = joined(trees, tree)
    return trees, margin


def _grow(
    data: Binned, slope: Doubles, curve: Doubles, settings: Boosting
) -> tuple[Trees, Doubles]:
    features, bins, children, values, cells = grow(
        data.codes,
        slope,
        curve,
        settings.leaves,
        settings.rate,
        settings.ridge,
        settings.fewest,
        settings.gain,
    )
    bounds = np.array([data.bounds[f][b] for f, b in zip(features, bins, strict=True)], np.float32)
    root = np.array([0 if len(features) else -1], np.int32)
    return Trees(root, features, bounds, children, values.astype(np.float32)), cells


@inner
def _histogram(codes: Bytes, rows: Ints, slope: Doubles, curve: Doubles) -> Doubles:
    """Sum slopes and curves by feature and bin."""
    width = codes.shape[1]
    out = np.zeros((width, BINS, 2))
    flat = out.reshape(out.size)
    for row in rows:
        g, h = slope[row], curve[row]
        for feature in range(width):
            place = 2 * (feature * BINS + np.int64(codes[row, feature]))
            flat[place] += g
            flat[place + 1] += h
    return out


@inner
def _best_split(sums: Doubles, ridge: float, fewest: float, out: Doubles) -> None:
    """Put into `out` the gain of the best split, its feature and its bin."""
    best, best_feature, best_bin = 0.0, -1, -1
    for feature in range(len(sums)):
        own = sums[feature]
        g = h = 0.0
        for k in range(BINS):
            g += own[k, 0]
            h += own[k, 1]
        before = g * g / (h + ridge)
        left_g = left_h = 0.0
        for k in range(BINS - 1):
            left_g += own[k, 0]
            left_h += own[k, 1]
            if own[k, 1] == 0.0 or left_h < fewest:
                continue
            if h - left_h < fewest:
                break
            right = (g - left_g) * (g - left_g) / (h - left_h + ridge)
            gain = left_g * left_g / (left_h + ridge) + right - before
            if gain > best:
                best, best_feature, best_bin = gain, feature, k
    out[0], out[1], out[2] = best, best_feature, best_bin


@kernel
def grow(
    codes: Bytes,
    slope: Doubles,
    curve: Doubles,
    leaves: int,
    rate: float,
    ridge: float,
    fewest: float,
    least: float,
) -> tuple[Ints, Ints, Ints, Doubles, Doubles]:
    """Grow one tree: its nodes' features, bins and children, its leaves' values, and each cell's value."""
    n = codes.shape[0]
    rows = np.arange(n).astype(np.int32)
    starts, ends = np.zeros(leaves, np.int64), np.zeros(leaves, np.int64)
    ends[0] = n
    parents = np.full((leaves, 2), -1, np.int64)  # the node above a leaf, and which child it is
    gains = np.zeros((leaves, 3))
    sums = np.zeros((leaves, codes.shape[1], BINS, 2))
    features, bins = np.empty(leaves - 1, np.int32), np.empty(leaves - 1, np.int32)
    children = np.empty((leaves - 1, 2), np.int32)
    sums[0] = _histogram(codes, rows, slope, curve)
    _best_split(sums[0], ridge, fewest, gains[0])
    size = 1
    while size < leaves:
        own = int(np.argmax(gains[:size, 0]))
        if gains[own, 0] <= least:
            break
        node, feature, cut = size - 1, int(gains[own, 1]), int(gains[own, 2])
        features[node], bins[node] = feature, cut
        if parents[own, 0] >= 0:
            children[parents[own, 0], parents[own, 1]] = node
        middle = _part(rows, starts[own], ends[own], codes[:, feature], cut)
        starts[size], ends[size], ends[own] = middle, ends[own], middle
        small, large = (own, size) if middle - starts[own] <= ends[size] - middle else (size, own)
        part = _histogram(codes, rows[starts[small] : ends[small]], slope, curve)
        whole = sums[own].copy()
        sums[small], sums[large] = part, whole - part
        for leaf, side in ((own, 0), (size, 1)):
            parents[leaf, 0], parents[leaf, 1] = node, side
            children[node, side] = ~leaf
            _best_split(sums[leaf], ridge, fewest, gains[leaf])
        size += 1
    values, cells = np.empty(size), np.empty(n)
    for leaf in range(size):
        g = h = 0.0
        for k in range(starts[leaf], ends[leaf]):
            g += slope[rows[k]]
            h += curve[rows[k]]
        values[leaf] = np.float32(-rate * g / (h + ridge))
        for k in range(starts[leaf], ends[leaf]):
            cells[rows[k]] = values[leaf]
    return features[: size - 1], bins[: size - 1], children[: size - 1], values, cells


@inner
def _part(rows: Ints, start: int, end: int, codes: Bytes, cut: int) -> Any:
    """Put the rows that go left before the others, both in their order; return where the others begin."""
    right = np.empty(end - start, np.int32)
    left = start
    n = 0
    for k in range(start, end):
        row = rows[k]
        if codes[row] <= cut:
            rows[left] = row
            left += 1
        else:
            right[n] = row
            n += 1
    for k in range(n):
        rows[left + k] = right[k]
    return left
