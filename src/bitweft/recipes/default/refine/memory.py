"""What gold links say of words: how much more often than expected their links were in gold.

The expectation is the refiner's. A word that was seen seldom is believed little: its sum is divided by its
cells and some more. A sentence that is learned from is judged without itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitweft.recipes.default.compiled.refine import Memory
from bitweft.recipes.default.compiled.types import Doubles, Floats, Longs

WORD_CELLS = 5.0  # cells that the belief in nothing is worth
PAIR_CELLS = 2.0


class Meeting(NamedTuple):
    """Hold the words of cells, by number; one that training did not see is −1."""

    source: Longs
    target: Longs

    @property
    def keys(self) -> Longs:
        """Number the pairs of words; one with an unseen word is −1."""
        seen = (self.source >= 0) & (self.target >= 0)
        return np.where(seen, self.target << 32 | np.maximum(self.source, 0), -1)

    def take(self, rows: Longs) -> Meeting:
        """Take some of the cells."""
        return Meeting(self.source[rows], self.target[rows])


def remembered(meeting: Meeting, surprise: Doubles, sizes: tuple[int, int]) -> Memory:
    """Learn from cells, and how much the gold differs from what was expected of each."""
    words = [
        _means(own[own >= 0], surprise[own >= 0], size) for own, size in zip(meeting, sizes, strict=True)
    ]
    seen = meeting.keys >= 0
    keys, places = np.unique(meeting.keys[seen], return_inverse=True)
    sums, cells = np.bincount(places, surprise[seen], len(keys)), np.bincount(places, minlength=len(keys))
    return Memory(words[0], words[1], keys, (sums / (cells + PAIR_CELLS)).astype(np.float32))


def _means(words: Longs, surprise: Doubles, size: int) -> Floats:
    sums, cells = np.bincount(words, surprise, size), np.bincount(words, minlength=size)
    return (sums / (cells + WORD_CELLS)).astype(np.float32)


def recalled(memory: Memory, meeting: Meeting) -> Floats:
    """Return what is remembered of each cell: of its words, and of the two together."""
    out = np.zeros((len(meeting.source), 3), np.float32)
    for column, (words, own) in enumerate(zip(memory[:2], meeting, strict=True)):
        out[own >= 0, column] = words[own[own >= 0]]
    if len(memory.keys):
        places = np.searchsorted(memory.keys, meeting.keys).clip(0, len(memory.keys) - 1)
        out[:, 2] = np.where(memory.keys[places] == meeting.keys, memory.values[places], 0)
    return out


def recalled_by_others(meeting: Meeting, surprise: Doubles, sentence: Longs) -> Floats:
    """Return what would be remembered of each cell if its own sentence had not been learned from."""
    out = np.zeros((len(surprise), 3), np.float32)
    columns = ((meeting.source, WORD_CELLS), (meeting.target, WORD_CELLS), (meeting.keys, PAIR_CELLS))
    for column, (keys, more) in enumerate(columns):
        rows = np.flatnonzero(keys >= 0)
        _, places = np.unique(keys[rows], return_inverse=True)
        _, own = np.unique(np.stack([places, sentence[rows]]), axis=1, return_inverse=True)
        own = own.reshape(-1)
        sums = np.bincount(places, surprise[rows])[places] - np.bincount(own, surprise[rows])[own]
        cells = np.bincount(places)[places] - np.bincount(own)[own]
        out[rows, column] = sums / (cells + more)
    return out
