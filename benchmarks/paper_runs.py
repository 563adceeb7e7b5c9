"""Every kept cell of the paper's recipe in its present revision, beside the published figures.

    python benchmarks/paper_runs.py --docs     the blocks of docs/results.md; runs nothing

Cells come from benchmarks/paper.py, which keeps them in benchmarks/results/cells. Those of one text, one size
and the same further settings stand in one table: each direction with the α that is best for it on dev, and
both symmetrized by grow-diag-final-and, by the best on dev of the paper's four heuristics, with one α and
with one for each direction, and of these and the strict rules. Where the best words of a cell are kept beside
it, a second table shows what α does to it, and a third what a variance does in the place of a deviation.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bitweft.links.alignment import GoldAlignment
from bitweft.links.evaluate import Score, evaluate
from bitweft.links.symmetrize import symmetrize_all
from bitweft.recipes.paper.config import PaperConfig
from bitweft.recipes.paper.presets import PRESETS
from bitweft.settings import to_mapping, with_settings
from cells import recipe_key
from corpora import gold_of
from paper_cells import TABLES, Cell, Words, choices_of, directions_of, kept_words, links_of
from paper_tables import WAYS, ways_of
from published import LANGUAGES, ROWS
from reporting import RESULTS, fill_block, new_parser, parse, span, table, wrapped, write_text

LEAST = -1000.0  # an α that links every word
ALPHAS = {
    "deviation": (LEAST, 1.0, 1.5, 2.0, 2.25, 2.5, 2.75, 3.0, 3.5),
    "variance": (LEAST, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5),
}
POWERS = {"deviation": 1, "variance": 2}  # of the deviation
Flat = dict[str, Any]


@dataclass(frozen=True)
class Kept:
    """Hold one cell that is kept, and what it was run with beyond its own configuration."""

    cell: Cell
    pairs: int | None
    seed: int
    preset: str
    further: tuple[str, ...]
    result: Mapping[str, Any]
    date: str
    path: Path

    @property
    def group(self) -> tuple[str, int | None, str, tuple[str, ...]]:
        """Tell which cells it stands beside."""
        return self.cell.text, self.pairs, self.preset, self.further

    @property
    def options(self) -> str:
        """Write what it was run with, as options of the command line."""
        preset = [f"--preset {self.preset}"] if self.preset != "bitweft" else []
        return " ".join([*preset, *(f"--set {one}" for one in self.further)])

    @property
    def name(self) -> str:
        """Name it by its cell and its network; with the paper's training, by all that differs from it."""
        if self.preset == "bitweft":
            further = [one for one in self.further if one.startswith("model.")]
        else:
            further = [self.preset, *self.further]
        return " ".join([self.cell.name, *(f"`{one}`" for one in further)])

    def words(self, spread: str | None = None) -> dict[str, Words]:
        """Give the best words of dev and test, with σ⁻ as it was or as another spread."""
        best = kept_words(self.path.with_suffix(".npz"))
        if spread is None:
            return best
        power = POWERS[spread] / POWERS[self.spread]
        found = {}
        for part, ways in best.items():
            ahead, back = ([replace(own, deviation=own.deviation**power) for own in words] for words in ways)
            found[part] = ahead, back
        return found

    @property
    def has_words(self) -> bool:
        """Tell whether its best words are kept."""
        return self.path.with_suffix(".npz").exists()

    @property
    def spread(self) -> str:
        """Tell what σ⁻ is: a deviation, or a variance."""
        return str(self.result["config"]["decoding"]["spread"])


def _flat(mapping: Mapping[str, Any], prefix: str = "") -> Flat:
    found: Flat = {}
    for name, value in mapping.items():
        inner = isinstance(value, Mapping)
        found |= _flat(value, f"{prefix}{name}.") if inner else {f"{prefix}{name}": value}
    return found


def further_settings(cell: Cell, config: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Say how a run differs from a cell: the nearest preset, and the settings that are not its own."""
    own = _flat(config)
    found = {}
    for preset, settings in PRESETS.items():
        base = _flat(to_mapping(with_settings(PaperConfig(), (*settings, *cell.settings))))
        differing = {name: value for name, value in own.items() if base.get(name) != value}
        found[preset] = tuple(f"{name}={_said(value)}" for name, value in sorted(differing.items()))
    preset = min(found, key=lambda name: len(found[name]))
    return preset, found[preset]


def _said(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def read_kept(directory: Path) -> list[Kept]:
    """Read the cells of the present revision, in the order of the paper's tables."""
    cells = [cell for make in TABLES.values() for cell in make()]
    wanted = recipe_key("paper")
    found = []
    for path in sorted(directory.glob("*.json")):
        kept = json.loads(path.read_text(encoding="utf-8"))
        key, result = kept["key"], kept["result"]
        if key.get("what") == "paper" and all(key.get(name) == value for name, value in wanted.items()):
            cell = next(own for own in cells if (own.text, own.name) == (key["text"], result["cell"]))
            _choose_anew(result["results"], path.with_suffix(".npz"), cell.text)
            preset, further = further_settings(cell, result["config"])
            run = (key["pairs"], key["seed"], preset, further, result, kept["date"], path)
            found.append(Kept(cell, *run))
    return sorted(found, key=lambda own: cells.index(own.cell))


def _choose_anew(results: dict[str, Any], words: Path, text: str) -> None:
    """Symmetrize in the ways that a cell was not yet looked at in, if its words are kept."""
    if words.exists() and not set(WAYS) <= set(results["choices"]):
        gold = {part: gold_of(text, part) for part in ("dev", "test")}
        results["choices"] = choices_of(kept_words(words), gold)


def runs_table(runs: Sequence[Kept]) -> str:
    """Lay out the cells of one group, seeds averaged."""
    forward, backward, _ = ways_of(runs[0].cell.text)
    head = ["", forward, "paper", backward, "paper", *WAYS.values(), "paper", "CPU minutes"]
    lines = []
    for cell in dict.fromkeys(run.cell for run in runs):
        own = [run.result for run in runs if run.cell == cell]
        results = [result["results"] for result in own]
        row = [cell.name]
        for number, way in enumerate(ROWS[:2]):
            row += [_figures([one[way] for one in results]), f"{cell.published[number][-1]:.1f}"]
        for way in WAYS:
            chosen = [one["choices"][way] for one in results if way in one["choices"]]
            if len(chosen) < len(results):
                row.append("")
                continue
            by = ", ".join(dict.fromkeys(one["heuristic"] for one in chosen))
            row.append(_figures(chosen) + ("" if way == "gdfa" else f" {by}"))
        minutes = [result["cpu_seconds"] / 60 for result in own if result["cpu_seconds"]]
        spent = f"{statistics.mean(minutes):.0f}" if minutes else ""
        lines.append([*row, f"{cell.published[2][-1]:.1f}", spent])
    return table(head, lines)


def _figures(results: Sequence[Mapping[str, float]]) -> str:
    """Write AER, of several seeds with its spread, and P and R behind it."""
    errors = [own["aer"] for own in results]
    spread = f" ± {statistics.stdev(errors):.1f}" if len(errors) > 1 else ""
    p, r = (statistics.mean(own[name] for own in results) for name in ("precision", "recall"))
    return f"**{statistics.mean(errors):.1f}**{spread} ({p:.1f}, {r:.1f})"


def runs_markdown(runs: Sequence[Kept]) -> str:
    """Write a table for each group, with what it stands on; the largest text first."""
    groups = dict.fromkeys(run.group for run in runs)
    order = sorted(groups, key=lambda own: (list(LANGUAGES).index(own[0]), -(own[1] or 10**9), own[2:]))
    parts = []
    for group in order:
        own = [run for run in runs if run.group == group]
        text, pairs, *_ = group
        options = own[0].options
        seeds = len({run.seed for run in own})
        stands = f"**{text}, {'all' if pairs is None else f'{pairs:,}'} pairs**, " + (
            f"`{options}`" if options else "the default settings"
        )
        stands += f", {'one seed' if seeds == 1 else f'{seeds} seeds'}, {span(run.date for run in own)}:"
        parts += [wrapped(stands), runs_table(own)]
    return "\n\n".join(parts) + "\n"


def implied_precision(p: float, r: float, aer: float, sure: int) -> float:
    """Return P on possible links, in per cent, from the P on sure links that the paper prints.

    |A| = R |S| / P, and AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|).
    """
    right = r / 100 * sure
    links = right / (p / 100)
    return 100 * ((1 - aer / 100) * (links + sure) - right) / links


def alphas_table(run: Kept, gold: Sequence[GoldAlignment]) -> str:
    """Lay out what the threshold does to test: P, R and AER by α, each direction and symmetrized."""
    best = run.words()["test"]
    forward, backward, _ = ways_of(run.cell.text)
    lines = []
    for alpha in ALPHAS[run.spread]:
        sides = [links_of(words, alpha, way) for words, way in zip(best, ROWS, strict=False)]
        grown = [symmetrize_all(sides[0], sides[1], name) for name in ("grow-diag-final-and", "grow-diag")]
        scores = [evaluate(found, gold) for found in (*sides, *grown)]
        lines.append(["none" if alpha == LEAST else f"{alpha:g}", *map(_score, scores)])
    printed = LANGUAGES[run.cell.text].get("single")
    if printed is not None:
        sure = sum(len(one.sure) for one in gold)
        said = [
            f"{implied_precision(p, r, aer, sure):.1f}, {r:.1f}, **{aer:.1f}**" for p, r, _, aer in printed
        ]
        lines.append(["the paper's", *said, ""])
    return table(["α", forward, backward, "gdfa", "grow-diag"], lines)


def _score(score: Score) -> str:
    return f"{100 * score.precision:.1f}, {100 * score.recall:.1f}, **{100 * score.aer:.1f}**"


def alphas_markdown(runs: Iterable[Kept]) -> str:
    """Write such a table for every cell that is the paper's + POS + diag and has its words kept."""
    parts = []
    for run in runs:
        if run.cell.name in ("+ POS + diag", "single") and run.has_words:
            pairs = "all" if run.pairs is None else f"{run.pairs:,}"
            head = (
                f"**{run.cell.text}, {pairs} pairs, {run.cell.name}**, `{run.options}`, test: P, R, **AER**"
            )
            parts += [wrapped(head), alphas_table(run, gold_of(run.cell.text, "test"))]
    return "\n\n".join(parts) + "\n"


def spreads_markdown(runs: Iterable[Kept]) -> str:
    """Lay out AER of dev and test by what σ⁻ is, α chosen on dev for each direction."""
    head = ["", "pairs", *(f"{way}: {one}" for way in (*ROWS[:2], "gdfa") for one in POWERS)]
    lines = []
    for run in runs:
        if not run.has_words:
            continue
        gold = {part: gold_of(run.cell.text, part) for part in ("dev", "test")}
        columns = []
        for spread in POWERS:
            best = run.words(spread)
            ways = directions_of(best, gold)
            errors = []
            for part in ("dev", "test"):
                sides = [
                    links_of(words, ways[way]["alpha"], way)
                    for words, way in zip(best[part], ways, strict=True)
                ]
                both = symmetrize_all(sides[0], sides[1], "grow-diag-final-and")
                errors.append(100 * evaluate(both, gold[part]).aer)
            each = [(ways[way]["dev_aer"], ways[way]["aer"]) for way in ways]
            columns.append([f"{dev:.1f}, **{test:.1f}**" for dev, test in (*each, errors)])
        pairs = "all" if run.pairs is None else f"{run.pairs:,}"
        lines.append([run.name, pairs, *(cell for both in zip(*columns, strict=True) for cell in both)])
    return table(head, lines) + "\n"


def main(argv: Sequence[str] | None = None) -> None:
    """Write the three blocks."""
    parser = new_parser(__doc__)
    parser.add_argument("--cells", type=Path, default=RESULTS / "cells", metavar="DIR", help="kept cells")
    args = parse(parser, argv, page="docs/results.md")
    runs = read_kept(args.cells)
    made = {
        "paper-runs": runs_markdown(runs),
        "paper-alphas": alphas_markdown(runs),
        "paper-spreads": spreads_markdown(runs),
    }
    for name, text in made.items():
        write_text(args.output / f"{name}.md", text)
        print(text)
        if args.page is not None:
            fill_block(args.page, name, text)


if __name__ == "__main__":
    main()
