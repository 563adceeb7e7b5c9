"""What PyTorch does slowly on a CPU, in compiled loops with gradients of their own.

Products of the cells that are asked for, instead of every row with every column: a source word has a vector
for each bucket of the distance to the diagonal, and a cell needs one of them. And the tanh of the first
layer in 32 bits, in a fifth of the time. On other devices PyTorch does the same in a line.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from bitweft.recipes.paper.compiled import tanh as compiled_tanh
from bitweft.recipes.paper.compiled.products import product_gradients, products, sums


class _Products(torch.autograd.Function):
    """Take the products in compiled loops, on the CPU."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, vectors: Tensor, place: Tensor, own: Tensor) -> Tensor:
        hidden, vectors = hidden.contiguous(), vectors.contiguous()
        ctx.save_for_backward(hidden, vectors, place, own)
        scores = hidden.new_zeros(place.shape)
        products(hidden.numpy(), vectors.numpy(), place.numpy(), own.numpy(), scores.numpy())
        return scores

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        hidden, vectors, place, own = ctx.saved_tensors
        found = torch.zeros_like(hidden), torch.zeros_like(vectors)
        arrays = [each.numpy() for each in (hidden, vectors, place, own, gradients[0].contiguous(), *found)]
        product_gradients(*arrays)
        return *found, None, None


class _InBuckets(torch.autograd.Function):
    """Take the tanh of sums of words and distances in compiled loops."""

    @staticmethod
    def forward(ctx: Any, words: Tensor, distances: Tensor) -> Tensor:
        hidden = words.new_empty(len(words), *distances.shape)
        arrays = (words.contiguous().numpy(), distances.contiguous().numpy(), hidden.numpy())
        compiled_tanh.in_buckets(*arrays)
        ctx.save_for_backward(hidden)
        return hidden

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        (hidden,) = ctx.saved_tensors
        words, distances = hidden.new_zeros(hidden[:, 0].shape), hidden.new_zeros(hidden.shape[1:])
        arrays = (hidden.numpy(), gradients[0].contiguous().numpy(), words.numpy(), distances.numpy())
        compiled_tanh.bucket_gradients(*arrays)
        return words, distances


class _Tanh(torch.autograd.Function):
    """Take the tanh of many numbers in a compiled loop."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        values = values.contiguous()
        result = torch.empty_like(values)
        compiled_tanh.tanh(values.numpy(), result.numpy())
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (result,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(gradients[0], result)  # type: ignore[no-any-return]


def _compiled(values: Tensor) -> bool:
    return values.device.type == "cpu" and values.dtype == torch.float32


def tanh(values: Tensor) -> Tensor:
    """Return the tanh of each number."""
    if _compiled(values):
        return _Tanh.apply(values)  # type: ignore[no-untyped-call, no-any-return]
    return torch.tanh(values)


def in_buckets(words: Tensor, distances: Tensor) -> Tensor:
    """Return the tanh of each word (words, units) with each distance (buckets, units)."""
    if _compiled(words):
        return _InBuckets.apply(words, distances)  # type: ignore[no-untyped-call, no-any-return]
    return torch.tanh(words[:, None] + distances)  # (words, buckets, units)


def cell_products(hidden: Tensor, vectors: Tensor, place: Tensor, own: Tensor) -> Tensor:
    """Multiply, for each cell, a row of `hidden` (rows, units) with one of `vectors` (words, units).

    `place` (pairs, source, target) names the row of each cell, `own` (pairs, target) the word of each column.
    """
    if hidden.device.type == "cpu":
        return _Products.apply(hidden, vectors, place, own)  # type: ignore[no-untyped-call, no-any-return]
    return (hidden[place] * vectors[own][:, None]).sum(-1)  # (pairs, source, target)


def row_sums(encoded: Tensor, tables: Tensor, codes: Tensor) -> Tensor:
    """Add a row of `encoded` (rows, units) and one of each of `tables` (tables, size, units) for each code.

    A code is the number of the row, then of the row of each table, as digits of a number to the base `size`.
    """
    size = tables.shape[1]
    if encoded.device.type == "cpu" and not torch.is_grad_enabled():
        out = encoded.new_empty(len(codes), encoded.shape[1])
        sums(encoded.contiguous().numpy(), tables.contiguous().numpy(), codes.numpy(), out.numpy())
        return out
    total = encoded.new_zeros(())
    for table in reversed(tables.unbind()):
        total = total + F.embedding(codes % size, table)
        codes = codes // size
    return F.embedding(codes, encoded) + total  # (codes, units)
