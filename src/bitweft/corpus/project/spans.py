"""Where a span of words stands in the other sentence.

For a span S of source words and a stretch T of target words, let inside be the sum of w(s)·p(s, t) over
both, p being the probability of a link. The stretch is the one with the highest

    2 · inside / (sum of w(s) over S + sum of p(·, t) over T),

an expected Dice coefficient: words of S that T leaves out count against it, and so do links of T's words to
words outside S. It is the probability that is reported. The rest of the rules:

- w(s) is 1 for the first and the last word of S. For those between it is the square of the word's best link:
  articles and prepositions, which link to several words and to none well, do not pull the stretch to theirs.
  Signs between have no say.
- T begins and ends with a word that has some link into S, and has gaps of so many words at most.
- Signs at T's edges are dropped, unless S has one at that edge too.
- A target word belongs to one span, the better; only spans that share words in the source may share them.

Nothing here knows a language, and hard links are the case where every p is 0 or 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bitweft.corpus.project.characters import is_sign
from bitweft.corpus.project.records import Outcome, Span, Weights
from bitweft.corpus.project.rules import Rules

TRACE = 0.02  # a word with less mass than this has nothing to do with a span
NO_WORD = "no word in the span"
NO_COUNTERPART = "no counterpart"
TAKEN = "its counterpart belongs to another span"


class _Stretch(NamedTuple):
    score: float
    start: int
    end: int


class _Mass(NamedTuple):
    """Hold what a span needs of the links."""

    inside: npt.NDArray[np.float64]  # of each target word: weighted mass of its links into the span
    own: float  # the weights of the span's words
    total: npt.NDArray[np.float64]  # of each target word: mass of all its links


def project_spans(
    spans: Sequence[Span],
    weights: Weights,
    source: Sequence[str],
    target: Sequence[str],
    rules: Rules | None = None,
) -> list[Outcome]:
    """Find the place of each span, the best first where they compete.

    Args:
        spans: of the source; they may overlap.
        weights: the probability of every link, (source, target).
        source: the words of the source.
        target: those of the target.
        rules: what a projected span must be like.

    Returns:
        An outcome for each span, in their order.
    """
    rules = rules or Rules()
    total = weights.sum(0)
    masses = {n: _mass(span, weights, total, source) for n, span in enumerate(spans) if span.start < span.end}
    outcomes: dict[int, Outcome] = {}
    best: dict[int, _Stretch | None] = {}
    while masses:
        for n in masses.keys() - best.keys():
            best[n] = _best(masses[n], _taken(spans[n], outcomes.values(), len(target)), rules)
        n = max(masses, key=lambda n: (best[n] is not None, best[n] or (0.0,), -n))
        outcomes[n] = _outcome(spans[n], best[n], masses.pop(n), (source, target), rules)
        placed = outcomes[n].target
        if placed is not None:
            best = {
                k: found
                for k, found in ((k, best[k]) for k in masses)
                if found is None or not _meet(found, placed) or spans[k].overlaps(spans[n])
            }
    return [outcomes.get(n) or Outcome(span, None, 0.0, NO_WORD) for n, span in enumerate(spans)]


def _mass(span: Span, weights: Weights, total: npt.NDArray[np.float64], source: Sequence[str]) -> _Mass:
    rows = weights[span.start : span.end]
    own = rows.max(1, initial=0.0) ** 2
    own[[is_sign(word) for word in source[span.start : span.end]]] = 0.0
    own[[0, -1]] = 1.0
    return _Mass(own @ rows, float(own.sum()), total)


def _best(mass: _Mass, taken: npt.NDArray[np.bool_], rules: Rules) -> _Stretch | None:
    """Find the stretch with the highest score among the words that are free; the shorter of equals."""
    free = np.flatnonzero((mass.inside > TRACE) & ~taken)
    inside = np.concatenate([[0.0], np.cumsum(mass.inside)])
    total = np.concatenate([[0.0], np.cumsum(mass.total)])
    blocked = np.concatenate([[0], np.cumsum(taken)])
    best: _Stretch | None = None
    # Runs of words with gaps that are small enough; a stretch is a part of one.
    runs = np.split(free, np.flatnonzero(np.diff(free) > rules.gap + 1) + 1)
    for run in runs:
        for first, start in enumerate(run):
            ends = run[first:] + 1
            ends = ends[blocked[ends] == blocked[start]]
            scores = 2 * (inside[ends] - inside[start]) / (mass.own + total[ends] - total[start])
            place = int(scores.argmax())
            if best is None or scores[place] > best.score:
                best = _Stretch(float(scores[place]), int(start), int(ends[place]))
    return None if best is None else best._replace(score=min(best.score, 1.0))  # a bit above by rounding


def _taken(span: Span, outcomes: Iterable[Outcome], length: int) -> npt.NDArray[np.bool_]:
    """Mark the words of spans that share none with this one in the source."""
    taken = np.zeros(length, np.bool_)
    for outcome in outcomes:
        if outcome.target is not None and not outcome.source.overlaps(span):
            taken[outcome.target.start : outcome.target.end] = True
    return taken


def _meet(stretch: _Stretch, span: Span) -> bool:
    return stretch.start < span.end and span.start < stretch.end


def _outcome(
    span: Span, found: _Stretch | None, mass: _Mass, words: tuple[Sequence[str], Sequence[str]], rules: Rules
) -> Outcome:
    """Accept a stretch, without the signs at its edges, or say why not."""
    source, target = words
    nothing = np.zeros(len(target), np.bool_)
    if found is None or found.score < rules.minimum:
        alone = _best(mass, nothing, rules)
        taken = alone is not None and alone.score >= rules.minimum
        return Outcome(span, None, found.score if found else 0.0, TAKEN if taken else NO_COUNTERPART)
    score, start, end = found
    while start < end and is_sign(target[start]) and not is_sign(source[span.start]):
        start += 1
    while start < end and is_sign(target[end - 1]) and not is_sign(source[span.end - 1]):
        end -= 1
    if start == end:
        return Outcome(span, None, score, NO_COUNTERPART)
    return Outcome(span, Span(start, end, span.label), min(score, 1.0))
