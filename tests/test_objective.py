"""The soft margin against values worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from bitweft.recipes.paper.objective import soft_margin


def test_by_hand() -> None:
    positive, negative = torch.tensor([[2.0, 9.0]]), torch.tensor([[0.0, -1.0]])
    loss = soft_margin(positive, negative, torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
    expected = math.log(1 + math.exp(-2)) + math.log(2) + math.log(1 + math.exp(-1))
    assert float(loss) == pytest.approx(expected)


def test_large_scores_do_not_overflow() -> None:
    one = torch.ones(1, 1)
    loss = soft_margin(torch.tensor([[-1e4]]), torch.tensor([[1e4]]), one, one)
    assert float(loss) == pytest.approx(2e4)


def test_gradients_numerically() -> None:
    torch.manual_seed(1)
    positive = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    negative = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    weight = (torch.arange(6).reshape(2, 3) % 2).double()
    other = torch.ones(2, 4, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda p, n: soft_margin(p, n, weight, other), (positive, negative))
