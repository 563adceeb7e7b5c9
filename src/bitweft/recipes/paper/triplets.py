"""Plain SGD on one pair and its negatives at a time, with the gradients of the network written out.

Such a step is small: by autograd most of its time is overhead, and the gradient of each matrix is stored
before it is subtracted. Here it is a product that is added to the matrix. For target windows of single words,
without characters and replaced centers; `network.py` has the general case, and says what is computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bitweft.recipes.paper.aggregation import Aggregation
from bitweft.recipes.paper.batches import Batch, Sentences, distinct
from bitweft.recipes.paper.compiled.products import number_codes, product_gradients, products, sum_gradients
from bitweft.recipes.paper.encoder import Encoder
from bitweft.recipes.paper.loops import row_sums, tanh
from bitweft.recipes.paper.network import Network
from bitweft.text.vocabulary import PAD


class _Features(NamedTuple):
    """Hold the looked-up features of some words, side by side, and the rows that they come from."""

    values: Tensor  # (words, features)
    rows: list[tuple[Tensor, Tensor]]  # each table, and a row of it for each word

    def descend(self, gradient: Tensor, rate: float) -> None:
        """Change the rows, given the gradient of `values`."""
        start = 0
        for table, rows in self.rows:
            width = table.shape[1]
            table.index_add_(0, rows, gradient[:, start : start + width], alpha=-rate)
            start += width


def _look_up(encoder: Encoder, sentences: Sentences, places: Tensor, pad: int = 0) -> _Features:
    """Look up the words at some places, counted through the padded sentences, with padding on both ends."""
    features = [(encoder.words.weight, sentences.words)]
    if encoder.tags is not None:
        assert sentences.tags is not None
        features.append((encoder.tags.weight, sentences.tags))
    for table, values in zip(encoder.more, sentences.more, strict=True):
        assert isinstance(table, torch.nn.Embedding)
        features.append((table.weight, values))
    rows = [(table, F.pad(values.flatten()[places], (pad, pad), value=PAD)) for table, values in features]
    return _Features(torch.cat([F.embedding(row, table) for table, row in rows], -1), rows)


def _descend(inputs: Tensor, weight: Tensor, gradient: Tensor, rate: float) -> Tensor:
    """Change a matrix, given the gradient of `inputs @ weight`; return that of the inputs."""
    before = gradient @ weight.T
    weight.addmm_(inputs.T, gradient, alpha=-rate)
    return before


class Triplets:
    """Change a network by the gradient of equation 3, one pair at a time."""

    def __init__(self, network: Network, aggregate: Aggregation) -> None:
        self.network = network
        self.aggregate = aggregate

    @staticmethod
    def can_learn(network: Network) -> bool:
        """Tell whether a network is one whose gradients are written out here."""
        target, distance = network.target, network.distance
        plain = (
            target.k1 == target.k2 == 1 and network.source.characters is None and target.characters is None
        )
        return plain and distance.device.type == "cpu" and distance.dtype == torch.float32

    @torch.no_grad()
    def step(self, batch: Batch, rate: float, table_rate: float) -> float:
        """Learn from a pair with its negatives; return its loss."""
        source, target = self.network.source, self.network.target
        pad, length = source.k1 // 2 + source.k2 // 2, batch.source.words.shape[1]
        words = _look_up(source, batch.source, torch.arange(length), pad)
        windows = words.values.unfold(0, source.k1, 1).transpose(1, 2).flatten(1)  # (places, k1 * features)
        encoded = torch.addmm(source.b1, windows, source.m1)  # A: (places, hidden)
        places, own = distinct(batch.target)
        others = _look_up(target, batch.target, places)
        hidden = tanh(torch.addmm(target.b1, others.values, target.m1))  # (words, hidden)
        vectors = torch.addmm(target.b2, hidden, target.m2)  # net_e: (words, output)
        moved, constant = vectors @ source.m2.T, vectors @ source.b2  # (words, k2 * hidden), (words)
        cells = _Cells(self.network, batch, encoded, moved, own[batch.target.mask])
        loss, gradient = self._loss(cells.scores(constant), batch)

        encoded, moved, constant = cells.descend(gradient, rate)  # from here on, their gradients
        bias = constant @ vectors
        vectors = _descend(vectors, source.m2.T, moved, rate).addr_(constant, source.b2)
        hidden_gradient = _descend(hidden, target.m2, vectors, rate)
        first = torch.ops.aten.tanh_backward(hidden_gradient, hidden)
        others.descend(_descend(others.values, target.m1, first, rate), table_rate)
        windows = _descend(windows, source.m1, encoded, rate).view(len(windows), source.k1, -1)
        features = torch.zeros_like(words.values)
        for q in range(source.k1):
            features[q : q + len(windows)] += windows[:, q]
        words.descend(features, table_rate)
        if self.network.config.biases:
            for own_bias, change in (
                (source.b1, encoded.sum(0)),
                (source.b2, bias),
                (target.b1, first.sum(0)),
                (target.b2, vectors.sum(0)),
            ):
                own_bias.sub_(change, alpha=rate)
        return loss

    def _loss(self, scores: Tensor, batch: Batch) -> tuple[float, Tensor]:
        """Return equation 3 of scores (source, target + absent), and its gradient."""
        scores.requires_grad_()
        with torch.enable_grad():
            total = self.aggregate(scores[None], batch.source.mask[:, :, None])  # (1, target + absent)
        lengths = batch.target.lengths.numpy()
        # Other sentences, of which several weigh as much as one, are to score low.
        sentences = np.full(len(lengths), 1 / max(1, len(lengths) - 1), np.float32)
        sentences[0] = -1
        weight = torch.from_numpy(np.repeat(sentences, lengths))
        signed = total.detach() * weight.sign()
        loss = float((F.softplus(signed) * weight.abs()).sum())
        return loss, torch.autograd.grad(total, scores, torch.sigmoid(signed) * weight)[0]


class _Cells:
    """Hold the second layer of the source for each of its words and the place of each target word."""

    def __init__(
        self, network: Network, batch: Batch, encoded: Tensor, moved: Tensor, columns: Tensor
    ) -> None:
        self.network = network
        self.columns = columns  # (target + absent): each one's row of the encoded target words
        self.tables = torch.stack([network.distance @ matrix for matrix in network.m1_distance])
        count, size, units = self.tables.shape
        lengths = batch.target.lengths.numpy()
        ends = np.repeat(np.cumsum(lengths), lengths)
        each = np.repeat(lengths, lengths)
        places = torch.from_numpy(np.stack([np.arange(1, len(ends) + 1) - ends + each, each], -1))
        buckets = network.buckets(batch.source, places[None])[0]  # (padded source, target + absent)
        own = np.empty((len(encoded), len(columns)), np.int64)
        codes = np.empty(own.size, np.int64)
        self.codes = codes[: number_codes(buckets.numpy(), count, size, own, codes)]
        self.encoded = encoded
        self.hidden = tanh(row_sums(encoded, self.tables, torch.from_numpy(self.codes)))  # (codes, hidden)
        self.moved = moved
        k2, vectors = network.config.source_k2, moved.numpy().reshape(-1, units)
        length = len(own) - k2 + 1
        self.parts = [
            (self.hidden.numpy(), vectors, own[None, p : p + length], columns.numpy()[None] * k2 + p)
            for p in range(k2)
        ]

    def scores(self, constant: Tensor) -> Tensor:
        """Return s for each source word and target word."""
        scores = np.empty((len(self.parts), *self.parts[0][2].shape[1:]), np.float32)
        for part, own in enumerate(self.parts):
            products(*own, scores[part : part + 1])
        return torch.from_numpy(scores.sum(0)) + constant[self.columns]

    def descend(self, gradient: Tensor, rate: float) -> tuple[Tensor, Tensor, Tensor]:
        """Change what distances do, given the gradient of the scores; return those of the three inputs."""
        network = self.network
        hidden, vectors = torch.zeros_like(self.hidden), torch.zeros_like(self.moved)
        both = hidden.numpy(), vectors.numpy().reshape(-1, hidden.shape[1])
        for own in self.parts:
            product_gradients(*own, gradient[None].numpy(), *both)
        sums = torch.ops.aten.tanh_backward(hidden, self.hidden)
        encoded, tables = torch.zeros_like(self.encoded), torch.zeros_like(self.tables)
        sum_gradients(self.codes, sums.numpy(), encoded.numpy(), tables.numpy())
        distance = [
            _descend(network.distance, *own, rate) for own in zip(network.m1_distance, tables, strict=True)
        ]
        network.distance.sub_(sum(distance), alpha=rate)
        constant = gradient.new_zeros(len(vectors)).index_add_(0, self.columns, gradient.sum(0))
        return encoded, vectors, constant
