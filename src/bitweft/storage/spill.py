"""Numbers that may outgrow memory: from a size on they are held in a temporary file.

`ArrayBuilder` makes one array of many pieces, `Spill` holds a row of blocks. Each owns one temporary file at
most, opened when its numbers exceed `large` bytes (by default LARGE). The file has no name on disk; it is
closed, which frees its space, when its owner is collected. An array that `ArrayBuilder.finish` returns maps
the file and may outlive the builder; the blocks that a `Spill` returns are copies of what is in the file.
"""

from __future__ import annotations

import os
import weakref
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

LARGE = 1 << 29  # bytes of one thing that are held in memory
BLOCK = 1 << 20  # numbers that are handled at a time


class ArrayBuilder:
    """Build one array by adding numbers at its end; one that outgrows memory is a mapped file."""

    def __init__(self, dtype: npt.DTypeLike, large: int | None = None) -> None:
        self.dtype = np.dtype(dtype)
        self.large = LARGE if large is None else large
        self._bytes = 0
        self._blocks: list[Array] = []
        self._file: IO[bytes] | None = None

    @property
    def in_file(self) -> bool:
        """Tell whether the numbers have outgrown memory."""
        return self._file is not None

    def extend(self, numbers: Array) -> None:
        """Add numbers at the end."""
        self._bytes += numbers.nbytes
        self._blocks.append(numbers)
        if self._bytes > self.large:
            self._file = self._file or _file_of(self)
            for block in self._blocks:
                self._file.write(block.tobytes())
            self._blocks.clear()

    def finish(self) -> Array:
        """Return all numbers as one array, which may be changed."""
        if self._file is None:
            return np.concatenate([np.empty(0, self.dtype), *self._blocks])
        self._file.flush()
        return np.memmap(self._file, self.dtype, "r+").view(np.ndarray)


class Spill:
    """Hold a row of blocks of arrays, each put there once and asked for now and then, by any thread."""

    def __init__(self, large: int | None = None) -> None:
        self.large = LARGE if large is None else large
        self._bytes = 0
        self._blocks: list[tuple[Array, ...]] = []
        self._places: list[tuple[int, list[tuple[np.dtype[Any], int]]]] = []  # of the blocks in the file
        self._file: IO[bytes] | None = None
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._blocks) + len(self._places)

    def append(self, block: tuple[Array, ...]) -> None:
        """Put a block at the end."""
        self._bytes += sum(array.nbytes for array in block)
        if self._bytes <= self.large:
            self._blocks.append(block)
            return
        with self._lock:
            self._file = self._file or _file_of(self)
            start = self._file.seek(0, os.SEEK_END)
            self._file.writelines(array.tobytes() for array in block)
        self._places.append((start, [(array.dtype, array.nbytes) for array in block]))

    def __getitem__(self, number: int) -> tuple[Array, ...]:
        if number < len(self._blocks):
            return self._blocks[number]
        start, kinds = self._places[number - len(self._blocks)]
        assert self._file is not None
        with self._lock:
            self._file.seek(start)
            contents = [(dtype, bytearray(self._file.read(size))) for dtype, size in kinds]
        return tuple(np.frombuffer(content, dtype) for dtype, content in contents)


def _file_of(owner: object) -> IO[bytes]:
    """Open a file that is gone when its owner is."""
    file = TemporaryFile()  # noqa: SIM115 (closed with its owner)
    weakref.finalize(owner, file.close)
    return file


def counted(numbers: Array, size: int) -> npt.NDArray[np.int64]:
    """Count how often each number below `size` occurs."""
    counts = np.zeros(size, np.int64)
    for start in range(0, len(numbers), BLOCK):
        counts += np.bincount(numbers[start : start + BLOCK], minlength=size)
    return counts
