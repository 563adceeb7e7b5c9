"""The refiner that is shipped with the package: trees for three styles of links, and all styles between.

A style is a number from 0, links of single words, to 1, links of whole phrases. Between two of the three
styles that were learned, the log odds are the mean of both, weighted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import save_file

from bitweft.errors import UsageError
from bitweft.recipes.default.kernels import Doubles, Floats
from bitweft.recipes.default.refine.features import WIDTH
from bitweft.recipes.default.refine.trees import Trees, margins
from bitweft.storage.model_directory import Arrays

STYLES = {"words": 0.0, "default": 0.5, "phrases": 1.0}
THRESHOLD = 0.5  # of the probability of a link
FILE = Path(__file__).parent / "refiner.safetensors"
STEEPEST = 100.0  # of a leaf's log odds: learning stays far below


class Mixed(NamedTuple):
    """Hold the trees of the two styles next to one, and the share of each."""

    trees: tuple[Trees, Trees]
    shares: tuple[float, float]

    def margins(self, numbers: Floats) -> Doubles:
        """Return the log odds of each row of numbers."""
        odds = np.zeros(len(numbers))
        for trees, share in zip(self.trees, self.shares, strict=True):
            if share:
                odds += share * margins(trees, numbers)
        return odds


@dataclass(frozen=True)
class Refiner:
    """Hold the trees of each style that was learned, in the order of STYLES."""

    trees: tuple[Trees, ...]

    def at(self, style: float) -> Mixed:
        """Return what gives the log odds of links in this style."""
        if not 0 <= style <= 1:
            raise UsageError(f"style must be between 0 (words) and 1 (phrases), got {style:g}")
        place = style * (len(self.trees) - 1)
        first = min(int(place), len(self.trees) - 2)
        share = place - first
        return Mixed((self.trees[first], self.trees[first + 1]), (1.0 - share, share))

    def save(self, path: Path) -> None:
        """Write the refiner as a file."""
        arrays: dict[str, Any] = {}
        for name, trees in zip(STYLES, self.trees, strict=True):
            arrays |= tree_arrays(name, trees)
        save_file(arrays, path)


@cache
def shipped() -> Refiner:
    """Return the refiner of the package."""
    return load_refiner(FILE)


def load_refiner(path: Path) -> Refiner:
    """Read a refiner that `save` wrote."""
    arrays = Arrays(path)
    return Refiner(tuple(read_trees(arrays, name, WIDTH) for name in STYLES))


def parse_style(text: str) -> float:
    """Read a style: a name, or a number from 0 to 1."""
    if text in STYLES:
        return STYLES[text]
    try:
        style = float(text)
    except ValueError:
        style = -1.0
    if not 0 <= style <= 1:
        names = ", ".join(STYLES)
        raise UsageError(f"links must be one of {names}, or a number from 0 to 1, got {text!r}")
    return style


def tree_arrays(name: str, trees: Trees) -> dict[str, Any]:
    """Give trees as arrays with names."""
    return {f"{name}.{field}": value for field, value in zip(Trees._fields, trees, strict=True)}


def read_trees(arrays: Arrays, name: str, width: int) -> Trees:
    """Take trees out of arrays; every way through a tree must end at a leaf: compiled code looks at no bounds."""
    features = arrays.take(f"{name}.features", np.int32, (None,), low=0, high=width - 1)
    nodes = len(features)
    values = arrays.take(f"{name}.values", np.float32, (None,), low=-STEEPEST, high=STEEPEST)
    bounds = arrays.take(f"{name}.bounds", np.float32, (nodes,))
    roots = arrays.take(f"{name}.roots", np.int32, (None,), low=-len(values), high=nodes - 1)
    children = arrays.take(f"{name}.children", np.int32, (nodes, 2), low=-len(values), high=nodes - 1)
    if ((children >= 0) & (children <= np.arange(nodes)[:, None])).any():
        raise arrays.fault(f"{name}.children", "do not stand after their parents")
    return Trees(roots, features, bounds, children, values)
