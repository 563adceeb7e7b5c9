"""Arrays that grow."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from bitweft.recipes.compile import compiled

Number = TypeVar("Number", np.int32, np.int64, np.float32)


@compiled()
def longer(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return an array of twice the length that begins with a copy of this one."""
    copy = np.empty(2 * len(array), array.dtype)
    for place in range(len(array)):
        copy[place] = array[place]
    return copy
