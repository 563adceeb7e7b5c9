"""Speed and memory of bitweft beside eflomal and fast_align, alternately in one run on the same text.

    python benchmarks/speed.py                  2,000, 20,000 and 100,000 pairs, two threads each
    python benchmarks/speed.py --all            and all pairs
    python benchmarks/speed.py --all --grown 10m   and ten million, grown from them, by bitweft alone
    python benchmarks/speed.py --only kept      aligning with a kept model anew, the rest as it was
    python benchmarks/speed.py --publish --docs no runs: tables and figure from the JSON

Five things: training plus aligning, whole processes of all; aligning with a kept model, few pairs and single
ones too; where the time goes on one thread, and how near to the machine's products (products.py says how);
what more cores would give; growth with the length of sentences. bitweft's inner loops are compiled before.
fast_align (sil-thot's) is slow: it runs on texts of up to --fast-align pairs. Each step is kept in --cache:
what was stopped goes on where it was. A step times all systems, so that ratios are of one run; of small texts
the median of three counts. Writes speed.json and speed.md to --output; with --docs also the tables and the
figure of docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import speed_tables
from cells import Cells, Unchanged, code_digest
from corpora import ROOT, Row, Sample, file_sizes, pairs_of, require, write_sample
from measuring import Cost, measure, python
from peers import command, require_installed, system_key, warm_up
from reporting import (
    CACHE,
    fill_block,
    new_parser,
    parse,
    read_results,
    say,
    surroundings,
    with_progress,
    write_json,
    write_text,
)

ROWS = ("en-fr:2k", "en-fr:20k", "en-fr:100k")
BOTH = ("bitweft", "eflomal")
LENGTHS = ((1, 10), (11, 20), (21, 40), (41, 80))  # words of the longer sentence of a pair
LONG = (500, 5000)  # words of a sentence
FEW = 100  # pairs of a short job
SMALL = 20_000  # pairs that take seconds: three turns at least, of which the median counts
TIMES = 5  # that a start is timed (with more pairs, 3): the best counts, because others use the machine too
LOAD = """
import json, sys, time
def now(): return time.perf_counter(), time.process_time()
times = [now()]
import bitweft.aligner, bitweft.recipes.default.recipe
times.append(now())
bitweft.aligner.Aligner.load(sys.argv[1])
times.append(now())
spent = [[b - a for a, b in zip(*own)] for own in zip(times, times[1:])]
print(json.dumps([*spent, "torch" in sys.modules]))
"""


SINGLE = """
import json, sys, time
from bitweft import Aligner
aligner = Aligner.load(sys.argv[1], threads=1)
pairs = list(zip(*([line.split() for line in open(path, encoding="utf-8")] for path in sys.argv[2:])))
for pair in pairs[:10]:
    aligner.align(*pair)
began = time.perf_counter()
for pair in pairs:
    aligner.align(*pair)
print(json.dumps(len(pairs) / (time.perf_counter() - began)))
"""


WHAT = ("race", "phases", "kept", "cores", "length")


class Step(NamedTuple):
    """Name one step: what is measured, on which text, with how many threads, and of which turn it is."""

    what: str  # one of WHAT
    row: Row
    threads: int
    turn: int = 1
    lengths: tuple[int, int] | None = None
    systems: tuple[str, ...] = BOTH

    def __str__(self) -> str:
        length = "" if self.lengths is None else f", {self.lengths[0]}–{self.lengths[1]} words"
        return f"{self.what}, {self.row}{length}, {self.threads} thread(s), turn {self.turn}"


def key_of(step: Step) -> dict[str, Any]:
    """Give all that a step depends on."""
    systems = {name: system_key(name) for name in step.systems}
    own = {"systems": systems, "code": code_digest(), "files": file_sizes(step.row.text)}
    return {**step._asdict(), "row": str(step.row), **own}


def race(sample: Sample, directory: Path, threads: int, systems: Sequence[str] = BOTH) -> dict[str, Any]:
    """Train and align by some systems, one after the other."""
    found: dict[str, Any] = {"pairs": sample.pairs}
    for system in systems:
        own = directory / system  # sil-thot goes on from links that it finds
        own.mkdir(parents=True, exist_ok=True)
        order = command(system, sample, own, seed=1, threads=threads)
        found[system] = _cost(measure(order, threads=threads, log=own / "log"))
    return found


def phases(sample: Sample, directory: Path) -> dict[str, Any]:
    """Measure where the time goes, on one thread, in a process of its own."""
    script = str(Path(__file__).with_name("products.py"))
    path = directory / "phases.json"
    measure(python(script, *sample.files), threads=1, log=path)
    return dict(json.loads(path.read_text(encoding="utf-8").splitlines()[-1]))


def cores(sample: Sample, directory: Path, threads: int) -> dict[str, Any]:
    """Measure the wall seconds of each phase on one thread and on several, one after the other."""
    script, path = str(Path(__file__).with_name("products.py")), directory / "cores.json"
    walls = {}
    for number in (1, threads):
        measure(python(script, *sample.files, str(number)), threads=number, log=path)
        walls[str(number)] = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    return {"pairs": sample.pairs, "walls": walls}


def with_model(sample: Sample, directory: Path, threads: int) -> dict[str, Any]:
    """Measure training and aligning apart: a model is trained, kept, and used."""
    model, log = str(directory / "model.weft"), directory / "log"
    ends = ["-q", "--force", "--threads"]
    train = python("-m", "bitweft", "train", *sample.files, "-o", model, *ends, str(threads))
    found: dict[str, Any] = {"pairs": sample.pairs, "train": _cost(measure(train, threads=threads, log=log))}
    few = _cut(sample, directory / "few", min(FEW, sample.pairs))
    short = python("-m", "bitweft", "align", *few, "-o", str(directory / "links"), *ends, str(threads))
    costs = [measure(short, threads=threads, log=log) for _ in range(TIMES)]
    found["short"] = {"pairs": min(FEW, sample.pairs), **_cost(min(costs))}
    texts = {
        "one": _cut(sample, directory / "one", 1),
        "tenth": _cut(sample, directory / "tenth", sample.pairs // 10),
        "whole": sample.files,
    }
    for own in sorted({1, threads}):
        for name, files in texts.items():
            output = ["--model", model, "-o", str(directory / "links"), *ends, str(own)]
            order = python("-m", "bitweft", "align", *files, *output)
            times = TIMES if name == "one" else 3
            found[f"{name}, {own}"] = _cost(min(measure(order, threads=own, log=log) for _ in range(times)))
    for words in LONG:
        files = _joined(sample, directory / "long", words)
        output = ["--model", model, "-o", str(directory / "links"), *ends, str(threads)]
        cost = measure(python("-m", "bitweft", "align", *files, *output), threads=threads, log=log)
        found[f"{words} words"] = _cost(cost)
    align = python("-m", "bitweft", "align", *texts["one"], "--model", model, "-q")
    some = _cut(sample, directory / "some", min(1000, sample.pairs))
    found["single"] = max(
        float(subprocess.check_output(python("-c", SINGLE, model, *some))) for _ in range(3)
    )  # pairs a second
    found["first_link"] = min(first_line(align) for _ in range(TIMES))
    loads = [json.loads(subprocess.check_output(python("-c", LOAD, model))) for _ in range(TIMES)]
    for n, name in enumerate(("import", "load")):
        wall, cpu = (min(load[n][kind] for load in loads) for kind in (0, 1))
        found[name] = {"wall": round(wall, 3), "cpu": round(cpu, 3)}
    found["imports_torch"] = loads[0][2]
    return found


def first_line(order: Sequence[str]) -> float:
    """Give the seconds from the start of a command to its first line on standard output."""
    began = time.perf_counter()
    with subprocess.Popen(order, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        taken = time.perf_counter() - began
        process.stdout.read()
    if process.returncode or not line.strip():
        raise RuntimeError(f"{' '.join(order)}: no links, exit code {process.returncode}")
    return taken


def _cost(cost: Cost) -> dict[str, float]:
    return {name: round(value, 3) for name, value in cost._asdict().items()}


def _cut(sample: Sample, directory: Path, pairs: int) -> list[str]:
    """Write the first pairs of a text."""
    directory.mkdir(parents=True, exist_ok=True)
    names = []
    for path in (sample.source, sample.target):
        with open(path, encoding="utf-8", newline="\n") as stream:
            write_text(directory / path.name, "".join(islice(stream, pairs)))
        names.append(str(directory / path.name))
    return names


def _joined(sample: Sample, directory: Path, words: int) -> list[str]:
    """Write one pair of this many words, of as many sentences as that takes."""
    names = []
    for path in (sample.source, sample.target):
        taken: list[str] = []
        while len(taken) < words:  # a short text is used again
            with open(path, encoding="utf-8", newline="\n") as stream:
                for line in stream:
                    taken += line.split()
                    if len(taken) >= words:
                        break
        write_text(directory / path.name, " ".join(taken[:words]) + "\n")
        names.append(str(directory / path.name))
    return names


def by_length(row: Row, lengths: tuple[int, int], pairs: int, directory: Path) -> Sample:
    """Write training pairs whose longer sentence has so many words."""
    directory.mkdir(parents=True, exist_ok=True)
    fitting = (
        pair
        for pair in pairs_of(row.text, "train", row.pairs)
        if all(pair) and lengths[0] <= max(len(side.split()) for side in pair) <= lengths[1]
    )
    sides = list(zip(*islice(fitting, pairs), strict=True))
    if not sides:
        raise SystemExit(f"{row} has no pairs of {lengths[0]} to {lengths[1]} words")
    paths = [directory / f"text.{language}" for language in row.text.split("-")]
    for path, lines in zip(paths, sides, strict=True):
        write_text(path, "".join(line + "\n" for line in lines))
    return Sample(paths[0], paths[1], {}, len(sides[0]))


def work(step: Step, directory: Path, length_pairs: int) -> dict[str, Any]:
    """Measure one step."""
    if step.lengths is not None:
        sample = by_length(step.row, step.lengths, length_pairs, directory / "text")
        words = sum(len(path.read_text(encoding="utf-8").split()) for path in (sample.source, sample.target))
        return {**race(sample, directory, step.threads), "words": words / sample.pairs / 2}
    sample = write_sample(step.row, directory / "text")
    if step.what == "race":
        return race(sample, directory, step.threads, step.systems)
    if step.what == "phases":
        return phases(sample, directory)
    if step.what == "cores":
        return cores(sample, directory, step.threads)
    return with_model(sample, directory, step.threads)


def steps_of(args: argparse.Namespace) -> list[Step]:
    """List the steps of a run."""
    timed = [Row.parse(row) for row in args.rows]
    rows = [*timed, Row("en-fr")] if args.all else timed
    model, threads = Row.parse(args.model_row), args.threads

    def systems(row: Row) -> tuple[str, ...]:
        slow = ("fast_align",) if row.pairs is not None and row.pairs <= args.fast_align else ()
        return (*BOTH, *slow)

    def turns(row: Row) -> int:
        return max(int(args.turns), 3 if row.pairs is not None and row.pairs <= SMALL else 1)

    most = max(map(turns, rows))
    steps = [
        Step("race", row, threads, turn, systems=systems(row))
        for turn in range(1, most + 1)
        for row in rows
        if turn <= turns(row)
    ]
    if args.grown is not None:
        row = Row.parse(f"en-fr:{args.grown}")
        steps.append(Step("race", row, threads, systems=BOTH[:1]))
    steps += [Step("phases", row, 1) for row in timed]
    steps.append(Step("kept", model, threads))
    if threads > 1:
        steps.append(Step("cores", model, threads))
    return steps + [Step("length", model, threads, 1, lengths) for lengths in LENGTHS]


def seconds(step: Step) -> float:
    """Guess how long a step takes."""
    pairs = float(step.row.pairs or 1_000_000)
    bitweft, eflomal = 2 + 0.0002 * pairs, 0.5 * math.sqrt(pairs)
    fast_align = 0.005 * pairs * ("fast_align" in step.systems)
    return {
        "race": bitweft + eflomal * ("eflomal" in step.systems) + fast_align,
        "phases": 1.5 * bitweft,
        "kept": 2 * bitweft,
        "cores": 2 * bitweft,
        "length": 40.0,
    }[step.what]


def measure_all(steps: Sequence[Step], cells: Cells, length_pairs: int) -> list[dict[str, Any]]:
    """Do the steps that are not kept yet, and give the results of all."""
    found = []
    code = Unchanged()
    kept = [key_of(step) in cells for step in steps]
    if not all(kept):
        with tempfile.TemporaryDirectory() as name:
            warm_up(write_sample(Row(steps[0].row.text, 100), Path(name)), Path(name))
    weights = [0 if own else seconds(step) for own, step in zip(kept, steps, strict=True)]
    for step in with_progress(steps, weights):

        def make(step: Step = step) -> dict[str, Any]:
            with tempfile.TemporaryDirectory() as name:
                result = work(step, Path(name), length_pairs)
            code.check()
            return result

        found.append(cells.get(key_of(step), make))
    return found


def with_earlier(found: list[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """Add the steps of an earlier run that were not done now; each says which code it is of."""
    names = ("what", "row", "threads", "turn", "lengths")
    steps = read_results(path)["steps"] if path.exists() else []
    done = {str([step[name] for name in names]) for step in found}
    return found + [step for step in steps if str([step[name] for name in names]) not in done]


def publish(output: Path, docs: bool) -> None:
    """Make the Markdown, and on demand the tables and the figure of the docs, from the JSON."""
    results = read_results(output / "speed.json")
    blocks = speed_tables.blocks(results)
    text = "\n\n".join(blocks.values()) + "\n"
    write_text(output / "speed.md", text)
    print(text)
    if docs:
        from drawing import draw_speed

        draw_speed(results, ROOT / "docs" / "speed.svg")
        blocks["race"] += "\n\n![CPU seconds against pairs and against sentence length](speed.svg)"
        for name, block in blocks.items():
            fill_block(ROOT / "docs" / "performance.md", f"speed-{name}", block)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure."""
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("--rows", nargs="+", default=ROWS, metavar="TEXT", help=f"texts to learn from ({' '.join(ROWS)})")
    add("--all", action="store_true", help="also all pairs of en-fr, but for where their time goes")
    add("--grown", metavar="N", help="and a text of so many pairs, such as 10m, grown from all of en-fr")
    add("--fast-align", type=int, default=20_000, metavar="N", help="largest text of fast_align (20,000)")
    add("--model-row", default=ROWS[-1], metavar="TEXT", help=f"text of the saved model ({ROWS[-1]})")
    add("--length-pairs", type=int, default=3000, metavar="N", help="pairs of each sentence length (3000)")
    add("--turns", type=int, default=1, metavar="N", help="how often both systems run (1)")
    add("--threads", type=int, default=2, metavar="N", help="threads of both systems (2)")
    add("--only", nargs="+", choices=WHAT, default=WHAT, help="what to measure; speed.json gives the rest")
    args = parse(parser, arguments, page="docs/performance.md", cache=CACHE / "speed")
    if not args.publish:
        steps = [step for step in steps_of(args) if step.what in args.only]
        require(step.row.text for step in steps)
        require_installed({system for step in steps for system in step.systems})
        found = measure_all(steps, Cells(args.cache), args.length_pairs)
        found = with_earlier(found, args.output / "speed.json")
        results = {"about": surroundings(), "threads": args.threads, "steps": found}
        write_json(args.output / "speed.json", results)
        say(f"{args.output / 'speed.json'} is written")
    publish(args.output, args.docs)


if __name__ == "__main__":
    main()
