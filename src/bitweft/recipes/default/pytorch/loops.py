"""The default recipe's inner loops in plain PyTorch, for any device: what `compiled` does, on tensors.

Text stays where it is; what a batch of pairs needs goes to the device, and only results come back.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bitweft.recipes.default.compiled.types import (
    LARGEST,
    Adam,
    Cells,
    Counts,
    CountTable,
    Doubles,
    Floats,
    Inputs,
    Longs,
    Side,
    Sums,
    Tally,
    Words,
)
from bitweft.recipes.default.pytorch.chains import Direction, explain, whole
from bitweft.recipes.default.pytorch.descent import PortableOptimizer

CELLS = 1 << 22  # of the padded matrices that are worked on together; a larger pair comes by itself


class Portable:
    """Do on a device what `compiled` does: the same arguments, arrays in and out."""

    def __init__(self, device: str) -> None:
        self.device = device
        self._kept: dict[int, tuple[weakref.ref[Any], Tensor]] = {}

    def optimizer(
        self, sides: Sequence[Side], adams: Sequence[Adam], *, group: int, negatives: float, **threads: Any
    ) -> PortableOptimizer:
        """Return what takes steps of learning; threads are of no use to it."""
        return PortableOptimizer(sides, adams, group=group, negatives=negatives, device=self.device)

    def posteriors(self, inputs: Inputs, pairs: Longs, known: Cells, floor: float, out: Sums) -> Cells:
        """Find the cells √(forward · backward) ≥ floor of some pairs, as the compiled loop of this name."""
        tally, group, scores, nulls = out
        shapes = np.stack([np.diff(side.offsets)[pairs] for side in inputs[:2]])  # (2, pairs)
        firsts = [np.cumsum(own) - own for own in shapes] if len(nulls[0]) else []
        scores[:] = 0.0
        for side in nulls:
            side[:] = 1.0
        found: list[list[Any]] = [[np.empty(0, np.int64)] * 3 + [np.empty(0, np.float32)]]
        one = tally.of(group) if len(tally.jumps) else None
        for places in _batches(shapes):
            both = _Both(self, inputs, pairs[places])
            own = both.known(known, places)
            t_posterior, s_posterior, total = both.explain(own, one)
            scores[places] = total / shapes[:, places].sum(0)
            if len(nulls[0]):
                both.s.put_nulls(s_posterior, firsts[0][places], nulls[0])
                both.t.put_nulls(t_posterior, firsts[1][places], nulls[1])
            values = (t_posterior.mT * s_posterior).sqrt()  # (pairs, source, target)
            if one is not None:
                one.cognates[0] += whole(both.cognates(values))
            kept = ((values >= floor) & both.there.mT).nonzero(as_tuple=True)
            place, s, t = (index.cpu().numpy() for index in kept)
            found.append([places[place], s, t, values[kept].cpu().numpy()])
        place, s, t, cells = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(place, kind="stable")
        offsets = np.searchsorted(place[order], np.arange(len(pairs) + 1))
        return Cells(offsets, s[order].astype(np.int32), t[order].astype(np.int32), cells[order])

    def matrices(self, inputs: Inputs, pair: int, tally: Tally) -> tuple[Floats, Floats]:
        """Return one pair's posteriors of both directions: (target, source) and (source, target)."""
        both = _Both(self, inputs, np.array([pair]))
        t_posterior, s_posterior, _ = both.explain(None, tally if len(tally.jumps) else None)
        return t_posterior[0].cpu().numpy(), s_posterior[0].cpu().numpy()

    def add_counts(
        self,
        source: Words,
        target: Words,
        pairs: Longs,
        cells: Cells,
        table: CountTable,
        part: int,
        parts: int,
    ) -> CountTable:
        """Add cells to the sums of word pairs; the table that is returned is sorted, without free slots."""
        pair = np.repeat(pairs, np.diff(cells.offsets))
        s_words = source.tokens[source.offsets[pair] + cells.source].astype(np.int64)
        t_words = target.tokens[target.offsets[pair] + cells.target].astype(np.int64)
        taken = t_words % parts == part
        fresh, own = np.unique(((t_words << 32) | s_words)[taken], return_inverse=True)
        added = np.zeros(len(fresh), np.int64)
        np.add.at(added, own, whole(cells.values[taken]))
        keys, sums = table.keys[table.keys >= 0], table.sums[table.keys >= 0]
        at = np.searchsorted(keys, fresh)
        old = np.zeros(len(fresh), bool)
        old[at < len(keys)] = keys[at[at < len(keys)]] == fresh[at < len(keys)]
        sums[at[old]] += added[old]
        keys, sums = np.insert(keys, at[~old], fresh[~old]), np.insert(sums, at[~old], added[~old])
        return CountTable(keys, sums, len(keys))

    def keys(self, counts: Counts) -> Tensor:
        """Return the pairs of words that have counts as sorted numbers, target word first."""

        def make() -> Tensor:
            words = np.repeat(np.arange(len(counts.offsets) - 1), np.diff(counts.offsets))
            return torch.from_numpy((words << 32) | counts.sources).to(self.device)

        return self._keep(counts.sources, make)

    def tensor(self, array: npt.NDArray[Any]) -> Tensor:
        """Return an array on the device. It must not change while it lives: it is copied once."""
        if self.device == "cpu":
            return torch.from_numpy(array if array.flags.writeable else array.copy())
        return self._keep(array, lambda: torch.from_numpy(np.array(array)).to(self.device))

    def _keep(self, array: npt.NDArray[Any], make: Callable[[], Tensor]) -> Tensor:
        """Make a tensor, or find the one made of this array before; it is dropped with the array."""
        number = id(array)
        if number not in self._kept:
            self._kept[number] = (weakref.ref(array, lambda _: self._kept.pop(number, None)), make())
        return self._kept[number][1]


class _Both:
    """Hold some pairs on the device, and explain each side by the other."""

    def __init__(self, loops: Portable, inputs: Inputs, pairs: Longs) -> None:
        self.loops = loops
        self.prior = inputs.prior
        self.counts = inputs.counts
        self.s, self.t = (_Sentences(loops, side, pairs, self.prior.null) for side in inputs[:2])
        self.there = self.t.mask[:, :, None] & self.s.mask[:, None]  # (pairs, target, source)

    def explain(self, own: Tensor | None, tally: Tally | None) -> tuple[Tensor, Tensor, Doubles]:
        """Return both posteriors, (target, source) and (source, target), and the sum of log scales."""
        s, t = self.s, self.t
        forward, backward = self._emissions(own)
        ahead = Direction(forward, t.nulls, s.classes, t.mask, s.mask)
        back = Direction(backward.mT, s.nulls, t.classes, s.mask, t.mask)
        t_posterior, t_scales = explain(ahead, self.prior, 0, tally)
        s_posterior, s_scales = explain(back, self.prior, 1, tally)
        scores = t_scales.log().sum(1) + s_scales.log().sum(1)  # the scales of padding are 1
        return t_posterior, s_posterior, scores.cpu().double().numpy()

    def _emissions(self, own: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return both directions' ratios as (pairs, target, source): see `emissions.py` of `compiled`."""
        s, t, counts = self.s, self.t, self.counts
        ratio = (t.vectors @ s.vectors.mT).clamp(max=LARGEST).exp()  # (pairs, target, source)
        ahead, back = ratio * s.scales[:, None], ratio * t.scales[:, :, None]
        s_total, t_total = float(counts.source.sum()), float(counts.target.sum())
        n_s, n_t = (
            self._occurrences(s, counts.source)[:, None],
            self._occurrences(t, counts.target)[..., None],
        )
        probability = counts.cognate_probability * self._are_cognates().to(ratio.dtype)
        ahead = ahead + probability * (t_total / n_t.clamp(min=1) - ahead)
        back = back + probability * (s_total / n_s.clamp(min=1) - back)
        if counts.strength > 0:
            count = self._counted()
            if own is not None:
                count = (count - own.mT).clamp(min=0)
            counted = (n_t > 0) & (n_s > 0)
            ahead = torch.where(
                counted, _smoothed(count * (t_total / n_t), ahead, n_s, counts.strength), ahead
            )
            back = torch.where(counted, _smoothed(count * (s_total / n_s), back, n_t, counts.strength), back)
        return ahead * self.there, back * self.there

    def _occurrences(self, side: _Sentences, counts: Longs) -> Tensor:
        """Return how often each word occurs in the text of training; unseen words never."""
        known = self.loops.tensor(counts)
        seen = side.tokens < len(known)
        return torch.where(seen, known[side.tokens.clamp(max=len(known) - 1)], 0).to(side.vectors.dtype)

    def _are_cognates(self) -> Tensor:
        cognates = self.loops.tensor(self.counts.cognates)[self.t.tokens]  # (pairs, target)
        return cognates[:, :, None] == self.s.tokens[:, None]  # (pairs, target, source)

    def _counted(self) -> Tensor:
        """Look up the counts of all pairs of words."""
        keys, values = self.loops.keys(self.counts), self.loops.tensor(self.counts.values)
        wanted = (self.t.tokens[:, :, None] << 32) | self.s.tokens[:, None]
        if not len(keys):
            return torch.zeros(wanted.shape, device=keys.device)
        at = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
        return torch.where(keys[at] == wanted, values[at], 0.0)  # (pairs, target, source)

    def known(self, cells: Cells, places: Longs) -> Tensor | None:
        """Lay out what is known of some pairs as (pairs, source, target); nothing where nothing is known."""
        if not len(cells.offsets):
            return None
        first, number = cells.offsets[places], cells.offsets[places + 1] - cells.offsets[places]
        pair = np.repeat(np.arange(len(places)), number)
        at = np.arange(len(pair)) + np.repeat(first - (np.cumsum(number) - number), number)
        own = np.zeros((len(places), self.s.mask.shape[1], self.t.mask.shape[1]), np.float32)
        own[pair, cells.source[at], cells.target[at]] = cells.values[at]
        return torch.from_numpy(own).to(self.loops.device)

    def cognates(self, values: Tensor) -> Doubles:
        """Sum the values of words spelled alike, and count them."""
        cognates = self._are_cognates() & self.there
        return np.array([float((values.mT * cognates).sum()), float(cognates.sum())])


class _Sentences:
    """Hold one side of some pairs, padded, and what is known of its words: (pairs, words) each."""

    def __init__(self, loops: Portable, side: Words, pairs: Longs, null: float) -> None:
        lengths = side.offsets[pairs + 1] - side.offsets[pairs]
        word = np.arange(lengths.max())
        mask = word < lengths[:, None]
        tokens = side.tokens[np.where(mask, side.offsets[pairs][:, None] + word, 0)].astype(np.int64)
        self.mask = torch.from_numpy(mask).to(loops.device)
        self.tokens = torch.from_numpy(tokens).to(loops.device)
        classes, nulls, scales, vectors, unseen = map(loops.tensor, side[2:])
        seen = self.tokens < len(classes)
        word_number = self.tokens.clamp(max=len(classes) - 1)
        self.classes = torch.where(seen, classes[word_number], 0)
        self.nulls = torch.where(self.mask, torch.where(seen, nulls[word_number], null), 1.0)
        self.scales = torch.where(seen, scales[word_number], 1.0)
        self.vectors = vectors[word_number]  # (pairs, words, dimensions)
        if len(unseen):
            others = unseen[(self.tokens - len(classes)).clamp(min=0)]
            self.vectors = torch.where(seen[..., None], self.vectors, others)

    def put_nulls(self, posterior: Tensor, firsts: Longs, out: Floats) -> None:
        """Put down of each word the posterior of NULL; `firsts` is where the words of each pair begin."""
        null = (1 - posterior.sum(2)).clamp(min=0).cpu().numpy()  # (pairs, words)
        mask = self.mask.cpu().numpy()
        out[(firsts[:, None] + np.arange(mask.shape[1]))[mask]] = null[mask]


def _smoothed(counted: Tensor, prior: Tensor, occurrences: Tensor, strength: float) -> Tensor:
    return (counted + strength * prior) / (occurrences + strength)


def _batches(shapes: Longs) -> Iterator[Longs]:
    """Put pairs of like length together, so many as bound the padded cells; leave out those with none."""
    order = np.lexsort(shapes)
    order = order[shapes[:, order].min(0) > 0]
    start, longest = 0, np.zeros(2, np.int64)
    for end in range(len(order)):
        wider = np.maximum(longest, shapes[:, order[end]])
        if end > start and wider.prod() * (end + 1 - start) > CELLS:
            yield order[start:end]
            start, wider = end, shapes[:, order[end]]
        longest = wider
    if start < len(order):
        yield order[start:]
