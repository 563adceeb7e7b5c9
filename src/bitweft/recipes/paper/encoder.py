"""One side of the network (section 3): features looked up, two convolutions over them, tanh between.

net(x) = M2 tanh(M1 x)
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bitweft.recipes.paper.batches import Batch, Sentences, distinct
from bitweft.recipes.paper.features import Inventory
from bitweft.recipes.paper.loops import tanh
from bitweft.settings import SettingError, Settings, setting
from bitweft.text.vocabulary import PAD


@dataclass(frozen=True)
class ModelConfig(Settings):
    """Give the sizes of the network: the paper's, with the source's windows as it has them for French."""

    hidden: int = setting(256, at_least=1, at_most=65_536)  # d_hu
    output: int = setting(256, at_least=1, at_most=65_536)  # d_emb
    words: int = setting(128, at_least=1, at_most=65_536)
    tags: int = setting(32, at_least=1, at_most=65_536)
    characters: int = setting(128, at_least=1, at_most=65_536)
    more: int = setting(32, at_least=1, at_most=65_536)  # of each registered feature
    distance: int = setting(32, at_least=1, at_most=65_536)
    diagonal: bool = True
    buckets: int = setting(8, at_least=1, at_most=1024)  # of the distance to the diagonal
    bucket_power: int = setting(2, at_least=1, at_most=8)  # their edges are (k/buckets)^power: finer near it
    source_k1: int = setting(1, at_least=1, at_most=99)  # 3 for Romanian and Czech in the paper
    source_k2: int = setting(1, at_least=1, at_most=99)
    target_k1: int = setting(3, at_least=1, at_most=99)
    target_k2: int = setting(3, at_least=1, at_most=99)
    biases: bool = True  # of both layers; the paper has none
    # Numbers of the look-up tables start between so much below and above zero.
    table_range: float = setting(1.0, above=0, at_most=1000)
    # How large the weights of a window's other words start beside those of its center; 1: no difference.
    off_center: float = setting(0.1, at_least=0, at_most=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("source_k1", "source_k2", "target_k1", "target_k2"):
            if getattr(self, name) % 2 == 0:
                raise SettingError(
                    name, f"must be odd, so that a window has a center, got {getattr(self, name)}"
                )

    @property
    def single_words(self) -> bool:
        """Tell whether both sides see single words."""
        return max(self.source_k1, self.source_k2, self.target_k1, self.target_k2) == 1

    @property
    def both_wide(self) -> bool:
        """Tell whether the windows of both sides have several words."""
        return max(self.source_k1, self.source_k2) > 1 and max(self.target_k1, self.target_k2) > 1


class Dropout:
    """Silence a share of the hidden units of each word while it learns; the others speak up instead."""

    def __init__(self, rate: float, random: torch.Generator) -> None:
        self.rate = rate
        self.random = random

    def factors(self, hidden: Tensor) -> Tensor:
        """Draw a factor for each hidden unit: zero, or what makes up for the zeros."""
        kept = torch.empty_like(hidden, requires_grad=False).bernoulli_(1 - self.rate, generator=self.random)
        return kept / (1 - self.rate)


class Encoder(nn.Module):
    """Look features up and run two convolutions over them, with tanh between."""

    def __init__(self, inventory: Inventory, config: ModelConfig, k1: int, k2: int) -> None:
        super().__init__()
        self.k1, self.k2 = k1, k2
        self.words = nn.Embedding(len(inventory.words), config.words, sparse=True)
        width = config.words
        self.tags = self.characters = None
        if inventory.tags is not None:
            self.tags = nn.Embedding(len(inventory.tags), config.tags, sparse=True)
            width += config.tags
        if inventory.characters is not None:
            self.characters = nn.EmbeddingBag(
                inventory.character_rows, config.characters, mode="mean", sparse=True, padding_idx=0
            )
            width += config.characters
        tables = [nn.Embedding(len(values), config.more, sparse=True) for values in inventory.more]
        self.more = nn.ModuleList(tables)
        width += config.more * len(tables)
        self.width = width
        self.m1 = nn.Parameter(torch.empty(k1 * width, config.hidden))
        self.b1 = nn.Parameter(torch.zeros(config.hidden), requires_grad=config.biases)
        self.m2 = nn.Parameter(torch.empty(k2 * config.hidden, config.output))
        self.b2 = nn.Parameter(torch.zeros(config.output), requires_grad=config.biases)

    def look_up(self, sentences: Sentences) -> tuple[Tensor, Tensor]:
        """Concatenate the features of each distinct word, the padding word's last; and say which is where.

        Sentences have padding words on both ends.
        """
        places, own = distinct(sentences)
        features = [self.words(_padded(sentences.words.flatten()[places]))]
        if self.tags is not None:
            assert sentences.tags is not None
            features.append(self.tags(_padded(sentences.tags.flatten()[places])))
        if self.characters is not None:
            assert sentences.forms is not None and sentences.spelling is not None
            spelling = sentences.spelling[sentences.forms.flatten()[places]]
            features.append(F.pad(self.characters(spelling), (0, 0, 0, 1)))
        for table, values in zip(self.more, sentences.more, strict=True):
            features.append(table(_padded(values.flatten()[places])))
        pad = self.k1 // 2 + self.k2 // 2
        own = F.pad(own, (pad, pad), value=len(places))
        return torch.cat(features, -1), own  # (words, features), (sentences, pad + length + pad)

    def parts(self, features: Tensor) -> Tensor:
        """Apply the part of M1 for each place of a span to each distinct word."""
        return features @ self.m1.view(self.k1, self.width, -1)  # (k1, words, hidden)

    def first(self, parts: Tensor, own: Tensor) -> Tensor:
        """Apply M1 to spans of k1 words: the sum of what it makes of each."""
        length = own.shape[1] - self.k1 + 1
        spans = [F.embedding(own[:, q : q + length], part) for q, part in enumerate(parts)]
        return sum(spans[1:], spans[0] + self.b1)  # (sentences, k2//2 + length + k2//2, hidden)

    def encode(self, sentences: Sentences) -> Tensor:
        """Run the first layer over sentences."""
        features, own = self.look_up(sentences)
        return self.first(self.parts(features), own)

    def spans(self, first: Tensor) -> Tensor:
        """Return what M2 is applied to: spans of k2 outputs of the first layer, after tanh."""
        return _spans(tanh(first), self.k2)  # (sentences, length, k2 * hidden)

    def replaced(self, parts: Tensor, own: Tensor, first: Tensor, batch: Batch) -> Tensor:
        """Return the same for windows whose center another word of the batch took; the context stays.

        The first layer is linear: a new center changes it by a difference of parts, where it is seen.
        """
        pad = self.k1 // 2 + self.k2 // 2
        centers = own[:, pad : own.shape[1] - pad]  # (sentences, target)
        old = centers[: batch.pairs].gather(1, batch.replaced)  # (pairs, replaced)
        new = centers.flatten()[batch.replacements]
        place = torch.arange(batch.pairs, device=own.device)[:, None] * first.shape[1] + batch.replaced
        seen = place[..., None] + torch.arange(self.k2, device=own.device)  # (pairs, replaced, k2)
        windows = F.embedding(seen, first.flatten(0, 1)).flatten(2)  # (pairs, replaced, k2 * hidden)
        change = torch.cat([self._center(parts, p) for p in range(self.k2)], 1)  # (words, k2 * hidden)
        return tanh(windows + F.embedding(new, change) - F.embedding(old, change))

    def _center(self, parts: Tensor, p: int) -> Tensor:
        """Return what a window's center gives to the span at `p`: nothing where it is out of sight."""
        q = self.k1 // 2 - (p - self.k2 // 2)
        return parts[q] if 0 <= q < self.k1 else torch.zeros_like(parts[0])  # (words, hidden)


def _spans(values: Tensor, width: int) -> Tensor:
    """Put each `width` neighbors side by side."""
    if width == 1:
        return values
    length = values.shape[1] - width + 1
    return torch.cat([values[:, q : q + length] for q in range(width)], -1)


def _padded(numbers: Tensor) -> Tensor:
    """Add the padding word."""
    return F.pad(numbers, (0, 1), value=PAD)
