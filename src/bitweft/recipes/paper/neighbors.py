"""What the network has learned (section 5): source windows that are alike, and target words for them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from bitweft.errors import UsageError
from bitweft.recipes.base import Neighbor, Neighborhood
from bitweft.recipes.paper.batches import Sentences, padded
from bitweft.recipes.paper.features import Inventory
from bitweft.recipes.paper.network import Network
from bitweft.text.vocabulary import Tokens

CHUNK = 256  # sentences encoded at a time


class Space:
    """Measure source windows and target words by the networks of the direction forward, side by side."""

    def __init__(self, networks: Sequence[Network], inventories: tuple[Inventory, Inventory]) -> None:
        self.networks = networks
        self.source, self.target = inventories

    def neighborhood(
        self, window: Tokens, sources: Iterable[Tokens], targets: Iterable[Tokens], count: int
    ) -> Neighborhood:
        """List the source windows nearest to one, and the target words that score highest with it."""
        return Neighborhood(
            self.nearest_windows(window, sources, count=count),
            self.best_target_words(window, targets, count=count),
        )

    @torch.no_grad()
    def nearest_windows(
        self, window: Tokens, sentences: Iterable[Tokens], *, count: int = 10
    ) -> list[Neighbor]:
        """Return the source windows that are nearest to the one given, by Euclidean distance."""
        query = self._query(window)
        encoder = self.networks[0].source
        reach = max(len(window), encoder.k1 + encoder.k2 - 1) // 2
        best: dict[str, float] = {}
        for tokens, batch in _batches(self.source, sentences):
            vectors = torch.cat([network.source_vectors(batch) for network in self.networks], -1)
            distances = (vectors - query).norm(dim=-1)  # (sentences, length)
            distances = distances.masked_fill(~batch.mask, torch.inf)
            for place in _smallest(distances, count * 5):
                sentence, s = divmod(place, distances.shape[1])
                text = " ".join(tokens[sentence][max(0, s - reach) : s + reach + 1])
                distance = float(distances[sentence, s])
                best[text] = min(distance, best.get(text, distance))
            best = dict(heapq.nsmallest(count + 1, best.items(), key=_by_value))
        own = " ".join(window)
        return [Neighbor(text, value) for text, value in best.items() if text != own][:count]

    @torch.no_grad()
    def best_target_words(
        self, window: Tokens, sentences: Iterable[Tokens], *, count: int = 10
    ) -> list[Neighbor]:
        """Return the target words that score highest with a source window, each in its best place."""
        query = self._query(window)
        best: dict[str, float] = {}
        for tokens, batch in _batches(self.target, sentences):
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
        ((_, batch),) = _batches(self.source, [window])
        middle = (len(window) - 1) // 2
        return torch.cat([network.source_vectors(batch)[0, middle] for network in self.networks], -1)


def _by_value(item: tuple[str, float]) -> float:
    return item[1]


def _batches(
    inventory: Inventory, sentences: Iterable[Tokens]
) -> Iterator[tuple[Sequence[Tokens], Sentences]]:
    rest = iter(sentences)
    while chunk := list(islice(rest, CHUNK)):
        filled = [tokens for tokens in chunk if len(tokens)]
        if filled:
            yield filled, padded(inventory.encode(filled), np.arange(len(filled)))


def _smallest(values: Tensor, count: int) -> list[int]:
    """Return the places of the smallest values that are finite, counted through the whole."""
    flat = values.flatten()
    found = torch.topk(flat, min(count, len(flat)), largest=False)
    return [int(place) for place, value in zip(found.indices, found.values, strict=True) if value.isfinite()]
