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
    more: tuple[Tensor, ...] = ()  # (sentences, length) each

    @property
    def mask(self) -> Tensor:
        """Return which places hold a word."""
        return torch.arange(self.words.shape[1], device=self.words.device) < self.lengths[:, None]

    @property
    def places(self) -> Tensor:
        """Return i, counted from 1 as the paper does, and |e| for each word: i/|e| is its relative place."""
        place = torch.arange(1, self.words.shape[1] + 1, device=self.words.device)
        lengths = self.lengths[:, None].clamp(min=1).expand(self.words.shape)
        return torch.stack([place.expand(self.words.shape), lengths], -1)  # (sentences, length, 2)


@dataclass(frozen=True)
class Batch:
    """Hold sentence pairs and what is to be told from them.

    `target` has the pairs' own sentences first; others that serve as negatives may follow, and new centers.
    `negatives` names some of them for each pair. `replaced` names words of the own target sentence whose
    windows get another center: the words `replacements`, places in the whole padded batch.
    """

    source: Sentences
    target: Sentences
    negatives: Tensor  # (pairs, negatives)
    replaced: Tensor  # (pairs, replaced)
    replaced_mask: Tensor  # (pairs, replaced)
    replacements: Tensor  # (pairs, replaced)

    @property
    def pairs(self) -> int:
        """Tell how many pairs there are."""
        return len(self.source.words)


def padded(text: EncodedText, rows: Rows, device: str = "cpu", single: Rows | None = None) -> Sentences:
    """Take sentences out of a text, one below the other.

    Below them stand single words, if their places in the text are given: (sentences, length), no row longer
    than the longest sentence.
    """
    lengths = text.offsets[rows + 1] - text.offsets[rows]
    place = np.arange(max(1, int(lengths.max(initial=0))))
    index = text.offsets[rows][:, None] + place
    if single is not None:
        lengths = np.append(lengths, np.full(len(single), single.shape[1]))
        index = np.concatenate([index, np.pad(single, ((0, 0), (0, len(place) - single.shape[1])))])
    there = place < lengths[:, None]
    index = np.where(there, index, 0)

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
    more = tuple(tensor(take(values)) for values in text.more)
    return Sentences(tensor(take(text.words)), tensor(lengths), tags, forms, spelling, more)


def distinct(sentences: Sentences) -> tuple[Tensor, Tensor]:
    """Return a place of each distinct word, counted through the padded sentences; and each place's word."""
    code = sentences.words
    for feature in (sentences.tags, sentences.forms, *sentences.more):
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


@dataclass(frozen=True)
class Drawing:
    """Say how negatives are drawn: how many other sentences, from where; how many centers, of what.

    Both come from the pairs of the batch or, if `text` names pairs, are added to it: sentences of these,
    centers from all words of the text. Centers are replaced for a share of the words of each sentence or,
    `by_example`, for all words of a share of the sentences.
    """

    negatives: int
    replacement_rate: float
    text: Rows | None = None
    by_example: bool = False


def make_batch(
    source: EncodedText,
    target: EncodedText,
    rows: Rows,
    drawing: Drawing,
    *,
    random: np.random.Generator,
    device: str = "cpu",
) -> Batch:
    """Put pairs together and draw negatives: other pairs' target sentences, windows with another center."""
    others, added = _other_sentences(rows, drawing, random)
    lengths, pairs = target.lengths[rows], len(rows)
    sentences = np.concatenate([rows, added])
    wanted = _wanted(lengths, drawing, random)
    place = np.arange(max(1, int(target.lengths[sentences].max(initial=0))))
    keys = random.random((pairs, len(place))) + (place >= lengths[:, None])
    width = int(wanted.max(initial=0))
    replaced = np.argsort(keys, axis=1)[:, :width]
    centers = None
    if drawing.text is not None and width:
        centers = random.integers(len(target.words), size=replaced.shape)
        drawn = ((len(sentences) + np.arange(pairs)) * len(place))[:, None] + np.arange(width)
    else:
        words = np.flatnonzero(place < target.lengths[sentences][:, None])
        drawn = words[random.integers(len(words), size=replaced.shape)]
    return Batch(
        padded(source, rows, device),
        padded(target, sentences, device, centers),
        torch.from_numpy(others).to(device),
        torch.from_numpy(replaced).to(device),
        torch.from_numpy(np.arange(width) < wanted[:, None]).to(device),
        torch.from_numpy(drawn).to(device),
    )


def _other_sentences(rows: Rows, drawing: Drawing, random: np.random.Generator) -> tuple[Rows, Rows]:
    """Draw other sentences for each pair: their places in the batch, and rows that must be added to it."""
    pairs = len(rows)
    if drawing.text is None:
        count = min(drawing.negatives, pairs - 1)
        shifts = 1 + random.permutation(pairs - 1)[:count] if count else np.zeros(0, np.int64)
        return (np.arange(pairs)[:, None] + shifts) % pairs, np.zeros(0, np.int64)
    count = drawing.negatives if len(drawing.text) > 1 else 0
    drawn = random.integers(max(1, len(drawing.text) - 1), size=(pairs, count))
    drawn += drawn >= np.searchsorted(drawing.text, rows)[:, None]  # any but the own one
    return pairs + np.arange(pairs * count).reshape(pairs, count), drawing.text[drawn.ravel()]


def _wanted(lengths: Rows, drawing: Drawing, random: np.random.Generator) -> Rows:
    """Draw how many words of each sentence get another center."""
    if drawing.by_example:
        return np.where(random.random(len(lengths)) < drawing.replacement_rate, lengths, 0)
    wanted = np.round(drawing.replacement_rate * lengths + random.uniform(-0.5, 0.5, len(lengths)))
    return np.clip(wanted.astype(np.int64), 0, lengths)


def epoch(
    source: EncodedText,
    target: EncodedText,
    rows: Rows,
    drawing: Drawing,
    *,
    size: int,
    random: np.random.Generator,
    device: str = "cpu",
) -> Iterator[Batch]:
    """Walk all pairs once, in random order, as batches."""
    for own in batch_rows(source, target, rows, size, random=random):
        yield make_batch(source, target, own, drawing, random=random, device=device)
