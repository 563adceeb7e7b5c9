"""Vectors of words, made of the rows of a table."""

from __future__ import annotations

import math

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.types import Floats, Ints, Longs


@compiled(entry=True)
def compose(words: Ints, rows: Ints, row_offsets: Longs, table: Floats, out: Floats) -> None:
    """Set out[n] to the vector of words[n]: the sum of its rows over the root of their number."""
    for n in range(len(words)):
        first, last = row_offsets[words[n]], row_offsets[words[n] + 1]
        for c in range(table.shape[1]):
            out[n, c] = 0.0
        for place in range(first, last):
            row = rows[place]
            for c in range(table.shape[1]):
                out[n, c] += table[row, c]
        weight = np.float32(1.0 / math.sqrt(max(last - first, 1)))
        for c in range(table.shape[1]):
            out[n, c] *= weight


@compiled()
def pick(tokens: Ints, vectors: Floats, unseen: Floats) -> Floats:
    """Return the vectors of tokens; numbers beyond the words of training are those of unseen ones."""
    picked = np.empty((len(tokens), vectors.shape[1]), np.float32)
    for place in range(len(tokens)):
        word = tokens[place]
        for c in range(vectors.shape[1]):
            picked[place, c] = vectors[word, c] if word < len(vectors) else unseen[word - len(vectors), c]
    return picked


@compiled()
def products(one: Floats, other: Floats) -> Floats:
    """Multiply each row of a small matrix with each of another: some dozen rows need no library for that."""
    found = np.empty((len(one), len(other)), np.float32)
    for a in range(len(one)):
        for b in range(len(other)):
            total = np.float32(0.0)
            for c in range(one.shape[1]):
                total += one[a, c] * other[b, c]
            found[a, b] = total
    return found
