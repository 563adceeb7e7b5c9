"""A process and all that come from it, by Linux' /proc: CPU time, memory, and kills at random times."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
WORKING = "ray::_attempt"  # the title of a process of Ray as long as it works on an item of ours


class Process(NamedTuple):
    """Hold what the system tells of a process."""

    number: int
    parent: int
    began: int  # ticks since the system began: with the number, it names the process for good
    cpu: float  # seconds, user and system, without those of its children

    @property
    def title(self) -> str:
        """Read the command line, which Ray changes with what a process does."""
        try:
            return (PROC / str(self.number) / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        except OSError:
            return ""

    @property
    def peak(self) -> float:
        """Read the most memory that it has had, in MiB."""
        try:
            lines = (PROC / str(self.number) / "status").read_text().splitlines()
        except OSError:
            return 0.0
        return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def family(root: int) -> list[Process]:
    """Find a process and all that come from it."""
    found = {process.number: process for entry in PROC.iterdir() if (process := _process(entry)) is not None}

    def is_own(number: int) -> bool:
        return number == root or (number in found and is_own(found[number].parent))

    return [process for process in found.values() if is_own(process.number)]


def _process(entry: Path) -> Process | None:
    if not entry.name.isdigit():
        return None
    try:
        # The name stands in parentheses and may contain anything.
        fields = (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return None
    ticks = int(fields[11]) + int(fields[12])
    return Process(int(entry.name), int(fields[1]), int(fields[19]), ticks / os.sysconf("SC_CLK_TCK"))


class Watch:
    """Add up what a process and all that come from it cost, as long as somebody looks often enough."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._cpu: dict[tuple[int, int], float] = {}
        self._kind: dict[tuple[int, int], str] = {}
        self.peak = 0.0  # MiB of the largest worker

    def cpu(self, kind: str | None = None) -> float:
        """Give the CPU seconds of all, or of the `driver`, the `workers`, or `Ray`'s own processes."""
        return sum(own for key, own in self._cpu.items() if kind in (None, self._kind[key]))

    def look(self) -> None:
        """Take note of all that are there now."""
        for process in family(self._root):
            key, title = (process.number, process.began), process.title
            self._cpu[key] = process.cpu
            if title.startswith(WORKING):
                self._kind[key] = "workers"
                self.peak = max(self.peak, process.peak)
            self._kind.setdefault(key, "driver" if process.number == self._root else "Ray")


def working(root: int) -> list[int]:
    """Name the processes that work on an item of ours."""
    return [process.number for process in family(root) if process.title.startswith(WORKING)]


class Killer:
    """Kill workers at random times, so many of them."""

    def __init__(self, root: int, times: int, seed: int) -> None:
        self._root = root
        self._draw = random.Random(seed)
        self._due: float | None = None  # when the next is killed; none until one is seen to work
        self.left = times

    def look(self) -> None:
        """Kill a worker, if it is time to; to be called often."""
        found = working(self._root) if self.left else []
        if not found:
            return
        if self._due is not None and time.monotonic() >= self._due:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(self._draw.choice(found), signal.SIGKILL)
                self.left -= 1
            self._due = None
        if self._due is None:
            self._due = time.monotonic() + self._draw.uniform(0.05, 2.0)
