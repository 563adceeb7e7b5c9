"""The grid: one sentence pair in letters, for the terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.text.bitext import SentencePair
from bitweft.viewer.marks import Kind, Mark, check, marks, printable

_LEAST = 24  # columns: a terminal narrower than this gets lines that are too long
_SHADES = "░▒▓█"
_SIGNS = {Kind.SURE: "●", Kind.POSSIBLE: "◐", Kind.WRONG: "×", Kind.MISSED: "○", Kind.OPEN: "◌"}
_COLORS = {Kind.LINK: 36, Kind.SURE: 36, Kind.POSSIBLE: 36, Kind.WRONG: 31, Kind.MISSED: 35, Kind.OPEN: 35}
_FAINT = 2

LEGEND = "● sure  ◐ possible  × wrong  ○ missed  ◌ possible, not linked"


def text_grid(
    pair: SentencePair,
    alignment: Alignment,
    gold: GoldAlignment | None = None,
    *,
    width: int = 80,
    color: bool = False,
) -> str:
    """Draw source words as rows and target words as columns, in blocks no wider than `width`.

    Without gold links a cell's shade is the link's probability; with them its sign tells sure (●), possible
    (◐), wrong (×), missed (○) and possible but not linked (◌) apart.
    """
    check(pair, alignment, gold)
    source, target = ([printable(token) for token in side.tokens] for side in pair)
    drawn = marks(alignment, gold)
    label = min(max(map(columns, source), default=0), max(width // 3, 8))
    widest = max(map(columns, target), default=0)
    # A block holds its columns, two letters each, and beside the last of them the end of a heading.
    room = max(width, _LEAST) - label - 1
    step = max(1, (room - min(widest, room // 2) - 2) // 2)
    blocks = []
    for start in range(0, max(len(target), 1), step):
        heads = target[start : start + step]
        lines = _headings(heads, label, room=room)
        for s, word in enumerate(source):
            cells = [_cell(drawn.get((s, start + k)), color) for k in range(len(heads))]
            lines.append(f"{_fitted(word, label)} {''.join(cells)}".rstrip())
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _cell(mark: Mark | None, color: bool) -> str:
    if mark is None:
        return _painted("·", _FAINT, color) + " "
    if mark.kind is Kind.LINK:
        level = min(int(mark.probability * len(_SHADES)), len(_SHADES) - 1)
        return _painted(2 * _SHADES[level], _COLORS[mark.kind], color)
    return _painted(_SIGNS[mark.kind], _COLORS[mark.kind], color) + " "


def _painted(text: str, code: int, color: bool) -> str:
    return f"\033[{code}m{text}\033[0m" if color else text


def _headings(words: Sequence[str], label: int, *, room: int) -> list[str]:
    """Write the target words as stairs, each above its column."""
    return [
        " " * (label + 1) + "│ " * k + "┌ " + _cut(word, room - 2 * k - 2) for k, word in enumerate(words)
    ]


def columns(text: str) -> int:
    """Count the columns that a text takes in a terminal."""
    return sum(_columns_of(character) for character in text)


def _columns_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _cut(text: str, room: int) -> str:
    """Cut a text to `room` columns, with an ellipsis if something is lost."""
    if columns(text) <= room:
        return text
    kept, used = "", 1
    for character in text:
        used += _columns_of(character)
        if used > room:
            break
        kept += character
    return kept + "…"


def _fitted(text: str, room: int) -> str:
    text = _cut(text, room)
    return text + " " * (room - columns(text))
