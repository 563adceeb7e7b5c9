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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bitweft.recipes.paper.batches import Batch, Sentences
from bitweft.recipes.paper.encoder import Dropout, Encoder, ModelConfig
from bitweft.recipes.paper.features import Inventory
from bitweft.recipes.paper.loops import cell_products, in_buckets, row_sums, tanh
from bitweft.recipes.paper.vectors import FloatArray


@dataclass(frozen=True)
class TargetWords:
    """Hold encoded target words, ready to be scored against source sentences."""

    vectors: Tensor  # (pairs, target, k2 * hidden): M2ᵀ net_e, with M2 the source's
    constant: Tensor  # (pairs, target): what net_e makes of the source's bias
    places: Tensor  # (pairs, target, 2): i and |e|
    mask: Tensor  # (pairs, target)

    def __add__(self, other: TargetWords) -> TargetWords:
        return TargetWords(*(torch.cat(both, 1) for both in zip(self._parts(), other._parts(), strict=True)))

    def part(self, start: int, end: int) -> TargetWords:
        """Return some of the words of each pair."""
        return TargetWords(*(part[:, start:end] for part in self._parts()))

    def first(self, pairs: int) -> TargetWords:
        """Return the words of the first sentences."""
        return TargetWords(*(part[:pairs] for part in self._parts()))

    def of(self, rows: Tensor) -> TargetWords:
        """Give each pair the words of other pairs' target sentences: `rows` is (pairs, sentences)."""
        return TargetWords(*(part[rows].flatten(1, 2) for part in self._parts()))

    def _parts(self) -> tuple[Tensor, ...]:
        return (self.vectors, self.constant, self.places, self.mask)


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
        power = config.bucket_power
        edges = torch.arange(1, buckets, dtype=torch.float64) ** power / buckets**power  # each rounded once
        self.register_buffer("edges", edges, persistent=False)
        if seed is not None:
            self._initialize(torch.Generator().manual_seed(seed))

    def _initialize(self, random: torch.Generator) -> None:
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if not parameter.requires_grad or (not self.config.diagonal and "distance" in name):
                    continue  # zeros: what the network is to do without
                kind = name.rpartition(".")[2]
                rows = parameter.shape[-1] if kind[0] == "b" else parameter.shape[-2]
                table = kind in {"weight", "distance"}
                scale = self.config.table_range if table else 1 / math.sqrt(rows)
                parameter.copy_(torch.empty(parameter.shape).uniform_(-scale, scale, generator=random))
            off = self.config.off_center
            for spans in self._spans_of_windows():  # their center gets the variance that the others lose
                center = spans[len(spans) // 2] * math.sqrt(len(spans) - (len(spans) - 1) * off**2)
                spans.mul_(off)
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
            own.more = other.more
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
        words = self._target_words(spans, batch.target.places, batch.target.mask)
        present, absent = words.first(batch.pairs), words.of(batch.negatives)
        if batch.replaced.shape[1]:
            places = batch.target.places[: batch.pairs].take_along_dim(batch.replaced[..., None], 1)
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
        spans = tanh(self.target.parts(features) + self.target.b1)  # (1, words, hidden)
        spans = _dropped(spans, dropout)
        nothing = t.new_zeros(1, len(features))  # places and mask are looked up with the scores
        words = self._target_words(spans, nothing, nothing)
        rows = torch.cat([torch.arange(batch.pairs, device=t.device)[:, None], batch.negatives], 1)
        buckets = self.buckets(batch.source, batch.target.places[rows].flatten(1, 2))
        place = (s * hidden.shape[1])[:, :, None] + buckets
        own = t[rows].flatten(1)  # (pairs, target + absent)
        scores = cell_products(hidden.flatten(0, 1), words.vectors[0], place, own)
        return scores + words.constant[0][own][:, None]  # (pairs, source, target + absent)

    def _target_words(self, spans: Tensor, places: Tensor, mask: Tensor) -> TargetWords:
        """Apply M2 of the target, and M2 of the source from the other side."""
        target, source = self.target, self.source
        vectors = spans @ target.m2 + target.b2  # (pairs, target, output): net_e
        return TargetWords(vectors @ source.m2.T, vectors @ source.b2, places, mask)

    def buckets(self, source: Sentences, places: Tensor) -> Tensor:
        """Return the bucket of |i/|e| − j/|f|| for each source place, the padding's too, and target word.

        The distance is a quotient of integers: exact quarters and the like are on their edge, wherever.
        """
        pad = self.config.source_k1 // 2 + self.config.source_k2 // 2
        j = torch.arange(1 - pad, source.words.shape[1] + 1 + pad, device=places.device)[:, None]
        i, length = places[:, None].unbind(-1)  # (pairs, 1, target)
        own = source.lengths[:, None, None].clamp(min=1)  # (pairs, 1, 1)
        distance = (i * own - j * length).abs().double() / (length * own)
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

    def crossed(self, source: Sentences, target: Sentences) -> Iterator[Tensor]:
        """Give, place by place of target sentences of one length, their words' s with all source sentences.

        At one place the distance is the same for all target words: one tanh for each source word.
        """
        k1, k2 = self.config.source_k1, self.config.source_k2
        encoded, words = self.encode_source(source), self.encode_target(target)
        length = encoded.shape[1]
        buckets = self.buckets(source, words.places[:1].expand(len(encoded), -1, -1))
        tables = self.distance @ self.m1_distance  # (k1, buckets, hidden)
        moved = words.vectors.view(*words.mask.shape, k2, -1)  # (sentences of the target, target, k2, hidden)
        for t in range(target.words.shape[1]):
            distances = [F.embedding(buckets[:, q : q + length, t], tables[q]) for q in range(k1)]
            hidden = tanh(sum(distances, encoded))  # (sentences, k2//2 + source + k2//2, hidden)
            every = hidden @ moved[:, t].flatten(0, 1).T
            every = every.view(*every.shape[:2], -1, k2)
            parts = [every[:, p : p + length - k2 + 1, :, p] for p in range(k2)]
            yield sum(parts[1:], parts[0] + words.constant[:, t])  # (sentences, source, those of the target)

    def _in_buckets(self, encoded: Tensor, dropout: Dropout | None) -> Tensor:
        """Give words every distance: what the first layer makes of them, after tanh."""
        table = self.distance @ self.m1_distance[0]  # (buckets, hidden)
        hidden = in_buckets(encoded, table)  # (words, buckets, hidden)
        return hidden if dropout is None else hidden * dropout.factors(encoded)[:, None]

    def _scores_by_table(
        self, source: Sentences, moved: Tensor, buckets: Tensor, dropout: Dropout | None
    ) -> Tensor:
        features, own = self.source.look_up(source)
        words = self.source.parts(features)[0] + self.source.b1
        hidden = self._in_buckets(words, dropout)  # (words, buckets, hidden)
        length = own.shape[1] - self.config.source_k2 + 1
        columns = torch.arange(moved.shape[0] * moved.shape[1], device=own.device).view(moved.shape[:2])
        total = moved.new_zeros(())
        for p in range(self.config.source_k2):
            place = (own[:, p : p + length] * hidden.shape[1])[:, :, None] + buckets[:, p : p + length]
            vectors = moved[:, :, p].flatten(0, 1)
            total = total + cell_products(hidden.flatten(0, 1), vectors, place, columns)
        return total  # (pairs, source, target)

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
        hidden = tanh(row_sums(encoded.flatten(0, 1), tables, codes))  # (rows, hidden)
        if dropout is not None:
            rows = codes // size**self.config.source_k1
            hidden = hidden * F.embedding(rows, dropout.factors(encoded).flatten(0, 1))
        length = places - self.config.source_k2 + 1
        columns = torch.arange(moved.shape[0] * moved.shape[1], device=own.device).view(moved.shape[:2])
        total = moved.new_zeros(())
        for p in range(self.config.source_k2):
            vectors = moved[:, :, p].flatten(0, 1)
            total = total + cell_products(hidden, vectors, own[:, p : p + length], columns)
        return total  # (pairs, source, target)


def _dropped(hidden: Tensor, dropout: Dropout | None) -> Tensor:
    return hidden if dropout is None else hidden * dropout.factors(hidden)
