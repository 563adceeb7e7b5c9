"""The network against a naive one that follows the paper's equations word by word."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from bitweft.errors import UsageError
from bitweft.recipes.paper.batches import Batch, Drawing, Sentences, make_batch, padded
from bitweft.recipes.paper.encoder import Dropout, Encoder, ModelConfig
from bitweft.recipes.paper.features import EncodedText, FeatureConfig, Inventory, SideConfig
from bitweft.recipes.paper.network import Network

SOURCE = [("a", "b", "c"), ("b", "a", "d", "e", "a"), ("c",)]
TARGET = [("x", "y", "z", "x"), ("y", "z"), ("w", "x", "y")]
SIDE = SideConfig(characters=True, tags="classes")
FEATURES = FeatureConfig(SIDE, SIDE, longest_word=3, classes=2)
SMALL = ModelConfig(hidden=5, output=4, words=3, tags=2, characters=2, distance=2, buckets=4)


def texts() -> tuple[Inventory, Inventory, EncodedText, EncodedText]:
    source, target = (Inventory.of(side, FEATURES, SIDE) for side in (SOURCE, TARGET))
    return source, target, source.encode(SOURCE), target.encode(TARGET)


def network(config: ModelConfig) -> Network:
    source, target, _, _ = texts()
    return Network(source, target, config, seed=1).double()


def kernels(source_k1: int, source_k2: int, target_k1: int = 3, target_k2: int = 3) -> ModelConfig:
    return dataclasses.replace(
        SMALL, source_k1=source_k1, source_k2=source_k2, target_k1=target_k1, target_k2=target_k2
    )


def naive_window(encoder: Encoder, features: Tensor, center: int, extra: Tensor | None = None) -> Tensor:
    """Run M1 over the k2 spans of one window and M2 over their tanh; `extra` is added to each span's M1."""
    spans = []
    for p in range(encoder.k2):
        span = torch.cat([features[center + p + q] for q in range(encoder.k1)])
        first = span @ encoder.m1 + encoder.b1
        spans.append(torch.tanh(first if extra is None else first + extra[p]))
    return torch.cat(spans) @ encoder.m2 + encoder.b2


def looked_up(encoder: Encoder, sentences: Sentences) -> Tensor:
    features, own = encoder.look_up(sentences)
    return features[own]  # (sentences, pad + length + pad, features)


def naive_scores(net: Network, source: Sentences, target: Sentences, pair: int) -> Tensor:
    """Score one pair with the distance looked up for every word of every window, as the paper has it."""
    lengths = int(source.lengths[pair]), int(target.lengths[pair])
    config = net.config
    own, other = looked_up(net.source, source)[pair], looked_up(net.target, target)[pair]
    rows = []
    for s in range(lengths[0]):
        row = []
        for t in range(lengths[1]):
            extra = []
            for p in range(config.source_k2):
                parts = []
                for q in range(config.source_k1):
                    place = s + p + q - config.source_k1 // 2 - config.source_k2 // 2
                    distance = abs((t + 1) / lengths[1] - (place + 1) / lengths[0])
                    bucket = sum(
                        ((b + 1) / config.buckets) ** 2 < distance for b in range(config.buckets - 1)
                    )
                    parts.append(net.distance[bucket] @ net.m1_distance[q])
                extra.append(torch.stack(parts).sum(0))
            net_f = naive_window(net.source, own, s, torch.stack(extra))
            row.append(naive_window(net.target, other, t) @ net_f)
        rows.append(torch.stack(row))
    return torch.stack(rows)  # (source, target)


@pytest.mark.parametrize(
    "config", [kernels(1, 1), kernels(1, 3), kernels(3, 1), kernels(3, 3), kernels(3, 3, 1, 1)]
)
def test_factored_scores_and_gradients_are_the_naive_ones(config: ModelConfig) -> None:
    net = network(config)
    _, _, source, target = texts()
    rows = np.arange(3)
    own, other = padded(source, rows), padded(target, rows)
    scores = net.scores(own, net.encode_target(other))
    naive = [naive_scores(net, own, other, pair) for pair in range(3)]
    for pair, expected in enumerate(naive):
        assert torch.allclose(scores[pair, : expected.shape[0], : expected.shape[1]], expected)
    parameters = [value for name, value in net.named_parameters() if not name.endswith("weight")]
    fast = torch.stack(
        [scores[pair, : e.shape[0], : e.shape[1]].square().sum() for pair, e in enumerate(naive)]
    )
    slow = torch.stack([expected.square().sum() for expected in naive])
    for one, two in zip(
        torch.autograd.grad(fast.sum(), parameters), torch.autograd.grad(slow.sum(), parameters), strict=True
    ):
        assert torch.allclose(one, two)


def test_each_distinct_word_is_looked_up_once() -> None:
    net = network(kernels(1, 1))
    _, inventory, _, target = texts()
    sentences = padded(target, np.arange(3))
    features, own = net.target.look_up(sentences)
    assert len(features) == 4 + 1 + 1  # w x y z, the empty places of short sentences, the padding word
    assert net.target.tags is not None and net.target.characters is not None
    assert sentences.tags is not None and inventory.classes is not None
    for pair, tokens in enumerate(TARGET):
        for t, word in enumerate(tokens):
            row = features[own[pair, t + 2]]
            letters = net.target.characters(torch.from_numpy(inventory.spell([word]).astype(np.int64)))[0]
            tag = net.target.tags.weight[sentences.tags[pair, t]]
            expected = torch.cat([net.target.words.weight[inventory.words.number(word)], tag, letters])
            assert torch.equal(row, expected)
    padding = torch.cat([net.target.words.weight[0], net.target.tags.weight[0], torch.zeros(2)])
    assert torch.equal(features[-1], padding)
    assert (own[:, :2] == len(features) - 1).all() and (own[:, -2:] == len(features) - 1).all()


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize("negatives", [1, 2])
def test_single_words_scored_once_are_scored_right(diagonal: bool, negatives: int) -> None:
    net = network(dataclasses.replace(kernels(1, 1, 1, 1), diagonal=diagonal))
    _, _, source, target = texts()
    random = np.random.default_rng(1)
    batch = make_batch(source, target, np.arange(3), Drawing(negatives, 0.0), random=random)
    present, absent = net.encode_training(batch)
    plain = net.scores(batch.source, present + absent)
    once = net.training_scores(batch)
    weight = torch.rand(plain.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(once, plain)
    gradients = [
        torch.autograd.grad((scores * weight).sum(), list(net.parameters()), retain_graph=True)
        for scores in (once, plain)
    ]
    for one, two in zip(*gradients, strict=True):
        assert torch.allclose(one.to_dense(), two.to_dense())


@pytest.mark.parametrize("widths", [(1, 1, 1, 1), (1, 1, 3, 3), (3, 3, 3, 3)])
def test_dropout_changes_scores_but_not_their_mean(widths: tuple[int, int, int, int]) -> None:
    net = network(kernels(*widths))
    _, _, source, target = texts()
    replaced = 0.0 if max(widths) == 1 else 1.0
    random = np.random.default_rng(1)
    batch = make_batch(source, target, np.arange(3), Drawing(1, replaced), random=random)
    dropout = Dropout(0.2, torch.Generator().manual_seed(1))
    with torch.no_grad():
        draws = torch.stack([net.training_scores(batch, dropout) for _ in range(1000)])
        plain = net.training_scores(batch)
    error = draws.std(0) / math.sqrt(len(draws))
    assert bool((error > 0).all())
    assert bool(((draws.mean(0) - plain).abs() < 5 * error).all())


def test_gradients_are_those_of_small_differences() -> None:
    net = network(kernels(1, 1))
    _, _, source, target = texts()
    random = np.random.default_rng(1)
    batch = make_batch(source, target, np.arange(3), Drawing(2, 1.0), random=random)
    parameters = [net.target.m1, net.target.m2, net.source.m1, net.distance, net.target.words.weight]
    total = net.training_scores(batch).square().sum()
    for parameter, gradient in zip(parameters, torch.autograd.grad(total, parameters), strict=True):
        for row in range(0, len(parameter), 2):
            changed = []
            for step in (1e-6, -1e-6):
                with torch.no_grad():
                    parameter[row, 1] += step
                    changed.append(float(net.training_scores(batch).square().sum()))
                    parameter[row, 1] -= step
            slope = (changed[0] - changed[1]) / 2e-6
            assert float(gradient.to_dense()[row, 1]) == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("config", [kernels(1, 1), kernels(3, 3)])
def test_padding_and_neighbors_in_a_batch_change_nothing(config: ModelConfig) -> None:
    net = network(config)
    _, _, source, target = texts()
    together = net.scores(padded(source, np.arange(3)), net.encode_target(padded(target, np.arange(3))))
    for pair in range(3):
        row = np.array([pair])
        alone = net.scores(padded(source, row), net.encode_target(padded(target, row)))
        assert torch.allclose(together[pair, : alone.shape[1], : alone.shape[2]], alone[0])


def test_window_edges_see_padding_words() -> None:
    net = network(kernels(1, 1))
    _, _, _, target = texts()
    sentences = padded(target, np.array([1]))  # y z
    before = net.encode_target(sentences).vectors.detach().clone()
    with torch.no_grad():
        net.target.words.weight[0] += 1.0  # the padding word
    assert not torch.allclose(before, net.encode_target(sentences).vectors)
    narrow = network(kernels(1, 1, 1, 1))
    before = narrow.encode_target(sentences).vectors.detach().clone()
    with torch.no_grad():
        narrow.target.words.weight[0] += 1.0
    assert torch.equal(before, narrow.encode_target(sentences).vectors)


@pytest.mark.parametrize("widths", [(1, 1), (3, 1), (1, 3), (3, 3)])
def test_a_replaced_center_is_the_window_of_the_changed_sentence(widths: tuple[int, int]) -> None:
    net = network(kernels(1, 1, *widths))
    _, target, source_text, target_text = texts()
    batch = make_batch(
        source_text,
        target_text,
        np.arange(3),
        Drawing(1, 1.0),
        random=np.random.default_rng(3),
    )
    present, absent = net.encode_training(batch)
    first = present.mask.shape[1]
    width = batch.target.words.shape[1]
    flat = [word for tokens in TARGET for word in (*tokens, *["?"] * (width - len(tokens)))]
    checked = 0
    for pair, tokens in enumerate(TARGET):
        for column in batch.replaced_mask[pair].nonzero().flatten().tolist():
            t = int(batch.replaced[pair, column])
            changed = list(tokens)
            changed[t] = flat[int(batch.replacements[pair, column])]
            expected = net.encode_target(padded(target.encode([changed]), np.array([0]))).vectors[0, t]
            assert torch.allclose(absent.vectors[pair, first + column], expected)
            checked += 1
    assert checked == sum(len(tokens) for tokens in TARGET)


def test_negatives_are_other_sentences() -> None:
    _, _, source, target = texts()
    for seed in range(5):
        batch: Batch = make_batch(
            source,
            target,
            np.arange(3),
            Drawing(2, 0.0),
            random=np.random.default_rng(seed),
        )
        for pair in range(3):
            assert sorted({pair, *batch.negatives[pair].tolist()}) == [0, 1, 2]


def test_without_diagonal_places_do_not_matter() -> None:
    net = network(dataclasses.replace(SMALL, diagonal=False))
    _, _, source, target = texts()
    words = net.encode_target(padded(target, np.arange(3)))
    moved = dataclasses.replace(words, places=words.places.flip(1))
    own = padded(source, np.arange(3))
    assert torch.equal(net.scores(own, words), net.scores(own, moved))


def test_windows_begin_as_their_centers() -> None:
    wide = network(kernels(3, 3))
    single = wide.of_single_words().double()
    assert single.config.source_k1 == single.config.target_k2 == 1
    with torch.no_grad():
        single.target.b2.add_(1.0)
    wide.begin_from(single)
    _, _, source, target = texts()
    own, other = padded(source, np.arange(3)), padded(target, np.arange(3))
    ours = wide.scores(own, wide.encode_target(other))
    assert torch.allclose(ours, single.scores(own, single.encode_target(other)))


def test_even_kernels_fail() -> None:
    with pytest.raises(UsageError, match="odd"):
        kernels(2, 1)
