"""The tables of Legrand, Auli and Collobert (2016) on the shared text, beside the published figures.

    python benchmarks/paper.py TABLE|all [--pairs 20000] [--seeds 1] …      a TABLE by its name, or as 1 to 5
    python benchmarks/paper.py all --kept --docs    runs nothing: docs/results.md from what is kept
    python benchmarks/paper.py all --kept paper     runs the default recipe and the peers alone

    aggregations   table 1: max, sum and LSE           features   table 2: words, + POS, + diag, + POS + diag
    french, romanian, czech   tables 3 to 5: single model, + characters (Czech), + an ensemble of four

Beside each cell of the paper's recipe stand the default recipe and the peers, trained on as many pairs or,
with --system-pairs, on several sizes. Each cell (one configuration, one seed) is trained once and kept under
a key of all that went into it, in the directory `cells` of --output, with the best words of dev and test, so
that other heuristics need no new training; what benchmarks/results/cells holds is not run again. Settings for
all cells of the paper's recipe: --preset published, --set section.key=value. Writes paper-TABLE.json and
paper-TABLE.md; with --docs also docs/results.md and its figures.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bitweft.recipes.paper.presets import PRESETS
from cells import Cells
from corpora import FILES, TAGS, Row, require, size_of
from directions import Directions
from paper_cells import TABLES, TEXTS, Cell, PaperRun
from paper_tables import publish, row_of
from peers import SYSTEMS, require_installed
from reporting import CACHE, RESULTS, new_parser, parse, say, surroundings, with_progress, write_json

SECONDS = {
    "bitweft": 0.0003,
    "eflomal": 0.001,
    "fast_align": 0.002,
    "hmm": 0.012,
    "thot_eflomal": 0.003,
}  # a pair takes, roughly
IDLE = {None: (), "paper": ("paper",), "all": ("paper", *SYSTEMS)}  # by --kept: of what nothing is run


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
        whole = size_of(text)  # a size that the text does not have is all of it
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
    pairs = job.row.pairs or size_of(job.row.text)
    if job.cell is None:
        return 5 + SECONDS[job.system] * pairs
    members = 4 if "members=4" in job.cell.settings else 1
    return 30 + 0.01 * pairs * members


class Runs:
    """Hold what is kept of all systems, and run what is not."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.settings = tuple(args.settings)
        self.preset = args.preset
        self.cache = args.cache
        self.cells = Cells(args.output / "cells", RESULTS / "cells")
        self.others = Directions(self.cells, args.cache, args.threads)

    def has(self, job: Job) -> bool:
        """Tell whether the result of a run is kept."""
        if job.cell is None:
            return self.others.has(job.system, job.row, job.seed)
        return self._run(job.cell, job).key() in self.cells

    def get(self, job: Job) -> dict[str, Any]:
        """Give the result of a run that is kept, or run it now."""
        if job.cell is None:
            return self.others.get(job.system, job.row, job.seed)
        return self._run(job.cell, job).get(self.cells, self.cache)

    def _run(self, cell: Cell, job: Job) -> PaperRun:
        return PaperRun(cell, job.row.pairs, job.seed, self.settings, self.preset)


def chosen_cells(table: str, args: argparse.Namespace) -> list[Cell]:
    """Give the cells of a table that were asked for."""
    cells = [
        cell
        for cell in TABLES[table]()
        if args.text in (None, cell.text) and (args.cells is None or cell.name in args.cells)
    ]
    if not cells:
        raise SystemExit(f"{table}: no such cells; leave out --cells or --text")
    return cells


def results_of(table: str, args: argparse.Namespace) -> dict[str, Any]:
    """Run what is not kept, unless only what is kept is wanted, and put the table together."""
    cells = chosen_cells(table, args)
    tagged = any(PaperRun(cell, None, 1, tuple(args.settings), args.preset).tagged for cell in cells)
    require((cell.text for cell in cells), (*FILES, *TAGS) if tagged else FILES)
    jobs = jobs_of(cells, args)
    runs = Runs(args)
    kept = {job: runs.has(job) for job in jobs}
    todo = [job for job in jobs if kept[job] or job.system not in IDLE[args.kept]]
    require_installed({job.system for job in todo if not kept[job]} - {"paper"})
    found: dict[tuple[Cell | None, str, Row], list[dict[str, Any]]] = {
        (job.cell, job.system, job.row): [] for job in jobs
    }
    for job in with_progress(todo, [0 if kept[job] else seconds(job) for job in todo]):
        found[job.cell, job.system, job.row].append(runs.get(job))
    rows = [
        row_of(row, system if cell is None else cell.name, own, None if cell is None else cell.published)
        for (cell, system, row), own in found.items()
    ]
    return {
        "about": surroundings("sil-thot", "torch"),
        "table": table,
        "settings": [*([f"--preset {args.preset}"] if args.preset != "bitweft" else []), *args.settings],
        "rows": rows,
    }


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = new_parser(__doc__)
    add = parser.add_argument
    names = f"{', '.join(TABLES)}, or 1 to {len(TABLES)}; all"
    add("tables", nargs="+", type=_table, choices=(*TABLES, "all"), metavar="TABLE", help=names)
    add("--pairs", type=_size, default=20_000, metavar="N", help="training pairs, or all (20,000)")
    sizes = "training pairs of the other systems, or all; several sizes may be given (as --pairs)"
    add("--system-pairs", type=_size, nargs="+", metavar="N", help=sizes)
    add("--seeds", type=int, default=1, metavar="N", help="how many seeds to average over (1)")
    add("--text", choices=TEXTS, help="only the cells of this text")
    add("--cells", nargs="+", metavar="NAME", help="only these rows of the paper's recipe, such as single")
    others = "what to run beside the paper's recipe (all; none if nothing follows)"
    add("--systems", nargs="*", choices=SYSTEMS, default=SYSTEMS, help=others)
    add("--threads", type=int, default=1, metavar="N", help="threads of eflomal and sil-thot (1)")
    add("--preset", choices=tuple(PRESETS), default="bitweft", help="settings to begin from (bitweft)")
    setting = "a setting of the paper's recipe, for all cells; may be repeated"
    add("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", dest="settings", help=setting)
    kept = "run nothing (--kept paper: nothing of the paper's recipe); what is not kept is shown as not run"
    add("--kept", nargs="?", const="all", choices=("all", "paper"), help=kept)
    return parse(parser, argv, page="docs/results.md", cache=CACHE / "paper")


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
