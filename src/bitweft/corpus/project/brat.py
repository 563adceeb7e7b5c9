"""brat's standoff: `doc.ann` beside `doc.txt`, whose lines are the sentences.

Text-bound annotations (`T`) are projected, each piece of one with several by itself. Everything that refers
to them (relations, events, attributes, notes) is carried over where all that it refers to was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bitweft.corpus.project.characters import characters_of, words_of
from bitweft.corpus.project.records import Carried, Cut, Format, Item, Outcome, Record, Span, Weights
from bitweft.corpus.project.rules import Rules
from bitweft.corpus.project.spans import project_spans
from bitweft.errors import InputError, UsageError
from bitweft.text.bitext import Sentence
from bitweft.text.lines import LineFile

_BOUND = re.compile(r"(T\S+)\t(\S+) (\d+ \d+(?:;\d+ \d+)*)\t(.*)")
_OTHER = re.compile(r"([REAMN#*]\S*)\t(.+)")
_REFERENCE = re.compile(r"(?:(?<=[ :])|^)([TREAM]\d+)(?=[ \t]|$)")


class _Bound(NamedTuple):
    """Hold a text-bound annotation of one sentence: its pieces as characters of that sentence."""

    name: str
    label: str
    pieces: tuple[tuple[int, int], ...]


class Brat(Format):
    """Carry standoff annotation of a document."""

    name = "brat"
    endings = (".ann",)
    raw = True

    def __init__(self) -> None:
        self._others: list[tuple[int, str, str]] = []  # line, name, what follows
        self._kept: set[str] = set()

    def annotated(self, file: LineFile, cut: Cut) -> Iterator[Record]:
        """Read `doc.txt` line by line, with what `doc.ann` marks in each."""
        if file.name == "-":
            raise UsageError("brat's annotation needs a file's name: its text is beside it")
        lines = list(_lines(LineFile(Path(file.name).with_suffix(".txt"))))
        bound = self._read(file, lines)
        for number, (_, text) in enumerate(lines):
            sentence = Sentence(cut(text), text)
            places = sentence.spans
            marks = bound.get(number, [])
            spans = [Span(*words_of(*piece, places), mark.label) for mark in marks for piece in mark.pieces]
            yield Record(sentence, number + 1, tuple(spans), marks)

    def _read(self, file: LineFile, lines: list[tuple[int, str]]) -> dict[int, list[_Bound]]:
        """Sort the annotations: those of text by sentence, the others by themselves."""
        bound: dict[int, list[_Bound]] = {}
        names: set[str] = set()
        self._others = []
        for number, line in enumerate(file.lines(), 1):
            if not line.strip():
                continue
            match = _BOUND.fullmatch(line)
            other = _OTHER.fullmatch(line)
            if match is None and other is None:
                raise InputError("not a line of brat's standoff format", file=file.name, line=number)
            name = (match or other)[1]  # type: ignore[index]
            if name in names and name not in ("*", "#"):
                raise InputError(f"{name} is there twice", file=file.name, line=number)
            names.add(name)
            if match is not None:
                place, mark = _bound(match, lines, file.name, number)
                bound.setdefault(place, []).append(mark)
            elif other is not None:
                self._others.append((number, name, other[2]))
        for number, _, rest in self._others:
            unknown = next((found for found in _REFERENCE.findall(rest) if found not in names), None)
            if unknown is not None:
                raise InputError(f"{unknown} is not in the file", file=file.name, line=number)
        return bound

    def bare(self, file: LineFile, cut: Cut, *, lines: bool) -> Iterator[Record]:
        """Read the lines of the other document."""
        for number, (offset, text) in enumerate(_lines(file), 1):
            yield Record(Sentence(cut(text), text), number, (), offset)

    def carry(self, source: Record, target: Record, weights: Weights, rules: Rules) -> Carried:
        """Write the text-bound annotations of a sentence."""
        found = iter(
            project_spans(source.spans, weights, source.sentence.tokens, target.sentence.tokens, rules)
        )
        written: list[str] = []
        items: list[Item] = []
        for mark in source.source:
            outcomes = [(piece, next(found)) for piece in mark.pieces]
            items += [_item(mark, source, target, *outcome) for outcome in outcomes]
            places = sorted(_place(source, target, *each) for each in outcomes if each[1].target is not None)
            if places:
                self._kept.add(mark.name)
                offset: int = target.source
                pieces = ";".join(f"{offset + start} {offset + end}" for start, end in places)
                text = " ".join(target.sentence.text[start:end] for start, end in places)
                written.append(f"{mark.name}\t{mark.label} {pieces}\t{text}\n")
        return Carried("".join(written), tuple(items))

    def finish(self) -> Iterator[str | Item]:
        """Write what refers to annotations that were projected; say what refers to one that was not."""
        waiting = self._others
        while True:
            able = [each for each in waiting if set(_REFERENCE.findall(each[2])) <= self._kept]
            if not able:
                break
            self._kept.update(name for _, name, _ in able)
            waiting = [each for each in waiting if each not in able]
        left = set(waiting)
        for each in self._others:
            _, name, rest = each
            if each in left:
                yield Item(rest.split(maxsplit=1)[0], name, None, 0.0, "refers to what was not projected")
            else:
                yield f"{name}\t{rest}\n"


def _place(source: Record, target: Record, piece: tuple[int, int], outcome: Outcome) -> tuple[int, int]:
    assert outcome.target is not None
    return characters_of(outcome.target, target.sentence, source.sentence.text[slice(*piece)])


def _item(mark: _Bound, source: Record, target: Record, piece: tuple[int, int], outcome: Outcome) -> Item:
    text = source.sentence.text[slice(*piece)]
    if outcome.target is None:
        return Item(mark.label, text, None, outcome.probability, outcome.reason)
    start, end = _place(source, target, piece, outcome)
    return Item(mark.label, text, target.sentence.text[start:end], outcome.probability)


def _bound(match: re.Match[str], lines: list[tuple[int, str]], file: str, number: int) -> tuple[int, _Bound]:
    """Find the sentence of a text-bound annotation, and its pieces there."""
    name, label, places, said = match.groups()
    pieces = [tuple(map(int, place.split())) for place in places.split(";")]
    first = pieces[0][0]
    sentence = max((place for place, (offset, _) in enumerate(lines) if offset <= first), default=None)
    if sentence is None:
        raise InputError(f"{name} is outside the text", file=file, line=number)
    offset, text = lines[sentence]
    own = tuple((start - offset, end - offset) for start, end in pieces)
    if any(not 0 <= start < end <= len(text) for start, end in own):
        message = f"{name} is outside its line of the text; an annotation must not go beyond one sentence"
        raise InputError(message, file=file, line=number)
    there = " ".join(text[start:end] for start, end in own)
    if there != said:
        raise InputError(f"{name} says {said!r}, but the text has {there!r} there", file=file, line=number)
    return sentence, _Bound(name, label, own)


def _lines(file: LineFile) -> Iterator[tuple[int, str]]:
    """Give each line with the characters before it; a carriage return at its end counts as one of them."""
    offset = 0
    for raw in file.raw_lines():
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError:
            list(file.lines())  # says where the fault is
            raise
        yield offset, line.removesuffix("\r")
        offset += len(line) + 1
