"""A third recipe, to prove the contract: links by the Dice coefficient of words that occur in the same pairs.

It knows nothing of bitweft but the contract, and bitweft nothing of it but its name, once `register` or an
entry point has made that known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from bitweft.errors import ModelError, NothingToLearnError, UsageError
from bitweft.links.alignment import Alignment
from bitweft.links.symmetrize import symmetrize_all
from bitweft.progress import Progress
from bitweft.recipes.base import (
    NO_EXTRAS,
    NOT_LEARNED,
    Decoding,
    FitExtras,
    Inference,
    Recipe,
    Record,
    Running,
)
from bitweft.settings import Settings, from_mapping, setting, settings_of
from bitweft.storage.model_directory import About, Arrays
from bitweft.text.bitext import SentencePair
from bitweft.text.vocabulary import RESERVED, UNKNOWN, Vocabulary

COUNTS = "counts.safetensors"
SIDES = ("source", "target")


@dataclass(frozen=True)
class DiceConfig(Settings):
    """Hold every setting of the recipe."""

    words: int = setting(100_000, at_least=1, at_most=10_000_000)  # of a language, the most common ones
    least: float = setting(0.0, at_least=0, below=1)  # coefficient that a link must exceed


class DiceRecipe(Recipe):
    """Link the words that are each other's best by 2·c(s, t) / (c(s) + c(t)), with c counted in pairs."""

    name = "dice"
    revision = 1
    settings = DiceConfig
    config: DiceConfig

    def __init__(
        self, config: Settings | None = None, *, seed: int = 1, running: Running | None = None
    ) -> None:
        self.config = settings_of(DiceConfig, config)
        self.record: list[Record] = []
        self.words: list[Vocabulary] = []
        self.together: dict[tuple[int, int], int] = {}  # by numbers of words: pairs that have both

    @property
    def vocabulary_sizes(self) -> tuple[int, int]:
        """Tell how many words of the source and of the target language it knows."""
        source, target = self._learned()
        return len(source.entries), len(target.entries)

    def _learned(self) -> list[Vocabulary]:
        if not self.words:
            raise UsageError(NOT_LEARNED)
        return self.words

    def fit(self, text: Iterable[SentencePair], extras: FitExtras = NO_EXTRAS) -> Iterator[Progress]:
        """Count words, then words together; done when the iterator ends."""
        pairs = [pair for pair in text if all(map(len, pair))]
        if not pairs:
            raise NothingToLearnError("no pair has words on both sides: there is nothing to learn from")
        sides = zip(*pairs, strict=True)
        counts = [Counter(word for own in side for word in set(own.tokens)) for side in sides]
        words = [Vocabulary.of(own, self.config.words) for own in counts]
        together: Counter[tuple[int, int]] = Counter()
        for number, pair in enumerate(pairs, 1):
            source, target = (set(own.numbers(side.tokens)) for own, side in zip(words, pair, strict=True))
            together.update((s, t) for s in source - {UNKNOWN} for t in target - {UNKNOWN})
            yield Progress(number, len(pairs), "counting words")
        self.words, self.together = words, dict(sorted(together.items()))
        self.record = [{"phase": "counting words", "cells": len(together)}]

    def infer(self, pairs: Sequence[SentencePair], decoding: Decoding) -> list[Inference]:
        """Align each pair by itself: the best words of both directions, symmetrized, or of one."""
        self._learned()
        chosen = [self._best(pair) for pair in pairs]
        forward, backward = ([best[way] for best in chosen] for way in (0, 1))
        if decoding.direction is not None:
            return [Inference(links) for links in (forward if decoding.direction == "forward" else backward)]
        heuristic = decoding.heuristic or "intersection"
        return [Inference(links) for links in symmetrize_all(forward, backward, heuristic)]

    def _best(self, pair: SentencePair) -> tuple[Alignment, Alignment]:
        """Link each target word to its best source word, and each source word to its best target word."""
        if not all(map(len, pair)):
            return Alignment(), Alignment()
        table = np.array([[self._dice(s, t) for t in pair.target.tokens] for s in pair.source.tokens])
        forward = [(int(s), t) for t, s in enumerate(table.argmax(0))]
        backward = [(s, int(t)) for s, t in enumerate(table.argmax(1))]
        ways = [[link for link in way if table[link] > self.config.least] for way in (forward, backward)]
        ahead, back = (Alignment.of(way, [float(table[link]) for link in way]) for way in ways)
        return ahead, back

    def _dice(self, source: str, target: str) -> float:
        words = self._learned()
        both = self.together.get((words[0].number(source), words[1].number(target)), 0)
        return 2 * both / (words[0].counts[source] + words[1].counts[target]) if both else 0.0

    def save(self, directory: Path) -> None:
        """Write the words as text, the cells that are not empty as arrays."""
        for name, words in zip(SIDES, self._learned(), strict=True):
            words.save(directory / f"{name}.words.txt")
        cells = np.array(list(self.together), np.int32).reshape(-1, 2)
        save_file({"cells": cells, "counts": np.array(list(self.together.values()))}, directory / COUNTS)

    @classmethod
    def load(cls, directory: Path, about: About, running: Running) -> DiceRecipe:
        """Read what `save` wrote: counts that words of these counts can have."""
        try:
            recipe = cls(from_mapping(DiceConfig, about.config), seed=about.seed, running=running)
        except UsageError as error:
            raise ModelError(f"{directory}: the model cannot be used: {error}") from error
        recipe.record = about.record
        recipe.words = [Vocabulary.load(directory / f"{name}.words.txt") for name in SIDES]
        arrays = Arrays(directory / COUNTS)
        values = arrays.take("counts", np.int64, (None,), low=1)
        cells = arrays.take("cells", np.int32, (len(values), 2), low=RESERVED)
        for column, words in zip(cells.T, recipe.words, strict=True):
            counts = np.array([0] * RESERVED + list(words.counts.values()))
            if (column >= len(counts)).any() or (counts[column] < values).any():
                raise arrays.fault("cells", "have words that do not occur as often")
        recipe.together = dict(zip(map(tuple, cells.tolist()), values.tolist(), strict=True))
        return recipe
