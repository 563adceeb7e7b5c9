"""Learn from gold links which links their guidelines ask for: a style, a threshold, and trees of their own.

Three choices of growing freedom compete by cross-validation over sentences: the model as it is; another style
and threshold; trees that add to that style's log odds. A freer one is taken only if it is better on nearly
all bootstrap samples of the sentences, so that a handful of sentences changes nothing by chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bitweft.errors import UsageError
from bitweft.links.alignment import GoldAlignment
from bitweft.recipes.base import Expected
from bitweft.recipes.default.compiled.refine import WIDE, Looked, Memory, no_memory
from bitweft.recipes.default.compiled.trees import Trees, margins, no_trees
from bitweft.recipes.default.compiled.types import Doubles, Floats, Ints, Longs
from bitweft.recipes.default.refine.boost import Boosting, binned, boosted
from bitweft.recipes.default.refine.memory import Meeting, recalled, recalled_by_others, remembered
from bitweft.recipes.default.refine.refiner import Refiner, read_trees, tree_arrays
from bitweft.storage.model_directory import Arrays

Flags: TypeAlias = npt.NDArray[np.bool_]

SIDES = ("source", "target")
FOLDS = 5
FEWEST = 5  # sentences with gold links
ROUNDS = (15, 30, 60, 100, 150)  # of boosting that compete
GRID = tuple(n / 4 for n in range(5))  # styles that compete
THRESHOLDS = np.arange(25, 76, 5) / 100
SURE_ENOUGH = 0.75  # the part of bootstrap samples on which a freer choice must be better
SAMPLES = 1000
VOTES = 100  # bootstrap samples, each with a choice of its own: the mean is taken
PULL = 0.03  # AER, over the root of the number of sentences, by which the farthest choice must be better
OWN = Boosting(rounds=max(ROUNDS), depth=6, rate=0.08, ridge=3.0, features=0.3)


@dataclass(frozen=True)
class Tuned:
    """Hold what was learned from gold links: it stands in the place of style and threshold."""

    style: float
    threshold: float
    trees: Trees
    memory: Memory

    def __str__(self) -> str:
        """Describe it for people."""
        own = f", {len(self.trees.features)} trees of its own" if len(self.trees.features) else ""
        return f"style {self.style:g}, threshold {self.threshold:g}{own}"

    def arrays(self) -> dict[str, Any]:
        """Give it as arrays with names."""
        arrays = {f"tuned.memory.{name}": value for name, value in self.memory._asdict().items()}
        arrays["tuned.settings"] = np.array([self.style, self.threshold])
        return arrays | tree_arrays("tuned", self.trees)


def untuned(style: float, threshold: float) -> Tuned:
    """Decide by a style and a threshold alone."""
    return Tuned(style, threshold, no_trees(), no_memory())


def read_tuned(arrays: Arrays, sizes: tuple[int, int]) -> Tuned | None:
    """Take what was tuned out of arrays, if it is there; `sizes` are those of the vocabularies."""
    if "tuned.settings" not in arrays:
        return None
    style, threshold = arrays.take("tuned.settings", np.float64, (2,), low=0, high=1).tolist()
    keys = arrays.take("tuned.memory.keys", np.int64, (None,), low=0)
    if (np.diff(keys) <= 0).any():
        raise arrays.fault("tuned.memory.keys", "are out of order")
    values = arrays.take("tuned.memory.values", np.float32, keys.shape, low=-1, high=1)
    words = [arrays.take(f"tuned.memory.{name}", np.float32, (None,), low=-1, high=1) for name in SIDES]
    if any(len(own) not in (0, size) for own, size in zip(words, sizes, strict=True)):
        raise arrays.fault("tuned.memory.source", "or target has not the size of the vocabulary")
    trees = read_trees(arrays, "tuned", WIDE)
    return Tuned(style, threshold, trees, Memory(words[0], words[1], keys, values))


class Cells(NamedTuple):
    """Hold the cells of sentences with gold links."""

    source: Ints
    target: Ints
    words: Meeting
    numbers: Floats
    sure: Floats  # 1 or 0
    possible: Floats  # 1 or 0, the sure ones included
    sentence: Longs
    missing: Longs  # (sentences): sure links that are no cell here


def cells_of(looked: Looked, words: Meeting, gold: Sequence[GoldAlignment]) -> Cells:
    """Hold cells, and the words that meet in them, against gold links."""
    sentence = np.repeat(np.arange(len(gold)), np.diff(looked.offsets))
    places = list(zip(sentence.tolist(), looked.source.tolist(), looked.target.tolist(), strict=True))
    sure = np.array([(s, t) in gold[n].sure for n, s, t in places], np.float32)
    possible = np.array([(s, t) in gold[n].possible for n, s, t in places], np.float32)
    found = np.bincount(sentence, sure, len(gold)).astype(np.int64)
    missing = np.array([len(own.sure) for own in gold], np.int64) - found
    return Cells(looked.source, looked.target, words, looked.numbers, sure, possible, sentence, missing)


class Errors:
    """Count errors of links by sentence."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.sentences = len(cells.missing)
        self.sure = np.bincount(cells.sentence, cells.sure, self.sentences) + cells.missing

    def table(self, linked: Flags) -> Doubles:
        """Return (sentences, 2): of each sentence what is right, and what could be, as AER counts them."""
        own = self.cells.sentence[linked]
        links = np.bincount(own, minlength=self.sentences)
        right = np.bincount(own, self.cells.sure[linked] + self.cells.possible[linked], self.sentences)
        return np.stack([right, links + self.sure], 1)


def aer(table: Doubles) -> float:
    """Return the alignment error rate of all sentences of a table."""
    right, all_of_it = table.sum(0)
    return float(1 - right / all_of_it) if all_of_it else 0.0


def bootstrap(size: int, samples: int) -> Longs:
    """Draw bootstrap samples, always alike; return (samples, size), how often each has each."""
    return np.random.default_rng(1).multinomial(size, np.full(size, 1 / size), samples)


def differences(before: Doubles, after: Doubles) -> Doubles:
    """Return the differences of AER, after less before, on bootstrap samples of the sentences."""
    times = bootstrap(len(before), SAMPLES)
    rates = [1 - drawn[:, 0] / np.maximum(drawn[:, 1], 1) for drawn in (times @ before, times @ after)]
    out: Doubles = rates[1] - rates[0]
    return out


def logit(probability: float) -> float:
    """Return log odds; of certainty, more than trees can add up to."""
    if probability >= 1:
        return math.inf
    return math.log(probability / (1 - probability)) if probability > 0 else -math.inf


def folds_of(sentences: int) -> Longs:
    """Part the sentences at random, always alike; return the fold of each."""
    count = min(FOLDS, sentences)
    return np.random.default_rng(0).permutation(np.arange(sentences) % count)


class Learned(NamedTuple):
    """Hold trees that add to the refiner's log odds, and what they remember of words."""

    trees: Trees
    memory: Memory

    def margins(self, cells: Cells, rows: Longs) -> Doubles:
        """Return the log odds that they add to some cells."""
        numbers = _wide(cells.numbers[rows], recalled(self.memory, cells.words.take(rows)))
        odds: Doubles = margins(self.trees, numbers)
        return odds


def _wide(numbers: Floats, lexical: Floats) -> Floats:
    """Put the numbers of cells beside one another as trees from gold see them: without a style."""
    return np.hstack([numbers, np.zeros((len(numbers), 1), np.float32), lexical])


def learn(cells: Cells, start: Doubles, chosen: Longs, settings: Boosting, sizes: tuple[int, int]) -> Learned:
    """Learn from some cells: sure links against none; links that are only possible say nothing."""
    rows = chosen[cells.sure[chosen] == cells.possible[chosen]]
    surprise = cells.sure[rows] - 1 / (1 + np.exp(-start[rows]))
    words = cells.words.take(rows)
    lexical = recalled_by_others(words, surprise, cells.sentence[rows])
    data = binned(_wide(cells.numbers[rows], lexical))
    weights = np.ones(len(rows), np.float32)
    trees = boosted(data, cells.sure[rows], weights, start[rows], settings)[0]
    return Learned(trees, remembered(words, surprise, sizes))


def held_out(cells: Cells, start: Doubles, sizes: tuple[int, int]) -> list[Doubles]:
    """Return, for each number of rounds, the log odds of cells by trees that have not seen their sentence."""
    folds = folds_of(len(cells.missing))[cells.sentence]
    odds = [start.copy() for _ in ROUNDS]
    for fold in range(int(folds.max(initial=0)) + 1):
        own = np.flatnonzero(folds == fold)
        learned = learn(cells, start, np.flatnonzero(folds != fold), OWN, sizes)
        for rounds, staged in zip(ROUNDS, odds, strict=True):
            staged[own] += learned._replace(trees=learned.trees.first(rounds)).margins(cells, own)
    return odds


class Options:
    """Hold what competes within one choice: log odds under several settings, each with every threshold."""

    def __init__(self, errors: Errors, odds: Sequence[Doubles]) -> None:
        self.tables = np.array(
            [[errors.table(own >= logit(bound)) for bound in THRESHOLDS] for own in odds]
        )  # (settings, thresholds, sentences, 2)

    def best(self, sentences: Longs) -> tuple[int, int]:
        """Return the setting and the threshold that have the lowest AER on some sentences.

        The rates of neighboring thresholds count too, and what is returned lies in the middle of the choices
        of bootstrap samples, each drawn a little to the middle of all, so that accidents count less.
        """
        settings, bounds = (np.abs(np.linspace(-1, 1, size)) for size in self.tables.shape[:2])
        pull = PULL / math.sqrt(len(sentences)) * (settings[:, None] + bounds)
        own, votes = self.tables[:, :, sentences], []
        for times in bootstrap(len(sentences), VOTES):
            right, all_of_it = np.einsum("n,stnk->kst", times, own)
            rates = np.pad(1 - right / np.maximum(all_of_it, 1), ((0, 0), (1, 1)), mode="edge")
            smooth = (rates[:, :-2] + 2 * rates[:, 1:-1] + rates[:, 2:]) / 4 + pull
            votes.append(np.unravel_index(smooth.argmin(), smooth.shape))
        setting, threshold = np.mean(votes, 0).round().astype(int).tolist()
        return setting, threshold

    def held_out(self) -> Doubles:
        """Return the table of decisions by settings that were chosen without the sentence's fold."""
        sentences = self.tables.shape[2]
        folds = folds_of(sentences)
        out = np.empty((sentences, 2))
        for fold in range(int(folds.max()) + 1):
            setting, threshold = self.best(np.flatnonzero(folds != fold))
            out[folds == fold] = self.tables[setting, threshold, folds == fold]
        return out


def tune(cells: Cells, refiner: Refiner, now: Tuned, sizes: tuple[int, int]) -> tuple[Tuned, Expected]:
    """Choose by cross-validation what to learn from gold links.

    Args:
        cells: the cells of the sentences with gold links.
        refiner: what to begin with.
        now: what the model does without.
        sizes: of both vocabularies.
    """
    errors = Errors(cells)
    linked = int(np.count_nonzero(errors.sure))
    if linked < FEWEST:
        raise UsageError(f"gold must have sure links in {FEWEST} sentences or more, got {linked}")
    everything = np.arange(errors.sentences)
    before = errors.table(margins_of(refiner, now, cells) >= logit(now.threshold))
    by_style = [refiner.margins(cells.numbers, style) for style in GRID]
    styles = Options(errors, by_style)
    style, bound = styles.best(everything)
    taken, after, found = now, before, styles.held_out()
    if _surely_better(before, found):
        taken, after = untuned(GRID[style], float(THRESHOLDS[bound])), found
    start = by_style[style]
    rounds = Options(errors, held_out(cells, start, sizes))
    found = rounds.held_out()
    if _surely_better(after, found):
        number, bound = rounds.best(everything)
        settings = replace(OWN, rounds=ROUNDS[number])
        learned = learn(cells, start, np.arange(len(start)), settings, sizes)
        taken, after = Tuned(GRID[style], float(THRESHOLDS[bound]), *learned), found
    low, high = np.quantile(differences(before, after), [0.025, 0.975]).tolist()
    return taken, Expected(aer(before), aer(after), low, high)


def _surely_better(before: Doubles, after: Doubles) -> bool:
    return bool((differences(before, after) < 0).mean() >= SURE_ENOUGH)


def margins_of(refiner: Refiner, tuned: Tuned, cells: Cells) -> Doubles:
    """Return the log odds of cells by a refiner and what was learned from gold."""
    odds = refiner.margins(cells.numbers, tuned.style)
    if len(tuned.trees.features):
        odds += Learned(tuned.trees, tuned.memory).margins(cells, np.arange(len(odds)))
    return odds
