"""One direction's posteriors in plain PyTorch, for any device: `chain` and `lse` of `compiled`, on tensors.

Pairs are padded and worked on together; only positions are looped over. Words that are not there have
emissions of 0, so that no path goes through them, and a NULL chance of 1, so that the chain just waits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from bitweft.recipes.default.compiled.types import ONE, Prior, Tally


class Direction(NamedTuple):
    """Hold what one direction of some pairs has to explain, and by what."""

    emission: Tensor  # (pairs, steps, states)
    nulls: Tensor  # (pairs, steps): the chance of each word to have no link
    classes: Tensor  # (pairs, states)
    steps: Tensor  # (pairs, steps): which are there
    states: Tensor  # (pairs, states): which are there


def windows(values: Tensor, clip: int) -> Tensor:
    """Return, for each place, the values −clip … clip further on; the ends sum all that lie so far off."""
    places = values.shape[1]
    near = F.pad(values, (clip - 1, clip - 1)).unfold(1, 2 * clip - 1, 1)  # (pairs, states, 2 · clip − 1)
    before = F.pad(values.cumsum(1), (clip, 0))[:, :places]
    beyond = F.pad(values.flip(1).cumsum(1).flip(1), (0, clip))[:, clip:]
    return torch.cat([before[..., None], near, beyond[..., None]], -1)  # (pairs, states, 2 · clip + 1)


class Jumps:
    """Know the weights of jumps between the states of some pairs; those beyond the clip weigh alike."""

    def __init__(self, weights: Tensor, states: Tensor) -> None:
        self.clip = weights.shape[2] // 2
        self.weights = weights  # (pairs, states, 2 · clip + 1): of the jumps from each state
        self.chances = windows(states.to(weights.dtype), self.clip)  # how many states each jump leads to
        self.totals = (self.chances * weights).sum(2)  # (pairs, states)
        width = 2 * self.clip - 1
        near = F.pad(weights[..., 1:-1].flip(2), (0, 0, self.clip - 1, self.clip - 1))
        arriving = near.unfold(1, width, 1).diagonal(dim1=2, dim2=3)
        self.arriving = arriving.contiguous()  # (pairs, states, 2 · clip − 1): of the jumps to each state

    def spread(self, mass: Tensor) -> Tensor:
        """Return Σ_j mass[j] · weight of a jump from j to k, for each k."""
        clip, states = self.clip, mass.shape[1]
        near = F.pad(mass, (clip - 1, clip - 1)).unfold(1, 2 * clip - 1, 1)
        ahead = (mass * self.weights[..., -1]).cumsum(1)
        back = (mass * self.weights[..., 0]).flip(1).cumsum(1).flip(1)
        far = F.pad(ahead, (clip, 0))[:, :states] + F.pad(back, (0, clip))[:, clip:]
        return (near * self.arriving).sum(2) + far  # (pairs, states)


def explain(own: Direction, prior: Prior, direction: int, tally: Tally | None) -> tuple[Tensor, Tensor]:
    """Return the posteriors (pairs, steps, states) and scaling factors (pairs, steps) of one direction."""
    if prior.chained:
        return _chain(own, prior, direction, tally)
    return _lse(own, prior, direction, tally)


def _chain(own: Direction, prior: Prior, direction: int, tally: Tally | None) -> tuple[Tensor, Tensor]:
    device = own.emission.device
    jumps = Jumps(torch.tensor(prior.jumps[direction], device=device)[own.classes], own.states)
    starts = torch.tensor(prior.starts[direction], device=device)
    buckets = torch.arange(own.states.shape[1], device=device).clamp(max=len(starts) - 1)
    first = starts[buckets] * own.states  # (pairs, states)
    start_total = first.sum(1, keepdim=True)
    first = mass = first / start_total
    anywhere = prior.mixture / own.states.sum(1, keepdim=True)  # (pairs, 1): the mass sums to one
    posterior, scales, before = [], [], []
    for step in range(own.emission.shape[1]):
        before.append((1 - prior.mixture) * mass / jumps.totals)
        arriving = jumps.spread(before[-1]) + anywhere if step else first
        now = arriving * (1 - prior.null) * own.emission[:, step]  # (pairs, states)
        mass = now + mass * own.nulls[:, step, None]
        scale = torch.where(own.steps[:, step], mass.sum(1), 1.0)[:, None]  # (pairs, 1)
        mass = mass / scale
        posterior.append(now / scale)
        scales.append(scale)
    posteriors, jump_sums = _backward(own, prior, jumps, torch.stack(posterior, 1), scales, before)
    if tally is not None:
        _tally(tally.jumps[0, direction], own.classes, *jump_sums)
        chance = posteriors[:, 0].sum(1, keepdim=True) / start_total * own.states
        _tally(tally.starts[0, direction], buckets.expand_as(mass), posteriors[:, 0], chance)
    return posteriors, torch.cat(scales, 1)


def _backward(
    own: Direction, prior: Prior, jumps: Jumps, posterior: Tensor, scales: list[Tensor], before: list[Tensor]
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Turn forward chances into posteriors; return them, the jumps taken and those that could have been."""
    anywhere = prior.mixture / own.states.sum(1, keepdim=True)  # (pairs, 1)
    after = torch.ones_like(before[0])  # β
    departures = torch.zeros_like(after)
    taken = torch.zeros_like(jumps.weights)
    for step in range(len(scales) - 1, 0, -1):
        posterior[:, step] *= after
        ahead = (1 - prior.null) * own.emission[:, step] * after / scales[step]  # (pairs, states)
        seen = windows(ahead, jumps.clip)
        back = (seen * jumps.weights).sum(2)
        departures += before[step] * back
        taken += before[step][..., None] * seen
        after = after * own.nulls[:, step, None] / scales[step] + (1 - prior.mixture) * back / jumps.totals
        after += (anywhere * ahead).sum(1, keepdim=True)
    posterior[:, 0] *= after
    chances = (departures / jumps.totals)[..., None] * jumps.chances  # (pairs, states, 2 · clip + 1)
    return posterior, (taken * jumps.weights, chances)


def _lse(own: Direction, prior: Prior, direction: int, tally: Tally | None) -> tuple[Tensor, Tensor]:
    diagonal = torch.tensor(prior.diagonals[direction], device=own.emission.device)
    n_steps, n = own.steps.sum(1)[:, None, None], own.states.sum(1)[:, None, None]
    step = torch.arange(own.steps.shape[1], device=n.device)[:, None]
    k = torch.arange(own.states.shape[1], device=n.device)
    distance = ((2 * step + 1) * n - (2 * k + 1) * n_steps).abs()  # times 2 · n_steps · n
    places = (distance * len(diagonal) // (2 * n_steps * n)).clamp(max=len(diagonal) - 1)
    there = own.steps[:, :, None] & own.states[:, None]
    weights = diagonal[places] * there  # (pairs, steps, states)
    total = weights.sum(2, keepdim=True).clamp(min=1e-30)
    joint = (1 - prior.null) / total * weights * own.emission
    scales = torch.where(own.steps, prior.null + joint.sum(2), 1.0)  # (pairs, steps)
    posterior = joint / scales[..., None]
    if tally is not None:
        chances = posterior.sum(2, keepdim=True) / total * there
        _tally(tally.diagonals[0, direction], places, posterior, chances)
    return posterior, scales


def whole(values: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
    """Return numbers of at least 0 in whole ONEths."""
    return np.floor(values.astype(np.float64) * ONE + 0.5).astype(np.int64)


def _tally(tally: npt.NDArray[np.int64], rows: Tensor, taken: Tensor, chances: Tensor) -> None:
    """Add to each row of a tally what was taken [0] and what could have been [1]."""
    for kind, values in enumerate((taken, chances)):
        sums = torch.zeros(tally[kind].shape, device=values.device)
        sums.index_add_(0, rows.flatten(), values.reshape(-1, *sums.shape[1:]))
        tally[kind] += whole(sums.cpu().numpy())
