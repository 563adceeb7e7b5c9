"""How far a score may be chance: bootstrap over sentences (Efron 1979; Koehn 2004 for pairs of systems).

Sentences are drawn anew, with replacement, as many as there are. The counts of the drawn sentences add up to
a score of their own; many such scores show how much the choice of test sentences matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bitweft.errors import UsageError
from bitweft.links.evaluate import Counts, add_up

MEASURES = ("precision", "recall", "f1", "aer")


class Interval(NamedTuple):
    """Hold the bounds between which 95 % of the resampled scores lie."""

    low: float
    high: float


class Comparison(NamedTuple):
    """Compare one measure of two systems: the second's minus the first's, and how likely by chance."""

    difference: float
    interval: Interval
    p: float


def confidence_intervals(
    per_sentence: Sequence[Counts], *, samples: int = 1000, seed: int = 1
) -> dict[str, Interval]:
    """Give the 95 % bootstrap interval of each measure."""
    scores = _resampled_scores([per_sentence], samples=samples, seed=seed)
    return {name: _interval([score[0][name] for score in scores]) for name in MEASURES}


def compare(
    first: Sequence[Counts], second: Sequence[Counts], *, samples: int = 1000, seed: int = 1
) -> dict[str, Comparison]:
    """Test by paired bootstrap whether the second system differs from the first, measure by measure.

    Both are scored on the same drawn sentences. `p` is two-sided: the part of the samples whose difference is
    as far from the samples' mean as the real difference is from zero. The real one counts as a sample, so `p`
    is never 0.
    """
    if len(first) != len(second):
        raise UsageError(f"{len(first):,} and {len(second):,} sentences: a paired test needs the same ones")
    real = [add_up(first), add_up(second)]
    scores = _resampled_scores([first, second], samples=samples, seed=seed)
    comparisons = {}
    for name in MEASURES:
        difference: float = getattr(real[1], name) - getattr(real[0], name)
        drawn = [theirs[name] - ours[name] for ours, theirs in scores]
        mean = sum(drawn) / len(drawn)
        # A hair of tolerance: rounding in the mean must not decide whether two equal distances are equal.
        as_far = sum(1 for each in drawn if abs(each - mean) >= abs(difference) - 1e-12)
        p = (as_far + 1) / (len(drawn) + 1)
        comparisons[name] = Comparison(difference, _interval(drawn), p)
    return comparisons


def _resampled_scores(
    systems: Sequence[Sequence[Counts]], *, samples: int, seed: int
) -> list[list[dict[str, float]]]:
    """Score every system on each of the samples."""
    if samples < 1:
        raise UsageError(f"samples must be 1 or greater, got {samples}")
    return [
        [{name: getattr(total, name) for name in MEASURES} for total in totals]
        for totals in _resampled_counts(systems, samples=samples, seed=seed)
    ]


def _resampled_counts(
    systems: Sequence[Sequence[Counts]], *, samples: int, seed: int
) -> Iterator[list[Counts]]:
    import numpy as np

    sentences = len(systems[0])
    if not sentences:
        raise UsageError("no sentences, so no bootstrap samples of them")
    tables = [np.array(system, dtype=np.int64) for system in systems]  # (sentences, counts)
    generator = np.random.default_rng(seed)
    for _ in range(samples):
        times = np.bincount(generator.integers(sentences, size=sentences), minlength=sentences)
        yield [Counts(*map(int, times @ table)) for table in tables]


def _interval(values: Sequence[float]) -> Interval:
    import numpy as np

    ordered = np.sort(np.array(values))
    # As np.quantile does, but that imports much of numpy first.
    low, high = np.interp(np.array([0.025, 0.975]) * (len(ordered) - 1), np.arange(len(ordered)), ordered)
    return Interval(float(low), float(high))
