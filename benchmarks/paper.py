"""The tables of Legrand, Auli and Collobert (2016) on the shared text, beside the published figures.

    python benchmarks/paper.py TABLE|all [--pairs 20000] [--seeds 1] …      a TABLE by its name, or as 1 to 5
    python benchmarks/paper.py all --kept --docs    runs nothing: docs/results.md from what is kept
    python benchmarks/paper.py all --kept paper     runs the default recipe and the peers alone

    aggregations   table 1: max, sum and LSE           features   table 2: words, + POS, + diag, + POS + diag
    french, romanian, czech   tables 3 to 5: single model, + characters (Czech), + an ensemble of four

Beside each cell of the paper's recipe stand the default recipe and the peers, trained on as many pairs or,
with --system-pairs, on several sizes. Each cell (one configuration, one seed) is trained once and kept in
results/cells under a key of all that went into it: a table that was interrupted goes on where it was, on
another machine too. Settings for all cells of the paper's recipe: --set section.key=value. Writes
paper-TABLE.json and paper-TABLE.md; with --docs also docs/results.md and its figures.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.evaluate import evaluate
from bitweft.recipes.paper.config import PaperConfig
from bitweft.recipes.paper.recipe import ALPHAS, PaperRecipe
from bitweft.settings import to_mapping, with_settings
from bitweft.text.bitext import Sentence, SentencePair
from cells import CACHE, Cells, add_places, say, surroundings, with_progress, write_json
from corpora import DATA, Row, gold_of, lines, size_of
from directions import Directions
from paper_tables import publish, row_of
from peers import SYSTEMS, figures
from published import AGGREGATIONS, FEATURES, LANGUAGES, ROWS

TEXTS = ("en-fr", "ro-en", "en-cs")
TAGS = ("features.source.tags=inline", "features.target.tags=inline")
CHARACTERS = ("features.source.characters=true", "features.target.characters=true")
WIDE = ("model.source_k1=3", "model.source_k2=3")
SECONDS = {"bitweft": 0.0003, "eflomal": 0.001, "fast_align": 0.002, "hmm": 0.012}  # a pair takes, roughly


@dataclass(frozen=True)
class Cell:
    """One configuration on one language pair, and the paper's figures of forward, backward, symmetrised."""

    name: str
    text: str
    settings: tuple[str, ...]
    published: tuple[tuple[float, ...], ...]

    def __str__(self) -> str:
        return f"{self.text}, {self.name}"


def _aggregations() -> list[Cell]:
    return [
        Cell(name, text, (f"training.aggregation={name}",), tuple((aer,) for aer in published))
        for text, names in AGGREGATIONS.items()
        for name, published in names.items()
    ]


def _features() -> list[Cell]:
    flat = ("model.diagonal=false",)
    settings = {"words": flat, "+ POS": (*TAGS, *flat), "+ diag": (), "+ POS + diag": TAGS}
    return [
        Cell(name, text, settings[name], tuple((aer,) for aer in published))
        for text, names in FEATURES.items()
        for name, published in names.items()
    ]


def _languages(text: str) -> list[Cell]:
    common = {
        "en-fr": TAGS,
        "ro-en": (*TAGS, *WIDE),
        "en-cs": (*TAGS, *WIDE, "features.target.words=80000"),
    }[text]
    characters = CHARACTERS if text == "en-cs" else ()
    settings = {
        "single": common,
        "+ characters": (*common, *characters),
        "+ ensemble": (*common, *characters, "members=4"),
    }
    return [
        Cell(name, text, settings[name], LANGUAGES[text][name])
        for name in settings
        if name in LANGUAGES[text]
    ]


TABLES: dict[str, Callable[[], list[Cell]]] = {
    "aggregations": _aggregations,
    "features": _features,
    "french": lambda: _languages("en-fr"),
    "romanian": lambda: _languages("ro-en"),
    "czech": lambda: _languages("en-cs"),
}


def _side(text: str, part: str, language: str, tagged: bool, limit: int | None) -> Iterator[Sentence]:
    end = ".xz" if part == "train" else ""
    words = lines(DATA / text / f"{part}.{language}{end}", limit)
    if not tagged:
        for line in words:
            yield Sentence(line.split(), line)
        return
    tags = lines(DATA / text / f"{part}.{language}.pos{end}", limit)
    for line, own in zip(words, tags, strict=False):  # en-fr has tags for the first 100,000 pairs
        tokens = [f"{word}|{tag}" for word, tag in zip(line.split(), own.split(), strict=True)]
        yield Sentence(tokens, " ".join(tokens))


def read_pairs(text: str, part: str, *, tagged: bool, limit: int | None = None) -> list[SentencePair]:
    """Read pairs of the shared text, with their tags written behind the words if so wanted."""
    one, other = text.split("-")
    sides = [_side(text, part, language, tagged, limit) for language in (one, other)]
    return [SentencePair(source, target) for source, target in zip(*sides, strict=True)]


def _directions(
    recipe: PaperRecipe,
    dev: Sequence[SentencePair],
    test: Sequence[SentencePair],
    gold: dict[str, list[GoldAlignment]],
) -> dict[str, Any]:
    """Score each direction by itself, with the α that is best for it on dev."""
    result = {}
    for row, tune, final in zip(ROWS, recipe.best(dev), recipe.best(test), strict=False):

        def links(words: Sequence[Any], alpha: float, back: bool = row == "backward") -> list[Alignment]:
            found = [best.links(alpha) for best in words]
            return [alignment.inverse() for alignment in found] if back else found

        alpha = min(ALPHAS, key=lambda alpha: evaluate(links(tune, alpha), gold["dev"]).aer)
        result[row] = {"alpha": alpha, **figures(evaluate(links(final, alpha), gold["test"]))}
    return result


def run_cell(
    cell: Cell, pairs: int | None, seed: int, config: PaperConfig, checkpoints: Path
) -> dict[str, Any]:
    """Train and measure one cell: dev and test text added to the training text, choices made on dev."""
    tagged = config.features.source.tags == "inline"
    dev, test = (read_pairs(cell.text, part, tagged=tagged) for part in ("dev", "test"))
    train = read_pairs(cell.text, "train", tagged=tagged, limit=pairs)
    gold = {part: gold_of(cell.text, part) for part in ("dev", "test")}
    resumed = checkpoints.exists()
    recipe = PaperRecipe(config, seed=seed, checkpoints=checkpoints)
    began = time.process_time()
    last = time.monotonic()
    for progress in recipe.fit([*train, *dev, *test]):
        if time.monotonic() - last > 30:
            last = time.monotonic()
            sys.stderr.write(
                f"  {progress.phase}: {progress.step:,}/{progress.total:,}, loss {progress.loss:.3f}\n"
            )
    seconds = time.process_time() - began
    result = _directions(recipe, dev, test, gold)
    decoding = recipe.tune(dev, gold["dev"])
    score = evaluate(recipe.align(test), gold["test"])
    chosen = {name: getattr(decoding, name) for name in ("alpha", "backward_alpha", "heuristic")}
    dev_aer = figures(evaluate(recipe.align(dev), gold["dev"]))["aer"]
    result["symmetrized"] = {**chosen, "dev_aer": dev_aer, **figures(score)}
    return {
        "cell": cell.name,
        "text": cell.text,
        "pairs": len(train),
        "seed": seed,
        "cpu_seconds": None if resumed else round(seconds),
        "signature": score.signature,
        "config": to_mapping(config),
        "results": result,
    }


class Kept:
    """Keep the cells of the paper's recipe, each under a key of its text, seed and configuration.

    What is learned on the way is kept in `checkpoints`, and may be thrown away when a cell is finished.
    """

    def __init__(self, directory: Path, checkpoints: Path, settings: Sequence[str]) -> None:
        self.directory = directory
        self.checkpoints = checkpoints
        self.settings = tuple(settings)

    def config(self, cell: Cell) -> PaperConfig:
        """Give the whole configuration of a cell."""
        return with_settings(PaperConfig(), (*cell.settings, *self.settings))

    def path(self, cell: Cell, pairs: int | None, seed: int) -> Path:
        """Give the file of a result."""
        key = json.dumps([cell.text, pairs, seed, to_mapping(self.config(cell))], sort_keys=True)
        return self.directory / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"

    def get(self, cell: Cell, pairs: int | None, seed: int) -> dict[str, Any]:
        """Return a result that is kept, or run the cell and keep its result."""
        path = self.path(cell, pairs, seed)
        if not path.exists():
            result = run_cell(cell, pairs, seed, self.config(cell), self.checkpoints / path.stem)
            write_json(path, {**result, "date": time.strftime("%Y-%m-%d")})
        return dict(json.loads(path.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Job:
    """Name a cell to run: one of the paper's recipe, or another system on the same text."""

    cell: Cell | None
    system: str
    row: Row
    seed: int

    def __str__(self) -> str:
        return f"{self.row}, {self.system if self.cell is None else self.cell.name}, seed {self.seed}"


def jobs_of(cells: Sequence[Cell], args: argparse.Namespace) -> list[Job]:
    """List all runs of a table."""
    jobs = [
        Job(cell, "paper", Row(cell.text, args.pairs), seed)
        for cell in cells
        for seed in range(1, args.seeds + 1)
    ]
    sizes = [args.pairs] if args.system_pairs is None else args.system_pairs
    for text in dict.fromkeys(cell.text for cell in cells):
        whole = size_of(text, DATA)  # a size that the text does not have is all of it
        rows = dict.fromkeys(Row(text, size if size and size < whole else None) for size in sizes)
        for row, system in ((row, system) for row in rows for system in args.systems):
            seeds = 1 if system in ("fast_align", "hmm") else args.seeds  # those two leave nothing to chance
            jobs += [Job(None, system, row, seed) for seed in range(1, seeds + 1)]
    return jobs


def _table(text: str) -> str:
    return {str(number): name for number, name in enumerate(TABLES, 1)}.get(text, text)


def _size(text: str) -> int | None:
    return None if text == "all" else int(text)


def seconds(job: Job) -> float:
    """Guess how long a run takes."""
    pairs = job.row.pairs or size_of(job.row.text, DATA)
    if job.cell is None:
        return 5 + SECONDS[job.system] * pairs
    members = 4 if "members=4" in job.cell.settings else 1
    return 30 + 0.01 * pairs * members


def results_of(table: str, args: argparse.Namespace) -> dict[str, Any]:
    """Run what is not kept, unless only what is kept is wanted, and put the table together."""
    cells = [
        cell
        for cell in TABLES[table]()
        if args.text in (None, cell.text) and (args.cells is None or cell.name in args.cells)
    ]
    if not cells:
        raise SystemExit(f"{table}: no such rows")
    jobs = jobs_of(cells, args)
    directory = args.output / "cells"
    kept = Kept(directory, args.cache, args.settings)
    others = Directions(Cells(directory), args.cache, args.threads)

    def is_kept(job: Job) -> bool:
        if job.cell is None:
            return others.has(job.system, job.row, job.seed)
        return kept.path(job.cell, args.pairs, job.seed).exists()

    idle = {None: (), "paper": ("paper",), "all": ("paper", *SYSTEMS)}[args.kept]
    todo = [job for job in jobs if job.system not in idle or is_kept(job)]
    found: dict[tuple[Cell | None, str, Row], list[dict[str, Any]]] = {
        (job.cell, job.system, job.row): [] for job in jobs
    }
    for job in with_progress(todo, [0 if is_kept(job) else seconds(job) for job in todo]):
        own = (
            others.get(job.system, job.row, job.seed)
            if job.cell is None
            else kept.get(job.cell, args.pairs, job.seed)
        )
        found[job.cell, job.system, job.row].append(own)
    rows = [
        row_of(row, system if cell is None else cell.name, own, None if cell is None else cell.published)
        for (cell, system, row), own in found.items()
    ]
    return {
        "about": surroundings("sil-thot", "torch"),
        "table": table,
        "settings": args.settings,
        "rows": rows,
    }


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    names = f"{', '.join(TABLES)}, or 1 to {len(TABLES)}; all"
    add("tables", nargs="+", type=_table, choices=(*TABLES, "all"), metavar="TABLE", help=names)
    add("--pairs", type=_size, default=20_000, metavar="N", help="training pairs; all (20,000)")
    add("--system-pairs", type=_size, nargs="+", metavar="N", help="of the other systems; all (as --pairs)")
    add("--seeds", type=int, default=1, metavar="N", help="how many seeds to average over (1)")
    add("--text", choices=TEXTS, help="only the cells of this text")
    add("--cells", nargs="+", metavar="NAME", help="only these rows of the paper's recipe, such as single")
    add("--systems", nargs="*", choices=SYSTEMS, default=SYSTEMS, help="beside the paper's recipe (all)")
    add("--threads", type=int, default=1, metavar="N", help="of eflomal and sil-thot (1)")
    add("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", dest="settings")
    kept = "run nothing, or nothing of the paper's recipe: what is not kept is shown as not run"
    add("--kept", nargs="?", const="all", choices=("all", "paper"), help=kept)
    add_places(parser, cache=CACHE / "paper", page="results.md")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Make tables."""
    args = arguments(argv)
    torch.set_num_threads(1)
    for table in TABLES if "all" in args.tables else args.tables:
        path = args.output / f"paper-{table}.json"
        if not args.publish:
            write_json(path, results_of(table, args))
            say(f"{path} is written")
        publish(path, docs=args.docs)


if __name__ == "__main__":
    main()
