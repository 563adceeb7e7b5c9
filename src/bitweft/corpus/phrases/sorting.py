"""Counts of strings, more than memory holds: sorted runs on disk, merged on the way out."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from heapq import merge
from operator import itemgetter
from pathlib import Path

FAN_IN = 64  # runs merged at a time: far below any system's limit of open files
_ENTRY_BYTES = 250  # what a dictionary takes for a string and its count, and sorting them, roughly


class SortedCounts:
    """Add up counts by key within a bound of memory, then give keys in the order of their code points.

    A key holds no line feed. For UTF-8 text this order is that of `LC_ALL=C sort`.
    """

    def __init__(self, directory: Path, *, memory: int) -> None:
        self._directory = directory
        self._memory = memory
        self._held: dict[str, int] = {}
        self._size = 0
        self._runs: list[Path] = []

    def add(self, key: str, count: int = 1) -> None:
        """Add to the count of a key."""
        if key in self._held:
            self._held[key] += count
            return
        self._held[key] = count
        self._size += sys.getsizeof(key) + _ENTRY_BYTES
        if self._size > self._memory:
            self._spill()

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Give the keys in order, each once, with its count."""
        if not self._runs:
            yield from sorted(self._held.items())
            return
        if self._held:
            self._spill()
        # Equal keys of several runs are added up at every level, so runs only shrink.
        while len(self._runs) > FAN_IN:
            merged = [
                self._write(_merge(self._runs[start : start + FAN_IN]))
                for start in range(0, len(self._runs), FAN_IN)
            ]
            for run in self._runs:
                run.unlink()
            self._runs = merged
        yield from _merge(self._runs)

    def clear(self) -> None:
        """Forget everything, on disk too."""
        self._held = {}
        for run in self._runs:
            run.unlink()
        self._runs = []

    def _spill(self) -> None:
        self._runs.append(self._write(sorted(self._held.items())))
        self._held = {}
        self._size = 0

    def _write(self, counts: Iterable[tuple[str, int]]) -> Path:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=self._directory, delete=False
        ) as stream:
            stream.writelines(f"{key}\t{count}\n" for key, count in counts)
        return Path(stream.name)


def _read(run: Iterable[str]) -> Iterator[tuple[str, int]]:
    for line in run:
        key, _, count = line.rpartition("\t")
        yield key, int(count)


def _merge(runs: Iterable[Path]) -> Iterator[tuple[str, int]]:
    with ExitStack() as stack:
        streams = [stack.enter_context(run.open(encoding="utf-8", newline="\n")) for run in runs]
        current: str | None = None
        total = 0
        for key, count in merge(*map(_read, streams), key=itemgetter(0)):
            if key != current:
                if current is not None:
                    yield current, total
                current, total = key, 0
            total += count
        if current is not None:
            yield current, total
