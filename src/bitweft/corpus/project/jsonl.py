"""JSON lines with spans of characters, as spaCy, Prodigy and doccano write them.

    {"text": "Rome is old", "spans": [{"start": 0, "end": 4, "label": "LOC"}]}
    {"text": "Rome is old", "entities": [[0, 4, "LOC"]]}

The key is `spans`, `entities`, `labels` or `label`; the output has the same key and the same kind of items,
and `probabilities` beside lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bitweft.corpus.project.characters import characters_of, words_of
from bitweft.corpus.project.records import Carried, Cut, Format, Item, Record, Span, Weights
from bitweft.corpus.project.rules import Rules
from bitweft.corpus.project.spans import project_spans
from bitweft.errors import InputError
from bitweft.text.bitext import Sentence
from bitweft.text.lines import LineFile

KEYS = ("spans", "entities", "labels", "label")
_OF_WORDS = ("token_start", "token_end", "text")  # of a span, true of the source only


class _Mark(NamedTuple):
    """Hold a span of characters as the file has it."""

    start: int
    end: int
    label: str
    item: Mapping[str, Any] | None  # an object's own fields; None: it was a list


class _Source(NamedTuple):
    data: Mapping[str, Any]
    key: str
    marks: tuple[_Mark, ...]


class Jsonl(Format):
    """Carry spans of characters."""

    name = "jsonl"
    endings = (".jsonl", ".ndjson")
    raw = True

    def annotated(self, file: LineFile, cut: Cut) -> Iterator[Record]:
        """Read texts with spans."""
        for number, data in _objects(file):
            key = next((key for key in KEYS if key in data), KEYS[0])
            items = data.get(key) or []
            if not isinstance(items, list):
                raise InputError(f"{key!r} must be a list of spans", file=file.name, line=number)
            text = data["text"]
            sentence = Sentence(cut(text), text)
            places = sentence.spans
            marks = tuple(_mark(item, text, file.name, number) for item in items)
            spans = tuple(Span(*words_of(mark.start, mark.end, places), mark.label) for mark in marks)
            yield Record(sentence, number, spans, _Source(data, key, marks))

    def bare(self, file: LineFile, cut: Cut, *, lines: bool) -> Iterator[Record]:
        """Read texts; an object's other keys are kept."""
        if lines:
            for number, text in enumerate(file.lines(), 1):
                yield Record(Sentence(cut(text), text), number, (), {})
            return
        for number, data in _objects(file):
            yield Record(Sentence(cut(data["text"]), data["text"]), number, (), data)

    def carry(self, source: Record, target: Record, weights: Weights, rules: Rules) -> Carried:
        """Write the target's text with spans."""
        outcomes = project_spans(source.spans, weights, source.sentence.tokens, target.sentence.tokens, rules)
        own: _Source = source.source
        items: list[Item] = []
        written: list[object] = []
        probabilities: list[float] = []
        for mark, outcome in zip(own.marks, outcomes, strict=True):
            pattern = source.sentence.text[mark.start : mark.end]
            place = None
            if outcome.target is not None:
                start, end = characters_of(outcome.target, target.sentence, pattern)
                place = target.sentence.text[start:end]
                probabilities.append(round(outcome.probability, 4))
                written.append(_item(mark, start, end, probabilities[-1]))
            items.append(Item(mark.label, pattern, place, outcome.probability, outcome.reason))
        data: dict[str, Any] = {"id": own.data["id"]} if "id" in own.data else {}
        data |= {key: value for key, value in target.source.items() if key not in KEYS}
        data |= {"text": target.sentence.text, own.key: written}
        if any(mark.item is None for mark in own.marks):
            data["probabilities"] = probabilities
        return Carried(json.dumps(data, ensure_ascii=False) + "\n", tuple(items))


def _item(mark: _Mark, start: int, end: int, probability: float) -> object:
    if mark.item is None:
        return [start, end, mark.label]
    kept = {key: value for key, value in mark.item.items() if key not in _OF_WORDS}
    return {**kept, "start": start, "end": end, "probability": probability}


def _mark(item: object, text: str, file: str, line: int) -> _Mark:
    """Read one span."""
    if isinstance(item, dict):
        own, fields = item, [item.get(name) for name in ("start", "end", "label")]
    elif isinstance(item, list) and len(item) == 3:
        own, fields = None, item
    else:
        message = f"expected a span [start, end, label] or an object with these, got {json.dumps(item)}"
        raise InputError(message, file=file, line=line)
    start, end, label = fields
    if type(start) is not int or type(end) is not int or not isinstance(label, str):
        message = f"a span needs two integers and a label, got {json.dumps(fields)}"
        raise InputError(message, file=file, line=line)
    if not 0 <= start < end <= len(text):
        message = f"the span {start} to {end} is empty or outside the text of {len(text)} characters"
        raise InputError(message, file=file, line=line)
    return _Mark(start, end, label, own)


def _objects(file: LineFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read an object with a text from each line."""
    for number, line in enumerate(file.lines(), 1):
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not JSON: {error}", file=file.name, line=number) from error
        if not isinstance(data, dict) or not isinstance(data.get("text"), str):
            raise InputError('expected an object with a "text"', file=file.name, line=number)
        yield number, data
