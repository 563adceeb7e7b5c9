"""Updates of the tables by Adam, with one second moment a row."""

from __future__ import annotations

import math

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.arrays import longer
from bitweft.recipes.default.compiled.types import Adam, AdamRoom, Gradient, Longs, Side


@compiled()
def update(
    side: Side,
    gradient: Gradient,
    groups: int,
    adam: Adam,
    rate: float,
    room: AdamRoom,
    part: tuple[int, int],
) -> None:
    """Apply Adam to the rows that the first groups of a batch touched, and to no other.

    With `part` (n, of) to every `of`-th row from row n on alone: others may do the rest at the same time.
    """
    table, sums, decays, stamps = side.table, room.sums, room.decays, room.touched
    firsts, seconds, steps = adam
    width = sums.shape[1]
    touched = _sum_by_row(side, gradient, groups, room, part)
    for place in range(len(touched)):
        row = np.uint64(touched[place])
        stamps[row] = 0
        steps[row] += 1
        power = min(steps[row], decays.shape[1] - 1)
        square = np.float32(0.0)
        for c in range(width):
            square += sums[row, c] * sums[row, c]
        second = decays[1, 1] * seconds[row] + (np.float32(1.0) - decays[1, 1]) * square / width
        seconds[row] = second
        deviation = math.sqrt(second / (1 - decays[1, power])) + 1e-8
        step = np.float32(rate / (deviation * (1 - decays[0, power])))
        for c in range(width):
            moment = decays[0, 1] * firsts[row, c] + (np.float32(1.0) - decays[0, 1]) * sums[row, c]
            firsts[row, c] = moment
            table[row, c] -= step * moment


@compiled()
def _sum_by_row(side: Side, gradient: Gradient, groups: int, room: AdamRoom, part: tuple[int, int]) -> Longs:
    """Sum the gradient of each row, mark the rows as touched, and return them."""
    own, parts = np.uint64(part[0]), np.uint64(part[1])
    rows, row_offsets = side.rows, side.row_offsets
    words, values = gradient.words, gradient.values
    stamps, sums = room.touched, room.sums
    width = sums.shape[1]
    touched = np.empty(1024, np.int64)
    n = 0
    for g in range(groups):
        for at in range(gradient.starts[g], gradient.starts[g] + gradient.sizes[g]):
            first, last = row_offsets[words[at]], row_offsets[words[at] + 1]
            weight = np.float32(1.0 / math.sqrt(max(last - first, 1)))
            for place in range(first, last):
                row = np.uint64(rows[place])
                if parts > np.uint64(1) and row % parts != own:
                    continue
                if stamps[row] == 0:
                    if n == len(touched):
                        touched = longer(touched)
                    touched[n] = row
                    n += 1
                    stamps[row] = 1
                    for c in range(width):
                        sums[row, c] = weight * values[at, c]
                else:
                    for c in range(width):
                        sums[row, c] += weight * values[at, c]
    return touched[:n]
