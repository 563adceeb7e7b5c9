"""Exponentials of many scores at a time."""

from __future__ import annotations

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.types import LARGEST, Floats


@compiled()
def exponentials(values: Floats) -> None:
    """Replace each value (at least −87, at most LARGEST) by its exponential, many at a time.

    With n the nearest whole number to x / log 2, exp(x) is 2ⁿ · exp(x − n log 2); the latter by a polynomial,
    the former by writing n where a number keeps its exponent.
    """
    flat = values.reshape(values.size)
    powers = np.empty(min(len(flat), 1024), np.int32)
    as_floats = powers.view(np.float32)
    for start in range(0, len(flat), 1024):
        block = flat[start : start + 1024]
        for k in range(len(block)):
            x = min(max(block[k], np.float32(-87.0)), np.float32(LARGEST))
            n = np.int32(x * np.float32(1.44269504) + np.float32(128.5)) - np.int32(128)
            r = x - np.float32(n) * np.float32(0.693147181)
            p = np.float32(1.3981999507e-3) + r * np.float32(1.9875691500e-4)
            p = np.float32(4.1665795894e-2) + r * (np.float32(8.3334519073e-3) + r * p)
            p = np.float32(5.0000001201e-1) + r * (np.float32(1.6666665459e-1) + r * p)
            block[k] = np.float32(1.0) + r * (np.float32(1.0) + r * p)
            powers[k] = np.int32((n + np.int32(127)) << np.int32(23))
        for k in range(len(block)):
            block[k] *= as_floats[k]
