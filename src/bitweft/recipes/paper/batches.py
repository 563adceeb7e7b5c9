"""Sentence pairs of like length side by side, padded, with their negatives: what a training step works on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bitweft.recipes.paper.features import EncodedText
from bitweft.text.vocabulary import PAD

Rows = npt.NDArray[np.int64]
POOL = 25_600  # pairs sorted by length at a time: enough that a batch has hardly any padding


@dataclass(frozen=True)
class Sentences:
    """Hold sentences of one side, padded at the end to the longest."""

    words: Tensor  # (sentences, length)
    lengths: Tensor  # (sentences)
    tags: Tensor | None = None  # (sentences, length)
    forms: Tensor | None = None  # (sentences, length): rows of `spelling`
    spelling: Tensor | None = None  # (forms, longest word)

    @property
    def mask(self) -> Tensor:
        """Return which places hold a word."""
        return torch.arange(self.words.shape[1], device=self.words.device) < self.lengths[:, None]

    @property
    def places(self) -> Tensor:
        """Return i, counted from 1 as the paper does, and |e| for each word: i/|e| is its relative place."""
        place = torch.arange(1, self.words.shape[1] + 1, device=self.words.device)
        lengths = self.lengths[:, None].clamp(min=1)
        return torch.stack(torch.broadcast_tensors(place, lengths), -1)  # (sentences, length, 2)


@dataclass(frozen=True)
class Batch:
    """Hold sentence pairs and what is to be told from them.

    `negatives` names, for each pair, target sentences of other pairs of the batch. `replaced` names words of
    the own target sentence whose windows get another center: the words `replacements`, places in the whole
    padded batch.
    """

    source: Sentences
    target: Sentences
    negatives: Tensor  # (pairs, negatives)
    replaced: Tensor  # (pairs, replaced)
    replaced_mask: Tensor  # (pairs, replaced)
    replacements: Tensor  # (pairs, replaced)


def padded(text: EncodedText, rows: Rows, device: str = "cpu") -> Sentences:
    """Take sentences out of a text, one below the other."""
    lengths = text.offsets[rows + 1] - text.offsets[rows]
    place = np.arange(max(1, int(lengths.max(initial=0))))
    there = place < lengths[:, None]
    index = np.where(there, text.offsets[rows][:, None] + place, 0)

    def take(values: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        if not len(values):
            return np.full(index.shape, PAD, np.int64)
        return np.where(there, values[index], PAD).astype(np.int64)

    def tensor(values: npt.NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(values).to(device)

    tags = None if text.tags is None else tensor(take(text.tags))
    forms = spelling = None
    if text.forms is not None and text.spelling is not None:
        used, own = np.unique(np.where(there, take(text.forms), -1), return_inverse=True)
        letters = np.zeros((len(used), text.spelling.shape[1]), np.int64)
        letters[used >= 0] = text.spelling[used[used >= 0]]
        forms, spelling = tensor(own.reshape(index.shape)), tensor(letters)
    return Sentences(tensor(take(text.words)), tensor(lengths), tags, forms, spelling)


def distinct(sentences: Sentences) -> tuple[Tensor, Tensor]:
    """Return a place of each distinct word, counted through the padded sentences; and each place's word."""
    code = sentences.words
    for feature in (sentences.tags, sentences.forms):
        if feature is not None:
            code = code * (int(feature.max()) + 1) + feature
    codes, own = torch.unique(code, return_inverse=True)  # (words), (sentences, length)
    places = torch.arange(own.numel(), device=own.device)
    return own.new_empty(len(codes)).scatter_(0, own.flatten(), places), own


def batch_rows(
    source: EncodedText, target: EncodedText, rows: Rows, size: int, *, random: np.random.Generator
) -> list[Rows]:
    """Shuffle pairs and cut them into batches of like length; every pair comes once."""
    order = random.permutation(rows)
    pool = size * max(1, POOL // size)
    pieces = []
    for start in range(0, len(order), pool):
        part = order[start : start + pool]
        part = part[np.lexsort((source.lengths[part], target.lengths[part]))]
        pieces += [part[at : at + size] for at in range(0, len(part), size)]
    return [pieces[at] for at in random.permutation(len(pieces))]


def make_batch(
    source: EncodedText,
    target: EncodedText,
    rows: Rows,
    *,
    negatives: int,
    replacement_rate: float,
    random: np.random.Generator,
    device: str = "cpu",
) -> Batch:
    """Put pairs together and draw negatives: other pairs' target sentences, windows with another center."""
    sentences = padded(target, rows, device)
    pairs = len(rows)
    count = min(negatives, pairs - 1)
    shifts = 1 + random.permutation(pairs - 1)[:count] if count else np.zeros(0, np.int64)
    others = (np.arange(pairs)[:, None] + shifts) % pairs
    lengths = target.lengths[rows]
    wanted = np.round(replacement_rate * lengths + random.uniform(-0.5, 0.5, pairs)).astype(np.int64)
    wanted = np.clip(wanted, 0, lengths)
    place = np.arange(sentences.words.shape[1])
    keys = random.random((pairs, len(place))) + (place >= lengths[:, None])
    width = int(wanted.max(initial=0))
    replaced = np.argsort(keys, axis=1)[:, :width]
    words = np.flatnonzero(place < lengths[:, None])
    drawn = words[random.integers(len(words), size=replaced.shape)]
    return Batch(
        padded(source, rows, device),
        sentences,
        torch.from_numpy(others).to(device),
        torch.from_numpy(replaced).to(device),
        torch.from_numpy(np.arange(width) < wanted[:, None]).to(device),
        torch.from_numpy(drawn).to(device),
    )


def epoch(
    source: EncodedText,
    target: EncodedText,
    rows: Rows,
    *,
    size: int,
    negatives: int,
    replacement_rate: float,
    random: np.random.Generator,
    device: str = "cpu",
) -> Iterator[Batch]:
    """Walk all pairs once, in random order, as batches."""
    for own in batch_rows(source, target, rows, size, random=random):
        yield make_batch(
            source,
            target,
            own,
            negatives=negatives,
            replacement_rate=replacement_rate,
            random=random,
            device=device,
        )
