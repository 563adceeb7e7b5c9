"""A benchmark that needs nothing but the package: its embedded English-French sample, and what it costs.

    python benchmarks/sample.py              all systems that are installed, a few minutes
    python benchmarks/sample.py --quick      one small text, one run, less than a minute

Each system learns from pairs that are drawn from a small grammar of English and French, together with the
text (never the links) of what is measured: pairs of the grammar, and a hundred pairs that were written and
linked by hand. AER is in per cent, lower is better; peers (pip install -e '.[bench]') show the best of all
ways to symmetrize their links. The language is simple: this shows that everything works, and how fast;
accuracy.py tells how good it is. Writes sample.json and sample.md; with --docs also the table of
benchmarks/README.md.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bitweft.links.evaluate import evaluate
from bitweft.sample import SamplePair, generate, natural
from corpora import Sample, part_of
from peers import PACKAGES, SYSTEMS, figures, installed, require_installed, run, warm_up
from reporting import (
    NOT_INSTALLED,
    new_parser,
    parse,
    publish,
    read_results,
    say,
    standing,
    surroundings,
    table,
    with_progress,
    write_json,
    write_text,
)

PARTS = {"generated": "pairs of the grammar", "natural": "hand-made pairs"}
MEASURED = 500  # pairs of the grammar
SIZES = (1000, 10_000)
QUICK = 200
DETERMINISTIC = ("fast_align", "hmm")  # these leave nothing to chance: one run is enough


class Job(NamedTuple):
    """Name one run of a system."""

    pairs: int
    system: str
    seed: int

    def __str__(self) -> str:
        return f"{self.pairs:,} pairs, {self.system}, run {self.seed}"


def pairs_of(size: int) -> dict[str, list[SamplePair]]:
    """Give what is measured, and the training pairs: others than those, from the same grammar."""
    drawn = list(generate(MEASURED + size))
    return {"generated": drawn[:MEASURED], "natural": natural(), "train": drawn[MEASURED:]}


def write_sample(size: int, directory: Path) -> Sample:
    """Write the text of a run: what is measured, then the training pairs, lower-cased."""
    sides: list[list[str]] = [[], []]
    parts = {}
    for name, pairs in pairs_of(size).items():
        parts[name] = range(len(sides[0]), len(sides[0]) + len(pairs))
        sides[0] += [" ".join(pair.source).lower() for pair in pairs]
        sides[1] += [" ".join(pair.target).lower() for pair in pairs]
    paths = [directory / f"text.{language}" for language in ("en", "fr")]
    for path, lines in zip(paths, sides, strict=True):
        write_text(path, "".join(line + "\n" for line in lines))
    return Sample(paths[0], paths[1], parts, len(sides[0]))


def measure(job: Job, directory: Path, threads: int) -> dict[str, Any]:
    """Run a system in a process of its own; score its links, and tell what it cost."""
    sample = write_sample(job.pairs, directory / "text")
    found = run(job.system, sample, directory / "links", seed=job.seed, threads=threads)
    gold = {name: [pair.gold for pair in pairs] for name, pairs in pairs_of(0).items()}
    scores = {
        part: {
            way: figures(evaluate(part_of(own, sample, part), gold[part])) for way, own in found.links.items()
        }
        for part in PARTS
    }
    best = {part: min(ways.values(), key=lambda own: own["aer"]) for part, ways in scores.items()}
    cost = {name: round(value, 2) for name, value in found.cost._asdict().items()}
    return {**job._asdict(), "scores": best, "cost": cost, "all_pairs": sample.pairs}


def jobs_of(sizes: Sequence[int], systems: Sequence[str], seeds: int) -> list[Job]:
    """List all runs; systems take turns, so that each meets the machine alike."""
    return [
        Job(size, system, seed)
        for size in sizes
        for seed in range(1, seeds + 1)
        for system in systems
        if seed == 1 or system not in DETERMINISTIC
    ]


def _mean(runs: Sequence[dict[str, Any]], group: str, name: str) -> float:
    values = [run["scores"][group][name] if group in PARTS else run[group][name] for run in runs]
    return float(statistics.mean(values))


def markdown(results: dict[str, Any]) -> str:
    """Set the results as a table, with what they stand on."""
    head = ["training pairs", "system", *(f"AER, {name}" for name in PARTS.values())]
    head += ["CPU s", "wall s", "peak MiB", "runs"]
    lines = []
    for size in dict.fromkeys(own["pairs"] for own in results["runs"]):
        for system in SYSTEMS:
            runs = [own for own in results["runs"] if (own["pairs"], own["system"]) == (size, system)]
            if runs:
                shown = [f"{_mean(runs, part, 'aer'):.1f}" for part in PARTS]
                shown += [f"{_mean(runs, 'cost', name):.1f}" for name in ("cpu", "wall")]
                lines.append(
                    [f"{size:,}", system, *shown, f"{_mean(runs, 'cost', 'memory'):.0f}", str(len(runs))]
                )
    missing = [f"{name} (package {PACKAGES[name]})" for name in results["missing"]]
    said = f" {NOT_INSTALLED.capitalize()}: {', '.join(missing)}." if missing else ""
    return f"{table(head, lines)}\n\n{standing(results)}{said}\n"


def measure_all(sizes: Sequence[int], systems: Sequence[str], seeds: int, threads: int) -> dict[str, Any]:
    """Do all runs."""
    jobs = jobs_of(sizes, systems, seeds)
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        say("compiling, once per installation")
        warm_up(write_sample(50, directory / "warm"), directory / "warm")
        for job in with_progress(jobs, [4 + job.pairs / 200 for job in jobs]):
            runs.append(measure(job, directory / str(len(runs)), threads))
    missing = [system for system in SYSTEMS if not installed(system)]
    return {"about": surroundings("sil-thot"), "threads": threads, "missing": missing, "runs": runs}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the table."""
    present = [system for system in SYSTEMS if installed(system)]
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("--pairs", type=int, nargs="+", default=SIZES, metavar="N", help="training pairs (1000 10000)")
    add("--seeds", type=int, default=3, metavar="N", help="runs of each system (3)")
    add("--systems", nargs="+", choices=SYSTEMS, default=present, help="(all that are installed)")
    add("--threads", type=int, default=1, metavar="N", help="threads of every system (1)")
    add("--quick", action="store_true", help=f"{QUICK} training pairs, one run")
    args = parse(parser, arguments, page="benchmarks/README.md")
    path = args.output / "sample.json"
    if not args.publish:
        require_installed(args.systems)
        sizes, seeds = ((QUICK,), 1) if args.quick else (args.pairs, args.seeds)
        write_json(path, measure_all(sizes, args.systems, seeds, args.threads))
        say(f"{path} is written")
    publish(path, markdown(read_results(path)), args.page)


if __name__ == "__main__":
    main()
