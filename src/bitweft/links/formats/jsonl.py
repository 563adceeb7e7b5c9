"""JSON lines: an object a pair, with texts, spans, links and probabilities."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from bitweft.errors import InputError
from bitweft.links.alignment import Alignment, Entry, Link
from bitweft.text.bitext import Sentence, SentencePair, tokenize
from bitweft.text.joint import loads
from bitweft.text.lines import LineFile


def read_jsonl(file: LineFile) -> Iterator[Entry]:
    """Read one entry a line."""
    for number, line in enumerate(file.lines(), 1):
        try:
            yield _entry(loads(line))
        except (ValueError, OverflowError) as error:
            reason = f"not JSON: {error}" if isinstance(error, json.JSONDecodeError) else str(error)
            raise InputError(reason, file=file.name, line=number) from error


def _entry(value: Any) -> Entry:
    if not isinstance(value, dict) or "links" not in value:
        raise ValueError('not an object with "links"')
    links, probabilities = _links(value["links"], "links")
    possible, possible_probabilities = _links(value.get("possible", []), "possible")
    everything = probabilities + possible_probabilities
    known = [p for p in everything if p is not None]
    if known and len(known) != len(everything):
        raise ValueError("some links have a probability and some have none")
    score = value.get("score")
    if score is not None and not _is_number(score):
        raise ValueError(f'"score" is {score!r}, not a finite number')
    name = value.get("id")
    return Entry(
        Alignment.of(links + possible, known or None),
        frozenset(possible) - set(links),
        None if score is None else float(score),
        None if name is None else str(name),
        _pair(value),
    )


def _links(value: Any, key: str) -> tuple[list[Link], list[float | None]]:
    links: list[Link] = []
    probabilities: list[float | None] = []
    for item in value if isinstance(value, list) else [value]:
        good = isinstance(item, list) and len(item) in (2, 3) and all(map(_is_index, item[:2]))
        if not good or not all(map(_is_number, item[2:])):
            raise ValueError(
                f'"{key}" must hold [source, target] or [source, target, probability], not {item!r}'
            )
        links.append((item[0], item[1]))
        probabilities.append(float(item[2]) if len(item) == 3 else None)
    return links, probabilities


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _pair(value: dict[str, Any]) -> SentencePair | None:
    if "src" not in value or "tgt" not in value:
        return None
    return SentencePair(_sentence(value, "src"), _sentence(value, "tgt"))


def _sentence(value: dict[str, Any], side: str) -> Sentence:
    text, spans = value[side], value.get(f"{side}_spans")
    if not isinstance(text, str):
        raise ValueError(f'"{side}" must be a text')
    text = text.replace("\n", " ")  # it would break every format of lines; offsets stay as they were
    if spans is None:
        return tokenize(text)
    end = 0
    for span in spans if isinstance(spans, list) else [spans]:
        if not (isinstance(span, list) and len(span) == 2 and all(map(_is_index, span))):
            raise ValueError(f'"{side}_spans" must hold [start, end], not {span!r}')
        if not end <= span[0] < span[1] <= len(text):
            raise ValueError(f'"{side}_spans": {span} is not in order inside the text')
        end = span[1]
    return Sentence([text[start:end] for start, end in spans], text)


def format_jsonl(entry: Entry, number: int) -> str:
    """Write one object; the keys that are not known are left out."""
    value: dict[str, Any] = {"id": entry.name or str(number)}
    if entry.pair is not None:
        value |= {"src": entry.pair.source.text, "tgt": entry.pair.target.text}
    probabilities = entry.alignment.probabilities or [None] * len(entry.alignment)
    items = [
        (link, [*link] if p is None else [*link, p])
        for link, p in zip(entry.alignment.links, probabilities, strict=True)
    ]
    value["links"] = [item for link, item in items if link not in entry.unsure]
    if entry.unsure:
        value["possible"] = [item for link, item in items if link in entry.unsure]
    if entry.score is not None:
        value["score"] = entry.score
    if entry.unlinked is not None:
        value["src_null"], value["tgt_null"] = entry.unlinked
    if entry.pair is not None:
        value |= {"src_spans": entry.pair.source.spans, "tgt_spans": entry.pair.target.spans}
    return json.dumps(value, ensure_ascii=False)
