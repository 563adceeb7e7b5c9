"""One score a target word from its scores with all source words (section 2.2), and each one's part in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from bitweft.recipes.paper.plugins import Registry
from bitweft.settings import SettingError

Aggregation: TypeAlias = Callable[[Tensor, Tensor], Tensor]


def sum_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """Add the scores of all source words: every one weighs the same."""
    return scores.masked_fill(~mask, 0.0).sum(-2)  # (pairs, target)


def average_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """Divide the sum by the number of source words: steps along its gradient fit sentences of any length."""
    return sum_scores(scores, mask) / mask.sum(-2)  # (pairs, target)


def max_scores(scores: Tensor, mask: Tensor) -> Tensor:
    """Take the best source word's score."""
    return scores.masked_fill(~mask, -torch.inf).amax(-2)  # (pairs, target)


def log_sum_exp(scores: Tensor, mask: Tensor, r: float = 1.0) -> Tensor:
    """Weigh source words by how well they score (equation 4): small r is nearer a sum, large r a maximum."""
    return torch.logsumexp(r * scores.masked_fill(~mask, -torch.inf), -2) / r  # (pairs, target)


AGGREGATIONS: Registry[Aggregation] = Registry(
    "aggregation", {"sum": sum_scores, "average": average_scores, "max": max_scores}
)
LSE = "lse"


def aggregation(name: str, r: float = 1.0) -> Aggregation:
    """Return the aggregation named; it takes scores (pairs, source, target) and a mask (pairs, source, 1)."""
    if name == LSE:
        if r <= 0:
            raise SettingError("r", f"must be greater than 0, got {r}")
        return lambda scores, mask: log_sum_exp(scores, mask, r)
    found = AGGREGATIONS.find(name)
    if found is None:
        known = ", ".join((*AGGREGATIONS.names(), LSE))
        raise SettingError("aggregation", f"must be one of {known}, got {name!r}")
    return found


def register_aggregation(name: str) -> Callable[[Aggregation], Aggregation]:
    """Make a function known as an aggregation: `training.aggregation=NAME`; used as a decorator.

    It takes scores (pairs, source, target) and a mask (pairs, source, 1) that is false where there is no
    word, and returns a score for each target word (pairs, target), which gradients must flow through.
    """
    return AGGREGATIONS.register(name)


def posteriors(scores: Tensor, mask: Tensor, r: float = 1.0) -> Tensor:
    """Return each source word's part in a target word: the gradient of LSE, a softmax over the source."""
    return torch.softmax(r * scores.masked_fill(~mask, -torch.inf), -2)  # (pairs, source, target)
