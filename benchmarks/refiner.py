"""Train the refiner that is shipped with the package, and measure it on languages that it has not seen.

    python benchmarks/refiner.py                       train, print the figures, write the package's file
    python benchmarks/refiner.py --check               the same, but write nothing
    python benchmarks/refiner.py --rows en-fr:20k      other texts to measure on

Gold links come from da-en, grc-en and en-cs alone, whose licenses allow it; the other texts measure. A
figure of these three comes from a refiner that was trained without that language. Each sentence of gold is
seen from one side or the other by chance, so that the refiner knows no direction.

Styles. The trees see the style as a number. `phrases` learns the gold as it is; `words` learns the gold
thinned to the best link of each word; `default` learns a mixture: how probable a link is if the guidelines
are not known.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from bitweft.aligner import Aligner
from bitweft.links.alignment import GoldAlignment
from bitweft.links.formats.registry import read_gold
from bitweft.recipes.base import STYLES
from bitweft.recipes.default.compiled.features import NAMES, turned
from bitweft.recipes.default.compiled.types import Floats
from bitweft.recipes.default.config import DefaultConfig
from bitweft.recipes.default.posterior import uncalibrated
from bitweft.recipes.default.recipe import DefaultRecipe
from bitweft.recipes.default.refine.boost import Boosting, binned, boosted
from bitweft.recipes.default.refine.refiner import FILE, Refiner, threshold_of
from bitweft.recipes.default.refine.tune import Cells, Errors, aer, logit
from bitweft.text.bitext import Bitext, SentencePair, tokenize
from corpora import DATA, Row, pairs_of, write_sample
from reporting import say, table

LEARNED = ("da-en", "grc-en", "en-cs")
MEASURED = ("ro-en", "en-it:50k", "en-fr:20k")
MOST = 2500  # sentences of one training gold
UNREFINED = 0.525  # the best threshold of posteriors that are not refined
SETTINGS = Boosting(rounds=150, depth=8, rate=0.1, ridge=10.0, sample=200_000, features=0.5)
# By style and language: the share of the gold as it is in a label, the rest being thinned gold.
SHARES: Mapping[str, Mapping[str, float]] = {
    "words": {"da-en": 0.0, "grc-en": 0.0, "en-cs": 0.0},
    "default": {"da-en": 0.7, "grc-en": 0.7, "en-cs": 1.0},
    "phrases": {"da-en": 1.0, "grc-en": 1.0},  # the gold of en-cs links words
}


Job: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]  # languages learned from, texts measured on


class Lesson(NamedTuple):
    """Hold the cells of gold sentences and both of their labels."""

    numbers: Floats
    whole: Floats
    thinned: Floats


def gold_part(row: Row, part: str) -> tuple[list[SentencePair], list[GoldAlignment]]:
    """Read the sentences of a part of a text that have gold links, and these."""
    gold = list(read_gold(DATA / row.text / f"{part}.gold"))
    text = islice(pairs_of(row.text, part), len(gold))
    return [SentencePair(*(tokenize(side, "space") for side in pair)) for pair in text], gold


def parts_of(row: Row, recipe: DefaultRecipe) -> dict[str, Cells]:
    """Hold the cells of every part of a text that has gold links against them."""
    parts = [part for part in ("train", "dev", "test") if (DATA / row.text / f"{part}.gold").exists()]
    return {part: recipe.look(*gold_part(row, part)) for part in parts}


def thinned(cells: Cells) -> Floats:
    """Keep of the sure links those that are the best of both their words, by the aligner's posteriors."""
    agreed = cells.numbers[:, NAMES.index("agreed")]
    sure = np.flatnonzero(cells.sure)
    kept = np.ones(len(cells.sure), bool)
    for side in (cells.source, cells.target):
        words = cells.sentence * (1 + int(side.max(initial=0))) + side
        order = sure[np.lexsort((-agreed[sure], words[sure]))]
        best = np.zeros(len(kept), bool)
        best[order[np.r_[True, np.diff(words[order]) != 0]]] = True
        kept &= best
    return kept.astype(np.float32)


def lesson_of(parts: Mapping[str, Cells], seed: int = 7) -> Lesson:
    """Take the cells of train and dev, each sentence from one side by chance; possible links say nothing."""
    generator = np.random.default_rng(seed)
    lessons = []
    for part in ("train", "dev"):
        if part not in parts:
            continue
        cells = parts[part]
        sentences = len(cells.missing)
        taken = generator.permutation(sentences) < MOST
        flipped = generator.random(sentences) < 0.5
        rows = np.flatnonzero(taken[cells.sentence] & (cells.sure == cells.possible))
        around = flipped[cells.sentence[rows], None]
        numbers = np.where(around, turned(cells.numbers[rows]), cells.numbers[rows])
        lessons.append(Lesson(numbers, cells.sure[rows], thinned(cells)[rows]))
    return Lesson(*(np.concatenate(column) for column in zip(*lessons, strict=True)))


def refiner_of(lessons: Mapping[str, Lesson]) -> Refiner:
    """Train a refiner on the gold of some languages, each of which weighs the same in every style."""
    numbers, labels, weights = [], [], []
    for style, number in STYLES.items():
        for name, lesson in lessons.items():
            if name not in SHARES[style]:
                continue
            share, size = SHARES[style][name], len(lesson.whole)
            numbers.append(np.hstack([lesson.numbers, np.full((size, 1), number, np.float32)]))
            labels.append(share * lesson.whole + (1 - share) * lesson.thinned)
            weights.append(np.full(size, 1 / size))
    weight = np.concatenate(weights)
    weight *= len(weight) / weight.sum()
    label = np.concatenate(labels).astype(np.float32)
    data = binned(np.concatenate(numbers))
    return Refiner(boosted(data, label, weight.astype(np.float32), np.zeros(len(label)), SETTINGS)[0])


def rates(refiner: Refiner, cells: Cells) -> list[float]:
    """Return AER without a refiner, and in each style."""
    errors = Errors(cells)
    raw = cells.numbers[:, NAMES.index("agreed")]
    plain = aer(errors.table(raw >= uncalibrated(UNREFINED)))
    refined = []
    for style in STYLES.values():
        bound = logit(threshold_of(style, DefaultConfig().threshold))
        refined.append(aer(errors.table(refiner.margins(cells.numbers, style) >= bound)))
    return [plain, *refined]


def shown(name: str, part: str, figures: Sequence[float]) -> list[str]:
    """Lay out a line of the table."""
    return [name, part, *(f"{100 * figure:.2f}" for figure in figures)]


def model_of(row: Row, directory: Path, seed: int, threads: int) -> DefaultRecipe:
    """Train the default recipe on a text, test and dev included, as the protocol wants it; or take it up."""
    path = directory / f"{row.text}_{row.pairs}.{seed}"
    if path.exists():
        aligner = Aligner.load(path, threads=threads)
    else:
        say(f"{row}: training")
        sample = write_sample(row, directory / "text")
        aligner = Aligner(seed=seed, threads=threads).fit(Bitext(*sample.files))
        aligner.save(path)
    assert isinstance(aligner.recipe, DefaultRecipe)
    return aligner.recipe


def jobs_of(rows: Sequence[str]) -> list[Job]:
    """List the refiners: the languages that each learns from, and the texts that it is measured on."""
    left_out = [(tuple(other for other in LEARNED if other != text), (text,)) for text in LEARNED]
    return [(LEARNED, tuple(rows)), *left_out]


def run(job: Job, parts: Mapping[str, Mapping[str, Cells]], output: Path | None) -> list[list[str]]:
    """Train one refiner, write it if it is the one to ship, and give its figures."""
    learned, measured = job
    refiner = refiner_of({text: lesson_of(parts[text]) for text in learned})
    if output is not None and learned == LEARNED:
        refiner.save(output)
    tried = [(text, part) for text in measured for part in ("dev", "test")]
    return [shown(text, part, rates(refiner, parts[text][part])) for text, part in tried]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", nargs="*", default=MEASURED, help=f"to measure ({' '.join(MEASURED)})")
    parser.add_argument("--check", action="store_true", help="write no file")
    parser.add_argument("--models", type=Path, metavar="DIR", help="where models are kept and taken up")
    parser.add_argument("--seed", type=int, default=1, help="of the models (1)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="refiners to train at a time (1)")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        directory = args.models or Path(name)
        parts = {
            text: parts_of(Row.parse(text), model_of(Row.parse(text), directory, args.seed, 1))
            for text in (*LEARNED, *args.rows)
        }
    say("training refiners")
    work = partial(run, parts=parts, output=None if args.check else FILE)
    with ProcessPoolExecutor(args.jobs) as pool:
        lines = [line for lines in pool.map(work, jobs_of(args.rows)) for line in lines]
    print(table(["text", "part", "unrefined", *STYLES], lines))


if __name__ == "__main__":
    main()
