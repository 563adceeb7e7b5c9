"""What every format of annotation is read into, and what projecting gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bitweft.corpus.project.rules import Rules
from bitweft.text.bitext import Sentence
from bitweft.text.lines import LineFile

Weights: TypeAlias = npt.NDArray[np.float64]
Cut: TypeAlias = Callable[[str], Sequence[str]]


class Span(NamedTuple):
    """Mark the words `start` to `end`, without `end`, by a label."""

    start: int
    end: int
    label: str

    def overlaps(self, other: Span) -> bool:
        """Tell whether the two have a word in common."""
        return self.start < other.end and other.start < self.end


class Outcome(NamedTuple):
    """Say what became of a span of the source."""

    source: Span
    target: Span | None  # None: it could not be projected
    probability: float  # of the target span; of the best there was, where none was good enough
    reason: str | None = None  # why it could not be projected


@dataclass(frozen=True)
class Record:
    """Hold one sentence of an annotated or a bare file."""

    sentence: Sentence
    line: int  # of the file, where it begins
    spans: tuple[Span, ...] = ()
    source: Any = None  # what the format itself needs to write it again


@dataclass(frozen=True)
class Item:
    """Say of one annotation what became of it: a line of the report."""

    label: str
    source: str
    target: str | None  # None: it could not be projected
    probability: float
    reason: str | None = None


@dataclass(frozen=True)
class Carried:
    """Hold the text to write for one sentence, and what became of its annotation."""

    text: str
    items: tuple[Item, ...] = field(default=())


class Format(ABC):
    """Read annotated and bare sentences, and write bare ones with the annotation of others."""

    name: ClassVar[str]
    endings: ClassVar[tuple[str, ...]]  # of file names
    raw: ClassVar[bool] = False  # whether text must be cut into words; it comes in words otherwise
    two_passes: ClassVar[bool] = False  # whether `observe` wants to see all sentences first

    @abstractmethod
    def annotated(self, file: LineFile, cut: Cut) -> Iterator[Record]:
        """Read the annotated side.

        Raises:
            InputError: a line is not of the format; says which.
        """

    @abstractmethod
    def bare(self, file: LineFile, cut: Cut, *, lines: bool) -> Iterator[Record]:
        """Read the other side: a file of this format, or plain text with a sentence a line (`lines`)."""

    @abstractmethod
    def carry(self, source: Record, target: Record, weights: Weights, rules: Rules) -> Carried:
        """Write the target sentence with the annotation of the source, by the weights of all links."""

    def observe(self, source: Record, target: Record, weights: Weights) -> None:  # noqa: B027
        """See a sentence before any is carried."""

    def finish(self) -> Iterator[str | Item]:
        """Write what comes after the last sentence, and say what became of it."""
        return iter(())
