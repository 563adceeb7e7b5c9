"""Steps of the default recipe in plain PyTorch, for any device: `gradients` and `update` of `compiled`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bitweft.recipes.default.compiled.types import LARGEST, Adam, Longs, Prior, Side, Tally, new_tally
from bitweft.recipes.default.groups import group_bounds
from bitweft.recipes.default.pytorch.chains import Direction, explain


class Table(NamedTuple):
    """Hold one side's look-up table, its moments and its words' rows on a device."""

    rows: Tensor
    row_offsets: Tensor  # (words + 1)
    values: Tensor  # (rows, dimensions)
    first: Tensor
    second: Tensor
    steps: Tensor

    @classmethod
    def of(cls, side: Side, adam: Adam, device: str) -> Table:
        """Move a side to the device; on the CPU the arrays may be shared, and change with the tensors."""
        arrays = (side.rows, side.row_offsets, side.table, *adam)
        return cls(*(torch.from_numpy(array).to(device) for array in arrays))

    def store(self, side: Side, adam: Adam) -> None:
        """Bring what was learned back to the arrays."""
        arrays: list[npt.NDArray[Any]] = [side.table, *adam]
        for array, tensor in zip(arrays, self[2:], strict=True):
            array[:] = tensor.cpu().numpy()

    def spelt(self, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the rows of all words, which word each belongs to, and the weight of each word's rows."""
        first = self.row_offsets[words]  # (words)
        number = self.row_offsets[words + 1] - first
        owner = torch.repeat_interleave(torch.arange(len(words), device=words.device), number)
        within = torch.arange(len(owner), device=words.device) - (number.cumsum(0) - number)[owner]
        return self.rows[first[owner] + within], owner, number.clamp(min=1).to(self.values.dtype).rsqrt()

    def compose(self, words: Tensor) -> Tensor:
        """Return the vectors of words: the sum of a word's rows over the root of their number."""
        rows, owner, weight = self.spelt(words)
        vectors = self.values.new_zeros(len(words), self.values.shape[1])
        return vectors.index_add_(0, owner, self.values[rows]) * weight[:, None]  # (words, dimensions)

    def update(self, words: Tensor, gradient: Tensor, rate: float) -> None:
        """Apply Adam to the rows of words, and to no other; a word may come more than once."""
        rows, owner, weight = self.spelt(words)
        touched, place = torch.unique(rows, return_inverse=True)
        sums = gradient.new_zeros(len(touched), gradient.shape[1])
        sums.index_add_(0, place, (gradient * weight[:, None])[owner])
        steps = self.steps[touched] + 1
        second = 0.99 * self.second[touched] + 0.01 * sums.square().mean(1)
        first = 0.9 * self.first[touched] + 0.1 * sums
        self.steps[touched], self.second[touched], self.first[touched] = steps, second, first
        deviation = (second / _rest(0.99, steps)).sqrt() + 1e-8
        self.values.index_add_(0, touched, -rate * first / (deviation * _rest(0.9, steps))[:, None])


def _rest(decay: float, steps: Tensor) -> Tensor:
    """Return 1 − decay^steps, to full precision."""
    return -torch.expm1(steps * float(np.log(decay)))


class Layout(NamedTuple):
    """Lay out one side of groups of pairs: the tokens of a group one after the other."""

    tokens: Tensor  # (groups, tokens)
    there: Tensor  # (groups, tokens)
    kept: Tensor  # the places of those that are there among all, one group after the other
    own: Tensor  # (groups, tokens, pairs): 1 for the pair that a token belongs to
    shares: Tensor  # (groups, tokens, pairs): the same over the pair's length
    places: Tensor  # (all pairs, length): where each word of a pair stands in its group
    mask: Tensor  # (all pairs, length)

    @classmethod
    def of(cls, side: Side, grid: Longs, device: str) -> Layout:
        """Lay out the pairs of a grid (groups, pairs), where −1 is no pair."""
        lengths = np.where(grid >= 0, side.offsets[grid + 1] - side.offsets[grid], 0)  # (groups, pairs)
        ends = lengths.cumsum(1)
        column = np.arange(ends[:, -1].max())
        pair = (column[:, None] >= ends[:, None]).sum(2)  # (groups, tokens); beyond the last: no token
        there = pair < grid.shape[1]
        pair = np.minimum(pair, grid.shape[1] - 1)
        local = column - np.take_along_axis(ends - lengths, pair, 1)
        at = np.where(there, side.offsets[np.take_along_axis(grid, pair, 1)] + local, 0)
        own = ((pair[..., None] == np.arange(grid.shape[1])) & there[..., None]).astype(np.float32)
        word = np.arange(lengths.max())
        real = grid >= 0
        mask = word < lengths[real][:, None]
        places = np.where(mask, (ends - lengths)[real][:, None] + word, 0)
        shares = own / np.maximum(lengths, 1)[:, None].astype(np.float32)
        kept = np.flatnonzero(there)
        arrays = (side.tokens[at].astype(np.int64), there, kept, own, shares, places, mask)
        return cls(*(torch.from_numpy(array).to(device) for array in arrays))


def gradients(
    tables: Sequence[Table],
    sides: Sequence[Side],
    grid: Longs,
    prior: Prior,
    *,
    negatives: float,
    tally: Tally,
) -> list[tuple[Tensor, Tensor]]:
    """Return the soft margin's gradient for each token of some groups: source and target words and values."""
    device = tables[0].values.device
    s, t = (Layout.of(side, grid, str(device)) for side in sides)
    s_vectors, t_vectors = (
        table.compose(own.tokens.flatten()).view(*own.tokens.shape, -1)
        for table, own in zip(tables, (s, t), strict=True)
    )  # (groups, tokens, dimensions)
    ratio = (t_vectors @ s_vectors.mT).clamp(max=LARGEST).exp()  # (groups, target, source)
    pairs = torch.from_numpy(grid >= 0).to(device)  # (groups, pairs)
    weight = negatives / (pairs.sum(1) - 1).clamp(min=1)[:, None, None]  # a pair alone has no negatives
    t_weights = _negative_weights(ratio @ s.shares, t, pairs, weight, prior.null, tally)
    s_weights = _negative_weights(ratio.mT @ t.shares, s, pairs, weight, prior.null, tally)
    slope = (t_weights @ s.shares.mT + t.shares @ s_weights.mT) * ratio  # d loss / d score
    group = torch.from_numpy(np.nonzero(grid >= 0)[0]).to(device)[:, None, None]  # of each pair
    cells = (group * ratio.shape[1] + t.places[:, :, None]) * ratio.shape[2] + s.places[:, None]
    there = t.mask[:, :, None] & s.mask[:, None]  # (all pairs, target, source)
    emission = ratio.flatten()[cells] * there
    drawn = _positive(emission, s.mask, t.mask, prior, tally)
    slope.view(-1).index_add_(0, cells.flatten(), -(drawn * there).flatten())
    both = ((s, slope.mT @ t_vectors), (t, slope @ s_vectors))
    return [(own.tokens.flatten()[own.kept], values.flatten(0, 1)[own.kept]) for own, values in both]


def _negative_weights(
    aggregated: Tensor, own: Layout, pairs: Tensor, weight: Tensor, null: float, tally: Tally
) -> Tensor:
    """Return the slope of log(1 + a) for each word and each sentence of the group that is not its own."""
    a = null + (1 - null) * aggregated  # (groups, tokens, pairs)
    times = weight * ((own.there[..., None] & pairs[:, None]).to(a.dtype) - own.own)
    tally.loss[0, 0] += float((times * a.log1p()).sum())
    return times * (1 - null) / (1 + a)


def _positive(emission: Tensor, s_mask: Tensor, t_mask: Tensor, prior: Prior, tally: Tally) -> Tensor:
    """Return how strongly each cell is drawn: γ/(1 + a) of both directions, both γ the agreed one."""

    def direction(number: int, emission: Tensor, steps: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        nulls = torch.where(steps, prior.null, 1.0)
        own = Direction(emission, nulls, torch.zeros_like(states, dtype=torch.int64), steps, states)
        posterior, scales = explain(own, prior, number, tally)
        tally.loss[0, 0] += float(((1 + 1 / scales).log() * steps).sum())
        tally.loss[0, 1] += float(steps.sum())
        return posterior, scales

    t_posterior, t_scales = direction(0, emission, t_mask, s_mask)
    s_posterior, s_scales = direction(1, emission.mT, s_mask, t_mask)
    agreed = (t_posterior * s_posterior.mT).sqrt()  # (pairs, target, source)
    return agreed / (1 + t_scales[:, :, None]) + agreed / (1 + s_scales[:, None])


class PortableOptimizer:
    """Take steps of Adam on both sides' tables, which stay on the device until they are stored."""

    def __init__(
        self, sides: Sequence[Side], adams: Sequence[Adam], *, group: int, negatives: float, device: str
    ) -> None:
        self.sides = sides
        self.adams = adams
        self.group = group
        self.negatives = negatives
        self.tables = [Table.of(side, adam, device) for side, adam in zip(sides, adams, strict=True)]

    def steps(self, batches: Sequence[Longs], prior: Prior, rates: Sequence[float]) -> Tally:
        """Learn from some batches, one after the other."""
        tally = new_tally(1)
        for pairs, rate in zip(batches, rates, strict=True):
            grid = group_grid(pairs, self.group)
            found = gradients(self.tables, self.sides, grid, prior, negatives=self.negatives, tally=tally)
            for table, (words, values) in zip(self.tables, found, strict=True):
                table.update(words, values, rate)
        return tally

    def store(self) -> None:
        """Bring what was learned back to the arrays that the sides were made with."""
        for table, side, adam in zip(self.tables, self.sides, self.adams, strict=True):
            table.store(side, adam)


def group_grid(pairs: Longs, group: int) -> Longs:
    """Lay a batch out as (groups, pairs), −1 where there is none."""
    bounds = group_bounds(len(pairs), group)
    at = bounds[:-1, None] + np.arange(np.diff(bounds).max())
    return np.where(at < bounds[1:, None], pairs[np.minimum(at, len(pairs) - 1)], -1)
