"""What is drawn between two words: a link, and how it stands to the gold links."""

from __future__ import annotations

import enum
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from bitweft.errors import InputError
from bitweft.links.alignment import Alignment, GoldAlignment, Link, outside
from bitweft.text.bitext import SentencePair

# Marks that change the direction of the text around them, and two code points that XML forbids.
_UNWANTED = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufffe\uffff")


class Kind(enum.Enum):
    """Name the ways in which a link and the gold links can meet."""

    LINK = "link"
    SURE = "sure"
    POSSIBLE = "possible"
    WRONG = "wrong"
    MISSED = "missed"
    OPEN = "open"  # a possible gold link that was not drawn: no fault


class Mark(NamedTuple):
    """Hold what is drawn between source word `s` and target word `t`."""

    kind: Kind
    probability: float


def check(
    pair: SentencePair, alignment: Alignment, gold: GoldAlignment | None, *, line: int | None = None
) -> None:
    """Refuse links that point outside the sentences."""
    for links in (alignment.links, sorted(gold.possible) if gold else ()):
        fault = outside(links, len(pair.source), len(pair.target))
        if fault is not None:
            raise InputError(fault, line=line)


def shades(alignment: Alignment) -> list[float]:
    """Give what each link is shaded by: its probability, kept between 0 and 1 whatever a file says."""
    if alignment.probabilities is None:
        return [1.0] * len(alignment)
    return [min(p, 1.0) if p > 0 else 0.0 for p in alignment.probabilities]


def marks(alignment: Alignment, gold: GoldAlignment | None) -> dict[Link, Mark]:
    """Say for every link, made or missed, what it is."""
    found = dict(zip(alignment.links, shades(alignment), strict=True))
    if gold is None:
        return {link: Mark(Kind.LINK, probability) for link, probability in found.items()}
    drawn = {
        link: Mark(
            Kind.SURE if link in gold.sure else Kind.POSSIBLE if link in gold.possible else Kind.WRONG,
            probability,
        )
        for link, probability in found.items()
    }
    for link in gold.possible - found.keys():
        drawn[link] = Mark(Kind.MISSED if link in gold.sure else Kind.OPEN, 1.0)
    return dict(sorted(drawn.items()))


def printable(text: str) -> str:
    """Replace what a terminal would obey or XML forbids by a visible sign."""
    return "".join("\ufffd" if c in _UNWANTED or unicodedata.category(c) in ("Cc", "Cs") else c for c in text)


def right_to_left(tokens: Iterable[str]) -> bool:
    """Tell whether the first letter with a direction is written from right to left."""
    for token in tokens:
        for character in token:
            direction = unicodedata.bidirectional(character)
            if direction in ("L", "R", "AL"):
                return direction != "L"
    return False
