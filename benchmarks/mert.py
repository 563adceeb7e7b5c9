"""Minimum error rate training (Och, 2003) on n-best lists, towards BLEU.

A decoder is a function from weights to n-best lists: for each sentence, candidates with the features that
its score is the weighted sum of. The lists of all rounds are kept together, so that weights chosen on them
are weights for what the decoder may say.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
ORDER = 4
RANDOM_DIRECTIONS = 5
RESTARTS = 4
LEAST = 1e-5  # gain of BLEU in a turn over all directions that another turn is worth
REACH = 0.25  # of the length of the weights, that one round may change


class Candidate(NamedTuple):
    """Hold one translation and the features of its score."""

    words: tuple[str, ...]
    features: tuple[float, ...]


Decoder: TypeAlias = Callable[[Floats], Sequence[Sequence[Candidate]]]


def statistics(words: Sequence[str], reference: Sequence[str]) -> Floats:
    """Count what BLEU is made of: matches and n-grams for each order, then both lengths."""
    counts: list[float] = []
    for order in range(1, ORDER + 1):
        ours, theirs = (
            Counter(tuple(text[start : start + order]) for start in range(len(text) - order + 1))
            for text in (words, reference)
        )
        counts += [sum((ours & theirs).values()), sum(ours.values())]
    return np.array([*counts, len(words), len(reference)], dtype=np.float64)


def bleu(totals: Floats) -> Floats:
    """Compute BLEU from summed statistics, for many sums at once: the last axis holds the statistics."""
    matches, possible = totals[..., 0 : 2 * ORDER : 2], totals[..., 1 : 2 * ORDER : 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(matches / possible).mean(axis=-1)
        brevity = np.minimum(0.0, 1.0 - totals[..., -1] / totals[..., -2])
        score = np.exp(logs + brevity)
    return np.where(np.isfinite(score), score, 0.0)


def write_candidates(path: Path, lists: Sequence[Sequence[Candidate]]) -> None:
    """Write n-best lists as JSON."""
    path.write_text(json.dumps(lists, ensure_ascii=False), encoding="utf-8")


def read_candidates(path: Path) -> list[list[Candidate]]:
    """Read n-best lists that `write_candidates` wrote."""
    lists = json.loads(path.read_text(encoding="utf-8"))
    return [[Candidate(tuple(words), tuple(features)) for words, features in own] for own in lists]


class Pool:
    """Gather the candidates of every round, each once, with their features and statistics."""

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        self._references = references
        self._seen: list[set[Candidate]] = [set() for _ in references]
        self._features: list[list[tuple[float, ...]]] = [[] for _ in references]
        self._statistics: list[list[Floats]] = [[] for _ in references]

    def add(self, lists: Sequence[Sequence[Candidate]]) -> int:
        """Take in n-best lists, one for each reference, and return how many candidates were new."""
        new = 0
        for number, candidates in enumerate(lists):
            for candidate in candidates:
                if candidate not in self._seen[number]:
                    self._seen[number].add(candidate)
                    self._features[number].append(candidate.features)
                    self._statistics[number].append(statistics(candidate.words, self._references[number]))
                    new += 1
        return new

    def lists(self) -> Lists:
        """Give all candidates as arrays, those of one sentence side by side."""
        owners = [number for number, rows in enumerate(self._features) for _ in rows]
        return Lists(
            np.array([row for rows in self._features for row in rows], dtype=np.float64),
            np.array([row for rows in self._statistics for row in rows], dtype=np.float64),
            np.array(owners, dtype=np.int64),
        )


class Lists(NamedTuple):
    """Hold the features and statistics of all candidates, and the sentence of each, in order."""

    features: Floats
    statistics: Floats
    owners: npt.NDArray[np.int64]


def tune(
    decode: Decoder,
    references: Sequence[Sequence[str]],
    start: Sequence[float],
    *,
    first: Sequence[Sequence[Candidate]] | None = None,
    fixed: Sequence[int] = (),
    reach: float = REACH,
    rounds: int = 10,
    seed: int = 1,
) -> tuple[Floats, list[float]]:
    """Search the weights whose translations have the best BLEU; return them, and the BLEU of each round.

    `first` may give the lists of the first weights. Weights at `fixed` places keep their value. Each round
    decodes with weights chosen on the lists so far, in a ball around the best that were decoded with: its
    radius is `reach` of their length. Lists say little of weights far from those that made them. Stops when
    nothing new comes.
    """
    generator = np.random.default_rng(seed)
    weights = np.array(start, dtype=np.float64)
    free = [place for place in range(len(weights)) if place not in fixed]
    scale = np.abs(weights[free]).sum()
    pool = Pool(references)
    tried: list[tuple[float, Floats]] = []
    while True:
        lists = first if first is not None and not tried else decode(weights)
        tried.append((_first_best(lists, references), weights))
        if pool.add(lists) == 0 or len(tried) > rounds:
            break
        ball = Ball(best := max(tried, key=lambda result: result[0])[1], reach * float(np.linalg.norm(best)))
        starts = [best, *(ball.draw(free, generator) for _ in range(RESTARTS))]
        gathered = pool.lists()
        found = [optimize(gathered, one, free, generator, ball) for one in starts]
        weights = max(found, key=lambda result: result[1])[0]
        # Only ratios matter: one scale keeps the decoder's pruning comparable from round to round.
        weights[free] *= scale / np.abs(weights[free]).sum()
    return max(tried, key=lambda result: result[0])[1], [score for score, _ in tried]


def _first_best(lists: Sequence[Sequence[Candidate]], references: Sequence[Sequence[str]]) -> float:
    counts = [
        statistics(candidates[0].words if candidates else (), reference)
        for candidates, reference in zip(lists, references, strict=True)
    ]
    return float(bleu(np.asarray(np.sum(counts, axis=0))))


class Ball(NamedTuple):
    """Hold weights that are trusted, and how far from them others may be."""

    center: Floats
    radius: float

    def draw(self, free: Sequence[int], generator: np.random.Generator) -> Floats:
        """Draw weights to start from anew."""
        direction = _draw_direction(len(self.center), free, generator)
        distance = self.radius * generator.uniform()
        return np.asarray(self.center + direction * distance / np.linalg.norm(direction))

    def bounds(self, weights: Floats, direction: Floats) -> tuple[float, float]:
        """Give the least and the greatest step along a direction that stay inside."""
        away = weights - self.center
        along, length = float(away @ direction), float(direction @ direction)
        root = math.sqrt(max(along**2 - length * (float(away @ away) - self.radius**2), 0.0))
        return (-along - root) / length, (-along + root) / length


def _draw_direction(size: int, free: Sequence[int], generator: np.random.Generator) -> Floats:
    direction = np.zeros(size)
    direction[list(free)] = generator.normal(size=len(free))
    return direction


def optimize(
    lists: Lists, start: Floats, free: Sequence[int], generator: np.random.Generator, ball: Ball
) -> tuple[Floats, float]:
    """Climb from one start, line by line, until no axis and no random direction helps, inside the ball."""
    weights = start.copy()
    score = float(bleu(_chosen(lists, weights)))
    while True:
        before = score
        directions = list(np.eye(len(weights))[list(free)])
        directions += [_draw_direction(len(weights), free, generator) for _ in range(RANDOM_DIRECTIONS)]
        for direction in directions:
            step, reached = line_search(lists, weights, direction, ball.bounds(weights, direction))
            if reached > score:
                weights, score = weights + step * direction, reached
        if score < before + LEAST:
            return weights, score


def _chosen(lists: Lists, weights: Floats) -> Floats:
    order = np.lexsort((-(lists.features @ weights), lists.owners))
    first = np.append(True, np.diff(lists.owners[order]) > 0)
    return np.asarray(lists.statistics[order[first]].sum(axis=0), dtype=np.float64)


def line_search(
    lists: Lists, weights: Floats, direction: Floats, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[float, float]:
    """Find the step along a direction with the best BLEU, exactly: between two changes nothing changes.

    Only steps within the bounds count, where 0 must be.
    """
    places, before, after = envelopes(lists.features @ direction, lists.features @ weights, lists.owners)
    changes = np.isfinite(places)
    total = lists.statistics[after[~changes]].sum(axis=0)
    if not changes.any():
        return 0.0, float(bleu(total))
    order = np.argsort(places[changes], kind="stable")
    at = places[changes][order]
    steps = lists.statistics[after[changes][order]] - lists.statistics[before[changes][order]]
    scores = bleu(np.vstack([total, total + np.cumsum(steps, axis=0)]))
    least, greatest = (
        bound if math.isfinite(bound) else end
        for bound, end in zip(bounds, (at[0] - 2, at[-1] + 2), strict=True)
    )
    lows = np.maximum(np.append(min(at[0] - 2, least), at), least)
    highs = np.minimum(np.append(at, max(at[-1] + 2, greatest)), greatest)
    # Several sentences may change at one place: only what holds after the last of them is reachable.
    interval = int(np.argmax(np.where(highs - lows > 1e-12, scores, -1.0)))
    return float((lows[interval] + highs[interval]) / 2), float(scores[interval])


def envelopes(
    slopes: Floats, intercepts: Floats, owners: npt.NDArray[np.int64]
) -> tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Give the lines that are highest somewhere, owner by owner, from left to right.

    Each comes with the place where it takes over (minus infinity for the first) and the line before it.
    """
    order = np.lexsort((-intercepts, slopes, owners))
    places = np.empty(len(order))
    tops = np.empty(len(order), dtype=np.int64)
    size = _walk(slopes, intercepts, owners, order, places, tops)
    places, tops = places[:size], tops[:size]
    before = np.where(np.isfinite(places), np.roll(tops, 1), tops)
    return places, before, tops


@numba.njit(cache=True)
def _walk(
    slopes: Floats,
    intercepts: Floats,
    owners: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    places: Floats,
    tops: npt.NDArray[np.int64],
) -> int:
    size = 0
    start = 0  # where the envelope of the current owner begins
    for line in order:
        if size > start and owners[tops[size - 1]] != owners[line]:
            start = size
        if size > start and slopes[tops[size - 1]] == slopes[line]:
            continue
        place = -np.inf
        while size > start:
            top = tops[size - 1]
            place = (intercepts[top] - intercepts[line]) / (slopes[line] - slopes[top])
            if place > places[size - 1]:
                break
            size -= 1
            place = -np.inf
        places[size] = place
        tops[size] = line
        size += 1
    return size
