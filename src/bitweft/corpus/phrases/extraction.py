"""Phrase pairs consistent with links (Koehn, Och and Marcu, 2003), as Moses extracts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from bitweft.links.alignment import Link


class PhraseSpan(NamedTuple):
    """Hold the source words [source_start, source_end) and the target words [target_start, target_end)."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int


class Orientation(Enum):
    """Name where a phrase's neighbor on the target side stands on the source side."""

    MONO = "mono"
    SWAP = "swap"
    OTHER = "other"


def extract_phrases(
    links: Iterable[Link], source_length: int, target_length: int, *, max_length: int = 7
) -> Iterator[PhraseSpan]:
    """Give every phrase pair of at most `max_length` words a side that the links allow.

    A pair has a link inside, and none from inside to outside. Unlinked words at its edges may be in or out.
    """
    sources_of: list[list[int]] = [[] for _ in range(target_length)]
    targets_of: list[list[int]] = [[] for _ in range(source_length)]
    for s, t in links:
        sources_of[t].append(s)
        targets_of[s].append(t)
    reach = [(min(targets), max(targets)) if targets else None for targets in targets_of]
    for target_start in range(target_length):
        first, last = source_length, -1
        for target_end in range(target_start + 1, min(target_start + max_length, target_length) + 1):
            for s in sources_of[target_end - 1]:
                first, last = min(first, s), max(last, s)
            if last - first >= max_length:
                break
            if last < 0 or not _inside(reach[first : last + 1], target_start, target_end):
                continue
            for source_start, source_end in _edges(reach, first, last + 1, max_length):
                yield PhraseSpan(source_start, source_end, target_start, target_end)


def _inside(reach: list[tuple[int, int] | None], start: int, end: int) -> bool:
    return all(span is None or (start <= span[0] and span[1] < end) for span in reach)


def _edges(
    reach: list[tuple[int, int] | None], first: int, end: int, max_length: int
) -> Iterator[tuple[int, int]]:
    """Extend a source span over unlinked words on both sides, within the length allowed."""
    start = first
    while True:
        stop = end
        while True:
            yield start, stop
            if stop == len(reach) or reach[stop] is not None or stop - start >= max_length:
                break
            stop += 1
        if start == 0 or reach[start - 1] is not None or end - start >= max_length:
            return
        start -= 1


def orientations(
    links: frozenset[Link], span: PhraseSpan, source_length: int, target_length: int
) -> tuple[Orientation, Orientation]:
    """Tell how a phrase pair follows its predecessor and precedes its successor, by words (Moses' `wbe-msd`).

    Only the links of the target word beside the phrase count: to the source word before it or after it.
    Sentence boundaries are linked to one another.
    """
    corners = {(-1, -1), (source_length, target_length)}

    def linked(s: int, t: int) -> bool:
        return (s, t) in links or (s, t) in corners

    before, after = span.source_start - 1, span.source_end
    above, below = span.target_start - 1, span.target_end
    return (
        _orientation(linked(before, above), linked(after, above)),
        _orientation(linked(after, below), linked(before, below)),
    )


def _orientation(straight: bool, crossed: bool) -> Orientation:
    if straight == crossed:
        return Orientation.OTHER
    return Orientation.MONO if straight else Orientation.SWAP
