"""Gradient boosting of trees on a logistic loss, by histograms.

Numbers are parted into bins once. A tree grows level by level; a level asks the one question that gains most
over all leaves so far. An answer is the Newton step −G / (H + ridge), times the rate. Where there are many
cells, each tree learns from a sample of them; it may be made to ask for a sample of the features alone, so
that no tree leans on what another already says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bitweft.recipes.default.compiled.boost import BINS, Bytes, add_tree, grow
from bitweft.recipes.default.compiled.trees import Trees
from bitweft.recipes.default.compiled.types import Doubles, Floats


@dataclass(frozen=True)
class Boosting:
    """Hold the settings of boosting."""

    rounds: int = 120
    depth: int = 5
    rate: float = 0.1
    ridge: float = 3.0
    sample: int = 60_000  # cells that a tree learns from
    features: float = 1.0  # the share of features that a tree may ask for
    seed: int = 1  # of the samples


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
    middles: Floats
    values, counts = np.unique(column, return_counts=True)
    middles = ((values[:-1].astype(np.float64) + values[1:]) / 2).astype(np.float32)
    middles = np.where(middles < values[1:], middles, values[:-1])
    if len(values) <= BINS:
        return middles
    ends = np.cumsum(counts)[:-1]
    wanted = np.arange(1, BINS) * (len(column) / BINS)
    chosen = np.unique(np.searchsorted(ends, wanted).clip(0, len(ends) - 1))
    bounds: Floats = middles[chosen]
    return bounds


def boosted(
    data: Binned, labels: Floats, weights: Floats, start: Doubles, settings: Boosting
) -> tuple[Trees, Doubles]:
    """Grow trees that add to the log odds `start`; return them, and the log odds in the end.

    A label is the probability of a link, 0 or 1 where it is known.
    """
    odds = start.astype(np.float64).copy()
    generator = np.random.default_rng(settings.seed)
    shape = (settings.rounds, settings.depth)
    trees = Trees(
        np.zeros(shape, np.int32),
        np.zeros(shape, np.float32),
        np.zeros((settings.rounds, 2**settings.depth), np.float32),
    )
    everything = np.arange(len(labels), dtype=np.int64)
    width = data.codes.shape[1]
    asked = np.arange(width)
    for number in range(settings.rounds):
        rows = everything
        if len(rows) > settings.sample:
            rows = np.sort(generator.choice(rows, settings.sample, replace=False))
        if settings.features < 1:
            asked = np.sort(generator.choice(width, round(settings.features * width), replace=False))
        chance = 1 / (1 + np.exp(-odds[rows]))
        slope = (chance - labels[rows]) * weights[rows]
        curve = chance * (1 - chance) * weights[rows]
        features, bins, values = grow(data.codes, rows, asked, slope, curve, settings.depth, settings.ridge)
        trees.features[number] = features
        trees.bounds[number] = [_bound(data.bounds[f], b) for f, b in zip(features, bins, strict=True)]
        trees.values[number] = settings.rate * values
        add_tree(data.codes, features, bins, trees.values[number], odds)
    return trees, odds


def _bound(bounds: Floats, place: int) -> float:
    """Return the bound of a bin; beyond the last nothing is above."""
    return float(bounds[place]) if place < len(bounds) else float(np.finfo(np.float32).max)
