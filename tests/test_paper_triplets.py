"""Steps of plain SGD with written-out gradients change a network as those of autograd do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

import bitweft.recipes.paper.features as features
import bitweft.recipes.paper.train as training
from bitweft.recipes.paper.config import PaperConfig
from bitweft.recipes.paper.encoder import ModelConfig
from bitweft.recipes.paper.features import FeatureConfig, Inventory, SideConfig
from bitweft.recipes.paper.network import Network
from bitweft.recipes.paper.presets import PUBLISHED
from bitweft.settings import with_settings

pytestmark = pytest.mark.usefixtures("one_thread")

SOURCE = [
    ("a|N", "b|V", "c|N"),
    ("b|V", "a|N", "d|N", "e|N", "a|V", "a|N", "b|V"),
    ("c|N",),
    ("d|N", "b|V"),
    (),
]
TARGET = [
    ("x|N", "y|V", "z|N", "x|V"),
    ("y|V", "z|N"),
    ("w|N", "x|N", "y|V", "z|N", "w|N"),
    ("z|V",),
    ("w|N",),
]
SIZES = ("hidden=7", "output=6", "words=5", "tags=3", "more=2", "target_k1=1", "target_k2=1")
PLAIN = with_settings(PaperConfig(), PUBLISHED).learning
WINDOWS = ("source_k1=3", "source_k2=5")
TAGS = SideConfig(tags="inline")


def untrained(model: ModelConfig, side: SideConfig) -> Network:
    inventories = [Inventory.of(words, FeatureConfig(), side) for words in (SOURCE, TARGET)]
    return Network(inventories[0], inventories[1], model, seed=1)


def losses(network: Network, config: training.TrainingConfig, pairs: int | None = None) -> list[float | None]:
    """Train a network on the first pairs, or all."""
    sides = zip(network._inventories, (SOURCE, TARGET), strict=True)
    source, target = (own.encode(words[:pairs]) for own, words in sides)
    return [own.loss for own in training.train(network, source, target, config, seed=1)]


@pytest.mark.parametrize(
    ("model", "config", "more"),
    [
        (WINDOWS, {}, ""),
        (WINDOWS, {}, "ending"),
        ((*WINDOWS, "biases=false"), {"aggregation": "sum"}, ""),
        ((*WINDOWS, "diagonal=false"), {"aggregation": "max"}, ""),
        (("source_k1=5",), {"r": 0.5, "negatives": 3}, ""),
        (("source_k2=3",), {"final_rate": 0.0}, ""),
        ((), {"share": 0.75}, ""),
    ],
)
def test_steps_are_those_of_autograd(
    model: tuple[str, ...], config: dict[str, Any], more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "REPORT_EVERY", 1)
    monkeypatch.setitem(features.FEATURES._known, "ending", lambda words: [word[-1:] for word in words])
    side = SideConfig(tags="inline", more=more)
    own = replace(replace(PLAIN, rate=0.05, table_rate=0.2, epochs=3), **config)
    sizes = with_settings(ModelConfig(), [*SIZES, *model])
    network, other = untrained(sizes, side), untrained(sizes, side)
    before = {name: value.detach().clone() for name, value in network.named_parameters()}
    assert training.in_triplets(network, own)
    found = losses(network, own)
    monkeypatch.setattr(training, "in_triplets", lambda *_: False)
    assert found == pytest.approx(losses(other, own), rel=1e-5)
    for name, value in other.named_parameters():
        torch.testing.assert_close(network.get_parameter(name), value, rtol=1e-5, atol=1e-6, msg=name)
        without_distance = not sizes.diagonal and "distance" in name
        without_bias = not sizes.biases and name[-2:] in {"b1", "b2"}
        assert torch.equal(value, before[name]) == (without_distance or without_bias), name


def test_a_text_of_one_pair_has_no_negatives() -> None:
    network = untrained(with_settings(ModelConfig(), [*SIZES, *WINDOWS]), TAGS)
    found = losses(network, PLAIN, pairs=1)
    assert len(found) == PLAIN.epochs and all(own is not None and own > 0 for own in found)


@pytest.mark.parametrize(
    ("model", "config"),
    [
        (("target_k1=3",), {}),
        (("target_k2=3",), {}),
        ((), {"optimizer": "adam"}),
        ((), {"batch": 2}),
        ((), {"dropout": 0.1}),
        ((), {"replacement_rate": 0.5}),
    ],
)
def test_other_trainings_are_left_to_autograd(model: tuple[str, ...], config: dict[str, Any]) -> None:
    own = replace(PLAIN, **config)
    assert not training.in_triplets(untrained(with_settings(ModelConfig(), [*SIZES, *model]), TAGS), own)
    spelled = untrained(with_settings(ModelConfig(), SIZES), SideConfig(tags="inline", characters=True))
    assert not training.in_triplets(spelled, PLAIN)
