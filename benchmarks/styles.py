"""Styles of links and tuning on gold links: test AER, P and R over several seeds of the model.

    python benchmarks/styles.py                                   the whole table
    python benchmarks/styles.py --rows ro-en --seeds 1            some of it
    python benchmarks/styles.py --publish --docs                  no runs: tables and figure from the JSON

Links of da-en, grc-en and en-cs are decided by a refiner that has not seen that language, those of the others
by one that is trained as the shipped one is (benchmarks/refiner.py). Tuning learns from sentences of dev, the
first of them in a random order, which depends on the seed; --sizes are tried with the first seed alone.
Writes styles.json and styles.md; with --docs also the table and the figure of docs/performance.md.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from bitweft.recipes.base import STYLES
from bitweft.recipes.default.compiled.features import NAMES
from bitweft.recipes.default.config import DefaultConfig
from bitweft.recipes.default.posterior import uncalibrated
from bitweft.recipes.default.recipe import DefaultRecipe
from bitweft.recipes.default.refine.refiner import Refiner, load_refiner, threshold_of
from bitweft.recipes.default.refine.tune import Cells, Errors, Flags, aer, logit, margins_of, tune, untuned
from cells import Cells as Kept
from cells import recipe_key
from corpora import ROOT, Row, require
from left_out import MODELS, refiner_file
from refiner import LEARNED, MEASURED, UNREFINED, gold_part, lesson_of, model_of, parts_of, refiner_of
from reporting import (
    CACHE,
    new_parser,
    parse,
    publish,
    read_results,
    say,
    surroundings,
    table,
    write_json,
)

FEW = 37  # gold sentences of the table's column for few
SIZES = (10, 20, 37, 75, 150)


def refiners(models: Path) -> dict[str, Refiner]:
    """Train, or take up, the refiner of each text: one that has not seen its language."""
    found = {}
    for left_out in (*LEARNED, ""):
        path = refiner_file(left_out, models)
        if not path.exists():
            say(f"training {path.name}")
            learned = [text for text in LEARNED if text != left_out]
            lessons = {}
            for text in learned:
                lessons[text] = lesson_of(parts_of(Row.parse(text), model_of(Row.parse(text), models, 1, 1)))
            refiner_of(lessons).save(path)
        found[left_out] = load_refiner(path)
    return found


def figures(cells: Cells, linked: Flags) -> dict[str, float]:
    """Give AER, precision and recall of links, in percent."""
    links = max(int(linked.sum()), 1)
    sure = float(cells.sure.sum() + cells.missing.sum())
    return {
        "aer": 100 * aer(Errors(cells).table(linked)),
        "precision": 100 * float(cells.possible[linked].sum()) / links,
        "recall": 100 * float(cells.sure[linked].sum()) / sure,
    }


def styles_of(refiner: Refiner, test: Cells) -> dict[str, dict[str, float]]:
    """Measure the posteriors without a refiner, and every style."""
    raw = test.numbers[:, NAMES.index("agreed")]
    found = {"unrefined": figures(test, raw >= uncalibrated(UNREFINED))}
    for name, style in STYLES.items():
        bound = logit(threshold_of(style, DefaultConfig().threshold))
        found[name] = figures(test, refiner.margins(test.numbers, style) >= bound)
    return found


def tuned_on(
    recipe: DefaultRecipe, refiner: Refiner, row: Row, size: int | None, seed: int, test: Cells
) -> dict[str, Any]:
    """Tune on some sentences of dev, and measure on test."""
    pairs, gold = gold_part(row, "dev")
    order = random.Random(seed).sample(range(len(gold)), len(gold))[:size]
    dev = recipe.look([pairs[n] for n in order], [gold[n] for n in order])
    now = untuned(recipe.config.links, recipe.config.threshold)
    tuned, expected = tune(dev, refiner, now, recipe.vocabulary_sizes)
    found = figures(test, margins_of(refiner, tuned, test) >= logit(tuned.threshold))
    return {**found, "sentences": len(order), "expected": 100 * expected.after, "choice": str(tuned)}


def measured(row: Row, seed: int, refiner: Refiner, models: Path, sizes: Sequence[int]) -> dict[str, Any]:
    """Measure one model."""
    recipe = model_of(row, models, seed, 1)
    test = recipe.look(*gold_part(row, "test"))
    whole = len(gold_part(row, "dev")[1])
    wanted = dict.fromkeys([*(size for size in sizes if size < whole), whole])
    tuning = [tuned_on(recipe, refiner, row, size, seed, test) for size in wanted]
    return {"row": str(row), "seed": seed, "styles": styles_of(refiner, test), "tuned": tuning}


def _mean(runs: Sequence[Mapping[str, float]], name: str = "aer") -> str:
    values = [run[name] for run in runs]
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 and name == "aer" else ""
    return f"{statistics.mean(values):.1f}{spread}"


def markdown(results: Mapping[str, Any]) -> str:
    """Lay out the tables."""
    by_row: dict[str, list[dict[str, Any]]] = {}
    for run in results["runs"]:
        by_row.setdefault(run["row"], []).append(run)
    lines, details = [], []
    for row, runs in by_row.items():
        names = list(runs[0]["styles"])
        few = [own for run in runs for own in run["tuned"] if own["sentences"] == FEW]
        whole = [run["tuned"][-1] for run in runs]
        cells = [_mean([run["styles"][name] for run in runs]) for name in names]
        last = f"{_mean(whole)} ({whole[0]['sentences']})"
        lines.append([row, *cells, _mean(few) if few else "", last])
        for name in names:
            own = [run["styles"][name] for run in runs]
            details.append([row, name, *(_mean(own, figure) for figure in ("aer", "precision", "recall"))])
        details.append([row, "tuned, all", *(_mean(whole, name) for name in ("aer", "precision", "recall"))])
    head = ["text", "unrefined", *STYLES, f"tuned on {FEW}", "tuned on all of dev (sentences)"]
    seeds = max(run["seed"] for run in results["runs"])
    stands = (
        f"Test AER, mean of {seeds} seeds, {results['about']['date']}; recipe revision {results['revision']}."
    )
    return (
        "\n\n".join([stands, table(head, lines), table(["text", "links", "AER", "P", "R"], details)]) + "\n"
    )


def measure_all(rows: Sequence[Row], args: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure all models, as far as they are not measured yet."""
    by_text, kept, runs = refiners(args.models), Kept(args.cache), []
    for row, seed in product(rows, range(1, args.seeds + 1)):
        say(f"{row}, seed {seed}")
        sizes = sorted({*args.sizes, FEW}) if seed == 1 else [FEW]
        refiner = by_text[row.text if row.text in LEARNED else ""]
        key = {**recipe_key(), "row": str(row), "seed": seed, "sizes": sizes}
        runs.append(kept.get(key, partial(measured, row, seed, refiner, args.models, sizes)))
    return runs


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the table."""
    parser = new_parser(__doc__)
    add = parser.add_argument
    rows = (*LEARNED, *MEASURED, "en-fr:100k")
    add("--rows", nargs="+", default=rows, metavar="TEXT", help=f"texts to measure on ({' '.join(rows)})")
    add("--seeds", type=int, default=3, metavar="N", help="models of each text (3)")
    add("--sizes", type=int, nargs="*", default=SIZES, help="numbers of gold sentences, with the first seed")
    add("--models", type=Path, default=MODELS, metavar="DIR", help="where models are kept")
    args = parse(parser, arguments, page="docs/performance.md", cache=CACHE / "styles")
    path = args.output / "styles.json"
    if not args.publish:
        wanted = [Row.parse(row) for row in args.rows]
        require(row.text for row in wanted)
        args.models.mkdir(parents=True, exist_ok=True)
        runs = measure_all(wanted, args)
        write_json(path, {"about": surroundings(), **recipe_key(), "runs": runs})
    results = read_results(path)
    figure = "![Test AER against the number of gold sentences tuned on](tuning.svg)"
    publish(path, markdown(results), args.page, figure=figure)
    if args.docs:
        from drawing import draw_tuning

        draw_tuning([run for run in results["runs"] if run["seed"] == 1], ROOT / "docs" / "tuning.svg")


if __name__ == "__main__":
    main()
