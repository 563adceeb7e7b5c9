"""Links between the words of a sentence pair. A link is (source, target), zero-based, everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from bitweft.text.bitext import SentencePair

Link: TypeAlias = tuple[int, int]
Unlinked: TypeAlias = tuple[tuple[int, float], ...]  # positions of words without a link, with P(NULL)


@dataclass(frozen=True, slots=True)
class Alignment:
    """Hold the links of one sentence pair, sorted, each with an optional probability."""

    links: tuple[Link, ...] = ()
    probabilities: tuple[float, ...] | None = None

    @classmethod
    def of(cls, links: Iterable[Link], probabilities: Sequence[float] | None = None) -> Alignment:
        """Build an alignment from links in any order; a repeated link counts once, at its best."""
        if probabilities is None:
            return cls(tuple(sorted(set(links))))
        scored = dict(sorted(zip(links, probabilities, strict=True)))
        return cls(tuple(scored), tuple(scored.values()) if scored else None)

    def inverse(self) -> Alignment:
        """Swap source and target."""
        return Alignment.of([(t, s) for s, t in self.links], self.probabilities)

    def without(self, links: Iterable[Link]) -> Alignment:
        """Leave some links out."""
        dropped = set(links)
        kept = [place for place, link in enumerate(self.links) if link not in dropped]
        probabilities = self.probabilities and [self.probabilities[place] for place in kept]
        return Alignment.of([self.links[place] for place in kept], probabilities)

    def __len__(self) -> int:
        return len(self.links)

    def __str__(self) -> str:
        return " ".join([f"{s}-{t}" for s, t in self.links])


@dataclass(frozen=True, slots=True)
class GoldAlignment:
    """Hold hand-made links: the sure ones, and the possible ones, which include the sure."""

    sure: frozenset[Link]
    possible: frozenset[Link]

    def __post_init__(self) -> None:
        if not self.sure <= self.possible:
            raise ValueError(f"sure links that are not possible: {sorted(self.sure - self.possible)}")

    @classmethod
    def of(cls, sure: Iterable[Link], possible: Iterable[Link] = ()) -> GoldAlignment:
        """Build gold links from the sure ones and the possible ones, which need not repeat the sure."""
        sure = frozenset(sure)
        return cls(sure, sure | frozenset(possible))

    def inverse(self) -> GoldAlignment:
        """Swap source and target."""
        return GoldAlignment(
            frozenset((t, s) for s, t in self.sure), frozenset((t, s) for s, t in self.possible)
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold all that a file of links says of one sentence pair: what every dialect can be turned into."""

    alignment: Alignment
    unsure: frozenset[Link] = frozenset()  # those of the links that are possible, not sure
    score: float | None = None
    name: str | None = None
    pair: SentencePair | None = None
    unlinked: tuple[Unlinked, Unlinked] | None = None  # of the source, of the target

    def gold(self) -> GoldAlignment:
        """Take the links as gold: all are possible, and sure unless marked otherwise."""
        links = frozenset(self.alignment.links)
        return GoldAlignment(links - self.unsure, links)

    def inverse(self) -> Entry:
        """Swap source and target."""
        return replace(
            self,
            alignment=self.alignment.inverse(),
            unsure=frozenset((t, s) for s, t in self.unsure),
            pair=None if self.pair is None else self.pair.reversed(),
            unlinked=None if self.unlinked is None else self.unlinked[::-1],
        )
