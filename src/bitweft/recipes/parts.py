"""The contract of learning in parts: what is asked of a recipe whose text outgrows one machine.

    survey  = surveyor()(shard), summed             each shard once, by anyone
    sample  = chooser(survey)(shard, first)         each shard once more
    descend(samples)                                one process
    counts  = counter()(shard); merge(all counts)   each shard, as often as there are passes left

What comes out is what `fit` learns from the shards one after the other, bit for bit, however the text is cut
into shards, in whatever order they are done, and however often one is done again. The functions hold all that
they need, and can be sent to other processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bitweft.progress import Progress
from bitweft.text.bitext import SentencePair

Part: TypeAlias = Mapping[str, npt.NDArray[np.integer]]  # what a shard adds: whole numbers, by name


@dataclass
class Survey:
    """Hold what is to be known of a text before any of it is learned from."""

    pairs: int = 0
    learnable: int = 0  # of them: with words on both sides, and not too many
    shortest: int | None = None  # of pairs with words on both sides: words of the longer sentence, at least
    words: tuple[Counter[str], Counter[str]] = field(default_factory=lambda: (Counter(), Counter()))

    def add(self, other: Survey) -> None:
        """Add another part of the text."""
        self.pairs += other.pairs
        self.learnable += other.learnable
        self.shortest = min((own for own in (self.shortest, other.shortest) if own), default=None)
        for own, more in zip(self.words, other.words, strict=True):
            own.update(more)


class PartTraining(ABC):
    """Learn from a text in parts."""

    @abstractmethod
    def surveyor(self) -> Callable[[Iterable[SentencePair]], Survey]:
        """Return what surveys a shard."""

    @abstractmethod
    def chooser(self, survey: Survey) -> Callable[[Iterable[SentencePair], int], Part]:
        """Return what chooses of a shard, and the number of its first pair, the pairs to descend on.

        Raises:
            NothingToLearnError: the text has no pair with words on both sides, and not too many.
        """

    @abstractmethod
    def descend(self, survey: Survey, samples: Iterable[Part]) -> Iterator[Progress]:
        """Learn from the samples of all shards, in the order of the shards, what comes before counting."""

    @property
    @abstractmethod
    def passes_left(self) -> int:
        """Tell how often the text is still to be counted."""

    @abstractmethod
    def counter(self) -> Callable[[Iterable[SentencePair]], Part]:
        """Return what counts a shard, by what was learned so far.

        It raises InputError at a word that was not surveyed.
        """

    @abstractmethod
    def merge(self, parts: Iterable[Part]) -> None:
        """Take over what one pass over all shards has counted."""
