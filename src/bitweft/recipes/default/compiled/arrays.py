"""Arrays that grow, and sorted ones that are searched."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.types import Ints, Longs

Number = TypeVar("Number", np.int32, np.int64, np.float32)


@compiled()
def longer(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return an array of twice the length that begins with a copy of this one."""
    copy = np.empty(2 * len(array), array.dtype)
    for place in range(len(array)):
        copy[place] = array[place]
    return copy


@compiled()
def place_of(
    keys: Ints | Longs, first: int | np.int64, end: int | np.int64, key: np.int32 | np.int64
) -> int | np.int64:
    """Return the place of the first key, of sorted ones in a range of places, that is not below a key."""
    low, high = first, end
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low
