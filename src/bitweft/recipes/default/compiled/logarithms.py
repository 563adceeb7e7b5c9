"""Logarithms of many numbers at a time."""

from __future__ import annotations

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.types import Floats


@compiled()
def logarithms(values: Floats) -> None:
    """Replace each value, a normal number above 0, by its natural logarithm, many at a time.

    A number is 2ⁿ · m with m between √½ and √2: n stands where a number keeps its exponent, log m is a
    polynomial (that of Cephes' logf).
    """
    flat = values.reshape(values.size)
    bits = flat.view(np.int32)
    for k in range(len(flat)):
        exponent = np.int32((bits[k] - np.int32(0x3F3504F3)) >> np.int32(23))  # from √½ on it is one more
        bits[k] -= exponent << np.int32(23)
        x = flat[k] - np.float32(1.0)
        z = x * x
        p = np.float32(7.0376836292e-2) * x - np.float32(1.1514610310e-1)
        p = np.float32(1.1676998740e-1) + x * p
        p = np.float32(-1.2420140846e-1) + x * p
        p = np.float32(1.4249322787e-1) + x * p
        p = np.float32(-1.6668057665e-1) + x * p
        p = np.float32(2.0000714765e-1) + x * p
        p = np.float32(-2.4999993993e-1) + x * p
        p = np.float32(3.3333331174e-1) + x * p
        flat[k] = x - np.float32(0.5) * z + x * z * p + np.float32(exponent) * np.float32(0.693147181)
