"""Counts of linked word pairs, summed over the text."""

from __future__ import annotations

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.types import Cells, CountTable, Floats, Longs, Words
from bitweft.recipes.default.compiled.whole import whole


@compiled(entry=True)
def add_counts(
    source: Words, target: Words, pairs: Longs, cells: Cells, table: CountTable, part: int, parts: int
) -> CountTable:
    """Add the cells of some pairs whose target words belong to a part; return the table, grown if need be."""
    s_tokens, t_tokens = source.tokens, target.tokens
    offsets, s_cells, t_cells, values = cells
    keys, sums, size = table
    for place in range(len(pairs)):
        s_first, t_first = source.offsets[pairs[place]], target.offsets[pairs[place]]
        for at in range(offsets[place], offsets[place + 1]):
            t_word = np.int64(t_tokens[t_first + t_cells[at]])
            if t_word % parts != part:
                continue
            s_word = np.int64(s_tokens[s_first + s_cells[at]])
            slot = _slot(keys, (t_word << 32) | s_word)
            if keys[slot] < 0:
                keys[slot] = (t_word << 32) | s_word
                size += 1
            sums[slot] += whole(values[at])
            if 2 * size > len(keys):
                keys, sums = _grown(keys, sums)
    return CountTable(keys, sums, size)


@compiled(entry=True)
def add_unlinked(side: Words, pairs: Longs, nulls: Floats, out: Longs) -> None:
    """Add to each word of some pairs its posterior of NULL, and that it was met."""
    tokens, offsets = side.tokens, side.offsets
    n = 0
    for pair in pairs:
        for at in range(offsets[pair], offsets[pair + 1]):
            out[tokens[at], 0] += whole(nulls[n])
            out[tokens[at], 1] += 1
            n += 1


@compiled()
def _slot(keys: Longs, key: np.int64) -> np.int64:
    """Return the slot of a key, or the free one where it belongs."""
    mask = len(keys) - 1
    mixed = key * np.int64(-7046029254386353131)
    slot = (mixed ^ (mixed >> 32)) & mask
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@compiled()
def _grown(keys: Longs, sums: Longs) -> tuple[Longs, Longs]:
    """Return the table with twice the slots."""
    more_keys = np.full(2 * len(keys), -1, np.int64)
    more_sums = np.zeros(2 * len(keys), np.int64)
    for slot in range(len(keys)):
        if keys[slot] >= 0:
            place = _slot(more_keys, keys[slot])
            more_keys[place] = keys[slot]
            more_sums[place] = sums[slot]
    return more_keys, more_sums
