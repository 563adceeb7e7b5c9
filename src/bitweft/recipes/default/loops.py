"""The default recipe's inner loops behind one seam: compiled on a CPU, in plain PyTorch on other devices."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from bitweft.errors import UsageError
from bitweft.extras import needs
from bitweft.recipes.default.compiled.counting import add_counts
from bitweft.recipes.default.compiled.descent import Batches, descend
from bitweft.recipes.default.compiled.posteriors import matrices, posteriors
from bitweft.recipes.default.compiled.team import LEFT, Team, teams
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

    def steps(self, batches: Sequence[Longs], prior: Prior, rates: Sequence[float]) -> Tally: ...

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
        self.adams = (adams[0], adams[1])
        self.group = group
        self.negatives = negatives
        self.pool = pool
        self.threads = threads
        decays = (np.array([[0.9], [0.99]]) ** np.arange(2000)).astype(np.float32)
        rooms = [
            AdamRoom(np.zeros(len(side.table), np.int64), np.empty_like(side.table), decays) for side in sides
        ]
        self.rooms = (rooms[0], rooms[1])

    def steps(self, batches: Sequence[Longs], prior: Prior, rates: Sequence[float]) -> Tally:
        """Learn from some batches, one after the other."""
        own = _batches(batches, rates, self.group)
        groups = own.bounds.shape[1] - 1
        source, target = (_gradient(side, batches, groups) for side in self.sides)
        out = Step(new_tally(groups), source, target)
        margin = Margin(prior, self.negatives)
        members = teams(self.threads, 2 * len(batches))

        def work(team: Team) -> bool:
            try:
                return descend(self.sides, self.adams, self.rooms, margin, own, out, team)
            except BaseException:
                team.state[LEFT] = 1  # nobody is to wait for this one
                raise

        others = []
        try:
            others = [self.pool.submit(work, team) for team in members[1:]]
            ended = work(members[0])
        except BaseException:
            members[0].state[LEFT] = 1
            raise
        finally:
            results = [other.result() for other in others]
        assert ended and all(results)
        return out.tally

    def store(self) -> None:
        """Do nothing: what is learned is in the arrays at once."""


def _batches(batches: Sequence[Longs], rates: Sequence[float], group: int) -> Batches:
    """Lay out the batches of some steps, cut into groups."""
    rows, first = [], 0
    for pairs in batches:
        rows.append(first + group_bounds(len(pairs), group))
        first += len(pairs)
    bounds = np.empty((len(rows), max(map(len, rows))), np.int64)
    for own, row in zip(bounds, rows, strict=True):
        own[:] = row[-1]
        own[: len(row)] = row
    return Batches(np.concatenate(batches), bounds, np.asarray(rates, np.float64))


def _gradient(side: Side, batches: Sequence[Longs], groups: int) -> Gradient:
    """Make room for the gradients of a batch, whichever."""
    room = max(int((side.offsets[pairs + 1] - side.offsets[pairs]).sum()) for pairs in batches)
    values = np.empty((room, side.table.shape[1]), np.float32)
    return Gradient(np.zeros(groups, np.int64), np.zeros(groups, np.int64), np.empty(room, np.int32), values)
