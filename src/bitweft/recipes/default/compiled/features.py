"""The numbers that a refiner sees of a cell, compiled by numba.

All of them mean the same in any language: posteriors of both directions, what surrounds the cell, how common
and how often unlinked its words are, how well they translate each other, and where they stand. Turning a pair
round turns its features round: `forward` and `backward`, `s` and `t` change places.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.logarithms import logarithms
from bitweft.recipes.default.compiled.types import Floats, Ints

MARGIN = 2  # cells of nothing around a pair's matrices, so that every cell has neighbors
SEEN = 0.02  # a posterior of either direction that makes a cell worth a look
BESIDE = 0.3  # √(forward · backward) of a neighbor that does
FAR = 6.0  # distances beyond are alike

NAMES = (
    "forward",
    "backward",
    "agreed",
    "least",
    "most",
    "t_null",
    "s_null",
    "s_fertility",
    "t_fertility",
    "s_rival",
    "t_rival",
    "s_backward_rival",
    "t_forward_rival",
    "s_distance",
    "t_distance",
    "left",
    "right",
    "up",
    "down",
    "left_up",
    "left_down",
    "right_up",
    "right_down",
    "left2",
    "right2",
    "up2",
    "down2",
    "left_forward",
    "right_forward",
    "up_forward",
    "down_forward",
    "left_backward",
    "right_backward",
    "up_backward",
    "down_backward",
    "s_common",
    "t_common",
    "s_free",
    "t_free",
    "t_given_s",
    "s_given_t",
    "ratio",
    "t_given_s_best",
    "s_given_t_best",
    "left_null",
    "right_null",
    "up_null",
    "down_null",
    "left_ratio",
    "right_ratio",
    "up_ratio",
    "down_ratio",
    "diagonal",
    "lengths",
    "shortest",
    "signs",
    "s_seen",
    "t_seen",
)
WIDTH = len(NAMES)


class Facts(NamedTuple):
    """Hold what is known of each word of a sentence, whatever stands on the other side."""

    common: Floats  # log of its share of the text
    seen: Floats  # log of how often training saw it
    free: Floats  # the chance of its kind to have no link
    sign: Floats  # 1 if it has neither letter nor digit


class Grid(NamedTuple):
    """Hold what is known of each cell of one pair, (source, target), with a MARGIN of nothing around it."""

    forward: Floats
    backward: Floats
    agreed: Floats  # √(forward · backward)
    ratio: Floats  # log p(s, t) / p(s) p(t), the mean of both directions


@compiled()
def log_ratios(forward: Floats, backward: Floats) -> Floats:
    """Return the mean of both directions' log ratios, (source, target)."""
    n, m = backward.shape
    logs = np.empty((n, m), np.float32)
    for s in range(n):
        for t in range(m):
            logs[s, t] = (forward[t, s] + np.float32(1e-6)) * (backward[s, t] + np.float32(1e-6))
    logarithms(logs)
    return logs


@compiled()
def grid_of(t_own: Floats, s_own: Floats, ratios: Floats) -> Grid:
    """Lay out both directions' posteriors, (target, source) and (source, target), and the ratios."""
    n, m = s_own.shape
    forward = np.zeros((n + 2 * MARGIN, m + 2 * MARGIN), np.float32)
    backward, agreed, ratio = np.zeros_like(forward), np.zeros_like(forward), np.zeros_like(forward)
    for s in range(n):
        for t in range(m):
            forward[s + MARGIN, t + MARGIN] = t_own[t, s]
        for t in range(m):
            f, b = forward[s + MARGIN, t + MARGIN], s_own[s, t]
            backward[s + MARGIN, t + MARGIN] = b
            agreed[s + MARGIN, t + MARGIN] = math.sqrt(max(f * b, np.float32(0.0)))
            ratio[s + MARGIN, t + MARGIN] = np.float32(0.5) * ratios[s, t]
    return Grid(forward, backward, agreed, ratio)


@compiled()
def turned_round(matrix: Floats) -> Floats:
    """Return a matrix with its margin turned round, (target, source)."""
    n, m = matrix.shape
    out = np.empty((m, n), np.float32)
    for s in range(n):
        for t in range(m):
            out[t, s] = matrix[s, t]
    return out


@compiled()
def candidates(grid: Grid) -> tuple[Ints, Ints]:
    """List the cells worth a look: seen by a direction, or beside a strong one."""
    forward, backward, agreed, _ = grid
    n, m = forward.shape[0] - 2 * MARGIN, forward.shape[1] - 2 * MARGIN
    s_cells = np.empty(n * m + 1, np.int32)
    t_cells = np.empty(n * m + 1, np.int32)
    looked = np.empty(m, np.uint8)
    size = np.uint64(0)
    for s in range(n):
        a = s + MARGIN
        for t in range(m):  # no branch, so that many are looked at together
            b = t + MARGIN
            beside = max(
                max(max(agreed[a, b - 1], agreed[a, b + 1]), max(agreed[a - 1, b], agreed[a + 1, b])),
                max(
                    max(agreed[a - 1, b - 1], agreed[a + 1, b - 1]),
                    max(agreed[a - 1, b + 1], agreed[a + 1, b + 1]),
                ),
            )
            seen = max(forward[a, b], backward[a, b])
            looked[t] = np.uint8(seen > np.float32(SEEN)) | np.uint8(beside > np.float32(BESIDE))
        for t in range(m):
            s_cells[size] = s
            t_cells[size] = t
            size += np.uint64(looked[t])
    return s_cells[:size], t_cells[:size]


class Summary(NamedTuple):
    """Hold of each word of a side what the cells of its column come to."""

    best: Floats  # √(forward · backward)
    best_at: Ints  # which word of the other side has it
    second: Floats
    second_at: Ints
    own: Floats  # the best posterior of the direction that explains the side
    own_at: Ints
    own_second: Floats
    ratio: Floats  # the best
    null: Floats  # the chance to have no link, with −1 before the first word and after the last
    fertility: Floats  # the sum of the other direction's posteriors


@compiled()
def _summarize(agreed: Floats, own: Floats, other: Floats, ratios: Floats) -> Summary:
    """Sum up each column of matrices with a margin; `own` explains the columns' words, `other` the rows'.

    No loop has a branch, so that many columns are looked at together.
    """
    n, m = agreed.shape[0] - 2 * MARGIN, agreed.shape[1] - 2 * MARGIN
    best, second = np.full(m, -1.0, np.float32), np.full(m, -1.0, np.float32)
    best_at, second_at = np.full(m, -1, np.int32), np.full(m, -1, np.int32)
    most, most_at, less = np.full(m, -1.0, np.float32), np.full(m, -1, np.int32), np.full(m, -1.0, np.float32)
    ratio, fertility, null = np.zeros(m, np.float32), np.zeros(m, np.float32), np.zeros(m + 2, np.float32)
    for s in range(n):
        place = np.int32(s)
        for t in range(m):
            value = agreed[s + MARGIN, t + MARGIN]
            first, first_at, other_one, other_at = best[t], best_at[t], second[t], second_at[t]
            above, between = value > first, value > other_one
            lesser = value if between else other_one
            lesser_at = place if between else other_at
            second[t] = first if above else lesser
            second_at[t] = first_at if above else lesser_at
            best[t] = value if above else first
            best_at[t] = place if above else first_at
        for t in range(m):
            value, first = own[s + MARGIN, t + MARGIN], most[t]
            less[t] = max(less[t], min(value, first))
            most_at[t] = place if value > first else most_at[t]
            most[t] = max(first, value)
        for t in range(m):
            null[t + 1] += own[s + MARGIN, t + MARGIN]
            fertility[t] += other[s + MARGIN, t + MARGIN]
            ratio[t] = max(ratio[t], ratios[s + MARGIN, t + MARGIN])
    for t in range(m):
        second[t] = max(second[t], np.float32(0.0))
        less[t] = max(less[t], np.float32(0.0))
        null[t + 1] = max(np.float32(1.0) - null[t + 1], np.float32(0.0))
    null[0] = null[m + 1] = -1.0
    return Summary(best, best_at, second, second_at, most, most_at, less, ratio, null, fertility)


@compiled()
def _distance(here: np.int64, there: np.int32) -> Any:
    if there < 0:
        return np.float32(FAR + 1)
    return np.float32(min(max(float(here - there), -FAR), FAR))


@compiled()
def features(
    grid: Grid, cells: tuple[Ints, Ints], s_facts: Facts, t_facts: Facts, out: Floats, start: int | np.int64
) -> None:
    """Fill out[:, start + n] with the numbers of cell n."""
    s_cells, t_cells = cells
    forward, backward, agreed, ratios = grid
    n, m = forward.shape[0] - 2 * MARGIN, forward.shape[1] - 2 * MARGIN
    s_sums = _summarize(
        turned_round(agreed), turned_round(backward), turned_round(forward), turned_round(ratios)
    )
    t_sums = _summarize(agreed, forward, backward, ratios)
    s_best, s_at, s_second, s_at2, sb_best, sb_at, sb_second, s_ratio_best, s_null, s_fertility = s_sums
    t_best, t_at, t_second, t_at2, tf_best, tf_at, tf_second, t_ratio_best, t_null, t_fertility = t_sums
    lengths, shortest = np.float32(math.log(n / m)), np.float32(min(n, m))
    s_common, s_seen, s_free, s_sign = s_facts
    t_common, t_seen, t_free, t_sign = t_facts
    for at in range(len(s_cells)):
        s, t = np.int64(s_cells[at]), np.int64(t_cells[at])
        a, b = s + MARGIN, t + MARGIN
        x = out[:, start + at]
        f, g = forward[a, b], backward[a, b]
        own = agreed[a, b]
        x[0], x[1], x[2], x[3], x[4] = f, g, own, min(f, g), max(f, g)
        x[5], x[6] = t_null[t + 1], s_null[s + 1]
        x[7], x[8] = s_fertility[s], t_fertility[t]
        s_mine, t_mine = s_at[s] == t, t_at[t] == s
        x[9] = s_second[s] if s_mine else s_best[s]
        x[10] = t_second[t] if t_mine else t_best[t]
        x[11] = sb_second[s] if sb_at[s] == t else sb_best[s]
        x[12] = tf_second[t] if tf_at[t] == s else tf_best[t]
        x[13] = _distance(t, s_at2[s] if s_mine else s_at[s])
        x[14] = _distance(s, t_at2[t] if t_mine else t_at[t])
        x[15], x[16], x[17], x[18] = agreed[a, b - 1], agreed[a, b + 1], agreed[a - 1, b], agreed[a + 1, b]
        x[19], x[20] = agreed[a - 1, b - 1], agreed[a + 1, b - 1]
        x[21], x[22] = agreed[a - 1, b + 1], agreed[a + 1, b + 1]
        x[23], x[24], x[25], x[26] = agreed[a, b - 2], agreed[a, b + 2], agreed[a - 2, b], agreed[a + 2, b]
        x[27], x[28], x[29], x[30] = (
            forward[a, b - 1],
            forward[a, b + 1],
            forward[a - 1, b],
            forward[a + 1, b],
        )
        x[31], x[32], x[33], x[34] = (
            backward[a, b - 1],
            backward[a, b + 1],
            backward[a - 1, b],
            backward[a + 1, b],
        )
        x[35], x[36] = s_common[s], t_common[t]
        x[37], x[38] = s_free[s], t_free[t]
        ratio = ratios[a, b]
        x[39], x[40], x[41] = ratio + t_common[t], ratio + s_common[s], ratio
        x[42], x[43] = ratio - s_ratio_best[s], ratio - t_ratio_best[t]
        x[44], x[45], x[46], x[47] = t_null[t], t_null[t + 2], s_null[s], s_null[s + 2]
        x[48], x[49] = ratios[a, b - 1], ratios[a, b + 1]
        x[50], x[51] = ratios[a - 1, b], ratios[a + 1, b]
        x[52] = abs(np.float32(s + 0.5) / n - np.float32(t + 0.5) / m)
        x[53], x[54] = lengths, shortest
        x[55] = s_sign[s] + 2 * t_sign[t]
        x[56], x[57] = s_seen[s], t_seen[t]


_PARTNERS = (
    ("forward", "backward"), ("t_null", "s_null"), ("s_fertility", "t_fertility"), ("s_rival", "t_rival"),
    ("s_backward_rival", "t_forward_rival"), ("s_distance", "t_distance"), ("left", "up"), ("right", "down"),
    ("left_down", "right_up"), ("left2", "up2"), ("right2", "down2"), ("left_forward", "up_backward"),
    ("right_forward", "down_backward"), ("up_forward", "left_backward"), ("down_forward", "right_backward"),
    ("s_common", "t_common"), ("s_free", "t_free"), ("t_given_s", "s_given_t"),
    ("t_given_s_best", "s_given_t_best"), ("left_null", "up_null"), ("right_null", "down_null"),
    ("left_ratio", "up_ratio"), ("right_ratio", "down_ratio"), ("s_seen", "t_seen"),
)  # fmt: skip


def turned(numbers: Floats) -> Floats:
    """Return the numbers that the cells have in the pair turned round."""
    places = {name: place for place, name in enumerate(NAMES)}
    order = np.arange(WIDTH)
    for first, second in _PARTNERS:
        order[places[first]], order[places[second]] = places[second], places[first]
    out = numbers[:, order]
    out[:, places["lengths"]] *= -1
    signs = out[:, places["signs"]]  # 1 the source's, 2 the target's, 3 both
    out[:, places["signs"]] = np.where((signs == 1) | (signs == 2), 3 - signs, signs)
    return out
