"""Torture bitweft for minutes: fuzzed input, kills, failing disks, flipped bytes, threads, a busy server.

`python tests/torture.py --hours 0.05 --seed 1` prints a table, writes torture.json, and ends with 1 if
anything was found. The time is shared out among the parts; more hours try more. It needs Linux, and nothing
but the package with its extras: whatever is killed or made to fail is a child of this process.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import functools
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # children are forked: no thread may be there before
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import fuzz
from battery import SMALL
from bitweft import Aligner
from bitweft.cli import main as bitweft
from bitweft.errors import BitweftError
from bitweft.recipes import chunks
from bitweft.sample import bitext, generate
from bitweft.text.lines import LineFile

SLOW = 10.0  # seconds: an input that takes longer hangs
MEMORY = 1 << 20  # KiB
PAPER = [part for setting in SMALL["paper"] for part in ("--set", setting)]


@dataclass
class Part:
    """Hold what one part of the torture tried and found."""

    name: str
    tried: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        detail = ", ".join(f"{count:,} {what}" for what, count in sorted(self.counts.items()))
        return f"{self.name:<12} {self.tried:>9,} {len(self.faults):>7,} {self.seconds:>8.0f} s  {detail}"


@dataclass(frozen=True)
class Place:
    """Name the files that every part works on."""

    root: Path
    text: tuple[str, str]
    joint: str
    links: str
    model: Path
    paper: Path
    chance: random.Random


@dataclass(frozen=True)
class Job:
    """Name a command that writes, into the directory `out` of where it is run, and how it is run again."""

    name: str
    command: tuple[str, ...]
    again: tuple[str, ...] = ()


def child(work: Callable[[], int], log: Path) -> int:
    """Begin some work in a process of its own, whose messages go to a file; return its number."""
    sys.stdout.flush()
    number = os.fork()
    if number:
        return number
    with contextlib.suppress(BaseException):
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        code = 99
        try:
            code = work()
        except SystemExit as error:
            code = int(error.code or 0)
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    os._exit(98)


def ended(number: int) -> int:
    """Wait for a process, and return its exit code, or less than 0 for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def tree(directory: Path) -> dict[str, bytes]:
    """Read all files below a directory; what a model says of the time it took is left out."""
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            if path.name == "model.json":
                value = json.loads(content)
                value["training"] |= {"seconds": 0, "cpu_seconds": 0}
                content = json.dumps(value).encode()
            found[str(path.relative_to(directory))] = content
    return found


def jobs(place: Place) -> list[Job]:
    """List commands that write files and directories."""
    text, model = place.text, str(place.model)
    train = ("train", *text, "-o", "out/m", "-q", "--threads", "1")
    resume = ("--checkpoint-every", "0", "--resume")
    shards = (
        "align",
        "--shards",
        f"{place.root}/shard.*",
        "--out",
        "out",
        "--model",
        model,
        "-q",
        "--resume",
    )
    align = ("align", *text, "--model", model, "-q", "--threads", "1", "-o", "out/links")
    return [
        Job("train, default", (*train, *resume)),
        Job("train, paper", (*train, *resume, "--recipe", "paper", *PAPER)),
        Job("save", (*train, "--set", "lse_epochs=1", "--set", "chain_epochs=1", "--force")),
        Job("align", align, ("--force",)),
        Job("shards", (*shards, "--threads", "1")),
        Job("lexicon", ("lexicon", *text, place.links, "-o", "out/lexicon"), ("--force",)),
        Job("phrases", ("phrases", *text, place.links, "-o", "out/phrases"), ("--force",)),
    ]


def run_job(place: Place, job: Job, *, again: bool = False, before: Callable[[], None] | None = None) -> int:
    """Begin a job in its own directory."""
    here = place.root / job.name.replace(", ", "-")
    (here / "out").mkdir(parents=True, exist_ok=True)

    def work() -> int:
        os.chdir(here)
        if before is not None:
            before()
        return bitweft([*job.command, *(job.again if again else ())])

    return child(work, here / "log")


def references(place: Place) -> dict[str, tuple[dict[str, bytes], float]]:
    """Do every job undisturbed: what it writes, and how long it takes."""
    found = {}
    for job in jobs(place):
        begun = time.monotonic()
        here = place.root / job.name.replace(", ", "-")
        shutil.rmtree(here, ignore_errors=True)
        code = ended(run_job(place, job))
        if code:
            raise RuntimeError(f"{job.name}: exit code {code}: {(here / 'log').read_text()}")
        found[job.name] = (tree(here / "out"), time.monotonic() - begun)
    return found


def partial(found: dict[str, bytes], known: dict[str, bytes]) -> list[str]:
    """Name files that may be looked at and are neither whole nor of a checkpoint or manifest."""
    kept = {name: content for name, content in found.items() if not name.startswith(("out/.", "."))}
    return [
        name
        for name, content in kept.items()
        if ".bitweft/" not in name
        and ".checkpoint" not in name
        and not name.endswith(".manifest.json")
        and known.get(name) != content
    ]


def kills(place: Place, part: Part, end: float) -> None:
    """Kill jobs at random: what is there is whole, and a rerun gives the bytes of an undisturbed run."""
    known = references(place)
    work = jobs(place)
    while time.monotonic() < end:
        job = work[part.tried % len(work)]
        here = place.root / job.name.replace(", ", "-")
        if job.name != "save":  # that one replaces a model that is there
            shutil.rmtree(here / "out")
        expected, seconds = known[job.name]
        number = run_job(place, job)
        time.sleep(place.chance.uniform(0, 1.1 * seconds))
        os.kill(number, signal.SIGKILL)
        part.counts["killed" if ended(number) == -signal.SIGKILL else "done before the kill"] += 1
        part.tried += 1
        for name in partial(tree(here / "out"), expected):
            part.faults.append(f"{job.name}: {name} is not whole after a kill")
        code = ended(run_job(place, job, again=True))
        done = code == 1 and "exists already" in (here / "log").read_text(errors="replace")
        if (code and not done) or tree(here / "out") != expected:
            said = (here / "log").read_text(errors="replace")[-500:]
            part.faults.append(f"{job.name}: the rerun ends with {code}, or writes other bytes: {said}")
            shutil.rmtree(here / "out")
            ended(run_job(place, job))


def fail_at(name: str, call: int, code: int) -> None:
    """Let one call of a function of `os` fail."""
    whole, calls = getattr(os, name), [0]

    def failing(*arguments: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == call:
            raise OSError(code, os.strerror(code), str(arguments[0]) if arguments else None)
        return whole(*arguments, **options)

    setattr(os, name, failing)


def limit_files(size: int) -> None:
    """Let no file grow beyond a size: to write more fails, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def disks(place: Place, part: Part, end: float) -> None:
    """Let writes fail: a message and exit code 1, nothing half-written, and what was there is there still."""
    known = references(place)
    work = jobs(place)
    inputs = tree(place.root / "text")
    while time.monotonic() < end:
        job = place.chance.choice(work)
        here = place.root / job.name.replace(", ", "-")
        expected = known[job.name][0]
        if job.name != "save":
            shutil.rmtree(here / "out")
        largest = max(map(len, expected.values()))
        calls = [("fsync", 8), ("replace", 6), ("mkdir", 4), ("rename", 4), ("open", 12)]
        name, most = place.chance.choice(calls)
        call, code = (
            place.chance.randint(1, most),
            place.chance.choice((errno.ENOSPC, errno.EACCES, errno.EIO)),
        )
        size = place.chance.randint(2000, max(largest, 4000))  # what is said must fit into the log
        by_size = place.chance.random() < 0.5
        before = (
            functools.partial(limit_files, size) if by_size else functools.partial(fail_at, name, call, code)
        )
        number = run_job(place, job, before=before)
        found, said = ended(number), (here / "log").read_text(errors="replace")
        part.tried += 1
        part.counts["refused" if found == 1 else "not reached" if found == 0 else "other"] += 1
        what = f"{job.name}, files to {size} bytes" if by_size else f"{job.name}, {name} {call}"
        if found not in (0, 1) or "Traceback" in said or (found == 1 and not said.strip()):
            part.faults.append(f"{what}: exit code {found}: {said[-800:]}")
        for left in partial(tree(here / "out"), expected):
            part.faults.append(f"{what}: {left} is not whole")
        if tree(place.root / "text") != inputs:
            part.faults.append(f"{what}: the text is another")


def fuzzed(place: Place, part: Part, end: float) -> None:
    """Send mutated files through readers, verbs and models."""
    directory = place.root / "fuzz"
    directory.mkdir()
    while time.monotonic() < end:
        model = place.chance.choice((place.model, place.model, place.model, place.paper))
        make = place.chance.choices((fuzz.text_command, fuzz.model_command), (5, 1))[0]
        command = make(directory, model, place.chance)
        begun = time.monotonic()
        fault = fuzz.run(command)
        part.tried += 1
        part.counts[command[0]] += 1
        if time.monotonic() - begun > SLOW:
            fault = f"took {time.monotonic() - begun:.0f} s"
        if fault is None and command[0] == "align" and (directory / "out").exists():
            fault = _lines(command, directory / "out")
        (directory / "out").unlink(missing_ok=True)
        if fault is not None:
            part.faults.append(f"{' '.join(command)}: {fault}")
            shutil.copytree(directory, Path("torture-finds") / str(part.tried), dirs_exist_ok=True)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    part.counts["MiB at most"] = most >> 10
    if most > MEMORY:
        part.faults.append(f"{most:,} KiB of memory")


def _lines(command: Sequence[str], output: Path) -> str | None:
    """Compare the lines of two files with those of their links."""
    if command[2].startswith("-") or command[2] == command[1]:
        return None
    lines = sum(1 for _ in LineFile(command[1], strict=False).lines())
    found = output.read_bytes().count(b"\n")
    return None if lines == found else f"{found} lines of links for {lines} of text"


def flips(place: Place, part: Part, end: float) -> None:
    """Change single bytes of models: refused, or links within bounds; a crash is that of a child."""
    while time.monotonic() < end:
        for name, model in (("default", place.model), ("paper", place.paper)):
            log = place.root / "flips"
            seed = place.chance.randrange(1 << 30)
            number = child(functools.partial(_flip, place, model, seed, end), log)
            code, said = ended(number), log.read_text(errors="replace")
            if code:
                part.faults.append(f"{name}, seed {seed}: ended with {code}: {said[-800:]}")
                continue
            for what, count in json.loads(said.splitlines()[-1]).items():
                part.counts[f"{name} {what}"] += count
                part.tried += count


def _flip(place: Place, model: Path, seed: int, end: float, most: int = 200) -> int:
    chance = random.Random(seed)
    copy = place.root / "flipped"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(model, copy)
    files = sorted(copy.iterdir())
    pairs = [(pair.source.tokens, pair.target.tokens) for pair in bitext(generate(3, seed=7))[0]]
    counts: Counter[str] = Counter()
    while sum(counts.values()) < most and time.monotonic() < end + 5:
        victim = chance.choice(files)
        content = bytearray(victim.read_bytes())
        at = chance.randrange(min(len(content), 4000) if chance.random() < 0.5 else len(content))
        before, content[at] = content[at], chance.randrange(256)
        victim.write_bytes(content)
        try:
            for (source, target), links in zip(
                pairs, Aligner.load(copy, threads=1).align(pairs), strict=True
            ):
                assert all(0 <= s < len(source) and 0 <= t < len(target) for s, t in links.links), links
            counts["used"] += 1
        except BitweftError:
            counts["refused"] += 1
        content[at] = before
        victim.write_bytes(content)
    sys.stdout.write(json.dumps(counts) + "\n")
    return 0


def same(place: Place, part: Part, end: float) -> None:
    """Align the same text on 1, 2 and 4 threads, in chunks of any size, from a file and from a pipe."""
    while time.monotonic() < end or part.tried < 2:
        for name, model in (("default", place.model), ("paper", place.paper)):
            size = place.chance.choice((1, 2, 7, 64, 256))
            threads = place.chance.choice((1, 2, 4))
            log = place.root / "same"
            code = ended(child(functools.partial(_same, place, model, threads, size), log))
            part.tried += 1
            part.counts[f"{name}, {threads} threads"] += 1
            if code:
                part.faults.append(f"{name}, {threads} threads, chunks of {size}: {log.read_text()[-800:]}")


def _same(place: Place, model: Path, threads: int, size: int) -> int:
    known = (model.parent / f"{model.name}.links").read_text().splitlines()
    chunks.CHUNK = size
    found = Aligner.load(model, threads=threads)
    lines = [line.split(" ||| ") for line in Path(place.joint).read_text().splitlines()]
    assert [str(each) for each in found.align((s, t) for s, t in lines)] == known
    one = place.chance.randrange(len(lines))
    assert str(found.align(*lines[one])) == known[one]
    sys.stdin = io.TextIOWrapper(io.BytesIO(Path(place.joint).read_bytes()))
    output = str(place.root / "same.links")
    assert bitweft(["align", "-", "--model", str(model), "-q", "-o", output, "--force"]) == 0
    assert Path(output).read_text().splitlines() == known
    return 0


def server(place: Place, part: Part, end: float) -> None:
    """Ask a server small questions while big ones run and slow clients hang on it."""
    import http.client
    import socket
    from urllib.parse import urlsplit

    from soak import exchanges, resident, served, soak

    pairs = list(bitext(generate(60, seed=2))[0])
    big = json.dumps({"pairs": [{"source": "the " * 1000, "target": "la " * 1000}] * 16}).encode()
    seconds = max(5.0, end - time.monotonic())
    with served(str(place.model)) as (address, process):
        where = urlsplit(address)
        slow = [socket.create_connection((where.hostname or "", where.port or 80)) for _ in range(200)]
        stop = time.monotonic() + seconds

        def ask_big() -> None:
            while time.monotonic() < stop:
                connection = http.client.HTTPConnection(where.netloc, timeout=60)
                with contextlib.suppress(OSError, http.client.HTTPException):
                    connection.request("POST", "/align", big, {"Content-Type": "application/json"})
                    part.counts[f"big: {connection.getresponse().status}"] += 1
                connection.close()

        hogs = [threading.Thread(target=ask_big) for _ in range(2)]
        for hog in hogs:
            hog.start()
        questions = exchanges(Aligner.load(place.model, threads=1), pairs)
        report = soak(address, questions, clients=50, seconds=seconds, memory=lambda: resident(process.pid))
        for hog in hogs:
            hog.join()
        for connection in slow:
            connection.close()
    times = sorted(report.seconds)
    part.tried = report.requests
    part.counts["ms, 1 in 100"] = round(1000 * times[len(times) * 99 // 100])
    part.counts["MiB at most"] = max(report.memory, default=0) >> 10
    part.faults += report.errors


PARTS: dict[str, tuple[float, Callable[[Place, Part, float], None]]] = {  # and their shares of the time
    "fuzz": (0.3, fuzzed),
    "kills": (0.25, kills),
    "disks": (0.2, disks),
    "flips": (0.15, flips),
    "same": (0.05, same),
    "server": (0.05, server),
}


def prepared(root: Path, chance: random.Random) -> Place:
    """Write the text, and learn a model of each recipe in children."""
    (root / "text").mkdir()
    pairs = list(bitext(generate(80))[0])
    sides = [[pair[side].text for pair in pairs] for side in (0, 1)]
    text = (str(root / "text" / "en"), str(root / "text" / "fr"))
    for path, lines in zip(text, sides, strict=True):
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    joint = [f"{s} ||| {t}\n" for s, t in zip(*sides, strict=True)]
    (root / "text" / "joint").write_text("".join(joint), encoding="utf-8")
    for number in range(3):
        (root / f"shard.{number}").write_text("".join(joint[number::3]), encoding="utf-8")
    links = str(root / "text" / "links")
    models = root / "default", root / "paper"
    commands = [
        ["train", *text, "-o", str(models[0]), "-q", "--threads", "1"],
        ["train", *text, "-o", str(models[1]), "-q", "--threads", "1", "--recipe", "paper", *PAPER],
        *(["align", *text, "--model", str(each), "-q", "-o", f"{each}.links"] for each in models),
        ["align", *text, "--model", str(models[0]), "-q", "-o", links],
    ]
    for command in commands:
        if code := ended(child(functools.partial(bitweft, command), root / "log")):
            raise RuntimeError(f"{command}: exit code {code}: {(root / 'log').read_text()}")
    Aligner.load(models[1])  # what is imported once is not measured
    return Place(root, text, str(root / "text" / "joint"), links, *models, chance)


def main() -> int:
    """Torture, print a table, and return 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=0.05, help="for all parts together (0.05)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=tuple(PARTS), nargs="+", default=list(PARTS))
    parser.add_argument("--json", type=Path, default=Path("torture.json"))
    args = parser.parse_args()
    whole = sum(PARTS[name][0] for name in args.only)
    found = []
    sys.stdout.write(f"{'part':<12} {'tried':>9} {'faults':>7} {'time':>10}\n")
    with tempfile.TemporaryDirectory() as temporary:
        place = prepared(Path(temporary), random.Random(args.seed))
        for name in args.only:
            share, work = PARTS[name]
            part = Part(name)
            begun = time.monotonic()
            work(place, part, begun + args.hours * 3600 * share / whole)
            part.seconds = time.monotonic() - begun
            found.append(part)
            sys.stdout.write(f"{part}\n")
            for fault in part.faults[:10]:
                sys.stdout.write(f"  {fault}\n")
            sys.stdout.flush()
            args.json.write_text(json.dumps([vars(each) for each in found], indent=2) + "\n")
    return 1 if any(part.faults for part in found) else 0


if __name__ == "__main__":
    sys.exit(main())
