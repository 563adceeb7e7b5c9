"""What a command costs: wall and CPU seconds and peak memory of its whole process, children included.

The command is started by a process that holds nothing, because on Linux the peak memory of a child is at
least that of the process that started it. What is timed may write bytecode, whatever the environment says: a
warm start is what a user has.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from resource import struct_rusage
from typing import NamedTuple

MIB = 1 << 20
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Cost(NamedTuple):
    """Hold what a command cost."""

    wall: float  # seconds
    cpu: float  # seconds of all threads and child processes, user and system
    memory: float  # MiB at the peak, of the largest process


def measure(command: Sequence[str], *, threads: int = 1, log: Path | None = None) -> Cost:
    """Run a command to its end, its threads limited, and tell what it cost; its output goes to `log`."""
    if not hasattr(os, "wait4"):
        raise SystemExit("measuring needs a system with wait4: Linux or macOS")
    environment = {**os.environ, **dict.fromkeys(THREADS, str(threads))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with open(log or os.devnull, "wb") as output:
        starter = subprocess.run(
            [sys.executable, "-I", "-S", __file__, *command],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=output,
            check=False,
        )
    if starter.returncode:
        said = log.read_text(encoding="utf-8", errors="replace")[-2000:] if log is not None else ""
        raise RuntimeError(f"{' '.join(command)}: exit code {starter.returncode}\n{said}")
    return Cost(*json.loads(starter.stdout))


def python(*arguments: str) -> list[str]:
    """Give the command that runs Python, this one, with some arguments."""
    return [sys.executable, *arguments]


def peak_mib(usage: struct_rusage) -> float:
    """Give the largest memory that a process had."""
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
    return usage.ru_maxrss * unit / MIB


def _start(command: list[str]) -> None:
    began = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - began
    cost = (wall, usage.ru_utime + usage.ru_stime, peak_mib(usage))
    print(json.dumps([round(value, 4) for value in cost]))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    _start(sys.argv[1:])
