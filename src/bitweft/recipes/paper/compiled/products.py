"""Dot products of chosen pairs of rows, and their gradients; sums of chosen rows.

`place` (pairs, source, target) names a row of `hidden` (rows, units) for each cell, `own` (pairs, target) a
row of `vectors` (words, units) for each column. Numbers without a sign need no check for places counted from
the end, which would keep a loop from being done in lanes.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bitweft.recipes.compile import compiled

Floats: TypeAlias = npt.NDArray[np.float32]  # or of 64 bits, all of a call
Ints: TypeAlias = npt.NDArray[np.int64]
BLOCK = 8  # columns whose vectors stay in the first cache while the source words pass by


@compiled(entry=True)
def products(hidden: Floats, vectors: Floats, place: Ints, own: Ints, scores: Floats) -> None:
    """Write the product of each cell to `scores` (pairs, source, target)."""
    units = hidden.shape[1]
    for pair in range(place.shape[0]):
        for start in range(0, place.shape[2], BLOCK):
            for s in range(place.shape[1]):
                for t in range(start, min(start + BLOCK, place.shape[2])):
                    row, word = np.uint64(place[pair, s, t]), np.uint64(own[pair, t])
                    total = hidden.dtype.type(0)
                    for unit in range(units):
                        total += hidden[row, unit] * vectors[word, unit]
                    scores[pair, s, t] = total


@compiled(entry=True)
def sums(encoded: Floats, tables: Floats, codes: Ints, out: Floats) -> None:
    """Write to `out` (codes, units) a row of `encoded` and one of each of `tables` (tables, size, units).

    A code is the number of the row, then of the row of each table, as digits of a number to the base `size`.
    """
    count, size, units = tables.shape
    for place in range(len(codes)):
        code = codes[place]
        row = np.uint64(code // size**count)
        for unit in range(units):
            out[place, unit] = encoded[row, unit]
        for k in range(count):
            own = np.uint64(code % size)
            code //= size
            for unit in range(units):
                out[place, unit] += tables[count - 1 - k, own, unit]


@compiled(entry=True)
def product_gradients(
    hidden: Floats,
    vectors: Floats,
    place: Ints,
    own: Ints,
    gradient: Floats,
    hidden_gradient: Floats,
    vectors_gradient: Floats,
) -> None:
    """Add what each cell's gradient (pairs, source, target) is to its two rows."""
    units = hidden.shape[1]
    for pair in range(place.shape[0]):
        for start in range(0, place.shape[2], BLOCK):
            for s in range(place.shape[1]):
                for t in range(start, min(start + BLOCK, place.shape[2])):
                    weight = gradient[pair, s, t]
                    if weight == 0:  # padding
                        continue
                    row, word = np.uint64(place[pair, s, t]), np.uint64(own[pair, t])
                    for unit in range(units):
                        hidden_gradient[row, unit] += weight * vectors[word, unit]
                    for unit in range(units):
                        vectors_gradient[word, unit] += weight * hidden[row, unit]


@compiled(entry=True)
def sum_gradients(codes: Ints, gradient: Floats, encoded: Floats, tables: Floats) -> None:
    """Add the gradients of `encoded` and `tables`, given those of the sums that `sums` made of them."""
    count, size, units = tables.shape
    for place in range(len(codes)):
        code = codes[place]
        row = np.uint64(code // size**count)
        for unit in range(units):
            encoded[row, unit] += gradient[place, unit]
        for k in range(count):
            own = np.uint64(code % size)
            code //= size
            for unit in range(units):
                tables[count - 1 - k, own, unit] += gradient[place, unit]


@compiled(entry=True)
def number_codes(buckets: Ints, count: int, size: int, own: Ints, codes: Ints) -> int:
    """Number what `sums` is to add up, each once; return how much that is.

    A place of the source and a target word see `count` buckets one below the other in `buckets` (places +
    count − 1, target). Writes the number of each to `own` (places, target), and their codes to `codes`.
    """
    found = 0
    for place in range(own.shape[0]):
        begin = found
        for t in range(own.shape[1]):
            code = place
            for q in range(count):
                code = code * size + buckets[place + q, t]
            number = begin
            while number < found and codes[number] != code:
                number += 1
            if number == found:
                codes[number] = code
                found += 1
            own[place, t] = number
    return found
