"""What the network has learned (section 5): source windows that are alike, and target words for them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bitweft.errors import UsageError
from bitweft.recipes.paper.batches import Sentences, padded
from bitweft.recipes.paper.features import Inventory, Tokens
from bitweft.recipes.paper.network import Network
from bitweft.recipes.paper.recipe import PaperRecipe

CHUNK = 256  # sentences encoded at a time


class Neighbor(NamedTuple):
    """Hold a window or a word, and its distance or score."""

    text: str
    value: float


@torch.no_grad()
def nearest_windows(
    recipe: PaperRecipe, window: Tokens, sentences: Iterable[Tokens], *, count: int = 10
) -> list[Neighbor]:
    """Return the source windows of a text that are nearest to the one given, by Euclidean distance."""
    networks, (inventory, _) = _forward(recipe)
    query = _query(recipe, window)
    reach = max(len(window), networks[0].source.k1 + networks[0].source.k2 - 1) // 2
    best: dict[str, float] = {}
    for tokens, batch in _batches(inventory, sentences):
        vectors = torch.cat([network.source_vectors(batch) for network in networks], -1)
        distances = (vectors - query).norm(dim=-1).masked_fill(~batch.mask, torch.inf)  # (sentences, length)
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
    recipe: PaperRecipe, window: Tokens, sentences: Iterable[Tokens], *, count: int = 10
) -> list[Neighbor]:
    """Return the target words of a text that score highest with a source window, each in its best place."""
    networks, (_, inventory) = _forward(recipe)
    query = _query(recipe, window)
    best: dict[str, float] = {}
    for tokens, batch in _batches(inventory, sentences):
        vectors = torch.cat([network.target_vectors(batch) for network in networks], -1)
        scores = (vectors @ query / len(networks)).masked_fill(~batch.mask, -torch.inf)  # (sentences, length)
        for place in _smallest(-scores, count * 20):
            sentence, t = divmod(place, scores.shape[1])
            word = tokens[sentence][t]
            best[word] = max(float(scores[sentence, t]), best.get(word, -np.inf))
        best = dict(heapq.nlargest(count * 5, best.items(), key=_by_value))
    return [Neighbor(word, value) for word, value in best.items()][:count]


def _by_value(item: tuple[str, float]) -> float:
    return item[1]


def _forward(recipe: PaperRecipe) -> tuple[list[Network], tuple[Inventory, Inventory]]:
    if recipe.inventories is None or not recipe.directions:
        raise UsageError("this aligner has learned nothing yet")
    return recipe.directions[0].networks, recipe.inventories


def _query(recipe: PaperRecipe, window: Tokens) -> Tensor:
    """Return the vector of the word in the middle of the window."""
    if not window:
        raise UsageError("an empty window has no neighbours")
    networks, (inventory, _) = _forward(recipe)
    ((_, batch),) = _batches(inventory, [window])
    middle = (len(window) - 1) // 2
    return torch.cat(
        [network.source_vectors(batch)[0, middle] for network in networks], -1
    )  # (members * output)


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
