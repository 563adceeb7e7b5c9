"""Parallel text walked many lines at a time: two files in step, or what comes pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple, TypeVar

import numpy as np

from bitweft.errors import InputError
from bitweft.text.lines import LineFile, Oddities

Item = TypeVar("Item")


class Most(NamedTuple):
    """Say how much may come at a time; one pair may be of any size."""

    pairs: int = 1 << 14
    size: int = 1 << 20  # bytes of either side


NO_MORE = Most()


def gathered(
    items: Iterable[Item], most: int, size: Callable[[Item], int], largest: int, idle: Callable[[], bool]
) -> Iterator[list[Item]]:
    """Part items into lists of so many, or of so large a size in all.

    What came before a fault, or before a wait (`idle`), comes first.
    """
    stream = iter(items)
    while True:
        own: list[Item] = []
        total = 0
        try:
            for item in islice(stream, most):
                own.append(item)
                total += size(item)
                if total > largest or idle():
                    break
        except Exception:
            if own:
                yield own
            raise
        if not own:
            return
        yield own


def as_lines(
    pairs: Iterable[tuple[str, str]], most: Most, idle: Callable[[], bool]
) -> Iterator[tuple[bytes, bytes]]:
    """Give runs of pairs of texts as lines of each side, each line with its line feed."""
    for own in gathered(pairs, most.pairs, lambda pair: max(map(len, pair)), most.size, idle):
        source, target = ("\n".join(texts).encode() + b"\n" for texts in zip(*own, strict=True))
        yield source, target


def side_by_side(
    source: LineFile, target: LineFile, oddities: Oddities, most: Most = NO_MORE
) -> Iterator[tuple[bytes, bytes]]:
    """Give runs of as many lines of both files, each line with its line feed; none waits for the next.

    Raises:
        InputError: one file has more lines than the other, or a line cannot be read.
    """
    ours, theirs = _Cursor(source, oddities), _Cursor(target, oddities)
    lines = 0
    while True:
        there = ours.fill(), theirs.fill()
        if not all(there):
            break
        count = min(ours.within(most), theirs.within(most))
        lines += count
        yield ours.take(count), theirs.take(count)
    if any(there):
        more = lines + (ours if there[0] else theirs).count()
        raise unequal(source.name, target.name, (more, lines) if there[0] else (lines, more))


class _Cursor:
    """Walk the lines of one file."""

    def __init__(self, file: LineFile, oddities: Oddities) -> None:
        self._file = file
        self._blocks = file.blocks(oddities)
        self._block = b""
        self._ends = np.empty(0, np.int64)  # of the lines of the block
        self._place = 0  # of the next line
        self._start = 0  # of its first byte

    def fill(self) -> bool:
        """Read on if no line is left; tell whether there is one."""
        if self._place < len(self._ends):
            return True
        self._block = next(self._blocks, b"")
        self._ends = np.flatnonzero(np.frombuffer(self._block, np.uint8) == ord("\n")) + 1
        self._place = self._start = 0
        return bool(self._block)

    def within(self, most: Most) -> int:
        """Tell how many lines of the block come next, one at least."""
        fitting = int(np.searchsorted(self._ends, self._start + most.size, "right"))
        return min(max(fitting - self._place, 1), most.pairs)

    def take(self, count: int) -> bytes:
        """Take so many lines of the block."""
        end = int(self._ends[self._place + count - 1])
        lines = self._block[self._start : end]
        self._place += count
        self._start = end
        self._file.left = len(self._ends) - self._place
        return lines

    def count(self) -> int:
        """Count the lines from here to the end."""
        return len(self._ends) - self._place + sum(block.count(b"\n") for block in self._blocks)


def unequal(source: str, target: str, counts: tuple[int, int]) -> InputError:
    """Say which of two files has fewer lines."""
    s, t = counts
    first = source if s < t else target
    message = (
        f"the files have different numbers of lines: {source} has {s:,}, {target} has {t:,}; "
        f"{first} ended first. Each line must be the translation of the same line in the other file"
    )
    return InputError(message, file=first, line=min(s, t) + 1)
