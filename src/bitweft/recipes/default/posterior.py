"""From the posteriors of both directions to probabilities and links.

The probability of a link is √(forward · backward), calibrated; it does not depend on how links are chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bitweft.errors import UsageError
from bitweft.links.alignment import Alignment, Unlinked
from bitweft.links.symmetrize import HEURISTICS, symmetrize_all

Matrix: TypeAlias = npt.NDArray[np.floating]

# The calibration: sigmoid(SLOPE · logit(p) + SHIFT) of the raw p = √(forward · backward).
SLOPE = 0.5
SHIFT = 0.2
# Thresholds of the probability, on the calibrated scale; what lies between is the model's own.
PRECISE = 0.75
COMPLETE = 0.25
LONGEST = 5_000  # words of a sentence: a pair with a longer one gets no links
DIRECTIONS = ("forward", "backward")


@dataclass(frozen=True, slots=True)
class Decoding:
    """Say how links are chosen: by a threshold (the model's, unless given), a heuristic, or one direction.

    `null` asks for the probability that a word without a link has none.
    """

    threshold: float | None = None
    heuristic: str | None = None
    direction: str | None = None
    null: bool = False
    longest: int = LONGEST

    def __post_init__(self) -> None:
        chosen = [value for value in (self.threshold, self.heuristic, self.direction) if value is not None]
        if len(chosen) > 1:
            raise UsageError(
                "links are chosen by a threshold, a heuristic or one direction: give one of them"
            )
        if self.threshold is not None and not 0 < self.threshold <= 1:
            raise UsageError(f"a threshold of {self.threshold} cannot be: it is above 0 and at most 1")
        if self.heuristic is not None and self.heuristic not in HEURISTICS:
            raise UsageError(f"no heuristic {self.heuristic!r}; there are {', '.join(HEURISTICS)}")
        if self.direction is not None and self.direction not in DIRECTIONS:
            raise UsageError(f"no direction {self.direction!r}; there are {', '.join(DIRECTIONS)}")
        if self.longest < 1:
            raise UsageError(f"a longest sentence of {self.longest} words cannot be")

    @property
    def by_direction(self) -> bool:
        """Tell whether each direction chooses its links by itself."""
        return self.heuristic is not None or self.direction is not None


@dataclass(frozen=True, slots=True)
class Inference:
    """Hold what a model thinks of one pair.

    The score is the mean log ratio a word: higher is better, 0 is what words that have nothing to do with
    each other would give, and it does not grow with the length.
    """

    alignment: Alignment
    score: float | None = None
    unlinked: tuple[Unlinked, Unlinked] | None = None  # of the source, of the target
    too_long: bool = False


def calibrated(raw: Matrix) -> npt.NDArray[np.float64]:
    """Turn raw posteriors into probabilities."""
    linked = np.asarray(raw, np.float64).clip(0, 1)
    odds = linked**SLOPE * math.exp(SHIFT)
    probabilities: npt.NDArray[np.float64] = odds / (odds + (1 - linked) ** SLOPE)
    return probabilities


def uncalibrated(probability: float) -> float:
    """Find the raw posterior that has this probability."""
    linked = float((probability * math.exp(-SHIFT)) ** (1 / SLOPE))
    return linked / (linked + float((1 - probability) ** (1 / SLOPE)))


def agreement(forward: Matrix, backward: Matrix) -> npt.NDArray[np.float64]:
    """Return the probability of each link, from both directions' (source, target) posteriors."""
    return calibrated(np.sqrt(np.asarray(forward, np.float64) * backward))


def null_probabilities(forward: Matrix, backward: Matrix) -> tuple[Matrix, Matrix]:
    """Return how probable it is that a source word, and a target word, has no link."""
    source = 1 - np.asarray(backward, np.float64).sum(1)
    target = 1 - np.asarray(forward, np.float64).sum(0)
    return source.clip(0, 1), target.clip(0, 1)


def best_words(forward: Matrix, backward: Matrix) -> tuple[Alignment, Alignment]:
    """Let each word choose its best counterpart, unless none is likelier: target words, then source words."""
    s_null, t_null = null_probabilities(forward, backward)
    best_s, best_t = forward.argmax(0), backward.argmax(1)
    t_chosen = np.flatnonzero(forward.max(0) > t_null)
    s_chosen = np.flatnonzero(backward.max(1) > s_null)
    probabilities = agreement(forward, backward)
    ahead, back = (
        Alignment.of(list(zip(s.tolist(), t.tolist(), strict=True)), probabilities[s, t].tolist())
        for s, t in ((best_s[t_chosen], t_chosen), (s_chosen, best_t[s_chosen]))
    )
    return ahead, back


def links_by_direction(chosen: Sequence[tuple[Alignment, Alignment]], decoding: Decoding) -> list[Alignment]:
    """Take the links that the words of one direction chose, or combine both, as asked."""
    if decoding.heuristic is None:
        return [ahead if decoding.direction == "forward" else back for ahead, back in chosen]
    ahead, back = ([pair[side] for pair in chosen] for side in (0, 1))
    return list(symmetrize_all(ahead, back, decoding.heuristic))


def unlinked(alignment: Alignment, chances: tuple[Matrix, Matrix]) -> tuple[Unlinked, Unlinked]:
    """List the words of both sides that have no link, with the `chances` that they have none."""
    taken = [{link[side] for link in alignment.links} for side in (0, 1)]
    source, target = (
        tuple((n, float(chance)) for n, chance in enumerate(own) if n not in linked)
        for own, linked in zip(chances, taken, strict=True)
    )
    return source, target


def with_known(alignment: Alignment, known: Alignment) -> Alignment:
    """Put known links in: they are certain, and a word that has some gets no other."""
    if not known.links:
        return alignment
    sources, targets = ({link[side] for link in known.links} for side in (0, 1))
    chances = alignment.probabilities or (1.0,) * len(alignment)
    kept = [
        (link, chance)
        for link, chance in zip(alignment.links, chances, strict=True)
        if link[0] not in sources and link[1] not in targets
    ]
    kept += ((link, 1.0) for link in known.links)
    return Alignment.of([link for link, _ in kept], [chance for _, chance in kept])
