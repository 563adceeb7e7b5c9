"""The paper's equations by brute force: what each must give is worked out here once more, cell by cell."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from bitweft.progress import Progress
from bitweft.recipes.paper import fitting
from bitweft.recipes.paper import train as training
from bitweft.recipes.paper.batches import Batch, Drawing, Sentences, make_batch, padded
from bitweft.recipes.paper.config import PaperConfig
from bitweft.recipes.paper.decode import (
    BestWords,
    DecodingConfig,
    NegativeScores,
    best_words,
    negative_scores,
)
from bitweft.recipes.paper.encoder import ModelConfig
from bitweft.recipes.paper.features import EncodedText, FeatureConfig, Inventory, SideConfig
from bitweft.recipes.paper.network import Network
from bitweft.recipes.paper.recipe import PaperRecipe
from bitweft.recipes.paper.train import TrainingConfig, layer_optimizer, table_optimizer, train
from bitweft.recipes.paper.vectors import hellinger_vectors
from bitweft.sample import bitext, generate
from bitweft.settings import with_settings
from bitweft.text.vocabulary import PAD, UNKNOWN

SIDE = SideConfig()
SOURCE = [("a", "b", "c"), ("b", "a", "d", "e", "a"), ("c",), ("d", "b"), ("e", "a", "c")]
TARGET = [("x", "y", "z", "x"), ("y", "z"), ("w", "x"), ("z", "w", "y"), ("x",)]
KERNELS = [(1, 1, 3, 3), (3, 3, 1, 1), (3, 1, 3, 3)]


def model(kernels: tuple[int, ...] = (1, 1, 3, 3)) -> ModelConfig:
    s1, s2, t1, t2 = kernels
    small = ModelConfig(hidden=5, output=4, words=3, distance=2, buckets=4)
    return replace(small, source_k1=s1, source_k2=s2, target_k1=t1, target_k2=t2)


def texts() -> tuple[tuple[Inventory, Inventory], tuple[EncodedText, EncodedText]]:
    one, other = (Inventory.of(side, FeatureConfig(), SIDE) for side in (SOURCE, TARGET))
    return (one, other), (one.encode(SOURCE), other.encode(TARGET))


def scores(network: Network, source: EncodedText, target: EncodedText, s: int, t: int) -> list[list[float]]:
    """Score source sentence s with target sentence t, alone."""
    own, other = padded(source, np.array([s])), padded(target, np.array([t]))
    found: list[list[float]] = network.scores(own, network.encode_target(other))[0].tolist()
    return found


@pytest.mark.parametrize("buckets", [4, 5, 8])
def test_distances_are_in_their_bucket_exactly(buckets: int) -> None:
    inventories, _ = texts()
    network = Network(*inventories, ModelConfig(hidden=2, output=2, words=2, buckets=buckets), seed=1)
    longest = 13
    for source_length in range(1, longest):
        for target_length in range(1, longest):
            words = torch.zeros(1, source_length, dtype=torch.long)
            other = torch.zeros(1, target_length, dtype=torch.long)
            source = Sentences(words, torch.tensor([source_length]))
            places = Sentences(other, torch.tensor([target_length])).places
            found = network.buckets(source, places)[0].tolist()
            for j in range(source_length):
                for i in range(target_length):
                    distance = abs(Fraction(i + 1, target_length) - Fraction(j + 1, source_length))
                    below = (Fraction(k, buckets) ** 2 for k in range(1, buckets))
                    assert found[j][i] == sum(edge < distance for edge in below)


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("members", [1, 2])
def test_negative_scores_by_brute_force(kernels: tuple[int, ...], members: int) -> None:
    inventories, (source, target) = texts()
    networks = [Network(*inventories, model(kernels), seed=seed).double() for seed in range(members)]
    everything = DecodingConfig(sentences=100, negatives=100)
    found = negative_scores(networks, source, target, np.arange(5), everything, seed=1)
    met: dict[int, list[float]] = {}
    for t, sentence in enumerate(TARGET):
        for s in (s for s in range(5) if s != t):  # never the pair's own source
            cells = np.mean([scores(network, source, target, s, t) for network in networks], axis=0)
            for place, word in enumerate(sentence):
                met.setdefault(inventories[1].words.number(word), []).extend(cells[:, place].tolist())
    for number in range(len(inventories[1].words)):
        own = met.get(number, [0.0])
        mean = sum(own) / len(own)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in own) / len(own))
        assert float(found.mean[number]) == pytest.approx(mean, abs=1e-9)
        assert float(found.deviation[number]) == pytest.approx(deviation, abs=1e-7)


def test_a_lone_pair_has_no_negatives() -> None:
    inventories, (source, target) = texts()
    network = Network(*inventories, model(), seed=1)
    found = negative_scores([network], source, target, np.array([2]), DecodingConfig(), seed=1)
    assert not found.mean.any() and not found.deviation.any()


def test_equation_5_by_brute_force() -> None:
    inventories, (source, target) = texts()
    network = Network(*inventories, model(), seed=3).double()
    random = torch.Generator().manual_seed(1)
    mean, deviation = torch.rand(2, len(inventories[1].words), dtype=torch.float64, generator=random)
    found = best_words([network], NegativeScores(mean, deviation), source, target)
    kept = []
    for alpha in (-2.0, -0.5, 0.0, 0.5, 2.0):
        expected = []
        for pair, sentence in enumerate(TARGET):
            cells = scores(network, source, target, pair, pair)
            for t, word in enumerate(sentence):
                column = [row[t] for row in cells]
                number = inventories[1].words.number(word)
                if max(column) > float(mean[number]) + alpha * float(deviation[number]):
                    expected.append((pair, column.index(max(column)), t))
        links = [(pair, s, t) for pair, best in enumerate(found) for s, t in best.links(alpha).links]
        assert sorted(links) == sorted(expected)
        kept.append(len(links))
    assert kept == sorted(kept, reverse=True) and len(set(kept)) > 2  # the threshold decides something


def test_a_score_must_be_above_its_threshold() -> None:
    mean, deviation, nothing = np.array([0.5, 0.5]), np.array([0.25, 0.25]), np.zeros(2)
    best = BestWords(np.array([0, 1]), np.array([1.0, 1.000001]), mean, deviation, nothing)
    assert best.links(2.0).links == ((1, 1),)  # 0.5 + 2 · 0.25 is not above itself


def test_characters_are_averaged() -> None:
    side = SideConfig(characters=True)
    words = [("ab", "abc", "a")]
    inventory = Inventory.of(words, FeatureConfig(longest_word=3), side)
    network = Network(inventory, inventory, ModelConfig(hidden=4, output=3, words=2, characters=2), seed=1)
    features, own = network.source.look_up(padded(inventory.encode(words), np.array([0])))
    assert inventory.characters is not None and network.source.characters is not None
    size, table = len(inventory.characters), network.source.characters.weight
    for place, word in enumerate(words[0]):
        rows = [1 + k * size + inventory.characters.number(letter) for k, letter in enumerate(word)]
        mean = torch.stack([table[row] for row in rows]).sum(0) / len(rows)
        assert torch.allclose(features[own[0, place]][2:], mean)


def test_each_stage_has_its_negatives(monkeypatch: pytest.MonkeyPatch) -> None:
    text, _ = bitext(generate(40))
    seen: dict[str, list[tuple[int, int]]] = {}
    plain = training.loss

    def spying(network: Network, batch: Batch, *rest: object) -> torch.Tensor:
        own = (batch.negatives.shape[1], int(batch.replaced_mask.sum()))
        seen.setdefault("words" if network.config.single_words else "windows", []).append(own)
        return plain(network, batch, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(training, "loss", spying)
    settings = ["model.hidden=4", "model.output=4", "model.words=4", "training.batch=10"]
    settings += ["training.word_epochs=1", "training.negatives=2", "training.window_negatives=1"]
    settings += ["decoding.sentences=1", "decoding.negatives=1"]
    for extra in ([], ["training.window_negatives=0"]):
        seen.clear()
        list(PaperRecipe(with_settings(PaperConfig(), [*settings, *extra])).fit(text))
        assert {sentences for sentences, _ in seen["words"]} == {2}
        assert {replaced for _, replaced in seen["words"]} == {0}
        assert {sentences for sentences, _ in seen["windows"]} == {0 if extra else 1}
        tokens = sum(len(pair.source) + len(pair.target) for pair in text)
        assert sum(replaced for _, replaced in seen["windows"]) == tokens  # once each, in both directions


def test_each_stage_has_its_rates_and_its_share_of_the_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    stages: dict[bool, TrainingConfig] = {}

    def noting(
        network: Network, source: EncodedText, target: EncodedText, config: TrainingConfig, **_: object
    ) -> list[Progress]:
        stages[network.config.single_words] = config
        return []

    monkeypatch.setattr(fitting, "train", noting)
    settings = ["training.rate=0.01", "training.table_rate=0.2", "training.window_rate=0.5"]
    settings += ["training.share=0.8", "training.window_share=0.3", "model.hidden=4", "model.output=4"]
    list(PaperRecipe(with_settings(PaperConfig(), settings)).fit(bitext(generate(10))[0]))
    words, windows = stages[True], stages[False]
    assert (words.rate, words.table_rate, words.share) == (0.01, 0.2, 0.8)
    assert (windows.rate, windows.table_rate, windows.share) == (0.005, 0.1, 0.3)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_rates_fall_along_a_line(optimizer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "REPORT_EVERY", 1)
    inventories, encoded = texts()
    config = TrainingConfig(optimizer=optimizer, rate=0.01, table_rate=0.2, epochs=3, batch=2)
    network = Network(*inventories, model(), seed=1)
    both = (table_optimizer(network, config), layer_optimizer(network, config))
    rates = []
    for _ in train(network, *encoded, config, seed=1, optimizers=both):
        rates.append(tuple(one.param_groups[0]["lr"] for one in both))
    steps = 3 * 3  # five pairs are three batches
    expected = [(0.2 * (1 - step / steps), 0.01 * (1 - step / steps)) for step in range(steps)]
    assert rates == [pytest.approx(own) for own in expected]


def test_new_centers_are_drawn_from_all_words_of_the_batch() -> None:
    _, (source, target) = texts()
    times = np.zeros(5 * 4)
    for seed in range(300):
        random = np.random.default_rng(seed)
        batch = make_batch(source, target, np.arange(5), Drawing(1, 1.0), random=random)
        np.add.at(times, batch.replacements[batch.replaced_mask].numpy(), 1)
    width = batch.target.words.shape[1]
    there = [pair * width + t for pair, words in enumerate(TARGET) for t in range(len(words))]
    share = times / times.sum()
    assert share[there].sum() == pytest.approx(1)
    assert share[there].tolist() == pytest.approx([1 / len(there)] * len(there), abs=0.02)


def test_other_words_of_a_window_start_smaller() -> None:
    inventories, _ = texts()
    config = ModelConfig(hidden=64, output=64, words=64, distance=64, source_k1=3, source_k2=3)
    network = Network(*inventories, config, seed=1)
    for encoder, matrix, width in (
        (network.source, network.source.m1, 64),
        (network.target, network.target.m1, 64),
        (network.source, network.source.m2, 64),
        (network.target, network.target.m2, 64),
    ):
        assert encoder.k1 == encoder.k2 == 3
        before, center, after = (float(part.std()) for part in matrix.detach().view(3, width, -1))
        assert before / center == pytest.approx(0.1 / math.sqrt(3), rel=0.1)
        assert after / center == pytest.approx(0.1 / math.sqrt(3), rel=0.1)
        assert center == pytest.approx(1 / math.sqrt(3 * width), rel=0.1)  # as if it were alone


def test_padding_and_the_unknown_word_start_apart() -> None:
    inventories, encoded = texts()
    vectors = [hellinger_vectors(text.words, text.lengths, 7, dimensions=3) for text in encoded]
    assert not vectors[0][[PAD, UNKNOWN]].any()  # neither occurs, so neither has a vector
    network = Network(*inventories, model(), seed=1)
    start = network.source.words.weight.detach().clone()
    network.set_words(vectors[0], None)
    weight = network.source.words.weight.detach()
    assert torch.equal(weight[:2], start[:2]) and not torch.equal(weight[0], weight[1])
    assert not torch.equal(weight[2:], start[2:])
