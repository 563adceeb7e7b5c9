"""CoNLL-2002 and 2003: a word and its columns a line, a blank line between sentences, names in the last one.

Tags are read whatever their scheme (IOB1, IOB2, BILOU, or with E and S for L and U), and written in the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bitweft.corpus.project.records import Carried, Cut, Format, Item, Outcome, Record, Span, Weights
from bitweft.corpus.project.rules import Rules
from bitweft.corpus.project.spans import project_spans
from bitweft.errors import InputError, UsageError
from bitweft.text.bitext import Sentence
from bitweft.text.lines import LineFile

OUTSIDE = "O"
DOCUMENT = "-DOCSTART-"
SCHEMES = ("iob1", "iob2", "bilou", "bioes")
_TAG = re.compile(r"([BILUES])-(.+)")
_COLUMNS = re.compile(r"[ \t]+")


class _Rows(NamedTuple):
    """Hold the lines of a sentence."""

    before: tuple[str, ...]  # lines of documents' starts before it
    rows: tuple[tuple[str, ...], ...]
    separator: str


def spans_of(tags: Sequence[str]) -> tuple[Span, ...]:
    """Read tags of any scheme; a tag that cannot go on with the span before it begins another."""
    spans: list[Span] = []
    open_from: int | None = None
    label = ""
    for place, tag in enumerate([*tags, OUTSIDE]):
        match = _TAG.fullmatch(tag)
        prefix, own = match.groups() if match else (OUTSIDE, "")
        goes_on = open_from is not None and prefix in "ILE" and own == label
        if open_from is not None and not goes_on:
            spans.append(Span(open_from, place, label))
            open_from = None
        if prefix != OUTSIDE and not goes_on:
            open_from, label = place, own
        if open_from is not None and prefix in "LUES":
            spans.append(Span(open_from, place + 1, label))
            open_from = None
    return tuple(spans)


def tags_of(spans: Iterable[Span], length: int, scheme: str) -> list[str]:
    """Write spans, which must not overlap, as one tag a word."""
    tags = [OUTSIDE] * length
    last, single = ("L", "U") if scheme == "bilou" else ("E", "S")
    ended: dict[int, str] = {}  # where a span ended, and its label
    for start, end, label in sorted(spans):
        inner = ["I"] * (end - start)
        if scheme == "iob2" or (scheme == "iob1" and ended.get(start) == label):
            inner[0] = "B"
        elif scheme in ("bilou", "bioes"):
            inner[0], inner[-1] = "B", last
            inner = [single] if end - start == 1 else inner
        tags[start:end] = [f"{prefix}-{label}" for prefix in inner]
        ended[end] = label
    return tags


def scheme_of(sentences: Iterable[Sequence[str]]) -> str:
    """Tell the scheme from tags: the marks of ends and single words, or how spans begin."""
    begins_inside = False
    for tags in sentences:
        prefixes = {tag[0] for tag in tags if tag != OUTSIDE}
        if prefixes & {"L", "U"}:
            return "bilou"
        if prefixes & {"E", "S"}:
            return "bioes"
        begins_inside = begins_inside or any(tags[span.start][0] == "I" for span in spans_of(tags))
    return "iob1" if begins_inside else "iob2"


class Conll(Format):
    """Carry spans of words."""

    name = "conll"
    endings = (".conll", ".iob", ".bio")

    def __init__(self, scheme: str | None = None) -> None:
        if scheme is not None and scheme not in SCHEMES:
            raise UsageError(f"scheme must be one of {', '.join(SCHEMES)}, got {scheme!r}")
        self._scheme = scheme

    def annotated(self, file: LineFile, cut: Cut) -> Iterator[Record]:
        """Read words with tags."""
        if self._scheme is None:
            self._scheme = scheme_of(
                [row[-1] for row in rows.rows] for _, rows in _sentences(file, tagged=True)
            )
        for line, rows in _sentences(file, tagged=True):
            yield _record(line, rows, spans_of([row[-1] for row in rows.rows]))

    def bare(self, file: LineFile, cut: Cut, *, lines: bool) -> Iterator[Record]:
        """Read words; the last of several columns is the one that will be replaced."""
        if not lines:
            yield from (_record(line, rows, ()) for line, rows in _sentences(file, tagged=False))
            return
        for number, line in enumerate(file.lines(), 1):
            yield _record(number, _Rows((), tuple((word,) for word in cut(line)), " "), ())

    def carry(self, source: Record, target: Record, weights: Weights, rules: Rules) -> Carried:
        """Write the words of the target with tags."""
        words = source.sentence.tokens, target.sentence.tokens
        outcomes = project_spans(source.spans, weights, *words, rules)
        own: _Rows = target.source
        placed = [outcome.target for outcome in outcomes if outcome.target is not None]
        tags = tags_of(placed, len(own.rows), self._scheme or "iob2")
        rows = [(*(row[:-1] or row), tag) for row, tag in zip(own.rows, tags, strict=True)]
        before = own.before or source.source.before
        text = "".join(f"{line}\n" for line in (*before, *map(own.separator.join, rows))) + "\n"
        return Carried(text, tuple(_item(outcome, *words) for outcome in outcomes))


def _item(outcome: Outcome, source: Sequence[str], target: Sequence[str]) -> Item:
    place = None if outcome.target is None else _words(target, outcome.target)
    own = outcome.source
    return Item(own.label, _words(source, own), place, outcome.probability, outcome.reason)


def _words(tokens: Sequence[str], span: Span) -> str:
    return " ".join(tokens[span.start : span.end])


def _record(line: int, rows: _Rows, spans: tuple[Span, ...]) -> Record:
    tokens = [row[0] for row in rows.rows]
    return Record(Sentence(tokens, " ".join(tokens)), line, spans, rows)


def _sentences(file: LineFile, *, tagged: bool) -> Iterator[tuple[int, _Rows]]:
    """Part the lines at blank ones; the line number of each sentence's first line comes with it."""
    before: list[str] = []
    rows: list[tuple[str, ...]] = []
    first = 0
    separator = " "
    for number, line in enumerate(file.lines(), 1):
        if not line.strip():
            if rows:
                yield first, _Rows(tuple(before), tuple(rows), separator)
                before, rows = [], []
            continue
        columns = tuple(_COLUMNS.split(line.strip(" \t")))
        if columns[0] == DOCUMENT and not rows:
            before += [line, ""]
            continue
        if tagged:
            _check_tag(columns, file.name, number)
        first = first if rows else number
        separator = "\t" if "\t" in line else " "
        rows.append(columns)
    if rows:
        yield first, _Rows(tuple(before), tuple(rows), separator)


def _check_tag(columns: tuple[str, ...], file: str, line: int) -> None:
    if len(columns) < 2:
        raise InputError(f"expected a word and a tag, got only {columns[0]!r}", file=file, line=line)
    if columns[-1] != OUTSIDE and not _TAG.fullmatch(columns[-1]):
        message = f"{columns[-1]!r} is no tag: expected O, or one of B- I- L- U- E- S- and a label"
        raise InputError(message, file=file, line=line)
