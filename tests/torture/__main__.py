"""Torture bitweft for minutes: fuzzed input, kills, failing disks, flipped bytes, threads, a busy server.

`python tests/torture --hours 0.05` prints a table and ends with 1 if anything was found. What was tried is
added up in torture.json, over runs; each run draws other numbers. It needs Linux, and nothing but the package
with its extras: whatever is killed or made to fail is a child of this process.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # children are forked: no thread may be there before
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from torture.busy import server
from torture.common import Part, Place, prepared
from torture.flips import flips
from torture.fuzz import fuzz
from torture.same import same
from torture.writing import disks, kills

PARTS: dict[str, tuple[float, Callable[[Place, Part, float], None]]] = {  # and their shares of the time
    "fuzz": (0.3, fuzz),
    "kills": (0.25, kills),
    "disks": (0.1, disks),
    "flips": (0.2, flips),
    "same": (0.05, same),
    "server": (0.1, server),
}


def read(path: Path) -> dict[str, Part]:
    """Read what earlier runs have tried."""
    parts = {name: Part(name) for name in PARTS}
    if path.exists():
        for value in json.loads(path.read_text()):
            parts[value["name"]] = Part(**{**value, "counts": Counter(value["counts"])})
    return parts


def main() -> int:
    """Torture, print a table, and return 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python tests/torture", description=__doc__)
    parser.add_argument("--hours", type=float, default=0.05, help="for all parts together (0.05)")
    parser.add_argument("--seed", type=int, help="of this run (as many as there were before, and 1)")
    parser.add_argument("--only", choices=tuple(PARTS), nargs="+", default=list(PARTS))
    parser.add_argument("--json", type=Path, default=Path("torture.json"), help="where it is added up")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what was tried is kept
    whole = sum(PARTS[name][0] for name in args.only)
    parts = read(args.json)
    output = args.json.resolve()
    fast = Path("/dev/shm")  # in memory: what is written is not to wait for a disk
    sys.stdout.write(f"{'part':<8} {'tried':>9} {'faults':>7} {'time':>10}\n")
    found = 0
    with tempfile.TemporaryDirectory(dir=fast if os.access(fast, os.W_OK) else None) as temporary:
        seed = 1 + sum(part.runs for part in parts.values()) if args.seed is None else args.seed
        place = prepared(Path(temporary), seed)
        for name in args.only:
            share, work = PARTS[name]
            part, begun = parts[name], time.monotonic()
            faults = len(part.faults)
            try:
                work(place, part, begun + args.hours * 3600 * share / whole)
            finally:  # a run that is stopped counts for what it has tried
                part.seconds += round(time.monotonic() - begun, 1)
                part.runs += 1
                output.write_text(json.dumps([vars(each) for each in parts.values()], indent=2) + "\n")
            sys.stdout.write(f"{part}\n")
            sys.stdout.writelines(f"  {fault}\n" for fault in part.faults[faults : faults + 10])
            sys.stdout.flush()
            found += len(part.faults) - faults
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
