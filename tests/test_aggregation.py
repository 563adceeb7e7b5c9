"""Aggregations against values worked out by hand, and the limits of LSE."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bitweft.errors import UsageError
from bitweft.recipes.paper.aggregation import (
    aggregation,
    average_scores,
    log_sum_exp,
    max_scores,
    posteriors,
    sum_scores,
)

SCORES = torch.tensor(
    [[[1.0, -2.0], [3.0, 0.5], [100.0, 100.0]]], dtype=torch.float64
)  # the third is padding
MASK = torch.tensor([[[True], [True], [False]]])


def test_by_hand() -> None:
    assert sum_scores(SCORES, MASK).tolist() == [[4.0, -1.5]]
    assert average_scores(SCORES, MASK).tolist() == [[2.0, -0.75]]
    assert max_scores(SCORES, MASK).tolist() == [[3.0, 0.5]]
    expected = [math.log(math.e + math.e**3), math.log(math.exp(-2) + math.exp(0.5))]
    assert log_sum_exp(SCORES, MASK)[0].tolist() == pytest.approx(expected)
    halved = [2 * math.log(math.exp(0.5) + math.exp(1.5)), 2 * math.log(math.exp(-1) + math.exp(0.25))]
    assert log_sum_exp(SCORES, MASK, 0.5)[0].tolist() == pytest.approx(halved)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8))
def test_lse_is_a_maximum_for_large_r_and_a_mean_for_small(values: list[float]) -> None:
    scores = torch.tensor(values, dtype=torch.float64)[None, :, None]
    mask = torch.ones(1, len(values), 1, dtype=torch.bool)
    count = len(values)
    assert float(log_sum_exp(scores, mask, 1e4)) == pytest.approx(max(values), abs=1e-3)
    # Small r: (1/r) log Σ exp(r s) = (1/r) log n + the mean, which has the sum's gradient but for a factor.
    small = float(log_sum_exp(scores, mask, 1e-5)) - math.log(count) / 1e-5
    assert small == pytest.approx(sum(values) / count, abs=1e-3)


@pytest.mark.parametrize("name", ["sum", "average", "max", "lse"])
def test_gradients_numerically(name: str) -> None:
    torch.manual_seed(1)
    scores = torch.randn(2, 3, 2, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[[True], [True], [True]], [[True], [False], [False]]])
    aggregate = aggregation(name, 0.7)
    assert torch.autograd.gradcheck(lambda values: aggregate(values, mask), scores)


def test_posteriors_are_the_gradient_of_lse() -> None:
    scores = SCORES.clone().requires_grad_()
    total = log_sum_exp(scores, MASK, 1.0).sum()
    (gradient,) = torch.autograd.grad(total, scores)
    assert torch.allclose(gradient, posteriors(SCORES, MASK))
    assert float(posteriors(SCORES, MASK)[0, 2].sum()) == 0.0


def test_unknown_names_and_r_fail() -> None:
    with pytest.raises(UsageError, match="one of sum, average, max, lse, got"):
        aggregation("mean")
    with pytest.raises(UsageError, match="greater than 0"):
        aggregation("lse", 0.0)
