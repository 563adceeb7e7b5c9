"""Accuracy of bitweft and its peers on the same files: test AER over several seeds, and the time it took.

    python benchmarks/accuracy.py                                     the whole table
    python benchmarks/accuracy.py --rows en-fr:2k ro-en --seeds 1     some of it
    python benchmarks/accuracy.py --systems bitweft eflomal fast_align hmm
    python benchmarks/accuracy.py --publish --docs                    no runs: tables and figure from the JSON

Text: test and dev, then the first training pairs, lower-cased. Links of da-en, grc-en and en-cs, from whose
gold the shipped refiner has learned, are decided by one that has not seen that language (benchmarks/styles.py
trains it). Each run is a process of its own; its CPU and
wall seconds are those of the whole process. bitweft's inner loops are compiled before, as they are once per
installation. Every run is kept in --cache under a key of all that went into it: what was stopped goes on
where it was; rows and systems that are not run stay as accuracy.json has them. Writes accuracy.json and
accuracy.md to --output; with --docs also the tables and the figure of docs/performance.md.
"""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.formats.registry import read_alignments
from cells import Cells, Unchanged, code_digest
from corpora import ROOT, Row, Sample, file_sizes, gold_of, pairs_of, require, write_sample
from left_out import command_for
from measuring import measure, python
from peers import SYSTEMS, best_heuristic, require_installed, run, scores, system_key, warm_up
from reporting import (
    CACHE,
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

ROWS = ("en-fr:2k", "en-fr:20k", "en-fr:100k", "en-fr", "ro-en", "en-cs", "da-en", "grc-en", "en-it:50k")
BINS = 10  # of the reliability table
FIGURES = ("aer", "precision", "recall", "f1")


class Job(NamedTuple):
    """Name one run; the system `reliability` is bitweft, its probabilities held against gold links of dev."""

    row: Row
    system: str
    seed: int

    def __str__(self) -> str:
        return f"{self.row}, {self.system}, run {self.seed}"


def jobs_of(rows: Sequence[Row], systems: Sequence[str], seeds: int) -> list[Job]:
    """List the runs of a table; systems take turns, so that each meets the machine alike."""
    jobs = []
    for row in rows:
        for seed in range(1, seeds + 1):
            random = [system for system in systems if seed == 1 or system not in ("fast_align", "hmm")]
            jobs += [Job(row, system, seed) for system in random]
        if "bitweft" in systems:
            jobs.append(Job(row, "reliability", 1))
    return jobs


def key_of(job: Job, threads: int) -> dict[str, Any]:
    """Give all that a run depends on."""
    key = {
        "system": job.system,
        "text": job.row.text,
        "pairs": job.row.pairs,
        "run": job.seed,
        "threads": threads,
        "files": file_sizes(job.row.text),
    }
    if job.system in ("bitweft", "reliability"):
        return {**key, **system_key("bitweft"), "code": code_digest()}
    return {**key, **system_key(job.system)}


def seconds(job: Job) -> float:
    """Guess how long a run takes: bitweft's time grows with the pairs, eflomal's with their root."""
    pairs = job.row.pairs
    if pairs is None:  # some 60 compressed bytes a pair
        sizes = file_sizes(job.row.text)
        pairs = sum(size for name, size in sizes.items() if name.startswith("train.")) // 60
    return 0.7 * math.sqrt(pairs + 500) if job.system == "eflomal" else 3 + 0.0007 * pairs


def run_job(job: Job, sample: Sample, threads: int) -> dict[str, Any]:
    """Run a system on a text and score its links; tell what it cost."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        if job.system == "reliability":
            return {"bins": reliability(job, sample, directory, threads)}
        bitweft = command_for(job.row)
        found = run(job.system, sample, directory, seed=job.seed, threads=threads, bitweft=bitweft)
        cost = {name: round(value, 2) for name, value in found.cost._asdict().items()}
        return {"cost": cost, "scores": scores(found, sample, job.row.text), "all_pairs": sample.pairs}


def reliability(job: Job, sample: Sample, directory: Path, threads: int) -> list[dict[str, Any]]:
    """Train bitweft, align dev with nearly all links that it thinks possible, and hold them against gold."""
    model, links = directory / "model.weft", directory / "dev.links"
    text = [directory / "dev.source", directory / "dev.target"]
    for path, lines in zip(text, zip(*pairs_of(job.row.text, "dev"), strict=True), strict=True):
        write_text(path, "".join(line + "\n" for line in lines))
    shared = ["-q", "--threads", str(threads)]
    log = directory / "bitweft.log"
    train = command_for(job.row, "train", *sample.files, "-o", str(model), "--seed", str(job.seed), *shared)
    measure(train, threads=threads, log=log)
    ends = ["--threshold", str(1 / BINS), "--to", "scored", "-o", str(links)]
    align = python("-m", "bitweft", "align", *map(str, text), "--model", str(model), *ends, *shared)
    measure(align, threads=threads, log=log)
    return bins_of(read_alignments(links, "scored"), gold_of(job.row.text, "dev"))


def bins_of(alignments: Iterable[Alignment], golds: Iterable[GoldAlignment]) -> list[dict[str, Any]]:
    """Part links by probability, and count those that the gold links bear out."""
    bins: list[dict[str, Any]] = [
        {"from": n / BINS, "links": 0, "probability": 0.0, "possible": 0, "sure": 0} for n in range(1, BINS)
    ]
    for alignment, gold in zip(alignments, golds, strict=True):
        for link, chance in zip(alignment.links, alignment.probabilities or (), strict=True):
            own = bins[min(max(int(chance * BINS + 1e-9), 1), BINS - 1) - 1]
            own["links"] += 1
            own["probability"] += chance
            own["possible"] += link in gold.possible
            own["sure"] += link in gold.sure
    return bins


def summary(values: Sequence[float]) -> dict[str, float]:
    """Give the mean, and the standard deviation of a sample where there are several values."""
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return {"mean": round(statistics.mean(values), 3), "spread": round(spread, 3), "runs": len(values)}


def row_result(cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Sum up the runs of one system on one text."""
    chosen = best_heuristic(cells)
    measured = {
        part: {name: summary([cell["scores"][part][chosen][name] for cell in cells]) for name in FIGURES}
        for part in ("test", "dev")
    }
    cost = {name: summary([cell["cost"][name] for cell in cells]) for name in ("cpu", "wall", "memory")}
    return {"links": chosen, **measured, "cost": cost}


def results_of(found: dict[Job, dict[str, Any]], threads: int) -> dict[str, Any]:
    """Put the kept runs together as one result."""
    rows = []
    for row in dict.fromkeys(job.row for job in found):
        own = {job: cell for job, cell in found.items() if job.row == row}
        systems = [name for name in SYSTEMS if any(job.system == name for job in own)]
        by_system = {
            name: row_result([cell for job, cell in own.items() if job.system == name]) for name in systems
        }
        bins = [cell["bins"] for job, cell in own.items() if job.system == "reliability"]
        pairs = max(cell.get("all_pairs", 0) for cell in own.values())
        rows.append({"row": str(row), "text": row.text, "pairs": pairs, "systems": by_system})
        rows[-1]["reliability"] = bins[0] if bins else None
    return {"about": surroundings(), "threads": threads, "rows": rows, "runs": list(found.values())}


def with_earlier(results: dict[str, Any], path: Path) -> dict[str, Any]:
    """Add the rows, and the systems of a row, of an earlier result that were not run now."""
    earlier = read_results(path) if path.exists() else {"rows": [], "runs": []}
    rows = {(row["text"], row["pairs"]): row for row in earlier["rows"]}
    for row in results["rows"]:
        own = rows.get((row["text"], row["pairs"]), row)
        both = {**own["systems"], **row["systems"]}
        rows[row["text"], row["pairs"]] = {
            **row,
            "systems": {name: both[name] for name in SYSTEMS if name in both},
            "reliability": row["reliability"] or own["reliability"],
        }
    done = {(run["system"], run["text"], run["pairs"]) for run in results["runs"]}
    kept = [run for run in earlier["runs"] if (run["system"], run["text"], run["pairs"]) not in done]
    return {**results, "rows": list(rows.values()), "runs": [*kept, *results["runs"]]}


def _shown(figure: dict[str, float], digits: int = 1) -> str:
    mean = f"{figure['mean']:.{digits}f}"
    return mean if figure["runs"] == 1 else f"{mean} ± {figure['spread']:.{digits}f}"


def main_table(results: dict[str, Any]) -> str:
    """Lay out AER and CPU seconds of each system on each text."""
    systems = [name for name in SYSTEMS if any(name in row["systems"] for row in results["rows"])]
    head = ["text", *(f"{name} AER" for name in systems), *(f"{name} CPU s" for name in systems)]
    views: list[Callable[[dict[str, Any]], str]] = [
        lambda own: _shown(own["test"]["aer"]),
        lambda own: f"{own['cost']['cpu']['mean']:.0f}",
    ]
    lines = []
    for row in results["rows"]:
        found = [row["systems"].get(name) for name in systems]
        lines.append([row["row"], *("" if own is None else view(own) for view in views for own in found)])
    return table(head, lines)


def detail_table(results: dict[str, Any]) -> str:
    """Lay out every figure of each system on each text."""
    head = ["text", "system", "links", "AER", "P", "R", "F1", "dev AER", "CPU s", "wall s", "MiB"]
    lines = []
    for row in results["rows"]:
        for name, own in row["systems"].items():
            shown = [_shown(own["test"][figure]) for figure in FIGURES] + [_shown(own["dev"]["aer"])]
            cost = [f"{own['cost'][figure]['mean']:.0f}" for figure in ("cpu", "wall", "memory")]
            lines.append([row["row"], name, own["links"], *shown, *cost])
    return table(head, lines)


def reliability_table(results: dict[str, Any]) -> str:
    """Lay out the share of links in gold by their probability."""
    rows = [row for row in results["rows"] if row["reliability"]]
    lines = []
    for number in range(BINS - 1):
        cells = [f"{(number + 1) / BINS:.1f}–{(number + 2) / BINS:.1f}"]
        for own in (row["reliability"][number] for row in rows):
            count = own["links"]
            said = (
                f"{own['probability'] / count:.2f}: **{own['possible'] / count:.2f}** of {count:,}"
                if count
                else "–"
            )
            cells.append(said)
        lines.append(cells)
    return table(["probability", *(row["row"] for row in rows)], lines)


def markdown(results: dict[str, Any]) -> str:
    """Write all tables, and what they stand on."""
    stands = f"{standing(results)} Mean ± standard deviation over the runs."
    bins = "Links of dev by probability: the mean probability, **the share in gold**, and how many links."
    parts = [stands, main_table(results), detail_table(results), bins, reliability_table(results)]
    return "\n\n".join(parts) + "\n"


def measure_all(jobs: Sequence[Job], cells: Cells, threads: int) -> dict[Job, dict[str, Any]]:
    """Do the runs that are not kept yet, and give the results of all."""
    found = {}
    code = Unchanged()
    with tempfile.TemporaryDirectory() as name:
        samples: dict[Row, Sample] = {}

        def work(job: Job) -> dict[str, Any]:
            if job.row not in samples:
                samples.clear()  # one text at a time: the largest has hundreds of megabytes
                samples[job.row] = write_sample(job.row, Path(name) / "text")
            result = run_job(job, samples[job.row], threads)
            code.check()
            return result

        kept = [key_of(job, threads) in cells for job in jobs]
        if not all(kept):
            warm_up(write_sample(Row(jobs[0].row.text, 100), Path(name) / "warm"), Path(name) / "warm")
        weights = [0 if own else seconds(job) for own, job in zip(kept, jobs, strict=True)]
        for job in with_progress(jobs, weights):
            found[job] = cells.get(key_of(job, threads), lambda job=job: work(job))  # type: ignore[misc]
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the table."""
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("--rows", nargs="+", default=ROWS, metavar="TEXT", help=f"texts to measure on ({' '.join(ROWS)})")
    add("--seeds", type=int, default=3, metavar="N", help="runs of each system on each text (3)")
    add("--systems", nargs="+", choices=SYSTEMS, default=("bitweft", "eflomal"), help="(bitweft eflomal)")
    add("--threads", type=int, default=1, metavar="N", help="threads of every system (1)")
    args = parse(parser, arguments, page="docs/performance.md", cache=CACHE / "accuracy")
    path = args.output / "accuracy.json"
    if not args.publish:
        rows = [Row.parse(row) for row in args.rows]
        require(row.text for row in rows)
        require_installed(args.systems)
        found = measure_all(jobs_of(rows, args.systems, args.seeds), Cells(args.cache), args.threads)
        write_json(path, with_earlier(results_of(found, args.threads), path))
        say(f"{path} is written")
    results = read_results(path)
    figure = "![Test AER against the number of pairs](accuracy.svg)"
    publish(path, markdown(results), args.page, figure=figure)
    if args.docs:
        from drawing import draw_accuracy

        draw_accuracy(results, ROOT / "docs" / "accuracy.svg")


if __name__ == "__main__":
    main()
