"""The numbers that a refiner sees of a cell, compiled by numba.

All of them mean the same in any language: posteriors of both directions, what surrounds the cell, how common
and how often unlinked its words are, how well they translate each other, and where they stand. Turning a pair
round turns its features round: `forward` and `backward`, `s` and `t` change places.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bitweft.recipes.default.compiled.compile import compiled
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


@compiled()
def padded(matrix: Floats) -> Floats:
    """Put a margin of zeros round a matrix."""
    n, m = matrix.shape
    out = np.zeros((n + 2 * MARGIN, m + 2 * MARGIN), np.float32)
    for s in range(n):
        for t in range(m):
            out[s + MARGIN, t + MARGIN] = matrix[s, t]
    return out


@compiled()
def agreed_of(forward: Floats, backward: Floats) -> Floats:
    """Return √(forward · backward), padded."""
    n, m = forward.shape
    out = np.zeros((n + 2 * MARGIN, m + 2 * MARGIN), np.float32)
    for s in range(n):
        for t in range(m):
            out[s + MARGIN, t + MARGIN] = math.sqrt(max(forward[s, t] * backward[s, t], np.float32(0.0)))
    return out


@compiled()
def candidates(forward: Floats, backward: Floats, agreed: Floats) -> tuple[Ints, Ints]:
    """List the cells worth a look: seen by a direction, or beside a strong one."""
    n, m = forward.shape
    s_cells = np.empty(n * m, np.int32)
    t_cells = np.empty(n * m, np.int32)
    size = 0
    for s in range(n):
        for t in range(m):
            looked = forward[s, t] > SEEN or backward[s, t] > SEEN
            if not looked:
                a, b = s + MARGIN, t + MARGIN
                looked = (
                    agreed[a, b - 1] > BESIDE
                    or agreed[a, b + 1] > BESIDE
                    or agreed[a - 1, b] > BESIDE
                    or agreed[a + 1, b] > BESIDE
                    or agreed[a - 1, b - 1] > BESIDE
                    or agreed[a + 1, b - 1] > BESIDE
                    or agreed[a - 1, b + 1] > BESIDE
                    or agreed[a + 1, b + 1] > BESIDE
                )
            if looked:
                s_cells[size] = s
                t_cells[size] = t
                size += 1
    return s_cells[:size], t_cells[:size]


@compiled()
def _two_best(matrix: Floats, rows: bool) -> tuple[Floats, Floats, Ints, Ints]:
    """Return the best and second value of each row (or column) of a padded matrix, and where they are."""
    n, m = matrix.shape[0] - 2 * MARGIN, matrix.shape[1] - 2 * MARGIN
    size = n if rows else m
    best = np.full(size, -1.0, np.float32)
    second = np.full(size, -1.0, np.float32)
    best_at = np.full(size, -1, np.int32)
    second_at = np.full(size, -1, np.int32)
    for s in range(n):
        for t in range(m):
            value = matrix[s + MARGIN, t + MARGIN]
            own, at = (s, t) if rows else (t, s)
            if value > best[own]:
                second[own], second_at[own] = best[own], best_at[own]
                best[own], best_at[own] = value, at
            elif value > second[own]:
                second[own], second_at[own] = value, at
    for own in range(size):
        best[own] = max(best[own], np.float32(0.0))
        second[own] = max(second[own], np.float32(0.0))
    return best, second, best_at, second_at


@compiled()
def _sums(matrix: Floats, rows: bool) -> Floats:
    n, m = matrix.shape
    out = np.zeros(n if rows else m, np.float32)
    for s in range(n):
        for t in range(m):
            out[s if rows else t] += matrix[s, t]
    return out


@compiled()
def _distance(here: int, there: int) -> Any:
    if there < 0:
        return np.float32(FAR + 1)
    return np.float32(min(max(here - there, -FAR), FAR))


@compiled()
def features(
    forward: Floats,
    backward: Floats,
    t_ratio: Floats,
    agreed: Floats,
    s_cells: Ints,
    t_cells: Ints,
    s_facts: Facts,
    t_facts: Facts,
    out: Floats,
) -> None:
    """Fill out[:, n] with the numbers of cell n; `t_ratio` is log p(s, t) / p(s) p(t), padded."""
    n, m = forward.shape
    pad_f, pad_b = padded(forward), padded(backward)
    s_best, s_second, s_at, s_at2 = _two_best(agreed, True)
    t_best, t_second, t_at, t_at2 = _two_best(agreed, False)
    sb_best, sb_second, sb_at, _ = _two_best(pad_b, True)
    tf_best, tf_second, tf_at, _ = _two_best(pad_f, False)
    s_ratio_best, _, _, _ = _two_best(t_ratio, True)
    t_ratio_best, _, _, _ = _two_best(t_ratio, False)
    s_null = np.zeros(n + 2, np.float32)
    t_null = np.zeros(m + 2, np.float32)
    s_linked, t_linked = _sums(backward, True), _sums(forward, False)
    for s in range(n):
        s_null[s + 1] = max(np.float32(1.0) - s_linked[s], np.float32(0.0))
    for t in range(m):
        t_null[t + 1] = max(np.float32(1.0) - t_linked[t], np.float32(0.0))
    s_null[0] = s_null[n + 1] = t_null[0] = t_null[m + 1] = -1.0
    s_fertility, t_fertility = _sums(forward, True), _sums(backward, False)
    lengths = np.float32(math.log(n / m))
    shortest = np.float32(min(n, m))
    s_common, s_seen, s_free, s_sign = s_facts
    t_common, t_seen, t_free, t_sign = t_facts
    for at in range(len(s_cells)):
        s, t = s_cells[at], t_cells[at]
        a, b = s + MARGIN, t + MARGIN
        x = out[:, at]
        f, g = forward[s, t], backward[s, t]
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
        x[27], x[28], x[29], x[30] = pad_f[a, b - 1], pad_f[a, b + 1], pad_f[a - 1, b], pad_f[a + 1, b]
        x[31], x[32], x[33], x[34] = pad_b[a, b - 1], pad_b[a, b + 1], pad_b[a - 1, b], pad_b[a + 1, b]
        x[35], x[36] = s_common[s], t_common[t]
        x[37], x[38] = s_free[s], t_free[t]
        ratio = t_ratio[a, b]
        x[39], x[40], x[41] = ratio + t_common[t], ratio + s_common[s], ratio
        x[42], x[43] = ratio - s_ratio_best[s], ratio - t_ratio_best[t]
        x[44], x[45], x[46], x[47] = t_null[t], t_null[t + 2], s_null[s], s_null[s + 2]
        x[48], x[49] = t_ratio[a, b - 1], t_ratio[a, b + 1]
        x[50], x[51] = t_ratio[a - 1, b], t_ratio[a + 1, b]
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
