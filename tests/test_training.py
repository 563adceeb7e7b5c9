"""The training loop: what it learns from, that it is reproducible, that the loss is the paper's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from bitweft import sample
from bitweft.errors import UsageError
from bitweft.recipes.paper.aggregation import aggregation
from bitweft.recipes.paper.batches import Drawing, batch_rows, make_batch
from bitweft.recipes.paper.encoder import ModelConfig
from bitweft.recipes.paper.features import EncodedText, FeatureConfig, Inventory, SideConfig
from bitweft.recipes.paper.network import Network
from bitweft.recipes.paper.train import (
    TableAdagrad,
    TrainingConfig,
    layer_optimizer,
    loss,
    table_optimizer,
    train,
    trainable,
)

SMALL = ModelConfig(hidden=16, output=16, words=8, distance=4, buckets=4, target_k1=3, target_k2=3)


def sample_texts(pairs: int) -> tuple[tuple[Inventory, Inventory], tuple[EncodedText, EncodedText]]:
    drawn = list(sample.generate(pairs))
    ahead, back = [pair.source for pair in drawn], [pair.target for pair in drawn]
    source, target = (Inventory.of(side, FeatureConfig(), SideConfig()) for side in (ahead, back))
    return (source, target), (source.encode(ahead), target.encode(back))


def trained(config: TrainingConfig, *, seed: int = 1, pairs: int = 60) -> tuple[Network, list[float]]:
    inventories, texts = sample_texts(pairs)
    network = Network(*inventories, SMALL, seed=seed)
    losses = [progress.loss for progress in train(network, *texts, config, seed=seed)]
    return network, [value for value in losses if value is not None]


def test_the_loss_is_equation_3() -> None:
    inventories, texts = sample_texts(5)
    network = Network(*inventories, SMALL, seed=1).double()
    batch = make_batch(*texts, np.arange(5), Drawing(2, 0.5), random=np.random.default_rng(1))
    present, absent = network.encode_training(batch)
    scores = network.scores(batch.source, present + absent)
    expected = 0.0
    first = present.mask.shape[1]
    for pair in range(5):
        length = int(batch.source.lengths[pair])
        for t, there in enumerate([*present.mask[pair].tolist(), *absent.mask[pair].tolist()]):
            if there:
                total = math.log(sum(math.exp(value) for value in scores[pair, :length, t].tolist()))
                weight = 0.5 if first <= t < 3 * first else 1.0  # of the words of two negative sentences
                expected += weight * math.log(1 + math.exp(-total if t < first else total))
    assert float(loss(network, batch, aggregation("lse")).detach()) == pytest.approx(expected / 5)


@pytest.mark.parametrize(("optimizer", "rate", "table_rate"), [("sgd", 0.03, 0.1), ("adam", 0.01, 0.1)])
def test_every_optimizer_lowers_the_loss(optimizer: str, rate: float, table_rate: float) -> None:
    config = TrainingConfig(
        optimizer=optimizer,
        rate=rate,
        table_rate=table_rate,
        epochs=20,
        batch=10,
        replacement_rate=0.0,
        word_epochs=0,
    )
    _, losses = trained(config)
    assert losses[-1] < 0.9 * losses[0]


def test_tables_step_by_the_gradients_so_far() -> None:
    before = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    table = torch.nn.Embedding(3, 2, sparse=True)
    table.load_state_dict({"weight": before})
    optimizer = TableAdagrad([table.weight], lr=0.5, damping=0.11)
    for _ in range(2):
        optimizer.zero_grad()
        torch.autograd.backward((table(torch.tensor([1, 1])) * torch.tensor([0.25, -0.1])).sum())
        optimizer.step()
    gradient = torch.tensor([0.5, -0.2])  # twice the same word
    steps = sum(gradient / (0.11 + times * gradient**2).sqrt() for times in (1, 2))
    assert torch.allclose(table.weight[1], before[1] - 0.5 * steps)
    assert torch.equal(table.weight[[0, 2]], before[[0, 2]])


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_seeds_reproduce_bit_for_bit(dropout: float) -> None:
    config = TrainingConfig(epochs=2, batch=10, dropout=dropout)
    (one, first), (two, second) = trained(config), trained(config)
    assert first == second
    for name, value in one.state_dict().items():
        assert torch.equal(value, two.state_dict()[name])
    other, _ = trained(config, seed=2)
    assert not torch.equal(one.target.m1, other.target.m1)


def test_a_training_in_pieces_is_the_same_training() -> None:
    config = TrainingConfig(epochs=3, batch=10, dropout=0.2)
    inventories, texts = sample_texts(60)
    whole, pieces = (Network(*inventories, SMALL, seed=1) for _ in range(2))
    steps = [progress.step for progress in train(whole, *texts, config, seed=1)]
    optimizers = (table_optimizer(pieces, config), layer_optimizer(pieces, config))
    again = [
        progress.step
        for epoch in range(3)
        for progress in train(pieces, *texts, config, seed=1, optimizers=optimizers, epochs=[epoch])
    ]
    assert steps == again == [6, 12, 18]
    for name, value in whole.state_dict().items():
        assert torch.equal(value, pieces.state_dict()[name])


def test_every_pair_comes_once_an_epoch() -> None:
    _, texts = sample_texts(53)
    rows = np.arange(53)
    pieces = batch_rows(*texts, rows, 8, random=np.random.default_rng(1))
    assert sorted(np.concatenate(pieces).tolist()) == rows.tolist()
    assert max(len(piece) for piece in pieces) == 8


def test_empty_and_overlong_sentences_teach_nothing() -> None:
    side = SideConfig()
    sentences = [("a",), (), ("a", "b"), ("a",) * 9]
    inventory = Inventory.of(sentences, FeatureConfig(), side)
    text = inventory.encode(sentences)
    full = inventory.encode([("a",)] * 4)
    assert trainable(text, full, 5).tolist() == [0, 2]
    assert trainable(full, text, 5).tolist() == [0, 2]


def test_a_lone_pair_can_be_trained_on() -> None:
    network, losses = trained(TrainingConfig(epochs=2), pairs=1)
    assert losses and all(math.isfinite(value) for value in losses)
    assert all(bool(value.isfinite().all()) for value in network.state_dict().values())


def test_a_training_that_runs_away_says_so() -> None:
    with pytest.raises(UsageError, match="training diverged"):
        trained(TrainingConfig(optimizer="sgd", rate=100, table_rate=100, epochs=30, batch=10))


def test_bad_settings_fail() -> None:
    with pytest.raises(UsageError, match="one of sgd, adam"):
        TrainingConfig(optimizer="magic")
    with pytest.raises(UsageError, match="negative"):
        TrainingConfig(negatives=0)
    with pytest.raises(UsageError, match="negative"):
        TrainingConfig(replacement_rate=0.0)  # windows would have none
    assert TrainingConfig(replacement_rate=0.0, window_negatives=1).window_negatives == 1
    for share in (-0.1, 1.0):
        with pytest.raises(UsageError, match="dropout must be"):
            TrainingConfig(dropout=share)
    with pytest.raises(UsageError, match="must be one of sum"):
        TrainingConfig(aggregation="mean")
