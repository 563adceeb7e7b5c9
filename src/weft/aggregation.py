"""One score a target word from its scores with all source words (section 2.2), and each one's part in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from weft.errors import UsageError

Aggregation: TypeAlias = Callable[[Tensor, Tensor], Tensor]


def sum_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """Add the scores of all source words: every one weighs the same."""
    return scores.masked_fill(~mask, 0.0).sum(-2)  # (pairs, target)


def max_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """Take the best source word's score."""
    return scores.masked_fill(~mask, -torch.inf).amax(-2)  # (pairs, target)


def log_sum_exp(scores: Tensor, mask: Tensor, r: float = 1.0) -> Tensor:
    """Weigh source words by how well they score (equation 4): small r is nearer a sum, large r a maximum."""
    return torch.logsumexp(r * scores.masked_fill(~mask, -torch.inf), -2) / r  # (pairs, target)


def aggregation(name: str, r: float = 1.0) -> Aggregation:
    """Return the aggregation named; it takes scores (pairs, source, target) and a mask (pairs, source, 1)."""
    if name == "lse":
        if r <= 0:
            raise UsageError(f"aggregation: r must be above zero, not {r}")
        return lambda scores, mask: log_sum_exp(scores, mask, r)
    known: dict[str, Aggregation] = {"sum": sum_scores, "max": max_scores}
    if name not in known:
        raise UsageError(f"aggregation: {name!r} is none of sum, max, lse")
    return known[name]


def posteriors(scores: Tensor, mask: Tensor, r: float = 1.0) -> Tensor:
    """Return each source word's part in a target word: the gradient of LSE, a softmax over the source."""
    return torch.softmax(r * scores.masked_fill(~mask, -torch.inf), -2)  # (pairs, source, target)
