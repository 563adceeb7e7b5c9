"""BLEU of phrase-based systems that differ in their word alignments alone (the paper's table 6).

    python benchmarks/bleu.py --docs                       English-French, 100,000 pairs, five runs
    python benchmarks/bleu.py --text ro-en --docs          Romanian-English; en-cs: Czech-English
    python benchmarks/bleu.py --tune 1000 --rounds 10      tuned on all of mt-tune: five times the time
    python benchmarks/bleu.py --pairs 2000 --runs 1 --systems eflomal fast_align
    python benchmarks/bleu.py --moses ~/mosesdecoder       Moses' decoder and MERT, as in the paper
    python benchmarks/bleu.py --systems bitweft-paper --docs  one anew; bleu.json gives the others
    python benchmarks/bleu.py --publish --docs             no runs: table and figure from the JSON

Each system: links of the training text, bitweft's phrase tables, a language model of the target side, weights
tuned on mt-tune as often as --runs says (each run with its own seed), mt-test translated, sacreBLEU. Texts
without these parts have 1,000 pairs for each drawn from the training text, and taken out of it. Every step is
kept under a key of all that it depends on, so that a run that was stopped goes on where it was; the first
runs of all systems come before the second ones. Writes bleu.json and bleu.md (bleu-ro-en.json …); with --docs
also the table and the figure of docs/results.md. Systems that are not run keep their results in bleu.json, if
these were got on the same text in the same way.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from bitweft.corpus.phrases import unescape
from corpora import DATA, ROOT, file_sizes, require
from moses_system import Moses
from reporting import (
    CACHE,
    fill_block,
    new_parser,
    parse,
    read_results,
    say,
    span,
    surroundings,
    table,
    with_progress,
    wrapped,
    write_json,
    write_text,
)
from smt import Experiment, Steps
from smt_links import LINKERS, require_linkers
from smt_text import Task, prepare_held, prepare_training, read_lines

TEXTS = ("en-fr", "ro-en", "en-cs")
SENTENCE = 0.06  # seconds that the decoder takes for one, about


def score(outputs: Sequence[Sequence[str]], references: Sequence[str]) -> tuple[list[float], str]:
    """Compute sacreBLEU of each output, and its signature; the text is tokenized already."""
    from sacrebleu.metrics.bleu import BLEU

    plain = [unescape(line) for line in references]
    scores = []
    for lines in outputs:
        metric = BLEU(tokenize="none", force=True)
        scores.append(metric.corpus_score([unescape(line) for line in lines], [plain]).score)
    return scores, str(metric.get_signature())


def system_result(name: str, directories: Sequence[Path], references: Sequence[str]) -> dict[str, Any]:
    """Score the runs of one system."""
    outputs = [read_lines(directory / "output") for directory in directories]
    for directory, lines in zip(directories, outputs, strict=True):
        if len(lines) != len(references):
            raise RuntimeError(f"{directory}: {len(lines)} lines for {len(references)} sentences")
    scores, signature = score(outputs, references)
    steps = [json.loads((directory / "step.json").read_text(encoding="utf-8")) for directory in directories]
    tuned = [json.loads((directory / "tuning.json").read_text(encoding="utf-8")) for directory in directories]
    return {
        "system": name,
        "version": version(LINKERS[name][0]),
        "bleu": [round(value, 3) for value in scores],
        "mean": statistics.mean(scores),
        "deviation": statistics.stdev(scores) if len(scores) > 1 else None,
        "tuning": [[round(100 * value, 2) for value in own.get("bleu", ())] for own in tuned],
        "cpu_seconds": [step["cpu_seconds"] for step in steps],
        "signature": signature,
        "date": time.strftime("%Y-%m-%d"),
    }


class Run(NamedTuple):
    """Name one run of a system."""

    system: str
    seed: int

    def __str__(self) -> str:
        return f"{self.system}, run {self.seed}"


def measure(experiment: Experiment, systems: Sequence[str], runs: int) -> list[dict[str, Any]]:
    """Train, tune, translate and score all systems."""
    links = {name: experiment.links(name) for name in systems}
    jobs = [Run(name, seed) for seed in range(1, runs + 1) for name in systems]
    found: dict[str, list[Path]] = {name: [] for name in systems}
    tuned, references = (experiment.lines(part)[1] for part in ("mt-tune", "mt-test"))
    seconds = SENTENCE * (experiment.rounds * len(tuned) + len(references))
    for name, seed in with_progress(jobs, [seconds] * len(jobs)):
        found[name].append(experiment.translation(links[name], seed))
    return [system_result(name, directories, references) for name, directories in found.items()]


def markdown(report: dict[str, Any]) -> str:
    """Set the results as a table, with what they stand on."""
    rows = [
        [
            row["system"],
            f"{row['mean']:.2f}",
            "" if row["deviation"] is None else f"{row['deviation']:.2f}",
            ", ".join(f"{value:.2f}" for value in row["bleu"]),
        ]
        for row in report["systems"]
    ]
    stands = (
        f"{report['task']}, {report['kept']:,} of {_first(report['pairs'])} pairs, lower-cased; weights "
        f"tuned on {report['tune']:,} sentences of mt-tune, in {report['rounds']} rounds at most, "
        f"{report['runs']} times; {report['test']:,} sentences of mt-test. {report['decoder']}. "
        f"Measured {span(row['date'] for row in report['systems'])}. "
        f"sacreBLEU `{report['systems'][0]['signature']}`"
    )
    return f"{wrapped(stands)}\n\n{table(['links', 'BLEU', 'deviation', 'runs'], rows)}\n"


def _first(pairs: int | None) -> str:
    return "all" if pairs is None else f"the first {pairs:,}"


def run(args: argparse.Namespace, moses: Moses | None) -> dict[str, Any]:
    """Do what is not kept yet, and put the report together."""
    steps, task, pairs = Steps(args.cache), args.task, args.pairs
    data = args.data / task.text
    files = file_sizes(task.text, task.files, args.data)
    origin = {"data": files, "languages": task.languages, "pairs": pairs}
    training = steps.step("training", origin, lambda path: prepare_training(data, task, pairs, path))
    sizes = {"tune": args.tune, "test": args.test}
    held = steps.step(
        "held",
        {**origin, **sizes},
        lambda path: prepare_held(data, task, pairs, (args.tune, args.test), path),
    )
    experiment = Experiment(steps, task, training, held, args.rounds, moses)
    thot = f"sil-thot {version('sil-thot')}, its decoder and trigram model" if moses is None else ""
    return {
        "task": str(task),
        "pairs": args.pairs,
        "kept": len(read_lines(training / f"train.{task.source}")),
        "runs": args.runs,
        "rounds": args.rounds,
        **{part: len(experiment.lines(f"mt-{part}")[0]) for part in sizes},
        "decoder": thot or f"Moses in {args.moses}, with KenLM of order {Moses.order}",
        "about": surroundings("sil-thot", "sacrebleu"),
        "systems": measure(experiment, args.systems, args.runs),
    }


def with_earlier(report: dict[str, Any], path: Path) -> dict[str, Any]:
    """Add the systems of an earlier report that were not run now, if all else is as it was."""
    earlier = json.loads(path.read_text(encoding="utf-8")) if path.exists() else report
    if any(earlier[name] != report[name] for name in report if name not in ("about", "systems")):
        return report
    rows = {row["system"]: row for row in (*earlier["systems"], *report["systems"])}
    return {**report, "systems": [rows[name] for name in LINKERS if name in rows]}


def publish(path: Path, docs: bool) -> None:
    """Make the Markdown, and on demand the table and the figure of the docs, from the JSON."""
    report = read_results(path)
    text = markdown(report)
    write_text(path.with_suffix(".md"), text)
    print(text)
    if docs:
        from drawing import draw_bleu

        draw_bleu(report, ROOT / "docs" / f"{path.stem}.svg")
        figure = f"![BLEU by links, with the deviation over tuning runs]({path.stem}.svg)"
        fill_block(ROOT / "docs" / "results.md", path.stem, f"{text}\n{figure}")


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("--data", type=Path, default=DATA, metavar="DIR", help="directory of the text (WEFT_DATA)")
    add("--text", choices=TEXTS, default="en-fr", help="the language pair (%(default)s)")
    add("--to", metavar="LANGUAGE", help="the language to translate into (fr for en-fr, otherwise en)")
    add("--pairs", type=_size, default=100_000, metavar="N", help="training pairs, or all (%(default)s)")
    add("--tune", type=int, default=300, metavar="N", help="sentences of mt-tune to use (%(default)s)")
    add("--test", type=int, metavar="N", help="sentences of mt-test to use (all)")
    add("--runs", type=int, default=5, metavar="N", help="tuning runs (%(default)s)")
    add("--rounds", type=int, default=4, metavar="N", help="rounds of tuning at most (%(default)s)")
    add("--systems", nargs="+", choices=LINKERS, default=list(LINKERS), help="aligners to compare (all)")
    add("--moses", type=Path, metavar="DIR", help="use the decoder and MERT of this Moses installation")
    add("--threads", type=int, default=1, metavar="N", help="threads of Moses' decoder (%(default)s)")
    args = parse(parser, argv, page="docs/results.md", cache=CACHE / "bleu")
    args.task = Task.of(args.text, args.to)
    return args


def _size(text: str) -> int | None:
    return None if text == "all" else int(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and report as Markdown and JSON."""
    args = arguments(argv)
    moses = None if args.moses is None else Moses(args.moses, threads=args.threads)
    if moses is not None and (missing := moses.missing()):
        say(f"{args.moses}: not a Moses installation, without {', '.join(missing)}")
        return 1
    path = args.output / ("bleu.json" if args.text == "en-fr" else f"bleu-{args.text}.json")
    if not args.publish:
        require([args.text], args.task.files, args.data)
        require_linkers(args.systems)
        write_json(path, with_earlier(run(args, moses), path))
        say(f"{path} is written")
    publish(path, args.docs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
