"""What the network has learned (section 5): source windows that are alike, and target words for them."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from bitweft.errors import UsageError
from bitweft.recipes.base import Neighbor, Neighborhood
from bitweft.recipes.paper.batches import Sentences, padded
from bitweft.recipes.paper.features import Inventory, Tagger
from bitweft.recipes.paper.network import Network
from bitweft.text.vocabulary import Tokens

CHUNK = 256  # sentences encoded at a time


SINGLE_WORDS = (
    "the source side of this model sees single words, so every window around {!r} is at distance 0 and none "
    "is worth listing; listed are single words (train with --set model.source_k1=3 --set model.source_k2=3 "
    "for windows)"
)


class Space:
    """Measure source windows and target words by the networks of the direction forward, side by side."""

    def __init__(
        self,
        networks: Sequence[Network],
        inventories: tuple[Inventory, Inventory],
        taggers: Sequence[Tagger | None] = (None, None),
    ) -> None:
        self.networks = networks
        self.source, self.target = inventories
        self.taggers = taggers

    def neighborhood(
        self, window: Tokens, sources: Sequence[Tokens], targets: Iterable[Tokens], count: int
    ) -> Neighborhood:
        """List the source windows nearest to one, and the target words that score highest with it.

        The words of the window may be without the tags that the model wants: they get those of the text.
        """
        if self.source.side.tags == "inline":
            window = _with_tags(window, sources, self.source)
        words = self.source.bare(window)
        note = SINGLE_WORDS.format(words[_middle(words)]) if words and self._reach(window) == 0 else ""
        return Neighborhood(
            self.nearest_windows(window, sources, count=count),
            self.best_target_words(window, targets, count=count),
            note,
        )

    def _reach(self, window: Tokens) -> int:
        """Tell how many words a window has beside its center; none that the network does not see."""
        encoder = self.networks[0].source
        seen = encoder.k1 + encoder.k2 - 1
        return 0 if seen == 1 else max(len(window), seen) // 2

    @torch.no_grad()
    def nearest_windows(
        self, window: Tokens, sentences: Iterable[Tokens], *, count: int = 10
    ) -> list[Neighbor]:
        """Return the source windows that are nearest to the one given, by Euclidean distance."""
        query, reach = self._query(window), self._reach(window)
        best: dict[str, float] = {}
        for tokens, batch in _batches(self.source, sentences, self.taggers[0]):
            vectors = torch.cat([network.source_vectors(batch) for network in self.networks], -1)
            distances = (vectors - query).norm(dim=-1)  # (sentences, length)
            distances = distances.masked_fill(~batch.mask, torch.inf)
            for place in _smallest(distances, count * 5):
                sentence, s = divmod(place, distances.shape[1])
                text = " ".join(tokens[sentence][max(0, s - reach) : s + reach + 1])
                distance = float(distances[sentence, s])
                best[text] = min(distance, best.get(text, distance))
            best = dict(heapq.nsmallest(count + 1, best.items(), key=_by_value))
        words = self.source.bare(window)
        own = " ".join(words if reach else [words[_middle(words)]])
        return [Neighbor(text, value) for text, value in best.items() if text != own][:count]

    @torch.no_grad()
    def best_target_words(
        self, window: Tokens, sentences: Iterable[Tokens], *, count: int = 10
    ) -> list[Neighbor]:
        """Return the target words that score highest with a source window, each in its best place."""
        query = self._query(window)
        best: dict[str, float] = {}
        for tokens, batch in _batches(self.target, sentences, self.taggers[1]):
            vectors = torch.cat([network.target_vectors(batch) for network in self.networks], -1)
            scores = vectors @ query / len(self.networks)  # (sentences, length)
            scores = scores.masked_fill(~batch.mask, -torch.inf)
            for place in _smallest(-scores, count * 20):
                sentence, t = divmod(place, scores.shape[1])
                word = tokens[sentence][t]
                best[word] = max(float(scores[sentence, t]), best.get(word, -np.inf))
            best = dict(heapq.nlargest(count * 5, best.items(), key=_by_value))
        return [Neighbor(word, value) for word, value in best.items()][:count]

    def _query(self, window: Tokens) -> Tensor:
        """Return the vector of the word in the middle of the window: (members · output)."""
        if not window:
            raise UsageError("the window must have a word or more, got none")
        ((_, batch),) = _batches(self.source, [window], self.taggers[0])
        middle = _middle(window)
        return torch.cat([network.source_vectors(batch)[0, middle] for network in self.networks], -1)


def _middle(window: Tokens) -> int:
    return (len(window) - 1) // 2


def _with_tags(window: Tokens, sentences: Sequence[Tokens], inventory: Inventory) -> Tokens:
    """Give the words of a window the tags that they have most often in a text, if it was written without.

    Where the text has the whole window, its tags there count before those of each word by itself.
    """
    if all("|" in token for token in window):
        return window
    fold = str.lower if inventory.config.lowercase else str
    words = [fold(word) for word in window]
    whole: Counter[tuple[str, ...]] = Counter()
    single: dict[str, Counter[str]] = {word: Counter() for word in words}
    for tokens in sentences:
        bare = inventory.bare(tokens)
        for at in [place for place, word in enumerate(bare) if word in single]:
            single[bare[at]][tokens[at]] += 1
            if bare[at : at + len(words)] == words:
                whole[tuple(tokens[at : at + len(words)])] += 1
    if whole:
        return whole.most_common(1)[0][0]
    for word, found in single.items():
        if not found:
            raise UsageError(f"{word!r} is not in the text, and so has no tag there: write it as word|TAG")
    return [single[word].most_common(1)[0][0] for word in words]


def _by_value(item: tuple[str, float]) -> float:
    return item[1]


def _batches(
    inventory: Inventory, sentences: Iterable[Tokens], tagger: Tagger | None
) -> Iterator[tuple[list[list[str]], Sentences]]:
    """Give sentences that have words, some at a time: their words without tags, and their numbers."""
    rest = iter(sentences)
    while chunk := list(islice(rest, CHUNK)):
        filled = [tokens for tokens in chunk if len(tokens)]
        if filled:
            encoded = inventory.encode(filled, tagger=tagger)
            yield [inventory.bare(tokens) for tokens in filled], padded(encoded, np.arange(len(filled)))


def _smallest(values: Tensor, count: int) -> list[int]:
    """Return the places of the smallest values that are finite, counted through the whole."""
    flat = values.flatten()
    found = torch.topk(flat, min(count, len(flat)), largest=False)
    return [int(place) for place, value in zip(found.indices, found.values, strict=True) if value.isfinite()]
