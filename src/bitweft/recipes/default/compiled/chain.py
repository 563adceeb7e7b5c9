"""Posteriors of one direction by a chain: each word's position depends on the one before, by a jump."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.types import CLIP, Direction, Explained, Floats, Ints, Longs, Prior
from bitweft.recipes.default.compiled.whole import whole

NEAR = CLIP - 1
WIDTH = 2 * NEAR + 1  # of the jumps that weigh apart; a constant, so that loops over them are unrolled
LANES = 8  # states that one instruction handles: rows of states are padded to whole lanes


class Jumps(NamedTuple):
    """Hold the probabilities of jumps between the states of one pair; rows of states have whole lanes."""

    near: Floats  # (WIDTH, width): of each near jump from each state
    far: Floats  # (states, 2): of any one far jump from each state to the left, to the right
    per_weight: Floats  # (states): of a jump of weight one from each state, were there no mixture


@compiled()
def chain(own: Direction, prior: Prior, out: Explained, jump_tally: Longs, start_tally: Longs) -> None:
    """Find the posteriors and scaling factors of a first-order chain by forward and backward passes.

    A word that nothing explains has the ratio 1; its state remembers the position.
    Tallies of no length are not kept.
    """
    n_steps, n = own.emission.shape
    kept = len(jump_tally) > 0
    width = (n + LANES - 1) // LANES * LANES  # states beyond n have the ratio 0: nothing comes of them
    jumps = _jump_probabilities(n, width, prior.jumps[own.number], own.classes, prior.mixture)
    first = _start_distribution(n, prior.starts[own.number])
    masses = _forward(own, prior, jumps, first, out, kept)
    aheads = _backward(own, prior, jumps, out, kept)
    if kept:
        together = np.dot(masses[1:n_steps].T, aheads[1:])  # of each state and the next
        _tally_jumps(together[NEAR:], jumps, own.classes, jump_tally)
    if len(start_tally):
        _tally_starts(out.posterior[0], first, prior.starts[own.number], start_tally)


@compiled()
def _forward(own: Direction, prior: Prior, jumps: Jumps, first: Floats, out: Explained, kept: bool) -> Floats:
    """Set posteriors to α of the states that explain each word; return α before each step, linked or not.

    It is padded by NEAR zeros at each end; all steps are returned where they are kept, else the last two.
    """
    emission, nulls, posterior, scales = own.emission, own.nulls, out.posterior, out.scales
    n_steps, n = emission.shape
    width = jumps.near.shape[1]
    arrivals = _arrivals(jumps.near, n)
    anywhere = np.float32(prior.mixture / n)
    rows = n_steps + 1 if kept else 2  # tallies ask for all of them in the end
    masses = np.zeros((rows, width + 2 * NEAR), np.float32)
    linked = np.zeros(width, np.float32)  # α of the states that explain the word
    ratio = np.zeros(width, np.float32)
    for k in range(n):
        masses[0, NEAR + k] = linked[k] = first[k]
    for step in range(n_steps):
        before, after = masses[step % rows], masses[(step + 1) % rows]
        for k in range(n):
            ratio[k] = np.float32(1.0 - prior.null) * emission[step, k]
        if step > 0:
            _jump(before, arrivals, jumps.far, anywhere, linked)
        scale = np.float32(0.0)
        for k in range(width):
            linked[k] *= ratio[k]
            after[NEAR + k] = linked[k] + nulls[step] * before[NEAR + k]
            scale += after[NEAR + k]
        scales[step] = scale
        inverse = np.float32(1.0) / scale
        for k in range(width):
            after[NEAR + k] *= inverse
        for k in range(n):
            posterior[step, k] = linked[k] * inverse
    return masses


@compiled()
def _backward(own: Direction, prior: Prior, jumps: Jumps, out: Explained, kept: bool) -> Floats:
    """Turn α of the states that explain each word into posteriors; return what lies ahead of each step."""
    emission, nulls, posterior, scales = own.emission, own.nulls, out.posterior, out.scales
    n_steps, n = emission.shape
    width = jumps.near.shape[1]
    anywhere = prior.mixture / n
    after = np.ones(width, np.float32)  # β
    back = np.empty(width, np.float32)
    rows = n_steps if kept else 1
    aheads = np.zeros((rows, width + 2 * NEAR), np.float32)
    for step in range(n_steps - 1, -1, -1):
        ahead = aheads[step % rows]
        inverse = np.float32(1.0) / scales[step]
        linked = np.float32(1.0 - prior.null) * inverse
        total = np.float32(0.0)
        for k in range(n):
            posterior[step, k] *= after[k]
            value = linked * emission[step, k] * after[k]
            ahead[k + NEAR] = value
            total += value
        if step > 0:
            _jump_back(ahead, jumps.near, jumps.far, np.float32(anywhere * total), back)
            null = nulls[step] * inverse
            for k in range(width):
                after[k] = back[k] + after[k] * null
    return aheads


@compiled()
def _start_distribution(n: int, weights: Floats) -> Floats:
    """Return the distribution of the first state."""
    starts = np.empty(n, np.float32)
    total = 0.0
    for k in range(n):
        starts[k] = weights[min(k, len(weights) - 1)]
        total += starts[k]
    for k in range(n):
        starts[k] /= total
    return starts


@compiled()
def _jump_probabilities(n: int, width: int, jumps: Floats, classes: Ints, mixture: float) -> Jumps:
    """Return the probabilities of jumps from each of n states, by the weights of its class."""
    near = np.zeros((WIDTH, width), np.float32)
    far = np.empty((n, 2), np.float32)
    per_weight = np.empty(n, np.float32)
    for k in range(n):
        weights = jumps[classes[k]]
        total = weights[0] * max(k + 1 - CLIP, 0) + weights[2 * CLIP] * max(n - k - CLIP, 0)
        for d in range(max(0, NEAR - k), min(WIDTH, n + NEAR - k)):
            total += weights[d + 1]
        per_weight[k] = 1 / total
        share = np.float32(1.0 - mixture) / total
        for d in range(WIDTH):
            near[d, k] = weights[d + 1] * share
        far[k, 0] = weights[0] * share
        far[k, 1] = weights[2 * CLIP] * share
    return Jumps(near, far, per_weight)


@compiled()
def _arrivals(near: Floats, n: int) -> Floats:
    """Order the probabilities of near jumps by the state jumped to, from the farthest left of it on."""
    arrivals = np.zeros_like(near)
    for d in range(WIDTH):
        for k in range(max(0, NEAR - d), min(n, n + NEAR - d)):
            arrivals[d, k] = near[WIDTH - 1 - d, k + d - NEAR]
    return arrivals


@compiled()
def _near_jumps(values: Floats, weights: Floats, out: Floats) -> None:
    """Add to out[k] the sum over d of values[k + d] · weights[d, k]."""
    for k in range(len(out)):  # the inner loop is unrolled, so that this one is done in lanes
        total = out[k]
        for d in range(WIDTH):
            total += values[k + d] * weights[d, k]
        out[k] = total


@compiled()
def _jump(mass: Floats, arrivals: Floats, far: Floats, anywhere: np.float32, out: Floats) -> None:
    """Set out[k] to the mass that jumps to k; `mass` has NEAR zeros at each end."""
    n = len(far)
    for k in range(len(out)):
        out[k] = anywhere
    right = left = np.float32(0.0)
    for k in range(n - CLIP):  # both at once: neither has to wait for the other
        right += mass[NEAR + k] * far[k, 1]
        left += mass[NEAR + n - 1 - k] * far[n - 1 - k, 0]
        out[k + CLIP] += right
        out[n - 1 - k - CLIP] += left
    _near_jumps(mass, arrivals, out)


@compiled()
def _jump_back(ahead: Floats, near: Floats, far: Floats, anywhere: np.float32, out: Floats) -> None:
    """Set out[k] to the sum of what lies ahead of k by each jump; `ahead` has NEAR zeros at each end."""
    n = len(far)
    for k in range(len(out)):
        out[k] = anywhere
    right = left = np.float32(0.0)
    for k in range(n - CLIP):
        left += ahead[NEAR + k]
        right += ahead[NEAR + n - 1 - k]
        out[k + CLIP] += left * far[k + CLIP, 0]
        out[n - 1 - k - CLIP] += right * far[n - 1 - k - CLIP, 1]
    _near_jumps(ahead, near, out)


@compiled()
def _tally_jumps(together: Floats, jumps: Jumps, classes: Ints, tally: Longs) -> None:
    """Tally the expected jumps from each state, and those that could have been made.

    `together` is (state, NEAR + next state): the products of what came before and what lies ahead.
    """
    near, far, per_weight = jumps
    n = len(per_weight)
    for k in range(n):
        own = classes[k]
        left = right = np.float32(0.0)
        for to in range(k + 1 - CLIP):
            left += together[k, NEAR + to] * far[k, 0]
        for to in range(k + CLIP, n):
            right += together[k, NEAR + to] * far[k, 1]
        departures = left + right
        for d in range(WIDTH):
            expected = together[k, k + d] * near[d, k]
            tally[0, own, d + 1] += whole(expected)
            departures += expected
        tally[0, own, 0] += whole(left)
        tally[0, own, 2 * CLIP] += whole(right)
        chance = whole(departures * per_weight[k])
        for d in range(max(0, NEAR - k), min(WIDTH, n + NEAR - k)):
            tally[1, own, d + 1] += chance
        tally[1, own, 0] += chance * max(k + 1 - CLIP, 0)
        tally[1, own, 2 * CLIP] += chance * max(n - k - CLIP, 0)


@compiled()
def _tally_starts(posterior: Floats, first: Floats, starts: Floats, tally: Longs) -> None:
    chance = np.float32(0.0)
    for k in range(len(first)):
        chance += posterior[k]
    for k in range(len(first)):
        bucket = min(k, len(starts) - 1)
        tally[0, bucket] += whole(posterior[k])
        tally[1, bucket] += whole(chance * first[k] / starts[bucket])
