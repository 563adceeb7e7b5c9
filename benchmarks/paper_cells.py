"""The cells of the paper's tables 1 to 5: their configurations, and how one is trained and measured."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.evaluate import Score, evaluate
from bitweft.links.symmetrize import symmetrize_all
from bitweft.recipes.base import FitExtras
from bitweft.recipes.paper.config import PaperConfig
from bitweft.recipes.paper.decode import CHOICES, BestWords, DecodingConfig
from bitweft.recipes.paper.presets import preset
from bitweft.recipes.paper.recipe import PaperRecipe
from bitweft.settings import Settings, to_mapping, with_settings
from bitweft.storage.checkpoint import Checkpoint
from bitweft.text.bitext import Sentence, SentencePair
from cells import Cells, digest, recipe_key
from corpora import FILES, TAGS, file_sizes, gold_of, part_lines
from peers import figures
from published import AGGREGATIONS, FEATURES, LANGUAGES, ROWS
from reporting import say

TEXTS = ("en-fr", "ro-en", "en-cs")
TAGGED = ("features.source.tags=inline", "features.target.tags=inline")
CHARACTERS = ("features.source.characters=true", "features.target.characters=true")
ALPHAS = DecodingConfig().alphas
COLUMNS = ("source", "score", "mean", "deviation", "probability")  # of BestWords
WIDE = tuple(f"model.{side}_{kernel}=3" for side in ("source", "target") for kernel in ("k1", "k2"))


@dataclass(frozen=True)
class Cell:
    """One configuration on one language pair, and the paper's figures of forward, backward, symmetrized."""

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
    settings = {"words": flat, "+ POS": (*TAGGED, *flat), "+ diag": (), "+ POS + diag": TAGGED}
    return [
        Cell(name, text, settings[name], tuple((aer,) for aer in published))
        for text, names in FEATURES.items()
        for name, published in names.items()
    ]


def _languages(text: str) -> list[Cell]:
    common = {
        "en-fr": TAGGED,
        "ro-en": (*TAGGED, *WIDE),
        "en-cs": (*TAGGED, *WIDE, "features.target.words=80000"),
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
    words = part_lines(text, part, language, limit)
    if not tagged:
        for line in words:
            yield Sentence(line.split(), line)
        return
    tags = part_lines(text, part, f"{language}.pos", limit)
    for line, own in zip(words, tags, strict=True):
        tokens = [f"{word}|{tag}" for word, tag in zip(line.split(), own.split(), strict=True)]
        yield Sentence(tokens, " ".join(tokens))


def read_pairs(text: str, part: str, *, tagged: bool, limit: int | None = None) -> list[SentencePair]:
    """Read pairs of the shared text, with their tags written behind the words if so wanted."""
    one, other = text.split("-")
    sides = [_side(text, part, language, tagged, limit) for language in (one, other)]
    return [SentencePair(source, target) for source, target in zip(*sides, strict=True)]


Words: TypeAlias = tuple[list[BestWords], list[BestWords]]  # of both directions


def keep_words(best: Mapping[str, Words], path: Path) -> None:
    """Keep the best words of dev and test: any α and heuristic gives its links of these, without training."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    for part, ways in best.items():
        for way, words in zip(ROWS, ways, strict=False):
            arrays[f"{part}.{way}.lengths"] = np.array([len(own.source) for own in words])
            for name in COLUMNS:
                column = np.concatenate([getattr(own, name) for own in words])
                arrays[f"{part}.{way}.{name}"] = column.astype(np.int32 if name == "source" else np.float32)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


def kept_words(path: Path) -> dict[str, Words]:
    """Read what `keep_words` wrote."""
    with np.load(path) as arrays:
        found: dict[str, Words] = {}
        for part in ("dev", "test"):
            ways = []
            for way in ROWS[:2]:
                ends = np.cumsum(arrays[f"{part}.{way}.lengths"])[:-1]
                columns = [np.split(arrays[f"{part}.{way}.{name}"], ends) for name in COLUMNS]
                ways.append([BestWords(*own) for own in zip(*columns, strict=True)])
            found[part] = (ways[0], ways[1])
    return found


def links_of(words: Sequence[BestWords], alpha: float, way: str) -> list[Alignment]:
    found = [best.links(alpha) for best in words]
    return [alignment.inverse() for alignment in found] if way == "backward" else found


def directions_of(
    best: Mapping[str, Words], gold: dict[str, list[GoldAlignment]], alphas: Sequence[float] = ALPHAS
) -> dict[str, Any]:
    """Score each direction by itself, with the α that is best for it on dev."""
    result: dict[str, Any] = {}
    for row, tune, final in zip(ROWS, best["dev"], best["test"], strict=False):

        def error(alpha: float, words: Sequence[BestWords] = tune, way: str = row) -> float:
            return evaluate(links_of(words, alpha, way), gold["dev"]).aer

        alpha = min(alphas, key=error)
        scored = figures(evaluate(links_of(final, alpha, row), gold["test"]))
        result[row] = {"alpha": alpha, "dev_aer": round(100 * error(alpha), 3), **scored}
    return result


def choices_of(
    best: Mapping[str, Words], gold: dict[str, list[GoldAlignment]], alphas: Sequence[float] = ALPHAS
) -> dict[str, Any]:
    """Score links symmetrized in four ways, each chosen on dev.

    By gdfa, by the paper's four and by all six with one α for both directions; by the four with one for each.
    """
    sides = {
        (part, way, alpha): links_of(words, alpha, way)
        for part, ways in best.items()
        for way, words in zip(ROWS, ways, strict=False)
        for alpha in alphas
    }

    def score(choice: tuple[float, float, str], part: str) -> Score:
        forward, backward, heuristic = choice
        both = sides[part, ROWS[0], forward], sides[part, ROWS[1], backward]
        return evaluate(symmetrize_all(*both, heuristic), gold[part])

    same, apart = list(zip(alphas, alphas, strict=True)), list(product(alphas, alphas))
    ways = {
        "gdfa": (("grow-diag-final-and",), same),
        "paper": (CHOICES["paper"], same),
        "all": (CHOICES["all"], same),
        "apart": (CHOICES["paper"], apart),
    }
    found: dict[str, Any] = {}
    for name, (heuristics, tried) in ways.items():
        every = [(*own, heuristic) for own in tried for heuristic in heuristics]
        chosen = min(every, key=lambda choice: score(choice, "dev").aer)
        said = dict(zip(("alpha", "backward_alpha", "heuristic"), chosen, strict=True))
        dev = round(100 * score(chosen, "dev").aer, 3)
        found[name] = {**said, "dev_aer": dev, **figures(score(chosen, "test"))}
    return found


def settings_of(config: Settings, default: Settings, prefix: str = "") -> dict[str, Any]:
    """Give the settings that are not the default ones, as `section.key` and value.

    The default ones are part of the recipe's revision.
    """
    found: dict[str, Any] = {}
    defaults = to_mapping(default)
    for name, value in to_mapping(config).items():
        if isinstance(value, dict):
            found |= settings_of(getattr(config, name), getattr(default, name), f"{prefix}{name}.")
        elif value != defaults[name]:
            found[f"{prefix}{name}"] = value
    return found


@dataclass(frozen=True)
class PaperRun:
    """One cell with one seed on so many training pairs (None: all), and settings for all cells."""

    cell: Cell
    pairs: int | None
    seed: int
    settings: tuple[str, ...] = ()
    preset: str = "bitweft"

    @property
    def config(self) -> PaperConfig:
        """Give the whole configuration: the preset's settings, the cell's, and those for all cells."""
        return with_settings(PaperConfig(), (*preset(self.preset), *self.cell.settings, *self.settings))

    @property
    def tagged(self) -> bool:
        """Tell whether tags are read with the text."""
        return self.config.features.source.tags == "inline"

    def key(self) -> dict[str, Any]:
        """Give all that the result depends on."""
        files = (*FILES, *TAGS) if self.tagged else FILES
        text = {"text": self.cell.text, "pairs": self.pairs, "files": file_sizes(self.cell.text, files)}
        settings = settings_of(self.config, PaperConfig())
        return {"what": "paper", **text, "seed": self.seed, "settings": settings, **recipe_key("paper")}

    def get(self, cells: Cells, checkpoints: Path) -> dict[str, Any]:
        """Give the result that is kept, or train and keep it; `checkpoints` is for what is not finished."""
        key = self.key()
        words = cells.path(key).with_suffix(".npz")
        alike = {name: value for name, value in key["settings"].items() if name != "members"}
        own = checkpoints / digest({**key, "settings": alike})  # an ensemble goes on from a single model
        return cells.get(key, lambda: self._measure(own, words))

    def _measure(self, checkpoints: Path, words: Path) -> dict[str, Any]:
        """Train and measure: dev and test text added to the training text, choices made on dev."""
        text = self.cell.text
        dev, test = (read_pairs(text, part, tagged=self.tagged) for part in ("dev", "test"))
        train = read_pairs(text, "train", tagged=self.tagged, limit=self.pairs)
        gold = {part: gold_of(text, part) for part in ("dev", "test")}
        resumed = checkpoints.exists()
        recipe = PaperRecipe(self.config, seed=self.seed)
        began = cpu_seconds()
        _fit(recipe, [*train, *dev, *test], Checkpoint(checkpoints, every=0, resume=True))
        seconds = cpu_seconds() - began
        best = {"dev": recipe.best(dev), "test": recipe.best(test)}
        keep_words(best, words)
        alphas = self.config.decoding.alphas
        results = directions_of(best, gold, alphas)
        results["choices"] = choices_of(best, gold, alphas)
        recipe.tune(dev, gold["dev"])
        decoding = recipe.config.decoding
        score = evaluate(recipe.align(test), gold["test"])
        chosen = {name: getattr(decoding, name) for name in ("alpha", "backward_alpha", "heuristic")}
        dev_aer = figures(evaluate(recipe.align(dev), gold["dev"]))["aer"]
        results["symmetrized"] = {**chosen, "dev_aer": dev_aer, **figures(score)}
        return {
            "cell": self.cell.name,
            "training_pairs": len(train),
            "cpu_seconds": None if resumed else round(seconds),
            "signature": score.signature,
            "config": to_mapping(self.config),
            "results": results,
        }


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _fit(recipe: PaperRecipe, pairs: Sequence[SentencePair], checkpoint: Checkpoint) -> None:
    """Learn, telling now and then how far it is."""
    last = time.monotonic()
    for progress in recipe.fit(pairs, FitExtras(checkpoint=checkpoint)):
        if time.monotonic() - last > 30:
            last = time.monotonic()
            say(f"{progress.phase}: {progress.step:,}/{progress.total:,}, loss {progress.loss:.3f}")
