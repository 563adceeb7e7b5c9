"""The network of sections 2 and 3: two window encoders and their dot product.

    net(x) = M2 tanh(M1 x)                     for each side, over the concatenated look-ups of its features
    s(s, t) = net_e(target window t) · net_f(source window s)

The source side also knows the distance to the diagonal, which depends on s and t. M1 is linear, so its word
part is computed once for each source word and its distance part is a row of a small table D; M2 of the source
moves to the target's side:

    s(s, t) = Σ_p (M2_pᵀ net_e(t)) · tanh(A[s+p] + Σ_q D_q[bucket(s+p+q, t)])

With k1 = 1 the tanh takes one value for each source word and bucket: it is computed for every bucket,
multiplied with all target words at once, and the bucket picked afterwards. Where both sides see single words,
a batch is one product of its distinct source words and buckets with its distinct target words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bitweft.recipes.paper.batches import Batch, Sentences, distinct
from bitweft.recipes.paper.features import Inventory
from bitweft.recipes.paper.vectors import FloatArray
from bitweft.settings import SettingError, Settings, setting
from bitweft.text.vocabulary import PAD

OFF_CENTER = (
    0.1  # how much smaller the weights of a window's other words start, so that its center comes first
)


@dataclass(frozen=True)
class ModelConfig(Settings):
    """Give the sizes of the network: the paper's, with the source's windows as it has them for French."""

    hidden: int = setting(256, at_least=1, at_most=65_536)  # d_hu
    output: int = setting(256, at_least=1, at_most=65_536)  # d_emb
    words: int = setting(128, at_least=1, at_most=65_536)
    tags: int = setting(32, at_least=1, at_most=65_536)
    characters: int = setting(128, at_least=1, at_most=65_536)
    distance: int = setting(32, at_least=1, at_most=65_536)
    diagonal: bool = True
    buckets: int = setting(8, at_least=1, at_most=1024)  # of the distance to the diagonal, finer near it
    source_k1: int = setting(1, at_least=1, at_most=99)  # 3 for Romanian and Czech in the paper
    source_k2: int = setting(1, at_least=1, at_most=99)
    target_k1: int = setting(3, at_least=1, at_most=99)
    target_k2: int = setting(3, at_least=1, at_most=99)

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


@dataclass(frozen=True)
class TargetWords:
    """Hold encoded target words, ready to be scored against source sentences."""

    vectors: Tensor  # (pairs, target, k2 * hidden): M2ᵀ net_e, with M2 the source's
    constant: Tensor  # (pairs, target): what net_e makes of the source's bias
    places: Tensor  # (pairs, target): i/|e|
    mask: Tensor  # (pairs, target)

    def __add__(self, other: TargetWords) -> TargetWords:
        return TargetWords(*(torch.cat(both, 1) for both in zip(self._parts(), other._parts(), strict=True)))

    def part(self, start: int, end: int, pairs: int) -> TargetWords:
        """Return some of the words; those of one sentence may be given to many pairs."""
        parts = (part[:, start:end] for part in self._parts())
        return TargetWords(*(part.expand(pairs, *part.shape[1:]) for part in parts))

    def of(self, rows: Tensor) -> TargetWords:
        """Give each pair the words of other pairs' target sentences: `rows` is (pairs, sentences)."""
        return TargetWords(*(part[rows].flatten(1, 2) for part in self._parts()))

    def _parts(self) -> tuple[Tensor, ...]:
        return (self.vectors, self.constant, self.places, self.mask)


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
        self.width = width
        self.m1 = nn.Parameter(torch.empty(k1 * width, config.hidden))
        self.b1 = nn.Parameter(torch.empty(config.hidden))
        self.m2 = nn.Parameter(torch.empty(k2 * config.hidden, config.output))
        self.b2 = nn.Parameter(torch.empty(config.output))

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
        return _spans(torch.tanh(first), self.k2)  # (sentences, length, k2 * hidden)

    def replaced(self, parts: Tensor, own: Tensor, first: Tensor, batch: Batch) -> Tensor:
        """Return the same for windows whose center another word of the batch took; the context stays.

        The first layer is linear: a new center changes it by a difference of parts, where it is seen.
        """
        pad = self.k1 // 2 + self.k2 // 2
        centers = own[:, pad : own.shape[1] - pad]  # (pairs, target)
        old = centers.gather(1, batch.replaced)  # (pairs, replaced)
        new = centers.flatten()[batch.replacements]
        place = torch.arange(len(first), device=own.device)[:, None] * first.shape[1] + batch.replaced
        seen = place[..., None] + torch.arange(self.k2, device=own.device)  # (pairs, replaced, k2)
        windows = F.embedding(seen, first.flatten(0, 1)).flatten(2)  # (pairs, replaced, k2 * hidden)
        change = torch.cat([self._center(parts, p) for p in range(self.k2)], 1)  # (words, k2 * hidden)
        return torch.tanh(windows + F.embedding(new, change) - F.embedding(old, change))

    def _center(self, parts: Tensor, p: int) -> Tensor:
        """Return what a window's center gives to the span at `p`: nothing where it is out of sight."""
        q = self.k1 // 2 - (p - self.k2 // 2)
        return parts[q] if 0 <= q < self.k1 else torch.zeros_like(parts[0])  # (words, hidden)


class Network(nn.Module):
    """Score source windows against target windows."""

    def __init__(
        self, source: Inventory, target: Inventory, config: ModelConfig, *, seed: int | None
    ) -> None:
        """Draw the weights by a seed; without one they are to be loaded."""
        super().__init__()
        self.config = config
        self._inventories = (source, target)
        self.source = Encoder(source, config, config.source_k1, config.source_k2)
        self.target = Encoder(target, config, config.target_k1, config.target_k2)
        buckets = config.buckets if config.diagonal else 1
        self.distance = nn.Parameter(torch.zeros(buckets, config.distance))  # the look-up table of distances
        self.m1_distance = nn.Parameter(torch.zeros(config.source_k1, config.distance, config.hidden))
        edges = (torch.arange(1, buckets, dtype=torch.float64) / buckets) ** 2
        self.register_buffer("edges", edges, persistent=False)
        if seed is not None:
            self._initialize(torch.Generator().manual_seed(seed))

    def _initialize(self, random: torch.Generator) -> None:
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if not self.config.diagonal and "distance" in name:
                    continue
                kind = name.rpartition(".")[2]
                rows = parameter.shape[-1] if kind[0] == "b" else parameter.shape[-2]
                scale = 1.0 if kind in {"weight", "distance"} else 1 / math.sqrt(rows)
                parameter.copy_(torch.empty(parameter.shape).uniform_(-scale, scale, generator=random))
            for spans in self._spans_of_windows():
                center = spans[len(spans) // 2] * math.sqrt(len(spans))
                spans.mul_(OFF_CENTER)
                spans[len(spans) // 2] = center

    def _spans_of_windows(self) -> list[Tensor]:
        """Return the matrices that see several words as (k, …), the part of each word by itself."""
        parts = [self.m1_distance.detach()]
        for encoder in (self.source, self.target):
            parts.append(encoder.m1.detach().view(encoder.k1, encoder.width, -1))
            parts.append(encoder.m2.detach().view(encoder.k2, self.config.hidden, -1))
        return parts

    def of_single_words(self) -> Network:
        """Return a network that sees single words, as this one sees the centers of its windows.

        Both have the same look-up tables: what one learns, the other knows.
        """
        config = replace(self.config, source_k1=1, source_k2=1, target_k1=1, target_k2=1)
        single = Network(*self._inventories, config, seed=0).to(self.distance)
        for own, other in ((single.source, self.source), (single.target, self.target)):
            own.words, own.tags, own.characters = other.words, other.tags, other.characters
        single._share(self, lambda one, spans: one[0].copy_(spans[len(spans) // 2]))
        return single

    def begin_from(self, single: Network) -> None:
        """Take over a network that sees single words: a window is at first its center, the rest is zero."""
        self._share(single, lambda spans, one: spans.zero_()[len(spans) // 2].copy_(one[0]))

    def _share(self, other: Network, center: Callable[[Tensor, Tensor], object]) -> None:
        with torch.no_grad():
            for mine, given in zip(self._spans_of_windows(), other._spans_of_windows(), strict=True):
                center(mine, given)
            for name, own in self.named_parameters():
                if name.rpartition(".")[2] in {"b1", "b2", "distance"}:
                    own.copy_(other.get_parameter(name))

    def set_words(self, source: FloatArray | None, target: FloatArray | None) -> None:
        """Start from word vectors, scaled to the spread of random ones; words without one stay random."""
        with torch.no_grad():
            for encoder, vectors in ((self.source, source), (self.target, target)):
                if vectors is not None:
                    given = torch.from_numpy(vectors)
                    known = given.abs().sum(1) > 0
                    if given[known].numel() > 1:  # one number has no spread
                        scale = encoder.words.weight.std() / given[known].std()
                        encoder.words.weight[known] = given[known] * scale

    def encode_target(self, sentences: Sentences) -> TargetWords:
        """Encode every word of the target sentences."""
        spans = self.target.spans(self.target.encode(sentences))
        return self._target_words(spans, sentences.places, sentences.mask)

    def encode_training(
        self, batch: Batch, dropout: Dropout | None = None
    ) -> tuple[TargetWords, TargetWords]:
        """Encode the words of each pair, and its negatives: other sentences', and replaced centers."""
        features, own = self.target.look_up(batch.target)
        parts = self.target.parts(features)
        first = self.target.first(parts, own)
        spans = _dropped(self.target.spans(first), dropout)
        present = self._target_words(spans, batch.target.places, batch.target.mask)
        absent = present.of(batch.negatives)
        if batch.replaced.shape[1]:
            places = batch.target.places.gather(1, batch.replaced)
            spans = _dropped(self.target.replaced(parts, own, first, batch), dropout)
            absent = absent + self._target_words(spans, places, batch.replaced_mask)
        return present, absent

    def training_scores(self, batch: Batch, dropout: Dropout | None = None) -> Tensor:
        """Return s for each source word and the target words of each pair, and then of its negatives."""
        if self.config.single_words and not batch.replaced.shape[1]:
            return self._scores_of_single_words(batch, dropout)
        present, absent = self.encode_training(batch, dropout)
        return self.scores(batch.source, present + absent, dropout)  # (pairs, source, target + absent)

    def _scores_of_single_words(self, batch: Batch, dropout: Dropout | None) -> Tensor:
        """Score every distinct source word, in every bucket, with every distinct target word, and look up."""
        features, s = self.source.look_up(batch.source)
        hidden = self._in_buckets(self.source.parts(features)[0] + self.source.b1, dropout)
        features, t = self.target.look_up(batch.target)
        spans = torch.tanh(self.target.parts(features) + self.target.b1)  # (1, words, hidden)
        spans = _dropped(spans, dropout)
        nothing = t.new_zeros(1, len(features))
        words = self._target_words(spans, nothing, nothing)
        every = hidden.flatten(0, 1) @ words.vectors[0].T + words.constant[0]  # (words * buckets, words)
        rows = torch.cat([torch.arange(len(t), device=t.device)[:, None], batch.negatives], 1)
        buckets = self.buckets(batch.source, batch.target.places[rows].flatten(1))
        place = (s[:, :, None] * hidden.shape[1] + buckets) * every.shape[1] + t[rows].flatten(1)[:, None]
        return (
            every.flatten().gather(0, place.flatten()).view(place.shape)
        )  # (pairs, source, target + absent)

    def _target_words(self, spans: Tensor, places: Tensor, mask: Tensor) -> TargetWords:
        """Apply M2 of the target, and M2 of the source from the other side."""
        target, source = self.target, self.source
        vectors = spans @ target.m2 + target.b2  # (pairs, target, output): net_e
        return TargetWords(vectors @ source.m2.T, vectors @ source.b2, places, mask)

    def buckets(self, source: Sentences, places: Tensor) -> Tensor:
        """Return the bucket of |i/|e| − j/|f|| for each source place, the padding's too, and target word."""
        pad = self.config.source_k1 // 2 + self.config.source_k2 // 2
        place = torch.arange(1 - pad, source.words.shape[1] + 1 + pad, device=places.device)
        own = place / source.lengths[:, None].clamp(min=1)  # (pairs, pad + source + pad)
        distance = (own[:, :, None].double() - places[:, None, :].double()).abs()
        return torch.bucketize(distance, self.get_buffer("edges"))  # (pairs, pad + source + pad, target)

    def encode_source(self, sentences: Sentences) -> Tensor:
        """Compute the word part of the source's first layer: A."""
        return self.source.encode(sentences)  # (pairs, k2//2 + source + k2//2, hidden)

    def source_vectors(self, sentences: Sentences) -> Tensor:
        """Return net_f of every source window, as if on the diagonal."""
        near = (self.distance[0] @ self.m1_distance).sum(0)  # (hidden)
        spans = self.source.spans(self.encode_source(sentences) + near)
        return spans @ self.source.m2 + self.source.b2  # (sentences, length, output)

    def target_vectors(self, sentences: Sentences) -> Tensor:
        """Return net_e of every target window."""
        spans = self.target.spans(self.target.encode(sentences))
        return spans @ self.target.m2 + self.target.b2  # (sentences, length, output)

    def scores(self, source: Sentences, words: TargetWords, dropout: Dropout | None = None) -> Tensor:
        """Return s for each source and target word of each pair."""
        k2, hidden = self.config.source_k2, self.config.hidden
        moved = words.vectors.reshape(*words.mask.shape, k2, hidden)  # (pairs, target, k2, hidden)
        buckets = self.buckets(source, words.places)
        if self.config.source_k1 == 1:
            total = self._scores_by_table(source, moved, buckets, dropout)
        else:
            total = self._scores_by_place(self.encode_source(source), moved, buckets, dropout)
        return total + words.constant[:, None]  # (pairs, source, target)

    def _in_buckets(self, encoded: Tensor, dropout: Dropout | None) -> Tensor:
        """Give words every distance: what the first layer makes of them, after tanh."""
        table = self.distance @ self.m1_distance[0]  # (buckets, hidden)
        hidden = torch.tanh(encoded[:, None] + table)  # (words, buckets, hidden)
        return hidden if dropout is None else hidden * dropout.factors(encoded)[:, None]

    def _scores_by_table(
        self, source: Sentences, moved: Tensor, buckets: Tensor, dropout: Dropout | None
    ) -> Tensor:
        features, own = self.source.look_up(source)
        words = self.source.parts(features)[0] + self.source.b1
        hidden = self._in_buckets(words, dropout)  # (words, buckets, hidden)
        length = own.shape[1] - self.config.source_k2 + 1
        total = moved.new_zeros(())
        for p in range(self.config.source_k2):
            windows = F.embedding(own[:, p : p + length], hidden.flatten(1))
            windows = windows.view(
                len(own), length * hidden.shape[1], -1
            )  # (pairs, source * buckets, hidden)
            every = moved[:, :, p] @ windows.transpose(1, 2)  # (pairs, target, source * buckets)
            every = every.view(*every.shape[:2], length, -1)  # (pairs, target, source, buckets)
            own_bucket = buckets[:, p : p + length].transpose(1, 2)[..., None]
            total = total + every.gather(3, own_bucket).squeeze(3)
        return total.transpose(1, 2)  # (pairs, source, target)

    def _scores_by_place(
        self, encoded: Tensor, moved: Tensor, buckets: Tensor, dropout: Dropout | None
    ) -> Tensor:
        tables = self.distance @ self.m1_distance  # (k1, buckets, hidden)
        size, (pairs, places) = len(self.distance), encoded.shape[:2]
        code = torch.arange(pairs * places, device=buckets.device).view(pairs, places, 1)
        for q in range(self.config.source_k1):
            code = code * size + buckets[:, q : q + places]
        # A source place and a tuple of buckets: the same ones come again for many target words.
        codes, own = torch.unique(code, return_inverse=True)  # (rows), (pairs, places, target)
        table = encoded.new_zeros(())
        for q in reversed(range(self.config.source_k1)):
            table = table + F.embedding(codes % size, tables[q])
            codes = codes // size
        hidden = torch.tanh(F.embedding(codes, encoded.flatten(0, 1)) + table)  # (rows, hidden)
        if dropout is not None:
            hidden = hidden * F.embedding(codes, dropout.factors(encoded).flatten(0, 1))
        starts = torch.searchsorted(codes, torch.arange(0, (pairs + 1) * places, places, device=codes.device))
        width = int(starts.diff().max())
        rows = (starts[:-1, None] + torch.arange(width, device=codes.device)).clamp(max=len(codes) - 1)
        every = F.embedding(rows, hidden) @ moved.flatten(1, 2).transpose(1, 2)
        every = every.view(pairs, width, *moved.shape[1:3])  # (pairs, rows of a pair, target, k2)
        own = own - starts[:-1, None, None]
        length = places - self.config.source_k2 + 1
        total = moved.new_zeros(())
        for p in range(self.config.source_k2):
            total = total + every[..., p].gather(1, own[:, p : p + length])
        return total  # (pairs, source, target)


def _dropped(hidden: Tensor, dropout: Dropout | None) -> Tensor:
    return hidden if dropout is None else hidden * dropout.factors(hidden)


def _spans(values: Tensor, width: int) -> Tensor:
    """Put each `width` neighbors side by side."""
    if width == 1:
        return values
    length = values.shape[1] - width + 1
    return torch.cat([values[:, q : q + length] for q in range(width)], -1)


def _padded(numbers: Tensor) -> Tensor:
    """Add the padding word."""
    return F.pad(numbers, (0, 1), value=PAD)
