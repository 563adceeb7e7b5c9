"""The soft margin of equation 3."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def soft_margin(
    positive: Tensor, negative: Tensor, positive_weight: Tensor, negative_weight: Tensor
) -> Tensor:
    """Sum log(1 + exp(−s)) over words that are there and log(1 + exp(s)) over words that are not.

    The weights are 1 for a word and 0 for padding, or whatever a word is to count.
    """
    present = F.softplus(-positive) * positive_weight  # (pairs, target)
    absent = F.softplus(negative) * negative_weight  # (pairs, negative target)
    return present.sum() + absent.sum()
