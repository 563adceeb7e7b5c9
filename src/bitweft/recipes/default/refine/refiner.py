"""The refiner that is shipped with the package: trees that know three styles of links.

A style is a number from 0, links of single words, to 1, links of whole phrases; the trees see it beside the
numbers of a cell. Between two of the styles that were learned, the log odds are the mean of both, weighted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import save_file

from bitweft.errors import UsageError
from bitweft.recipes.base import STYLES
from bitweft.recipes.default.compiled.refine import STYLE
from bitweft.recipes.default.compiled.trees import Trees, margins
from bitweft.recipes.default.compiled.types import Doubles, Floats
from bitweft.storage.model_directory import Arrays

FILE = Path(__file__).parent / "refiner.safetensors"
STEEPEST = 100.0  # of an answer's log odds: learning stays far below
DEEPEST = 10  # questions of a tree
PHRASES_LOWER = 0.3  # how much lower the threshold of `phrases` is than the default one


class Between(NamedTuple):
    """Hold the two learned styles next to one, and the share of each."""

    styles: tuple[float, float]
    shares: tuple[float, float]


def between(style: float) -> Between:
    """Find the learned styles next to a style."""
    if not 0 <= style <= 1:
        raise UsageError(f"style must be between 0 (words) and 1 (phrases), got {style:g}")
    learned = list(STYLES.values())
    first = min(int(style * (len(learned) - 1)), len(learned) - 2)
    share = (style - learned[first]) / (learned[first + 1] - learned[first])
    return Between((learned[first], learned[first + 1]), (1.0 - share, share))


def threshold_of(style: float, threshold: float) -> float:
    """Lower the threshold for phrases: who asks for whole blocks would rather have a cell too many."""
    return threshold * (1 - PHRASES_LOWER * max(0.0, 2 * style - 1))


@dataclass(frozen=True)
class Refiner:
    """Hold the trees."""

    trees: Trees

    def margins(self, numbers: Floats, style: float) -> Doubles:
        """Return the log odds of cells in a style; `numbers` has a row for each cell."""
        odds = np.zeros(len(numbers))
        for learned, share in zip(*between(style), strict=True):
            if share:
                column = np.full((len(numbers), 1), learned, np.float32)
                odds += share * margins(self.trees, np.hstack([numbers, column]))
        return odds

    def save(self, path: Path) -> None:
        """Write the refiner as a file."""
        save_file(tree_arrays("refiner", self.trees), path)


@cache
def shipped() -> Refiner:
    """Return the refiner of the package."""
    return load_refiner(FILE)


def load_refiner(path: Path) -> Refiner:
    """Read a refiner that `save` wrote."""
    return read_refiner(Arrays(path))


def read_refiner(arrays: Arrays) -> Refiner:
    """Take a refiner out of arrays."""
    return Refiner(read_trees(arrays, "refiner", STYLE + 1))


def tree_arrays(name: str, trees: Trees) -> dict[str, Any]:
    """Give trees as arrays with names."""
    return {f"{name}.{field}": value for field, value in zip(Trees._fields, trees, strict=True)}


def read_trees(arrays: Arrays, name: str, width: int) -> Trees:
    """Take trees that ask for so many numbers out of arrays; compiled code looks at no bounds."""
    features = arrays.take(f"{name}.features", np.int32, (None, None), low=0, high=width - 1)
    count, depth = features.shape
    if depth > DEEPEST:
        raise arrays.fault(f"{name}.features", f"asks {depth} questions, more than {DEEPEST}")
    bounds = arrays.take(f"{name}.bounds", np.float32, (count, depth))
    values = arrays.take(f"{name}.values", np.float32, (count, 2**depth), low=-STEEPEST, high=STEEPEST)
    return Trees(features, bounds, values)
