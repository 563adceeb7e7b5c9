"""The default recipe's inner loops behind one seam: compiled on a CPU, in plain PyTorch on other devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from bitweft.errors import UsageError
from bitweft.extras import needs
from bitweft.recipes.default.compiled.adam import update
from bitweft.recipes.default.compiled.counting import add_counts
from bitweft.recipes.default.compiled.gradients import gradients
from bitweft.recipes.default.compiled.posteriors import matrices, posteriors
from bitweft.recipes.default.compiled.types import (
    Adam,
    AdamRoom,
    Cells,
    CountTable,
    Floats,
    Gradient,
    Inputs,
    Longs,
    Margin,
    Prior,
    Side,
    Step,
    Sums,
    Tally,
    Words,
    new_tally,
)
from bitweft.recipes.default.groups import group_bounds
from bitweft.recipes.devices import check_device

KERNELS = ("auto", "compiled", "torch")


class Optimizer(Protocol):
    """What takes steps of learning; it may hold what it learned elsewhere until `store` is called."""

    def step(self, pairs: Longs, prior: Prior, rate: float) -> Tally: ...

    def store(self) -> None: ...


class Loops(Protocol):
    """What the recipe asks of its inner loops; `compiled` says what each does."""

    def optimizer(
        self,
        sides: Sequence[Side],
        adams: Sequence[Adam],
        *,
        group: int,
        negatives: float,
        pool: ThreadPoolExecutor,
        threads: int,
    ) -> Optimizer: ...

    def posteriors(self, inputs: Inputs, pairs: Longs, known: Cells, floor: float, out: Sums) -> Cells: ...

    def matrices(self, inputs: Inputs, pair: int, tally: Tally) -> tuple[Floats, Floats]: ...

    def add_counts(
        self,
        source: Words,
        target: Words,
        pairs: Longs,
        cells: Cells,
        table: CountTable,
        part: int,
        parts: int,
    ) -> CountTable: ...


class Compiled:
    """Run the compiled loops."""

    posteriors = staticmethod(posteriors)
    matrices = staticmethod(matrices)
    add_counts = staticmethod(add_counts)

    def optimizer(self, sides: Sequence[Side], adams: Sequence[Adam], **settings: Any) -> CompiledOptimizer:
        """Return what takes steps of learning."""
        return CompiledOptimizer(sides, adams, **settings)


def choose(name: str, device: str) -> Loops:
    """Return the loops named; `auto` takes the compiled ones where they can run, on the CPU."""
    if name not in KERNELS:
        raise UsageError(f"kernels must be one of {', '.join(KERNELS)}, got {name!r}")
    if name == "compiled" and device != "cpu":
        raise UsageError(f"the compiled kernels run on the CPU, not on {device!r}")
    if name == "compiled" or (name == "auto" and device == "cpu"):
        return Compiled()
    check_device(device)
    with needs("paper"):
        from bitweft.recipes.default.pytorch.loops import Portable

    return Portable(device)


class CompiledOptimizer:
    """Take steps of Adam on both sides' tables, the groups of a batch shared among threads."""

    def __init__(
        self,
        sides: Sequence[Side],
        adams: Sequence[Adam],
        *,
        group: int,
        negatives: float,
        pool: ThreadPoolExecutor,
        threads: int,
    ) -> None:
        self.sides = (sides[0], sides[1])
        self.adams = adams
        self.group = group
        self.negatives = negatives
        self.pool = pool
        self.threads = threads
        decays = (np.array([[0.9], [0.99]]) ** np.arange(2000)).astype(np.float32)
        self.rooms = [
            AdamRoom(np.zeros(len(side.table), np.int64), np.empty_like(side.table), decays) for side in sides
        ]

    def step(self, pairs: Longs, prior: Prior, rate: float) -> Tally:
        """Learn from one batch."""
        bounds = group_bounds(len(pairs), self.group)
        groups = np.arange(len(bounds) - 1)
        margin = Margin(prior, self.negatives)
        source, target = (_gradient(side, pairs, bounds) for side in self.sides)
        out = Step(new_tally(len(groups)), source, target)

        def find(own: Longs) -> None:
            for g in own:
                gradients(self.sides, pairs[bounds[g] : bounds[g + 1]], margin, g, out)

        def apply(n: int) -> None:
            update(self.sides[n], (source, target)[n], self.adams[n], rate, self.rooms[n])

        self._share(find, [groups[first :: self.threads] for first in range(min(self.threads, len(groups)))])
        self._share(apply, [0, 1])
        return out.tally

    def store(self) -> None:
        """Do nothing: what is learned is in the arrays at once."""

    def _share(self, work: Callable[[Any], None], parts: Sequence[Any]) -> None:
        if self.threads == 1:
            for part in parts:
                work(part)
            return
        others = [self.pool.submit(work, part) for part in parts[1:]]
        work(parts[0])
        for other in others:
            other.result()


def _gradient(side: Side, pairs: Longs, bounds: Longs) -> Gradient:
    ends = np.concatenate([[0], np.cumsum(side.offsets[pairs + 1] - side.offsets[pairs])])
    starts = ends[bounds[:-1]]
    values = np.empty((ends[-1], side.table.shape[1]), np.float32)
    return Gradient(starts, np.zeros_like(starts), np.empty(ends[-1], np.int32), values)
