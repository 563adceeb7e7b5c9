"""One score a target word from its scores with all source words (section 2.2), and each one's part in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from bitweft.settings import SettingError

Aggregation: TypeAlias = Callable[[Tensor, Tensor], Tensor]

CLIP = 10  # steps of a chain beyond it weigh alike
NULL = 0.1  # the chance of a word to be explained by nothing, in a chain


def sum_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """Add the scores of all source words: every one weighs the same."""
    return scores.masked_fill(~mask, 0.0).sum(-2)  # (pairs, target)


def max_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """Take the best source word's score."""
    return scores.masked_fill(~mask, -torch.inf).amax(-2)  # (pairs, target)


def log_sum_exp(scores: Tensor, mask: Tensor, r: float = 1.0) -> Tensor:
    """Weigh source words by how well they score (equation 4): small r is nearer a sum, large r a maximum."""
    return torch.logsumexp(r * scores.masked_fill(~mask, -torch.inf), -2) / r  # (pairs, target)


def chain_scores(scores: Tensor, mask: Tensor, weights: Tensor | None = None, null: float = NULL) -> Tensor:
    """Sum over all paths: log p(word | words before it, source) / p(word), the forward algorithm's factors.

    A step from one source word to the next weighs as its length, −clip … clip and beyond. A target word that
    no source word explains, with the chance `null`, has a ratio of one, and the place is remembered.
    """
    if weights is None:
        weights = torch.exp(-0.3 * (torch.arange(-CLIP, CLIP + 1) - 1).abs())  # small steps forwards
    clip = len(weights) // 2
    place = torch.arange(scores.shape[1], device=scores.device)
    length = (place - place[:, None]).clamp(-clip, clip) + clip  # (from, to)
    steps = weights.to(scores)[length] * mask.mT  # (pairs, from, to)
    steps = steps / steps.sum(2, keepdim=True)
    peak = scores.masked_fill(~mask, 0.0).amax(1, keepdim=True).clamp(min=0).detach()  # (pairs, 1, target)
    ratios = (scores - peak).exp() * mask * (1 - null)  # (pairs, source, target)
    nothing = null * (-peak).exp()  # (pairs, 1, target)
    mass = arriving = mask.mT.to(scores) / mask.sum(1, keepdim=True)  # (pairs, 1, source)
    factors = []
    for t in range(scores.shape[2]):
        mass = arriving * ratios[:, None, :, t] + mass * nothing[:, :, t : t + 1]
        factors.append(mass.sum(2))  # (pairs, 1)
        mass = mass / factors[-1][..., None]
        arriving = mass @ steps
    return torch.cat(factors, 1).log() + peak[:, 0]  # (pairs, target)


def aggregation(name: str, r: float = 1.0) -> Aggregation:
    """Return the aggregation named; it takes scores (pairs, source, target) and a mask (pairs, source, 1)."""
    if name == "lse":
        if r <= 0:
            raise SettingError("r", f"must be greater than 0, got {r}")
        return lambda scores, mask: log_sum_exp(scores, mask, r)
    known: dict[str, Aggregation] = {"sum": sum_scores, "max": max_scores, "chain": chain_scores}
    if name not in known:
        raise SettingError("aggregation", f"must be one of sum, max, lse, chain, got {name!r}")
    return known[name]


def posteriors(scores: Tensor, mask: Tensor, r: float = 1.0) -> Tensor:
    """Return each source word's part in a target word: the gradient of LSE, a softmax over the source."""
    return torch.softmax(r * scores.masked_fill(~mask, -torch.inf), -2)  # (pairs, source, target)
