"""A kept model as a word aligner of sil-machine (machine.py), wherever that takes a `WordAligner`.

>>> aligner = BitweftWordAligner("enfr.weft")
>>> aligner.align("the house".split(), "la maison".split()).to_aligned_word_pairs()
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from bitweft.aligner import Aligner
from bitweft.extras import needs
from bitweft.links.alignment import Alignment

with needs("machine"):
    from machine.translation import WordAligner, WordAlignmentMatrix


class BitweftWordAligner(WordAligner):  # type: ignore[misc]  # seen without the package's types
    """Align segments by a model of bitweft: rows are source words, columns target words."""

    def __init__(self, model: Aligner | str | os.PathLike[str]) -> None:
        self.aligner = model if isinstance(model, Aligner) else Aligner.load(model)

    def align(self, source_segment: Sequence[str], target_segment: Sequence[str]) -> WordAlignmentMatrix:
        """Align one pair of segments."""
        return self.align_batch([(source_segment, target_segment)])[0]

    def align_batch(self, segments: Sequence[Sequence[Sequence[str]]]) -> list[WordAlignmentMatrix]:
        """Align pairs of segments, in order."""
        pairs = [(list(source), list(target)) for source, target in segments]
        sized = zip(pairs, self.aligner.align(pairs), strict=True)
        return [_matrix(alignment, *map(len, pair)) for pair, alignment in sized]


def _matrix(alignment: Alignment, rows: int, columns: int) -> WordAlignmentMatrix:
    return WordAlignmentMatrix.from_word_pairs(rows, columns, alignment.links)
