"""Carry annotation from one side of parallel text to the other, by links.

`project` places spans of words; `job` carries whole files, in the formats of `formats`. The rules are told in
`spans`, `trees` and `markup`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bitweft.corpus.project.records import Outcome, Span, Weights
from bitweft.corpus.project.rules import Rules
from bitweft.corpus.project.spans import project_spans
from bitweft.errors import UsageError
from bitweft.links.alignment import Alignment, outside

if TYPE_CHECKING:
    from bitweft.aligner import Aligner

__all__ = ["Outcome", "Rules", "Span", "project"]


def project(
    spans: Iterable[Span | tuple[int, int, str]],
    source: Sequence[str],
    target: Sequence[str],
    links: Aligner | Alignment | Weights,
    *,
    rules: Rules | None = None,
) -> list[Outcome]:
    """Find where spans of source words stand in the target.

    Args:
        spans: (start, end, label) each: the words from `start` up to, not including, `end`.
        source: the words of the source.
        target: the words of its translation.
        links: a model, the links of the pair, or the probability of every link as a (source, target) matrix.
        rules: what a projected span must be like.

    Returns:
        An outcome for each span, in their order: its target span and how probable it is, or why it has none.

    Raises:
        UsageError: a span is outside the source, a link or the matrix does not fit the words.
    """
    from bitweft.corpus.project.job import matrix_of, weights_by
    from bitweft.text.bitext import Sentence, SentencePair

    for words in (source, target):
        if isinstance(words, str):
            raise UsageError(f"expected a sequence of words, got the string {words!r}")
    pair = SentencePair(Sentence(source, " ".join(source)), Sentence(target, " ".join(target)))
    wanted = [Span(*span) for span in spans]
    for span in wanted:
        if not 0 <= span.start < span.end <= len(source):
            raise UsageError(f"{span} is empty or outside a source of {len(source)} words")
    if isinstance(links, Alignment):
        fault = outside(links.links, len(source), len(target))
        if fault is not None:
            raise UsageError(fault)
        weights = matrix_of(links, pair)
    elif isinstance(links, np.ndarray):
        weights = np.asarray(links, np.float64)
    else:
        weights = weights_by(links, pair)
    if weights.shape != (len(source), len(target)):
        raise UsageError(f"the matrix is {weights.shape}, the words are {(len(source), len(target))}")
    return project_spans(wanted, weights, source, target, rules)
