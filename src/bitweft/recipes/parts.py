"""The contract of learning in parts: what is asked of a recipe whose text outgrows one machine.

    shard   = numberer()(pairs)                     each shard's text once, by anyone
    survey  = surveyor()(shard), summed
    sample  = chooser(survey)(shard, first)
    descend(samples)                                one process
    counts  = counter()(shard, trace)               as often as there are passes left
    merge(all counts)

What comes out is what `fit` learns from the shards one after the other, bit for bit, however the text is cut
into shards, in whatever order they are done, and however often one is done again. The functions hold all that
they need, and can be sent to other processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bitweft.progress import Progress
from bitweft.text.bitext import SentencePair

Part: TypeAlias = Mapping[str, npt.NDArray[np.integer]]  # what a shard adds: whole numbers, by name
Trace: TypeAlias = Mapping[str, npt.NDArray[Any]]  # what each pair of a shard has added in a pass
_SIDES = ("source", "target")


class Side(NamedTuple):
    """Hold one side of a shard in numbers."""

    words: list[str]  # in the order in which they come first; without line breaks
    tokens: npt.NDArray[np.int32]  # (tokens): numbers of words
    lengths: npt.NDArray[np.int64]  # (pairs): tokens


class Numbered(NamedTuple):
    """Hold a shard in numbers of its own words, which no other shard needs to know."""

    source: Side
    target: Side

    @property
    def pairs(self) -> int:
        """Return how many pairs there are."""
        return len(self.source.lengths)

    def arrays(self) -> Part:
        """Return all of it as arrays."""
        found: dict[str, npt.NDArray[np.integer]] = {}
        for name, side in zip(_SIDES, self, strict=True):
            found[f"{name}.words"] = np.frombuffer(
                "".join(f"{word}\n" for word in side.words).encode(), np.uint8
            )
            found[f"{name}.tokens"], found[f"{name}.lengths"] = side.tokens, side.lengths
        return found

    @classmethod
    def of(cls, arrays: Part) -> Numbered:
        """Take what `arrays` gave.

        Raises:
            ValueError: it is something else.
        """
        sides = []
        for name in _SIDES:
            words = arrays[f"{name}.words"].tobytes().decode().split("\n")[:-1]
            tokens, lengths = arrays[f"{name}.tokens"], arrays[f"{name}.lengths"]
            if tokens.min(initial=0) < 0 or tokens.max(initial=-1) >= len(words):
                raise ValueError(f"{name}.tokens are of no words")
            if lengths.min(initial=0) < 0 or lengths.sum() != len(tokens):
                raise ValueError(f"{name}.lengths are not of these tokens")
            sides.append(Side(words, tokens.astype(np.int32), lengths.astype(np.int64)))
        if len(sides[0].lengths) != len(sides[1].lengths):
            raise ValueError("the sides have other numbers of sentences")
        return cls(*sides)


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
    def numberer(self) -> Callable[[Iterable[SentencePair]], Numbered]:
        """Return what puts the text of a shard into numbers; its `repr` tells all that these depend on."""

    @abstractmethod
    def surveyor(self) -> Callable[[Numbered], Survey]:
        """Return what surveys a shard."""

    @abstractmethod
    def chooser(self, survey: Survey) -> Callable[[Numbered, int], Part]:
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
    def counter(self) -> Callable[[Numbered, Trace | None], tuple[Part, Trace]]:
        """Return what counts a shard, by what was learned so far.

        It takes what the pairs added in the last pass, or finds it again where that is None, and returns what
        they add in this one, all together and each; nothing of each in the last pass. It raises InputError
        at a word that was not surveyed, and ModelError if the trace cannot be of this shard.
        """

    @abstractmethod
    def merge(self, parts: Iterable[Part]) -> None:
        """Take over what one pass over all shards has counted."""
