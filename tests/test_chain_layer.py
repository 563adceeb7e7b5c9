"""The layer that compiled chains are held against, by hand."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from bitweft.recipes.paper.aggregation import log_sum_exp  # noqa: E402
from chain_layer import chain_scores  # noqa: E402

SCORES = torch.tensor(
    [[[1.0, -2.0], [3.0, 0.5], [100.0, 100.0]]], dtype=torch.float64
)  # the third is padding
MASK = torch.tensor([[[True], [True], [False]]])


def test_a_chain_of_two_words_by_hand() -> None:
    # Weights 1, 2, 3 of steps −1, 0, 1 between two source words; the third is padding.
    ratios = torch.exp(SCORES[0, :2])
    weights = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    steps = torch.tensor([[2 / 5, 3 / 5], [1 / 3, 2 / 3]], dtype=torch.float64)
    mass = 0.8 * 0.5 * ratios[:, 0] + 0.2 * 0.5
    first = mass.sum()
    later = 0.8 * (mass / first) @ steps * ratios[:, 1] + 0.2 * mass / first
    expected = [float(first.log()), float(later.sum().log())]
    assert chain_scores(SCORES, MASK, weights, 0.2)[0].tolist() == pytest.approx(expected)


def test_a_chain_of_equal_steps_is_lse() -> None:
    found = chain_scores(SCORES, MASK, torch.ones(3), 0.0)
    assert torch.allclose(found, log_sum_exp(SCORES, MASK) - math.log(2))  # the mean, not the sum


def test_chains_stand_scores_that_exp_does_not() -> None:
    scores = torch.tensor([[[500.0, -500.0], [-500.0, -500.0]]])
    found = chain_scores(scores, torch.ones(1, 2, 1, dtype=torch.bool))
    assert found[0].tolist() == pytest.approx([500 + math.log(0.45), math.log(0.1)])


def test_gradients_numerically() -> None:
    torch.manual_seed(1)
    scores = torch.randn(2, 3, 2, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[[True], [True], [True]], [[True], [False], [False]]])
    assert torch.autograd.gradcheck(lambda values: chain_scores(values, mask), scores)
