"""From the posteriors of both directions to probabilities and links.

The probability of a link is √(forward · backward), calibrated; it does not depend on how links are chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bitweft.links.alignment import Alignment, Unlinked
from bitweft.links.symmetrize import symmetrize_all
from bitweft.recipes.base import Decoding, Posteriors

Matrix: TypeAlias = npt.NDArray[np.floating]

# The calibration: sigmoid(SLOPE · logit(p) + SHIFT) of the raw p = √(forward · backward).
SLOPE = 0.5
SHIFT = 0.2


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


def pair_posteriors(forward: Matrix, backward: Matrix) -> Posteriors:
    """Return the probabilities of a pair, from both directions' (source, target) posteriors."""
    return Posteriors(agreement(forward, backward), *null_probabilities(forward, backward))


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


def with_probabilities(alignment: Alignment, known: Alignment) -> Alignment:
    """Give links the probabilities that they have among those known; one that is not known has none."""
    chances = dict(zip(known.links, known.probabilities or (), strict=True))
    return Alignment(alignment.links, tuple(chances.get(link, 0.0) for link in alignment.links))
