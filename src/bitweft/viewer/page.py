"""The page: one HTML file with everything in it, which needs no network and no server."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from string import Template
from typing import Any, NamedTuple, TextIO, TypeVar

from bitweft.links.alignment import Alignment, GoldAlignment, Link
from bitweft.storage.lockstep import lockstep
from bitweft.text.bitext import Sentence, SentencePair
from bitweft.viewer.marks import check, printable, shades

STYLES = ("draw.css", "view.css")
DRAWING = ("pairs.js", "layout.js", "links.js", "matrix.js", "words.js", "stage.js")  # for any page
SCRIPTS = (*DRAWING, "search.js", "concordance.js", "list.js", "view.js")
PLACES = ("title", "note", "head", "filters", "orders", "tools", "panels", "keys", "data")

First = TypeVar("First")
Second = TypeVar("Second")

_CUT = "\0"  # where the data goes: a character that no HTML file holds


def page(
    pairs: Iterable[SentencePair],
    alignments: Iterable[Alignment],
    golds: Iterable[GoldAlignment] | None = None,
    *,
    stream: TextIO,
    title: str = "Word alignment",
    note: str = "",
    scores: Iterable[float | None] | None = None,
    others: Iterable[Alignment] | None = None,
    systems: tuple[str, str] = ("A", "B"),
    threshold: float = 0.0,
    first: int = 1,
) -> int:
    """Write the page to `stream`, or nothing if something is at fault, and return the number of pairs.

    `note` stands below the title, `scores` are those of the pairs (default: the mean probability of their
    links), `others` are another system's links to compare with and `systems` the names of the two,
    `threshold` is where the slider starts unless all links are more probable, and `first` is the number of
    the first pair.
    """
    style, script = asset(*STYLES), asset(*SCRIPTS)
    parts = {"title": html.escape(printable(title)), "note": html.escape(printable(note)), "data": _CUT}
    head, tail = frame(style, script, policy(style, script), parts).split(_CUT)
    about: dict[str, object] = {"threshold": threshold, "first": first, "gold": golds is not None}
    about["compare"] = None if others is None else [printable(name) for name in systems]
    rows = []
    for line, view in enumerate(_views(pairs, alignments, golds, scores, others), first):
        check(view.pair, view.alignment, view.gold, line=line)
        check(view.pair, view.other or Alignment(), None, line=line)
        rows.append(_json(packed(view)))
    stream.write(f'{head}{{"about":{_json(about)},"pairs":[\n')
    stream.write(",\n".join(rows))
    stream.write(f"\n]}}{tail}")
    return len(rows)


class View(NamedTuple):
    """Hold all that the page shows of a pair."""

    pair: SentencePair
    alignment: Alignment
    gold: GoldAlignment | None = None
    score: float | None = None
    other: Alignment | None = None  # of another system


def _views(
    pairs: Iterable[SentencePair],
    alignments: Iterable[Alignment],
    golds: Iterable[GoldAlignment] | None,
    scores: Iterable[float | None] | None,
    others: Iterable[Alignment] | None,
) -> Iterator[View]:
    """Bring together what belongs to each pair; fail where one of the five ends too early."""
    linked = lockstep(pairs, alignments, names=("text", "links"))
    judged = _beside(linked, golds, "gold")
    scored = _beside(judged, scores, "scores")
    for (((pair, alignment), gold), score), other in _beside(scored, others, "the other links"):
        yield View(pair, alignment, gold, score, other)


def _beside(
    items: Iterable[First], more: Iterable[Second] | None, name: str
) -> Iterator[tuple[First, Second | None]]:
    return ((item, None) for item in items) if more is None else lockstep(items, more, names=("text", name))


def frame(style: str, script: str, allowed: str, parts: Mapping[str, str]) -> str:
    """Fill the page: its style and script, the policy that allows them, and what stands in its places."""
    places = {**dict.fromkeys(PLACES, ""), **parts, "policy": allowed, "style": style, "script": script}
    return Template(asset("page.html")).substitute(places)


def asset(*names: str) -> str:
    """Read files of the page and join them."""
    folder = resources.files("bitweft.viewer") / "assets"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def policy(style: str, script: str) -> str:
    """Return a Content-Security-Policy that lets exactly this style and this script run."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        )
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json(value: Any) -> str:
    """Write JSON that is safe inside a script element: no `<` can end it or open a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        text = json.dumps(value, separators=(",", ":"))  # UTF-8 cannot carry half a surrogate pair
    return text.replace("<", "\\u003c")


def packed(view: View) -> list[object]:
    """Pack source, target, links, probabilities or 0, score, sure gold links, the rest, another's links."""
    scored = view.alignment.probabilities is not None
    score = view.score if view.score is not None and math.isfinite(view.score) else None
    row: list[object] = [
        _sentence(view.pair.source),
        _sentence(view.pair.target),
        _flat(view.alignment.links),
        [round(1000 * p) for p in shades(view.alignment)] if scored else 0,
    ]
    if score is not None or view.gold is not None or view.other is not None:
        row.append(score)
    if view.gold is not None or view.other is not None:
        gold = view.gold or GoldAlignment.of([])
        row += [_flat(sorted(gold.sure)), _flat(sorted(gold.possible - gold.sure))]
    if view.other is not None:
        row.append(_flat(view.other.links))
    return row


def _sentence(sentence: Sentence) -> str | list[str]:
    """Pack words as one string where spaces tell them apart, else as [text, word, word, …]."""
    joined = " ".join(sentence.tokens)
    spaced = tuple(joined.split(" ")) == sentence.tokens or not sentence.tokens
    if spaced and sentence.text == joined:
        return joined
    return [sentence.text, *sentence.tokens]


def _flat(links: Iterable[Link]) -> list[int]:
    return [position for link in links for position in link]
