"""Compiled loops of the paper's recipe give what PyTorch gives, and so do their gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from bitweft.recipes.paper.loops import cell_products, in_buckets, row_sums, tanh

ROWS, WORDS, UNITS = 12, 7, 5
# More columns than the loops take at a time, and rows that several cells share.
PLACE = torch.randint(ROWS, (2, 3, 11), generator=torch.Generator().manual_seed(1))
OWN = torch.randint(WORDS, (2, 11), generator=torch.Generator().manual_seed(2))

Loop = Callable[..., Tensor]
LOOPS: dict[str, tuple[Loop, Loop, list[tuple[int, ...]]]] = {  # the loop, the same in PyTorch, its inputs
    "products": (
        lambda hidden, vectors: cell_products(hidden, vectors, PLACE, OWN),
        lambda hidden, vectors: (hidden[PLACE] * vectors[OWN][:, None]).sum(-1),
        [(ROWS, UNITS), (WORDS, UNITS)],
    ),
    "buckets": (
        in_buckets,
        lambda words, distances: torch.tanh(words[:, None] + distances),
        [(WORDS, UNITS), (8, UNITS)],
    ),
    "tanh": (tanh, torch.tanh, [(3, 4, UNITS)]),
}


def inputs(shapes: list[tuple[int, ...]]) -> list[Tensor]:
    random = torch.Generator().manual_seed(3)
    return [3 * torch.randn(shape, generator=random, dtype=torch.float64) for shape in shapes]


@pytest.mark.parametrize("name", LOOPS)
def test_compiled_numbers_and_gradients_are_those_of_pytorch(name: str) -> None:
    loop, reference, shapes = LOOPS[name]
    precise = [value.requires_grad_() for value in inputs(shapes)]
    compiled = [value.float().requires_grad_() for value in inputs(shapes)]
    expected, found = reference(*precise), loop(*compiled)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
    weights = inputs([tuple(expected.shape)])[0]
    (expected * weights).sum().backward()  # type: ignore[no-untyped-call]
    (found * weights.float()).sum().backward()  # type: ignore[no-untyped-call]
    for one, other in zip(compiled, precise, strict=True):
        assert one.grad is not None and other.grad is not None
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=1e-5, atol=1e-5)


def test_products_are_those_of_the_named_rows() -> None:
    hidden, vectors = inputs(LOOPS["products"][2])
    found = cell_products(hidden.float(), vectors.float(), PLACE, OWN)
    for pair, s, t in [(0, 0, 0), (1, 2, 10), (1, 0, 8)]:
        expected = hidden[PLACE[pair, s, t]] @ vectors[OWN[pair, t]]
        assert float(found[pair, s, t]) == pytest.approx(float(expected), abs=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numbers_of_decoding_are_those_of_learning(dtype: torch.dtype) -> None:
    """Decoding, in 64 bits, takes compiled loops that learning, in 32 bits and with gradients, need not."""
    encoded, tables, vectors = (own.to(dtype) for own in inputs([(4, UNITS), (3, 8, UNITS), (WORDS, UNITS)]))
    codes = torch.tensor([0, 1, 8**3 + 5, 3 * 8**3 + 7 * 64 + 6 * 8 + 5])
    with torch.no_grad():
        found = row_sums(encoded, tables, codes)
        products = cell_products(encoded, vectors, PLACE % 4, OWN)
    torch.testing.assert_close(found, row_sums(encoded, tables, codes))
    torch.testing.assert_close(found[3], encoded[3] + tables[0, 7] + tables[1, 6] + tables[2, 5])
    torch.testing.assert_close(products, (encoded[PLACE % 4] * vectors[OWN][:, None]).sum(-1))


def test_tanh_is_bounded_and_odd() -> None:
    values = torch.tensor([-1e30, -20.0, -8.0, -1e-8, 0.0, 1e-8, 8.0, 20.0, 1e30])
    found = tanh(values)
    assert found.abs().max() <= 1
    assert torch.equal(found, -found.flip(0))
    torch.testing.assert_close(found, torch.tanh(values), rtol=0, atol=4e-7)


def test_tanh_of_nan_is_nan() -> None:
    assert torch.isnan(tanh(torch.tensor([float("nan")]))).all()
