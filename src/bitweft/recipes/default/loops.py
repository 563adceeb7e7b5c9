"""The default recipe's inner loops behind one seam: compiled on a CPU, in plain PyTorch on other devices."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from bitweft.errors import UsageError
from bitweft.extras import needs
from bitweft.recipes.default import kernels
from bitweft.recipes.default.groups import group_bounds, new_tally
from bitweft.recipes.default.kernels import Adam, Cells, Floats, Gradient, Longs, Prior, Side, Tally
from bitweft.recipes.devices import check_device

KERNELS = ("auto", "compiled", "torch")


class Stepper(Protocol):
    """What takes steps of learning; it may hold what it learned elsewhere until `store` is called."""

    def step(self, pairs: Longs, prior: Prior, rate: float) -> Tally: ...

    def store(self) -> None: ...


class Loops(Protocol):
    """What the recipe asks of its inner loops; `kernels` says what each does."""

    def stepper(
        self,
        sides: Sequence[Side],
        adams: Sequence[Adam],
        *,
        group: int,
        negatives: float,
        pool: ThreadPoolExecutor,
        threads: int,
    ) -> Stepper: ...

    @property
    def posteriors(self) -> Callable[..., Cells]: ...

    @property
    def matrices(self) -> Callable[..., tuple[Floats, Floats]]: ...

    @property
    def add_counts(self) -> Callable[..., tuple[Longs, Floats, int]]: ...


class Compiled:
    """Run the compiled loops."""

    posteriors: Callable[..., Cells] = staticmethod(kernels.posteriors)
    matrices: Callable[..., tuple[Floats, Floats]] = staticmethod(kernels.matrices)
    add_counts: Callable[..., tuple[Longs, Floats, int]] = staticmethod(kernels.add_counts)

    def stepper(self, sides: Sequence[Side], adams: Sequence[Adam], **settings: Any) -> CompiledStepper:
        """Return what takes steps of learning."""
        return CompiledStepper(sides, adams, **settings)


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


def needs_compiling() -> bool:
    """Tell whether the inner loops will be compiled first: once for each installation, and after a change."""
    try:
        return not os.path.exists(kernels.posteriors._cache._cache_file._index_path)
    except AttributeError:  # another numba keeps its cache elsewhere
        return False


class CompiledStepper:
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
        self.sides = sides
        self.adams = adams
        self.group = group
        self.negatives = negatives
        self.pool = pool
        self.threads = threads
        self.stamps = [np.zeros(len(side.table), np.int64) for side in sides]
        self.scratch = [np.empty_like(side.table) for side in sides]
        self.decays = np.array([[0.9], [0.99]]) ** np.arange(2000)
        self.decays = self.decays.astype(np.float32)

    def step(self, pairs: Longs, prior: Prior, rate: float) -> Tally:
        """Learn from one batch."""
        bounds = group_bounds(len(pairs), self.group)
        groups = np.arange(len(bounds) - 1)
        tally = new_tally(len(groups))
        gradients = [_gradient(side, pairs, bounds) for side in self.sides]

        def find(own: Longs) -> None:
            for g in own:
                group = pairs[bounds[g] : bounds[g + 1]]
                kernels.gradients(*self.sides, group, prior, self.negatives, tally, g, *gradients)

        def apply(n: int) -> None:
            kernels.update(
                self.sides[n], gradients[n], self.adams[n], rate, self.stamps[n], self.scratch[n], self.decays
            )

        self._share(find, [groups[first :: self.threads] for first in range(min(self.threads, len(groups)))])
        self._share(apply, [0, 1])
        return tally

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
