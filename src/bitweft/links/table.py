"""Links of many sentence pairs as flat arrays: no object for each link, nor for each pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bitweft.links.alignment import Alignment

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class LinkTable(NamedTuple):
    """Hold the links of pairs, sorted: those of pair n are `offsets[n]:offsets[n + 1]`."""

    offsets: npt.NDArray[np.int64]  # (pairs + 1)
    source: npt.NDArray[np.int32]  # (links)
    target: npt.NDArray[np.int32]  # (links)
    probabilities: npt.NDArray[np.float32] | None  # (links)

    @classmethod
    def of(cls, alignments: Sequence[Alignment]) -> LinkTable:
        """Put alignments into arrays, without their probabilities."""
        import numpy as np

        links = np.array([link for own in alignments for link in own.links], np.int32).reshape(-1, 2)
        return cls(_offsets([len(own) for own in alignments]), links[:, 0], links[:, 1], None)

    def alignments(self) -> list[Alignment]:
        """Make an alignment of each pair."""
        links = list(zip(self.source.tolist(), self.target.tolist(), strict=True))
        bounds = self.offsets.tolist()
        places = pairwise(bounds)
        if self.probabilities is None:
            return [Alignment(tuple(links[first:last])) for first, last in places]
        values = self.probabilities.tolist()
        return [Alignment(tuple(links[first:last]), tuple(values[first:last])) for first, last in places]

    def first(self, pairs: int) -> LinkTable:
        """Return the links of the first pairs alone."""
        end = int(self.offsets[pairs])
        chances = None if self.probabilities is None else self.probabilities[:end]
        return LinkTable(self.offsets[: pairs + 1], self.source[:end], self.target[:end], chances)

    def with_empty(self, empty: Iterable[bool]) -> LinkTable:
        """Put pairs without links in between: `empty` says of each pair of the whole whether it is one."""
        import numpy as np

        there = ~np.fromiter(empty, bool)
        lengths = np.zeros(len(there), np.int64)
        lengths[there] = np.diff(self.offsets)
        return self._replace(offsets=_offsets(lengths))


def _offsets(lengths: Sequence[int] | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    import numpy as np

    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
