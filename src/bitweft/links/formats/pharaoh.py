"""The formats of one line a pair: `0-0 1-2`, with possible links (`1?2`, `1p2`) or scores (`1-2:0.5`)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TypeAlias

from bitweft.errors import InputError
from bitweft.links.alignment import Alignment, Entry, Link
from bitweft.links.table import LinkTable
from bitweft.text.lines import LineFile

# One word of a line: its link (none for a word linked to NULL), whether it is sure, its probability.
Item: TypeAlias = tuple[Link | None, bool, float | None]

MARKS = {"pharaoh": "-", "possible": "-?p", "possible-p": "-?p", "talp": "-?p", "scored": "-:"}
_ITEM = re.compile(r"([0-9]{1,9}|NULL)([-?p])([0-9]{1,9}|NULL)((?::[-+.0-9eE]+){0,2})", re.ASCII)
_EXAMPLES = {
    "pharaoh": "0-0",
    "possible": "0-0 or 0?0",
    "possible-p": "0-0 or 0p0",
    "talp": "1-1 or 1p1",
    "scored": "0-0:0.9",
}


def finite(text: str) -> float:
    """Read a number; one that is infinite or none could not be written in every format."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


class Items(dict[str, Item]):
    """Parse each distinct word of a file of links once: few differ."""

    def __init__(self, link_format: str, one_based: bool) -> None:
        super().__init__()
        self.link_format = link_format
        self.first = int(one_based)

    def __missing__(self, word: str) -> Item:
        found = _ITEM.fullmatch(word)
        if found is None or not self._allowed(found):
            raise ValueError(f"{word!r} is not a link like {_EXAMPLES[self.link_format]}")
        source, mark, target, scores = found.groups()
        probability = finite(scores.split(":")[1]) if scores else None
        if "NULL" in (source, target):
            item: Item = (None, True, probability)
        else:
            item = ((self._index(word, source), self._index(word, target)), mark == "-", probability)
        if len(self) > 1 << 18:
            self.clear()
        self[word] = item
        return item

    def _allowed(self, found: re.Match[str]) -> bool:
        marks = MARKS[self.link_format]
        scored = found[4] != "" or "NULL" in (found[1], found[3])
        return found[2] in marks and (not scored or ":" in marks)

    def _index(self, word: str, digits: str) -> int:
        index = int(digits) - self.first
        if index < 0:
            raise ValueError(f"{word!r} has the index 0, so these links are not one-based")
        return index


def read_lines(file: LineFile, link_format: str, one_based: bool) -> Iterator[Entry]:
    """Read one entry a line; NULL links (`NULL-3`) say that a word has no link and are left out."""
    items = Items(link_format, one_based)
    make = entry_of if ":" in MARKS[link_format] or "?" in MARKS[link_format] else _plain_entry
    for number, line in enumerate(file.lines(), 1):
        try:
            yield make([items[word] for word in line.split()])
        except ValueError as error:
            raise InputError(str(error), file=file.name, line=number) from error


def _plain_entry(items: list[Item]) -> Entry:
    return Entry(Alignment(tuple(sorted({link for link, _, _ in items if link is not None}))))


def entry_of(items: list[Item]) -> Entry:
    """Make an entry of parsed links: a link given as sure and as possible is sure."""
    kept = [(link, sure, probability) for link, sure, probability in items if link is not None]
    links = [link for link, _, _ in kept]
    unsure = frozenset(links) - {link for link, sure, _ in kept if sure}
    scored = [probability for _, _, probability in kept if probability is not None]
    if not scored:
        return Entry(Alignment.of(links), unsure)
    if len(scored) != len(links):
        raise ValueError("some links have a score and some have none")
    return Entry(Alignment.of(links, scored), unsure)


def format_line(entry: Entry, link_format: str) -> str:
    """Write one line of links, without its end."""
    first = 1 if link_format == "talp" else 0
    if link_format == "scored" and entry.alignment.probabilities is not None:
        scored = zip(entry.alignment.links, entry.alignment.probabilities, strict=True)
        items = [f"{s}-{t}:{decimal(p)}" for (s, t), p in scored]
        if entry.unlinked is not None:
            items += [f"{s}-NULL:{decimal(p)}" for s, p in entry.unlinked[0]]
            items += [f"NULL-{t}:{decimal(p)}" for t, p in entry.unlinked[1]]
        return " ".join(items)
    if link_format in ("pharaoh", "scored"):
        return str(entry.alignment)
    mark = "?" if link_format == "possible" else "p"
    return " ".join(
        f"{s + first}{mark if (s, t) in entry.unsure else '-'}{t + first}" for s, t in entry.alignment.links
    )


def format_table(table: LinkTable) -> str:
    """Write a line of plain links for each pair of a table, with its line feed."""
    import numpy as np

    # A row for each link, and for each pair without one: digits and marks, of which not all are kept.
    empty = table.offsets[1:] == table.offsets[:-1]
    ends = table.offsets[1:] + np.cumsum(empty)
    columns, kept = [], []
    for links, mark in ((table.source, "-"), (table.target, " ")):
        side = np.insert(links, table.offsets[1:][empty], 0)
        for power in reversed(range(len(str(side.max(initial=0))))):
            left = side // 10**power
            columns.append((left % 10 + ord("0")).astype(np.uint8))
            kept.append(left > 0 if power else np.ones(len(side), bool))
        columns.append(np.full(len(side), ord(mark), np.uint8))
        kept.append(np.ones(len(side), bool))
    text, taken = np.stack(columns, 1), np.stack(kept, 1)
    text[ends - 1, -1] = ord("\n")
    taken[ends[empty] - 1, :-1] = False
    lines: bytes = text[taken].tobytes()
    return lines.decode("ascii")


def decimal(number: float) -> str:
    """Write a number with up to eight decimals and no exponent."""
    return f"{number:.8f}".rstrip("0").rstrip(".")
