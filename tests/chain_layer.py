"""A chain of source words as a layer: what the default recipe's compiled loops are held against."""

from __future__ import annotations

import torch
from torch import Tensor

CLIP = 10  # steps of a chain beyond it weigh alike
NULL = 0.1  # the chance of a word to be explained by nothing


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
