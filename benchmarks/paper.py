"""The tables of Legrand, Auli and Collobert (2016) on the shared text, beside the published figures.

    python benchmarks/paper.py aggregations|features|french|romanian|czech [--pairs 20000] [--seeds 1] …

    aggregations   table 1: max, sum and LSE           features   table 2: words, + POS, + diag, + POS + diag
    french, romanian, czech   tables 3 to 5: single model, + characters (Czech), + an ensemble of four

Each cell (one configuration, one seed) is trained once and kept under a key of all that went into it, so that
a table that was interrupted goes on where it was. Settings for all cells: --set section.key=value.
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

from corpora import DATA, ROOT, gold_of, lines
from weft.alignment import Alignment, GoldAlignment
from weft.configuration import to_mapping, with_settings
from weft.evaluation import Score, evaluate
from weft.paper import ALPHAS, PaperConfig, PaperRecipe
from weft.text import Sentence, SentencePair

CACHE = ROOT / "benchmarks" / "cache" / "paper"
TAGS = ("features.source.tags=inline", "features.target.tags=inline")
CHARACTERS = ("features.source.characters=true", "features.target.characters=true")
WIDE = ("model.source_k1=3", "model.source_k2=3")
ROWS = ("forward", "backward", "symmetrized")


@dataclass(frozen=True)
class Cell:
    """One configuration on one language pair, and the paper's AER: forward, backward, symmetrised."""

    name: str
    text: str
    settings: tuple[str, ...]
    published: tuple[float, float, float]


def _aggregations() -> list[Cell]:
    published = {
        "en-fr": {"max": (18.1, 20.7, 14.8), "sum": (23.0, 26.9, 24.1), "lse": (15.1, 15.8, 12.8)},
        "ro-en": {"max": (42.2, 40.4, 36.4), "sum": (42.0, 40.2, 35.6), "lse": (37.6, 35.7, 32.2)},
        "en-cs": {"max": (27.9, 26.5, 21.8), "sum": (35.6, 33.6, 32.7), "lse": (24.5, 24.5, 21.0)},
    }
    return [
        Cell(name, text, (f"training.aggregation={name}",), figures)
        for text, names in published.items()
        for name, figures in names.items()
    ]


def _features() -> list[Cell]:
    published = {
        "en-fr": [(22.2, 24.2, 15.7), (20.9, 23.9, 15.3), (15.1, 15.8, 12.8), (13.2, 12.1, 10.2)],
        "ro-en": [(47.0, 45.5, 40.3), (45.3, 42.9, 36.9), (37.6, 35.7, 32.2), (33.1, 32.2, 27.8)],
        "en-cs": [(36.9, 36.3, 29.5), (35.6, 33.7, 28.2), (24.8, 24.5, 21.0), (24.6, 22.9, 19.9)],
    }
    flat = ("model.diagonal=false",)
    kinds = [("words", flat), ("+ POS", (*TAGS, *flat)), ("+ diag", ()), ("+ POS + diag", TAGS)]
    return [
        Cell(name, text, settings, figures)
        for text, rows in published.items()
        for (name, settings), figures in zip(kinds, rows, strict=True)
    ]


def _languages(text: str) -> list[Cell]:
    four = ("members=4",)
    if text == "en-fr":
        return [
            Cell("single", text, TAGS, (13.2, 12.1, 10.2)),
            Cell("+ ensemble", text, (*TAGS, *four), (11.6, 11.6, 9.7)),
        ]
    if text == "ro-en":
        return [
            Cell("single", text, (*TAGS, *WIDE), (30.2, 31.1, 27.0)),
            Cell("+ ensemble", text, (*TAGS, *WIDE, *four), (31.3, 30.0, 26.0)),
        ]
    czech = (*TAGS, *WIDE, "features.target.words=80000")
    return [
        Cell("single", text, czech, (24.6, 22.9, 19.9)),
        Cell("+ characters", text, (*czech, *CHARACTERS), (23.2, 21.4, 17.8)),
        Cell("+ ensemble", text, (*czech, *CHARACTERS, *four), (20.0, 18.7, 15.8)),
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


def figures(score: Score) -> dict[str, float]:
    """Return what a table shows of a score, in per cent."""
    names = ("precision", "recall", "f1", "aer")
    return {name: round(100 * getattr(score, name), 2) for name in names}


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


def run_cell(cell: Cell, pairs: int, seed: int, config: PaperConfig, checkpoints: Path) -> dict[str, Any]:
    """Train and measure one cell: dev and test text added to the training text, choices made on dev."""
    tagged = config.features.source.tags == "inline"
    dev, test = (read_pairs(cell.text, part, tagged=tagged) for part in ("dev", "test"))
    train = read_pairs(cell.text, "train", tagged=tagged, limit=pairs)
    gold = {part: gold_of(cell.text, part) for part in ("dev", "test")}
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
    result["symmetrized"] = {"alpha": decoding.alpha, "heuristic": decoding.heuristic, **figures(score)}
    return {
        "cell": cell.name,
        "text": cell.text,
        "pairs": len(train),
        "seed": seed,
        "cpu_seconds": round(seconds),
        "signature": score.signature,
        "config": to_mapping(config),
        "results": result,
    }


def cached(cell: Cell, pairs: int, seed: int, settings: Sequence[str]) -> dict[str, Any]:
    """Return a cell's result from the cache, or run it and keep it."""
    config = with_settings(PaperConfig(), (*cell.settings, *settings))
    key = json.dumps([cell.text, pairs, seed, to_mapping(config)], sort_keys=True)
    path = CACHE / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.json"
    if path.exists():
        return dict(json.loads(path.read_text(encoding="utf-8")))
    result = run_cell(cell, pairs, seed, config, path.with_suffix(".checkpoints"))
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(path)
    return result


def markdown(cells: Sequence[Cell], found: Sequence[Sequence[dict[str, Any]]]) -> str:
    """Lay the results out as a table: the mean over the seeds of each figure."""
    lines = [
        "| text | system | direction | P | R | F1 | AER | paper's AER |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cell, results in zip(cells, found, strict=True):
        for row, published in zip(ROWS, cell.published, strict=True):
            means = [
                sum(result["results"][row][name] for result in results) / len(results)
                for name in ("precision", "recall", "f1", "aer")
            ]
            shown = " | ".join(f"{mean:.1f}" for mean in means)
            lines.append(f"| {cell.text} | {cell.name} | {row} | {shown} | {published} |")
    return "\n".join(lines)


def main() -> None:
    """Make a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=tuple(TABLES))
    parser.add_argument("--pairs", type=int, default=20_000, help="training pairs (20,000)")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds to average over (1)")
    parser.add_argument("--text", choices=("en-fr", "ro-en", "en-cs"), help="only the cells of this text")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", dest="settings")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all results there")
    args = parser.parse_args()
    torch.set_num_threads(1)
    cells = [cell for cell in TABLES[args.table]() if args.text in (None, cell.text)]
    jobs = [(cell, seed) for cell in cells for seed in range(1, args.seeds + 1)]
    results: dict[Cell, list[dict[str, Any]]] = {cell: [] for cell in cells}
    began = time.monotonic()
    for number, (cell, seed) in enumerate(jobs):
        left = (time.monotonic() - began) / number * (len(jobs) - number) if number else float("nan")
        sys.stderr.write(
            f"{cell.text} {cell.name} seed {seed} ({number + 1}/{len(jobs)}, about {left:.0f} s left)\n"
        )
        results[cell].append(cached(cell, args.pairs, seed, args.settings))
    if args.json:
        args.json.write_text(
            json.dumps([*results.values()], indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    print(markdown(cells, [results[cell] for cell in cells]))


if __name__ == "__main__":
    main()
