"""Links between the words of a sentence pair. A link is (source, target), zero-based, everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, TypeAlias

from bitweft.errors import InputError, UsageError
from bitweft.extras import needs
from bitweft.text.bitext import SentencePair
from bitweft.text.inputs import pair_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas

Link: TypeAlias = tuple[int, int]
Unlinked: TypeAlias = tuple[tuple[int, float], ...]  # positions of words without a link, with P(NULL)

_LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})(?::([0-9]*\.?[0-9]+))?", re.ASCII)
_DRAWN = 60  # positions of a side that are drawn


def outside(links: Iterable[Link], sources: int, targets: int) -> str | None:
    """Describe the first link that is outside sentences of so many words, if any."""
    for s, t in links:
        if not (0 <= s < sources and 0 <= t < targets):
            return (
                f"link {s}-{t} (zero-based) is outside a pair of {sources} and {targets} words; "
                "are the links one-based, inverted, or of another tokenization?"
            )
    return None


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

    @classmethod
    def parse(cls, text: str) -> Alignment:
        """Read `0-0 1-2`, or `0-0:0.9 1-2:0.5` with probabilities.

        Raises:
            InputError: this is not such a line.
        """
        items = [_LINK.fullmatch(item) for item in text.split()]
        for item, word in zip(items, text.split(), strict=True):
            if item is None:
                raise InputError(f"{word!r} is not a link: write source-target, as in 0-0 1-2")
        found = [item for item in items if item is not None]
        links = [(int(item[1]), int(item[2])) for item in found]
        known = [float(item[3]) for item in found if item[3] is not None]
        if known and len(known) != len(links):
            raise InputError("some links have a probability and some have none")
        return cls.of(links, known or None)

    def word_pairs(self, source: object, target: object) -> list[tuple[str, str]]:
        """Return the linked words; sentences are what `Aligner.align` takes, strings cut at spaces.

        Raises:
            UsageError: a link is outside the sentences.
        """
        pair = pair_of((source, target))
        self._check_inside(len(pair.source), len(pair.target))
        return [(pair.source.tokens[s], pair.target.tokens[t]) for s, t in self.links]

    def to_matrix(self, sources: int, targets: int) -> npt.NDArray[np.float64]:
        """Return a (sources, targets) matrix: the probability of each link, or 1; 0 where there is none."""
        import numpy as np

        self._check_inside(sources, targets)
        matrix = np.zeros((sources, targets))
        for (s, t), probability in zip(self.links, self.probabilities or repeat(1.0), strict=False):
            matrix[s, t] = probability
        return matrix

    def to_frame(self, source: object = None, target: object = None) -> pandas.DataFrame:
        """Return a pandas table with a row for each link; of a pair, with the words.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        with needs("pandas"):
            import pandas

        columns: dict[str, Sequence[object]] = {"source": [s for s, _ in self.links]}
        columns["target"] = [t for _, t in self.links]
        if source is not None and target is not None:
            words = self.word_pairs(source, target)
            columns["source_word"], columns["target_word"] = (
                [pair[side] for pair in words] for side in (0, 1)
            )
        if self.probabilities is not None:
            columns["probability"] = self.probabilities
        return pandas.DataFrame(columns)

    def _check_inside(self, sources: int, targets: int) -> None:
        fault = outside(self.links, sources, targets)
        if fault is not None:
            raise UsageError(fault)

    def _repr_html_(self) -> str:
        """Draw the links for a notebook: a row a source position, a column a target position."""
        if not self.links:
            return "<i>no links</i>"
        sizes = [1 + max(link[side] for link in self.links) for side in (0, 1)]
        if max(sizes) > _DRAWN:
            return f"<code>{self}</code>"
        shade = dict(zip(self.links, self.probabilities or repeat(1.0), strict=False))
        head = "".join(f"<th>{t}</th>" for t in range(sizes[1]))
        rows = [f"<tr><th></th>{head}</tr>"]
        for s in range(sizes[0]):
            cells = (_cell(shade.get((s, t)), f"{s}-{t}") for t in range(sizes[1]))
            rows.append(f"<tr><th>{s}</th>{''.join(cells)}</tr>")
        return f"<table>{''.join(rows)}</table>"

    def __iter__(self) -> Iterator[Link]:
        return iter(self.links)

    def __len__(self) -> int:
        return len(self.links)

    def __str__(self) -> str:
        return " ".join([f"{s}-{t}" for s, t in self.links])


def _cell(probability: float | None, link: str) -> str:
    if probability is None:
        return "<td></td>"
    color = f"background: rgba(42, 127, 98, {max(0.15, probability):.2f})"
    return f'<td style="{color}" title="{link} {probability:.2f}">&nbsp;</td>'


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
    """Hold all that a file of links says of one sentence pair: what every format can be turned into."""

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
