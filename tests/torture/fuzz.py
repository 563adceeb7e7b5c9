"""Mutated inputs through every reader, verb and model: in children that may neither hang nor grow."""

from __future__ import annotations

import functools
import json
import mmap
import os
import random
import re
import resource
import shutil
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from bitweft.errors import BitweftError
from torture.common import FINDS, Part, Place, child, said
from torture.inputs import beginnings, mutate
from torture.readers import READERS, Reader
from torture.verbs import slow_readers

SLOW = 10.0  # seconds of computing: an input that takes longer hangs
STILL = 120.0  # seconds after which it hangs though it does not compute
MEMORY = 1 << 30  # bytes that a child may take beyond what it begins with
TURN = 10_000  # inputs that one child tries
MILLION = 1_000_000  # of so many inputs, each of the slow readers gets its number
LONGEST = 3000  # characters of a fault's description
MOST_GROWN = 300  # inputs that a reader keeps to grow others from

_CLOCK = struct.Struct("ddq40p")  # when the input began, CPU time until then, its number, the reader's name
_VARYING = re.compile(r"/\S+|'.*'|\".*\"|`.*`|\d+")  # what does not tell one message from another


def fuzz(place: Place, part: Part, end: float) -> None:
    """Let children try inputs, one child after the other, and watch them."""
    directory = place.root / "fuzz"
    directory.mkdir()
    clock = mmap.mmap(-1, _CLOCK.size)
    while time.monotonic() < end:
        seed, log = place.chance.randrange(1 << 30), directory / "log"
        clock[:] = _CLOCK.pack(time.monotonic(), 0, 0, b"")
        number = child(functools.partial(_worker, place, directory, clock, seed, end), log)
        code, hangs = _watched(number, clock)
        _, _, tried, name = _CLOCK.unpack(clock[:])
        part.tried += tried
        if code:
            what = "does not end" if hangs else f"ended with {code}: {said(log)}"
            part.faults.append(f"{name.decode()}, seed {seed}, input {tried}: {what}")
            shutil.copytree(directory, FINDS / f"{seed}-{tried}", dirs_exist_ok=True)
            continue
        told = json.loads(log.read_text().splitlines()[-1])
        part.counts.update(told["counts"])
        part.faults += told["faults"]
    part.most("MiB at most", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)


def _watched(number: int, clock: mmap.mmap) -> tuple[int, bool]:
    """Wait for a child, and kill it if it hangs; return its exit code, and whether it did."""
    hangs = False
    while True:
        done, status = os.waitpid(number, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), hangs
        began, computed, *_ = _CLOCK.unpack(clock[:])
        if _cpu_seconds(number) - computed > SLOW or time.monotonic() - began > STILL:
            os.kill(number, signal.SIGKILL)
            hangs = True
        time.sleep(0.05)


def _cpu_seconds(number: int) -> float:
    """Tell how long another process has computed."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _worker(place: Place, directory: Path, clock: mmap.mmap, seed: int, end: float) -> int:
    chance = random.Random(seed)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))
    readers = {name: (MILLION / len(READERS), *reader) for name, reader in READERS.items()}
    readers |= slow_readers(place, chance)
    weights = {name: often for name, (often, _, _) in readers.items()}
    trials = {name: Trial(name, reader[1:], directory) for name, reader in readers.items()}
    faults: list[str] = []
    counts: Counter[str] = Counter()
    order = chance.choices(list(weights), list(weights.values()), k=TURN)
    for number, name in enumerate(order, 1):
        if time.monotonic() > end:
            break
        clock[:] = _CLOCK.pack(time.monotonic(), time.process_time(), number, name.encode())
        fault = trials[name].attempt(chance)
        counts[name.split(",")[0]] += 1
        if fault is not None:
            faults.append(f"{name}, seed {seed}, input {number}: {fault}")
            shutil.copytree(directory, FINDS / f"{seed}-{number}", dirs_exist_ok=True)
    sys.stdout.write("\n" + json.dumps({"counts": counts, "faults": faults}) + "\n")
    return 0


class Trial:
    """Try one reader, and keep inputs that made it say something new: others are grown from them."""

    def __init__(self, name: str, reader: tuple[int, Reader], directory: Path) -> None:
        self.count, self.read = reader
        self.files = [str(directory / f"file{number}") for number in range(3)]
        self.grown = directory / "grown" / re.sub(r"\W+", "-", name)
        self.grown.mkdir(parents=True, exist_ok=True)
        self.corpus = beginnings() + [path.read_bytes() for path in sorted(self.grown.iterdir())]
        self.seen: set[str] = set()

    def attempt(self, chance: random.Random) -> str | None:
        """Write files, read them, and say what went wrong."""
        contents = [mutate(self._chosen(chance), self.corpus, chance) for _ in range(self.count)]
        for path, content in zip(self.files, contents, strict=False):
            with open(path, "wb", buffering=0) as stream:
                stream.write(content)
        try:
            answer = f"read {self.read(self.files).bit_length()}"
        except BitweftError as error:
            answer = _VARYING.sub("", str(error))[:200]
        except BaseException:
            return traceback.format_exc()[:LONGEST]
        if answer not in self.seen and len(self.corpus) < MOST_GROWN:
            self.seen.add(answer)
            for number, content in enumerate(contents):
                if content not in self.corpus and len(content) < 5000:
                    self.corpus.append(content)
                    (self.grown / f"{len(self.corpus)}-{number}").write_bytes(content)
        return None

    def _chosen(self, chance: random.Random) -> bytes:
        """Prefer what was grown for this reader; the corpus begins with what is common to all."""
        return self.corpus[int(len(self.corpus) * chance.random() ** 0.7)]
