"""Annotation of a whole file, carried as it is read: one sentence in, one out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, TextIO, TypeAlias

import numpy as np

from bitweft.corpus.project.records import Cut, Format, Item, Record, Weights
from bitweft.corpus.project.rules import Rules
from bitweft.errors import InputError
from bitweft.links.alignment import Alignment
from bitweft.recipes.base import LONGEST, Offer
from bitweft.text.bitext import SentencePair
from bitweft.text.lines import LineFile

if TYPE_CHECKING:
    from bitweft.aligner import Aligner

Links: TypeAlias = Callable[[], Iterator[Weights]]


@dataclass
class Summary:
    """Count what became of the annotation of a text."""

    sentences: int = 0
    projected: int = 0
    lost: int = 0

    def count(self, items: Iterable[Item]) -> None:
        """Add some annotations."""
        for item in items:
            if item.target is None:
                self.lost += 1
            else:
                self.projected += 1

    def __str__(self) -> str:
        return f"{self.sentences:,} sentences, {self.projected:,} projected, {self.lost:,} not"


@dataclass(frozen=True)
class Files:
    """Walk an annotated and a bare file together, as often as wanted."""

    format: Format
    source: LineFile
    target: LineFile
    cut: Cut
    lines: bool = False  # whether the target is plain text, a sentence a line

    def __iter__(self) -> Iterator[tuple[Record, Record]]:
        source = self.format.annotated(self.source, self.cut)
        target = self.format.bare(self.target, self.cut, lines=self.lines)
        return _pairs(source, target, (self.source.name, self.target.name))


@dataclass(frozen=True)
class Sentences:
    """Walk the sentences of two files as pairs: the annotated one first, or second."""

    files: Files
    inverse: bool = False

    def __iter__(self) -> Iterator[SentencePair]:
        for source, target in self.files:
            pair = SentencePair(source.sentence, target.sentence)
            yield pair.reversed() if self.inverse else pair


def _pairs(
    source: Iterator[Record], target: Iterator[Record], names: tuple[str, str]
) -> Iterator[tuple[Record, Record]]:
    """Walk both sides together.

    Raises:
        InputError: one has more sentences than the other, or a pair is too long for a matrix of its links.
    """
    numbered = enumerate(zip_longest(source, target))
    for number, (s, t) in numbered:
        if s is None or t is None:
            total = number + 1 + sum(1 for _ in numbered)
            counts = (number, total) if s is None else (total, number)
            ended = names[0] if s is None else names[1]
            message = "{0} has {2:,} sentences, {1} has {3:,}; each needs its translation".format(
                *names, *counts
            )
            raise InputError(message, file=ended)
        if len(s.sentence) * len(t.sentence) > LONGEST**2:
            message = f"sentences of {len(s.sentence):,} and {len(t.sentence):,} words: split them"
            raise InputError(message, file=names[0], line=s.line)
        yield s, t


def matrix_of(alignment: Alignment, pair: SentencePair) -> Weights:
    """Take links as probabilities of links: their own, or 1."""
    weights = np.zeros((len(pair.source), len(pair.target)))
    for number, (s, t) in enumerate(alignment.links):
        weights[s, t] = 1.0 if alignment.probabilities is None else alignment.probabilities[number]
    return weights


def weights_by(aligner: Aligner, pair: SentencePair) -> Weights:
    """Ask a model how much of each word is in every link; a recipe that cannot tell is asked for links."""
    if not all(map(len, pair)) or max(map(len, pair)) > LONGEST:
        return np.zeros((len(pair.source), len(pair.target)))
    if Offer.POSTERIORS not in aligner.recipe.offers:
        return matrix_of(aligner.infer([pair])[0].alignment, pair)
    return np.asarray(aligner.recipe.soft_links(pair), np.float64)


def write_projection(
    files: Files, links: Links, rules: Rules, stream: TextIO, report: TextIO | None = None
) -> Iterator[Summary]:
    """Write the annotated target as it comes; give the summary so far after each sentence.

    `links` gives the weights of every pair, from the first, each time it is called. `report` gets a JSON line
    for each annotation: what became of it, and why if it could not be projected.
    """
    if files.format.two_passes:
        for (source, target), weights in zip(files, links(), strict=True):
            files.format.observe(source, target, weights)
    summary = Summary()
    for (source, target), weights in zip(files, links(), strict=True):
        result = files.format.carry(source, target, weights, rules)
        summary.sentences += 1
        summary.count(result.items)
        stream.write(result.text)
        _report(report, result.items, summary.sentences)
        yield summary
    for rest in files.format.finish():
        if isinstance(rest, str):
            stream.write(rest)
        else:
            summary.count([rest])
            _report(report, [rest], None)
    yield summary


def _report(report: TextIO | None, items: Iterable[Item], sentence: int | None) -> None:
    for item in items if report is not None else ():
        line = {
            "sentence": sentence,
            "label": item.label,
            "source": item.source,
            "target": item.target,
            "probability": round(item.probability, 4),
            "reason": item.reason,
        }
        assert report is not None
        report.write(json.dumps(line, ensure_ascii=False) + "\n")
