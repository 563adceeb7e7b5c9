"""Kills and failing disks: what is written is whole or absent, and doing it again gives the same bytes."""

from __future__ import annotations

import errno
import functools
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitweft.cli import main as bitweft
from torture.common import PAPER, Part, Place, child, ended, said, tree

FEW = ("--set", "lse_epochs=1", "--set", "chain_epochs=1")
WRITING = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "open"}  # as Python's audit calls them


@dataclass(frozen=True)
class Job:
    """Name a command that writes, into the directory `out` of where it is run, and how it is run again."""

    name: str
    command: tuple[str, ...]
    again: tuple[str, ...] = ()

    def here(self, place: Place) -> Path:
        """Name the directory in which it is run."""
        return place.root / "jobs" / self.name.replace(" ", "-")


def jobs(place: Place) -> list[Job]:
    """List commands that write files and directories."""
    text, model = place.text, str(place.models["default"])
    train = ("train", *text, "-o", "out/m", "-q", "--threads", "1")
    resume = ("--checkpoint-every", "0", "--resume")
    aligned = ("--model", model, "-q", "--threads", "1")
    force = ("--force",)
    return [
        Job("train default", (*train, *resume)),
        Job("train paper", (*train, *resume, *PAPER)),
        Job("save", (*train, *FEW, "--force")),
        Job("align", ("align", *text, *aligned, "-o", "out/links", "--scores", "out/scores"), force),
        Job("shards", ("align", "--shards", f"{place.root}/shard.*", "--out", "out", *aligned, "--resume")),
        Job("lexicon", ("lexicon", *text, place.links, "-o", "out/lexicon"), force),
        Job("phrases", ("phrases", *text, place.links, "-o", "out/phrases"), force),
    ]


def begin(place: Place, job: Job, *, again: bool = False, before: Callable[[], None] | None = None) -> int:
    """Begin a job in its own directory."""
    here = job.here(place)
    (here / "out").mkdir(parents=True, exist_ok=True)

    def work() -> int:
        os.chdir(here)
        if before is not None:
            before()
        return bitweft([*job.command, *(job.again if again else ())])

    return child(work, here / "log")


@dataclass(frozen=True)
class Undisturbed:
    """Hold what a job writes when nothing happens to it, and what that takes."""

    files: dict[str, bytes]
    seconds: float
    calls: int  # that change the file system


def undisturbed(place: Place) -> dict[str, Undisturbed]:
    """Do every job in peace, at first in this very process: what it needs is then in memory."""
    found = {}
    for job in jobs(place):
        here = job.here(place)
        shutil.rmtree(here, ignore_errors=True)
        (here / "out").mkdir(parents=True)
        os.chdir(here)
        bitweft(list(job.command))
        counted = here / "calls"
        for before in (functools.partial(_count_calls, counted), None):
            shutil.rmtree(here / "out")
            begun = time.monotonic()
            if ended(begin(place, job, before=before)):
                raise RuntimeError(f"{job.name}: {said(here / 'log')}")
            seconds = time.monotonic() - begun
        found[job.name] = Undisturbed(tree(here / "out"), seconds, counted.stat().st_size)
    os.chdir(place.root)
    return found


def _writes(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open" and isinstance(arguments[2], int):
        return bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return event in WRITING and event != "open"


def _count_calls(counted: Path) -> None:
    """Write a byte for every call that changes the file system."""
    log = os.open(counted, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if _writes(event, arguments):
            os.write(log, b".")

    sys.addaudithook(hook)


def _die_at(call: int) -> None:
    """Let this process be killed just before a call that changes the file system."""
    calls = [0]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if _writes(event, arguments):
            calls[0] += 1
            if calls[0] == call:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def not_whole(found: dict[str, bytes], known: dict[str, bytes]) -> list[str]:
    """Name files that may be looked at and are neither whole nor of a checkpoint or manifest."""
    return [
        name
        for name, content in found.items()
        if ".bitweft/" not in name
        and ".checkpoint" not in name
        and not name.endswith(".manifest.json")
        and known.get(name) != content
    ]


def kills(place: Place, part: Part, end: float) -> None:
    """Kill jobs, half at a random time, half just before a file appears, is renamed or goes."""
    known = undisturbed(place)
    work = jobs(place)
    while time.monotonic() < end:
        job = work[part.tried % len(work)]
        here, peace = job.here(place), known[job.name]
        if job.name != "save":  # that one replaces a model that is there
            shutil.rmtree(here / "out")
        if place.chance.random() < 0.5:
            call = place.chance.randint(1, peace.calls)
            number = begin(place, job, before=functools.partial(_die_at, call))
            what = f"{job.name}, killed before call {call}"
        else:
            number = begin(place, job)
            delay = place.chance.uniform(0, 1.05 * peace.seconds)
            time.sleep(delay)
            os.kill(number, signal.SIGKILL)
            what = f"{job.name}, killed after {delay:.3f} s"
        part.counts[job.name if ended(number) == -signal.SIGKILL else "done before the kill"] += 1
        part.tried += 1
        part.faults += [f"{what}: {name} is not whole" for name in not_whole(tree(here / "out"), peace.files)]
        code, message = ended(begin(place, job, again=True)), said(here / "log")
        done = code == 1 and "exists already" in message  # killed when all was over
        if (code and not done) or tree(here / "out") != peace.files:
            part.faults.append(f"{what}: the rerun ends with {code}, or other bytes: {message}")
            shutil.rmtree(here / "out")
            ended(begin(place, job))


def _fail_at(name: str, call: int, code: int) -> None:
    """Let one call of a function of `os` fail."""
    whole, calls = getattr(os, name), [0]

    def failing(*arguments: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == call:
            raise OSError(code, os.strerror(code), str(arguments[0]) if arguments else None)
        return whole(*arguments, **options)

    setattr(os, name, failing)


def _limit_files(size: int) -> None:
    """Let no file grow beyond a size: to write more fails, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def disks(place: Place, part: Part, end: float) -> None:
    """Let writes fail: a message and exit code 1, nothing half-written, and what was there is there still."""
    known = undisturbed(place)
    inputs = tree(place.root / "text")
    chance = place.chance
    while time.monotonic() < end:
        job = chance.choice(jobs(place))
        here, peace = job.here(place), known[job.name]
        if job.name != "save":
            shutil.rmtree(here / "out")
        if chance.random() < 0.5:
            largest = max(map(len, peace.files.values()))
            size = chance.randint(2000, max(largest, 4000))  # what is said must fit into the log
            before, what = functools.partial(_limit_files, size), f"{job.name}, files to {size} bytes"
        else:
            calls = [("fsync", 8), ("replace", 6), ("mkdir", 4), ("rename", 4), ("open", 12), ("unlink", 4)]
            name, most = chance.choice(calls)
            call, code = chance.randint(1, most), chance.choice((errno.ENOSPC, errno.EACCES, errno.EIO))
            before = functools.partial(_fail_at, name, call, code)
            what = f"{job.name}, {name} {call}: {os.strerror(code)}"
        found, message = ended(begin(place, job, before=before)), said(here / "log")
        part.tried += 1
        part.counts["refused" if found == 1 else "not reached" if found == 0 else "other"] += 1
        if found not in (0, 1) or "Traceback" in message or (found == 1 and not message.strip()):
            part.faults.append(f"{what}: exit code {found}: {message}")
        left = tree(here / "out")
        part.faults += [f"{what}: {name} is not whole" for name in not_whole(left, peace.files)]
        if job.name == "save" and "m/model.json" not in left:
            part.faults.append(f"{what}: the model that was there is lost")
        if tree(place.root / "text") != inputs:
            part.faults.append(f"{what}: the text is another")
