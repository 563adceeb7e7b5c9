"""The network of sections 2 and 3: two window encoders and their dot product.

    net(x) = M2 tanh(M1 x)                     for each side, over the concatenated look-ups of its features
    s(s, t) = net_e(target window t) · net_f(source window s)

The source side also knows the distance to the diagonal, which depends on s and t. M1 is linear, so its word
part is computed once for each source word and its distance part is a row of a small table D; M2 of the source
moves to the target's side:

    s(s, t) = Σ_p (M2_pᵀ net_e(t)) · tanh(A[s+p] + Σ_q D_q[bucket(s+p+q, t)])

With k1 = 1 the tanh takes one value for each source word and bucket: it is computed for every bucket,
multiplied with all target words at once, and the bucket picked afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.batches import Batch, Sentences
from weft.errors import UsageError
from weft.features import PAD, Inventory
from weft.initialization import FloatArray

OFF_CENTRE = (
    0.1  # how much smaller the weights of a window's other words start, so that its centre comes first
)


@dataclass(frozen=True)
class ModelConfig:
    """Give the sizes of the network: the paper's, with its kernels for English-French."""

    hidden: int = 256  # d_hu
    output: int = 256  # d_emb
    words: int = 128
    tags: int = 32
    characters: int = 128
    distance: int = 32
    diagonal: bool = True
    buckets: int = 8  # of the distance to the diagonal, finer near it
    source_k1: int = 1
    source_k2: int = 1
    target_k1: int = 3
    target_k2: int = 3

    def __post_init__(self) -> None:
        for name in ("source_k1", "source_k2", "target_k1", "target_k2"):
            if getattr(self, name) < 1 or getattr(self, name) % 2 == 0:
                raise UsageError(f"model.{name} must be odd, so that a window has a centre")


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

    def look_up(self, sentences: Sentences) -> Tensor:
        """Concatenate the features of each word, with padding words on both ends."""
        pad = self.k1 // 2 + self.k2 // 2
        ends = (pad, pad)
        features = [self.words(F.pad(sentences.words, ends, value=PAD))]
        if self.tags is not None:
            assert sentences.tags is not None
            features.append(self.tags(F.pad(sentences.tags, ends, value=PAD)))
        if self.characters is not None:
            assert sentences.forms is not None and sentences.spelling is not None
            forms = self.characters(sentences.spelling)[sentences.forms]  # (sentences, length, characters)
            features.append(F.pad(forms, (0, 0, *ends)))
        return torch.cat(features, -1)  # (sentences, pad + length + pad, features)

    def first(self, features: Tensor) -> Tensor:
        """Apply M1 to spans of k1 words."""
        return _spans(features, self.k1) @ self.m1 + self.b1  # (sentences, k2//2 + length + k2//2, hidden)

    def spans(self, first: Tensor) -> Tensor:
        """Return what M2 is applied to: spans of k2 outputs of the first layer, after tanh."""
        return _spans(torch.tanh(first), self.k2)  # (sentences, length, k2 * hidden)

    def replaced(self, features: Tensor, first: Tensor, batch: Batch) -> Tensor:
        """Return the same for windows whose centre another word of the batch took; the context stays.

        The first layer is linear: a new centre changes it by M1 times the difference, where it is seen.
        """
        pad = self.k1 // 2 + self.k2 // 2
        centres = features[:, pad : features.shape[1] - pad]  # (pairs, target, features)
        old = centres.gather(1, batch.replaced[..., None].expand(-1, -1, self.width))
        new = centres.flatten(0, 1)[batch.replacements]  # (pairs, replaced, features)
        parts = self.m1.view(self.k1, self.width, -1)
        hidden = []
        for p in range(self.k2):
            index = (batch.replaced + p)[..., None].expand(-1, -1, first.shape[2])
            window = first.gather(1, index)  # (pairs, replaced, hidden)
            q = self.k1 // 2 - (p - self.k2 // 2)  # where this span has the centre of the window
            hidden.append(window + (new - old) @ parts[q] if 0 <= q < self.k1 else window)
        return torch.tanh(torch.cat(hidden, -1))  # (pairs, replaced, k2 * hidden)


class Network(nn.Module):
    """Score source windows against target windows."""

    def __init__(self, source: Inventory, target: Inventory, config: ModelConfig, *, seed: int) -> None:
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
                centre = spans[len(spans) // 2] * math.sqrt(len(spans))
                spans.mul_(OFF_CENTRE)
                spans[len(spans) // 2] = centre

    def _spans_of_windows(self) -> list[Tensor]:
        """Return the matrices that see several words as (k, …), the part of each word by itself."""
        parts = [self.m1_distance.detach()]
        for encoder in (self.source, self.target):
            parts.append(encoder.m1.detach().view(encoder.k1, encoder.width, -1))
            parts.append(encoder.m2.detach().view(encoder.k2, self.config.hidden, -1))
        return parts

    def of_single_words(self) -> Network:
        """Return a network that sees single words, as this one sees the centres of its windows.

        Both have the same look-up tables: what one learns, the other knows.
        """
        config = replace(self.config, source_k1=1, source_k2=1, target_k1=1, target_k2=1)
        single = Network(*self._inventories, config, seed=0).to(self.distance)
        for own, other in ((single.source, self.source), (single.target, self.target)):
            own.words, own.tags, own.characters = other.words, other.tags, other.characters
        single._share(self, lambda one, spans: one[0].copy_(spans[len(spans) // 2]))
        return single

    def begin_from(self, single: Network) -> None:
        """Take over a network that sees single words: its matrices become those of the windows' centres."""
        self._share(single, lambda spans, one: spans[len(spans) // 2].copy_(one[0]))

    def _share(self, other: Network, centre: Callable[[Tensor, Tensor], object]) -> None:
        with torch.no_grad():
            for mine, given in zip(self._spans_of_windows(), other._spans_of_windows(), strict=True):
                centre(mine, given)
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
                    scale = encoder.words.weight.std() / given[known].std()
                    encoder.words.weight[known] = given[known] * scale

    def encode_target(self, sentences: Sentences) -> TargetWords:
        """Encode every word of the target sentences."""
        spans = self.target.spans(self.target.first(self.target.look_up(sentences)))
        return self._target_words(spans, sentences.places, sentences.mask)

    def encode_training(self, batch: Batch) -> tuple[TargetWords, TargetWords]:
        """Encode the words of each pair, and its negatives: other sentences', and replaced centres."""
        features = self.target.look_up(batch.target)
        first = self.target.first(features)
        present = self._target_words(self.target.spans(first), batch.target.places, batch.target.mask)
        absent = present.of(batch.negatives)
        if batch.replaced.shape[1]:
            places = batch.target.places.gather(1, batch.replaced)
            spans = self.target.replaced(features, first, batch)
            absent = absent + self._target_words(spans, places, batch.replaced_mask)
        return present, absent

    def _target_words(self, spans: Tensor, places: Tensor, mask: Tensor) -> TargetWords:
        """Apply M2 of the target, and M2 of the source from the other side; in the order that costs least."""
        target, source = self.target, self.source
        shape = (*spans.shape[:2], -1)
        rows = spans.flatten(0, 1)  # (pairs * target, k2 * hidden)
        vectors = torch.linalg.multi_dot([rows, target.m2, source.m2.T]) + target.b2 @ source.m2.T
        constant = rows @ (target.m2 @ source.b2) + target.b2 @ source.b2  # (pairs * target)
        return TargetWords(vectors.view(shape), constant.view(shape[:2]), places, mask)

    def buckets(self, source: Sentences, places: Tensor) -> Tensor:
        """Return the bucket of |i/|e| − j/|f|| for each source place, the padding's too, and target word."""
        pad = self.config.source_k1 // 2 + self.config.source_k2 // 2
        place = torch.arange(1 - pad, source.words.shape[1] + 1 + pad, device=places.device)
        own = place / source.lengths[:, None].clamp(min=1)  # (pairs, pad + source + pad)
        distance = (own[:, :, None].double() - places[:, None, :].double()).abs()
        return torch.bucketize(distance, self.get_buffer("edges"))  # (pairs, pad + source + pad, target)

    def encode_source(self, sentences: Sentences) -> Tensor:
        """Compute the word part of the source's first layer: A."""
        return self.source.first(self.source.look_up(sentences))  # (pairs, k2//2 + source + k2//2, hidden)

    def source_vectors(self, sentences: Sentences) -> Tensor:
        """Return net_f of every source window, as if on the diagonal."""
        near = (self.distance[0] @ self.m1_distance).sum(0)  # (hidden)
        spans = self.source.spans(self.encode_source(sentences) + near)
        return spans @ self.source.m2 + self.source.b2  # (sentences, length, output)

    def target_vectors(self, sentences: Sentences) -> Tensor:
        """Return net_e of every target window."""
        spans = self.target.spans(self.target.first(self.target.look_up(sentences)))
        return spans @ self.target.m2 + self.target.b2  # (sentences, length, output)

    def scores(self, source: Sentences, words: TargetWords) -> Tensor:
        """Return s for each source and target word of each pair."""
        encoded = self.encode_source(source)
        k2, hidden = self.config.source_k2, self.config.hidden
        moved = words.vectors.reshape(*words.mask.shape, k2, hidden)  # (pairs, target, k2, hidden)
        buckets = self.buckets(source, words.places)
        by = self._scores_by_table if self.config.source_k1 == 1 else self._scores_by_element
        return by(encoded, moved, buckets) + words.constant[:, None]  # (pairs, source, target)

    def _scores_by_table(self, encoded: Tensor, moved: Tensor, buckets: Tensor) -> Tensor:
        table = self.distance @ self.m1_distance[0]  # (buckets, hidden)
        hidden = torch.tanh(encoded[:, :, None] + table)  # (pairs, source + k2 - 1, buckets, hidden)
        length = hidden.shape[1] - self.config.source_k2 + 1
        total = encoded.new_zeros(())
        for p in range(self.config.source_k2):
            windows = hidden[:, p : p + length].flatten(1, 2)  # (pairs, source * buckets, hidden)
            every = windows @ moved[:, :, p].transpose(1, 2)  # (pairs, source * buckets, target)
            every = every.view(len(every), length, len(table), -1)  # (pairs, source, buckets, target)
            total = total + every.gather(2, buckets[:, p : p + length, None]).squeeze(2)
        return total  # (pairs, source, target)

    def _scores_by_element(self, encoded: Tensor, moved: Tensor, buckets: Tensor) -> Tensor:
        tables = self.distance @ self.m1_distance  # (k1, buckets, hidden)
        places = encoded.shape[1]
        code = buckets[:, :places]
        for q in range(1, self.config.source_k1):
            code = code * len(self.distance) + buckets[:, q : q + places]
        codes, own = torch.unique(code, return_inverse=True)  # few tuples of buckets occur
        table = encoded.new_zeros(len(codes), self.config.hidden)
        for q in reversed(range(self.config.source_k1)):
            table = table + tables[q][codes % len(self.distance)]
            codes = codes // len(self.distance)
        own = own.transpose(1, 2)  # (pairs, target, places)
        hidden = torch.tanh(encoded[:, None] + F.embedding(own, table))  # (pairs, target, places, hidden)
        products = hidden @ moved.transpose(2, 3)  # (pairs, target, places, k2)
        length = places - self.config.source_k2 + 1
        parts = [products[:, :, p : p + length, p] for p in range(self.config.source_k2)]
        return torch.stack(parts).sum(0).transpose(1, 2)  # (pairs, source, target)


def _spans(values: Tensor, width: int) -> Tensor:
    """Put each `width` neighbours side by side."""
    if width == 1:
        return values
    length = values.shape[1] - width + 1
    return torch.cat([values[:, q : q + length] for q in range(width)], -1)
