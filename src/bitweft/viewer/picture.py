"""The picture: one sentence pair as SVG, for a paper, a slide or a README."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.text.bitext import SentencePair
from bitweft.viewer.marks import Kind, Mark, check, marks, printable, right_to_left

_SIZE = 20  # of the letters, in pixels
_GAP = 18  # between words of a row
_LINE = 34  # between words of a column
_REACH = 120  # between the rows or the columns
_MARGIN = 16
_NARROW, _WIDE = frozenset("fijlrtI.,;:!'|()[]- "), frozenset("mwMWÆŒ—…%@")

_STYLE = """
text{font:20px "Iowan Old Style","Palatino Linotype",Palatino,"Noto Serif",Georgia,serif;fill:#23262b}
path{fill:none;stroke:#0b6b72;stroke-width:2;stroke-linecap:round}
.possible{stroke-dasharray:9 4}.wrong{stroke:#b23c17}.missed,.open{stroke:#6a48b5;stroke-dasharray:.1 6}
.open{stroke-width:1.2}.sign{stroke-dasharray:none}.missed.sign{fill:#fff}
@media (prefers-color-scheme:dark){text{fill:#e9e6df}path{stroke:#62c6c4}.wrong{stroke:#f2906b}
.missed,.open{stroke:#b9a4ff}.missed.sign{fill:#16191c}}
"""


class _Box(NamedTuple):
    """Hold where a word is written: its middle, and half its width."""

    x: float
    y: float
    half: float


def svg(
    pair: SentencePair, alignment: Alignment, gold: GoldAlignment | None = None, *, width: int = 1000
) -> str:
    """Draw a pair as two rows of words, or as two columns where the rows would be wider than `width`."""
    check(pair, alignment, gold)
    rows = [[printable(token) for token in side.tokens] for side in pair]
    flat = max(_row_width(row) for row in rows) + 2 * _MARGIN <= width
    (source, target), (wide, high) = (_rows if flat else _columns)(rows[0], rows[1])
    drawn = marks(alignment, gold)
    lines = [_thread(source[s], target[t], mark, upright=flat) for (s, t), mark in drawn.items()]
    words = [
        _written(word, box)
        for boxes, row in ((source, rows[0]), (target, rows[1]))
        for box, word in zip(boxes, row, strict=True)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" '
            f'width="{wide:.0f}" height="{high:.0f}" role="img">',
            f"<title>{escape(' '.join(rows[0]))} – {escape(' '.join(rows[1]))}</title>",
            f"<desc>{escape(_described(rows, drawn))}</desc>",
            f"<style>{_STYLE}</style>",
            *lines,
            *words,
            "</svg>\n",
        ]
    )


def _described(rows: Sequence[Sequence[str]], drawn: dict[tuple[int, int], Mark]) -> str:
    named = {Kind.LINK: "", Kind.OPEN: " (possible, not linked)"}
    return "; ".join(
        f"{rows[0][s]} – {rows[1][t]}{named.get(mark.kind, f' ({mark.kind.value})')}"
        for (s, t), mark in drawn.items()
    )


def text_width(text: str) -> float:
    """Estimate how wide a word is, without knowing the reader's font."""
    ems = 0.0
    for character in text:
        if unicodedata.category(character) in ("Mn", "Me", "Cf"):
            continue
        if unicodedata.east_asian_width(character) in ("W", "F"):
            ems += 1.0
        elif character in _NARROW:
            ems += 0.34
        else:
            ems += 0.86 if character in _WIDE else 0.68 if character.isupper() else 0.54
    return ems * _SIZE


def _row_width(row: Sequence[str]) -> float:
    return sum(map(text_width, row)) + _GAP * max(len(row) - 1, 0)


def _rows(source: Sequence[str], target: Sequence[str]) -> tuple[list[list[_Box]], tuple[float, float]]:
    width = max(_row_width(source), _row_width(target)) + 2 * _MARGIN
    top, bottom = _MARGIN + _SIZE / 2, _MARGIN + 1.5 * _SIZE + _REACH
    boxes = []
    for row, y in ((source, top), (target, bottom)):
        x, places = (width - _row_width(row)) / 2, []
        for word in row:
            half = text_width(word) / 2
            places.append(_Box(x + half, y, half))
            x += 2 * half + _GAP
        if right_to_left(row):
            places = [_Box(width - box.x, box.y, box.half) for box in places]
        boxes.append(places)
    return boxes, (width, bottom + _SIZE / 2 + _MARGIN)


def _columns(source: Sequence[str], target: Sequence[str]) -> tuple[list[list[_Box]], tuple[float, float]]:
    left, right = (max(map(text_width, row), default=0.0) for row in (source, target))
    start = _MARGIN + left + _REACH
    longest = max(len(source), len(target))
    boxes = [
        [
            _Box(edge + sign * text_width(word) / 2, _MARGIN + _LINE * (k + 0.5), text_width(word) / 2)
            for k, word in enumerate(row)
        ]
        for row, edge, sign in ((source, _MARGIN + left, -1), (target, start, 1))
    ]
    return boxes, (start + right + _MARGIN, 2 * _MARGIN + _LINE * longest)


def _thread(a: _Box, b: _Box, mark: Mark, *, upright: bool) -> str:
    if upright:
        x1, y1, x2, y2 = a.x, a.y + 0.8 * _SIZE, b.x, b.y - 0.8 * _SIZE
        bend = f"{x1:.1f} {(y1 + y2) / 2:.1f} {x2:.1f} {(y1 + y2) / 2:.1f}"
    else:
        x1, y1, x2, y2 = a.x + a.half + 6, a.y, b.x - b.half - 6, b.y
        bend = f"{(x1 + x2) / 2:.1f} {y1:.1f} {(x1 + x2) / 2:.1f} {y2:.1f}"
    kind = mark.kind.value
    shade = f' opacity="{0.3 + 0.7 * mark.probability:.2f}"' if mark.probability < 1 else ""
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    sign = ""
    if mark.kind is Kind.WRONG:
        sign = f'<path class="{kind} sign" d="M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10"/>'
    elif mark.kind is Kind.MISSED:
        sign = f'<path class="{kind} sign" d="M{x - 5:.1f} {y:.1f}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0"/>'
    return f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}C{bend} {x2:.1f} {y2:.1f}"{shade}/>{sign}'


def _written(word: str, box: _Box) -> str:
    direction = ' direction="rtl" unicode-bidi="embed"' if right_to_left([word]) else ""
    place = f'x="{box.x:.1f}" y="{box.y:.1f}" dy=".35em" text-anchor="middle"'
    return f"<text {place}{direction}>{escape(word)}</text>"
