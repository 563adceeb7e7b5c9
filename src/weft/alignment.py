"""Links between the words of a sentence pair. A link is (source, target), zero-based, everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Link: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Alignment:
    """Hold the links of one sentence pair, sorted, each with an optional probability."""

    links: tuple[Link, ...] = ()
    probabilities: tuple[float, ...] | None = None

    @classmethod
    def of(cls, links: Iterable[Link], probabilities: Sequence[float] | None = None) -> Alignment:
        """Build an alignment from links in any order; a repeated link counts once."""
        if probabilities is None:
            return cls(tuple(sorted(set(links))))
        scored = dict(sorted(zip(links, probabilities, strict=True)))
        return cls(tuple(scored), tuple(scored.values()))

    def inverse(self) -> Alignment:
        """Swap source and target."""
        return Alignment.of([(t, s) for s, t in self.links], self.probabilities)

    def __len__(self) -> int:
        return len(self.links)

    def __str__(self) -> str:
        return " ".join(f"{s}-{t}" for s, t in self.links)


@dataclass(frozen=True, slots=True)
class GoldAlignment:
    """Hold hand-made links: the sure ones, and the possible ones, which include the sure."""

    sure: frozenset[Link]
    possible: frozenset[Link]

    def __post_init__(self) -> None:
        if not self.sure <= self.possible:
            raise ValueError(f"sure links that are not possible: {sorted(self.sure - self.possible)}")

    def inverse(self) -> GoldAlignment:
        """Swap source and target."""
        return GoldAlignment(
            frozenset((t, s) for s, t in self.sure), frozenset((t, s) for s, t in self.possible)
        )
