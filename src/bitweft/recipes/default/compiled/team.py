"""Threads that work on one step after the other in compiled code: they meet, and share out what is next.

Each thread of a team runs the same compiled function. numba has neither atomic numbers nor barriers for a
CPU; both are a few instructions here. Who waits gives its core to whoever else wants it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.types import Longs

SPINS = 200  # looks at a number before a core is given away
ARRIVED, LEFT, TAKEN = 0, 1, 2  # places in `Team.state`

_yield = types.ExternalFunction("sched_yield" if os.name == "posix" else "SwitchToThread", types.int32())


class Team(NamedTuple):
    """Hold what the threads of a team share, and which of them this one is."""

    state: Longs  # (3 + tasks shared out at a time): arrivals at meetings so far, whether one has left, tasks
    size: int
    own: int


def teams(size: int, meetings: int) -> list[Team]:
    """Make the teams of some threads, which meet at most so often."""
    state = np.zeros(TAKEN + meetings + 1, np.int64)
    return [Team(state, size, own) for own in range(size)]


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, arguments[0])
    item: Any = cgutils.get_item_pointer
    return item(context, builder, kind, array, [arguments[1]], wraparound=False)


def _add_code(typing_context: Any, array: Any, place: Any, amount: Any) -> Any:
    """Add to a number of an array as one instruction; return what it was before."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), code


def _read_code(typing_context: Any, array: Any, place: Any) -> Any:
    """Read a number of an array that other threads change."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        return builder.load_atomic(pointer, "seq_cst", 8, typ=ir.IntType(64))

    return types.int64(array, types.int64), code


_add = cast(Callable[[Longs, int, int], int], intrinsic(_add_code))
_read = cast(Callable[[Longs, int], int], intrinsic(_read_code))


@compiled()
def meet(team: Team, meeting: int) -> bool:
    """Wait until all threads of a team have come to a meeting, the first being 0; tell whether all did."""
    if team.size == 1:
        return True
    _add(team.state, ARRIVED, 1)
    spins = 0
    while _read(team.state, ARRIVED) < team.size * (meeting + 1):
        if _read(team.state, LEFT):
            return False
        spins += 1
        if spins > SPINS:
            _yield()
    return True


@compiled()
def next_task(team: Team, meeting: int) -> int:
    """Take the next of the tasks to be done before a meeting: 0, 1, …; no two threads get the same one."""
    return _add(team.state, TAKEN + meeting, 1)
