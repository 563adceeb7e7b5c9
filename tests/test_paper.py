"""The whole recipe on the embedded sample: it learns, keeps what it learned, and sees one pair at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bitweft import sample
from bitweft.errors import InputError, ModelError, UsageError
from bitweft.links.alignment import Alignment
from bitweft.links.evaluate import evaluate
from bitweft.recipes.base import FitExtras, Running
from bitweft.recipes.paper.batches import padded
from bitweft.recipes.paper.config import PaperConfig
from bitweft.recipes.paper.decode import BATCH, PADDED, _batches, mean_scores
from bitweft.recipes.paper.recipe import PaperRecipe
from bitweft.settings import from_mapping, to_mapping, with_settings
from bitweft.storage.checkpoint import Checkpoint
from bitweft.storage.model_directory import About
from bitweft.text.bitext import Bitext, Sentence, SentencePair, tokenize

SMALL = (
    "model.hidden=32",
    "model.output=32",
    "model.words=32",
    "training.batch=16",
    "training.word_epochs=0",
    "training.rate=0.005",
    "training.table_rate=0.5",
    "decoding.sentences=100",
    "decoding.negatives=20",
)
TEXT, GOLD = sample.bitext(sample.generate(400))
SHORT = Bitext.of((pair.source.text, pair.target.text) for pair in list(TEXT)[:60])


pytestmark = pytest.mark.usefixtures("one_thread")


def learned(*settings: str, text: Bitext = TEXT, seed: int = 1) -> PaperRecipe:
    recipe = PaperRecipe(with_settings(PaperConfig(), (*SMALL, *settings)), seed=seed)
    for progress in recipe.fit(text):
        assert 0 < progress.step <= progress.total
    return recipe


@pytest.fixture(scope="module")
def recipe() -> PaperRecipe:
    return learned("training.word_epochs=4", "training.epochs=1")


def kept(recipe: PaperRecipe, directory: Path) -> PaperRecipe:
    """Save what a recipe has learned and load it again."""
    recipe.save(directory)
    about = About(recipe.name, to_mapping(recipe.config), recipe.seed)
    return PaperRecipe.load(directory, about, Running())


def aer(links: list[Alignment]) -> float:
    return evaluate(links, GOLD).aer


def test_it_learns(recipe: PaperRecipe) -> None:
    pairs = list(TEXT)
    untrained = learned("training.epochs=0")
    assert aer(recipe.align(pairs)) < 0.5 < aer(untrained.align(pairs))


@pytest.mark.slow
def test_every_aggregation_learns_and_lse_does_best() -> None:
    text, gold = sample.bitext(sample.generate(800))
    pairs, half = list(text), len(gold) // 2

    def rate(*settings: str) -> float:
        """Give the mean AER of two seeds on one half of the pairs, chosen on the other."""
        found = []
        for seed in (1, 2):
            recipe = learned(*settings, text=text, seed=seed)
            recipe.tune(pairs[:half], gold[:half])
            found.append(evaluate(recipe.align(pairs[half:]), gold[half:]).aer)
        return sum(found) / 2

    names = ("lse", "max", "sum")
    lse, *others = (rate("training.word_epochs=6", f"training.aggregation={name}") for name in names)
    assert lse < min(others) < max(others) < rate("training.epochs=0")


def test_a_kept_model_is_the_same_model(recipe: PaperRecipe, tmp_path: Path) -> None:
    again = kept(recipe, tmp_path)
    pairs = list(TEXT)[:50]
    assert again.align(pairs) == recipe.align(pairs)  # links and probabilities, to the last bit
    assert again.config == recipe.config
    assert {path.suffix for path in tmp_path.iterdir()} == {".safetensors", ".txt"}


def test_an_alignment_depends_on_its_pair_alone(recipe: PaperRecipe) -> None:
    pairs = list(TEXT)[:60]
    together = recipe.align(pairs)
    assert recipe.align(pairs[::-1])[::-1] == together
    assert [recipe.align([pair])[0] for pair in pairs] == together


def test_seeds_reproduce_bit_for_bit() -> None:
    pairs = list(TEXT)[:40]
    settings = ("training.epochs=1", "training.word_epochs=1", "members=2")
    first, second = learned(*settings, text=SHORT), learned(*settings, text=SHORT)
    assert first.align(pairs) == second.align(pairs)
    for one, two in zip(first.directions, second.directions, strict=True):
        assert torch.equal(one.negative.mean, two.negative.mean)
    members = first.directions[0].networks
    assert not torch.equal(members[0].target.m1, members[1].target.m1)


def test_scores_of_members_are_averaged() -> None:
    recipe = learned("training.epochs=0", "members=2", text=SHORT)
    assert recipe.inventories is not None
    networks = recipe.directions[0].networks
    sentences = (
        [pair.source.tokens for pair in list(TEXT)[:3]],
        [pair.target.tokens for pair in list(TEXT)[:3]],
    )
    source, target = (
        padded(inventory.encode(side), np.arange(3))
        for inventory, side in zip(recipe.inventories, sentences, strict=True)
    )
    single = [mean_scores([network], source, target) for network in networks]
    assert torch.allclose(mean_scores(networks, source, target), (single[0] + single[1]) / 2)


def test_empty_unknown_and_endless_sentences(recipe: PaperRecipe) -> None:
    def pair(source: str, target: str) -> SentencePair:
        return SentencePair(tokenize(source), tokenize(target))

    odd = [
        pair("", ""),
        pair("the", ""),
        pair("", "le"),
        pair("qqq zzz", "xxx"),
        pair("the " * 300, "le " * 400),
    ]
    found = recipe.align(odd)
    assert [len(alignment) for alignment in found[:3]] == [0, 0, 0]
    for alignment, (source, target) in zip(found, odd, strict=True):
        assert all(s < len(source) and t < len(target) for s, t in alignment.links)


def test_tuning_never_makes_the_tuned_text_worse(recipe: PaperRecipe, tmp_path: Path) -> None:
    pairs, gold = list(SHORT), GOLD[:60]
    tuned = kept(recipe, tmp_path)
    before = evaluate(tuned.align(pairs), gold)
    tuning = tuned.tune(pairs, gold)
    after = evaluate(tuned.align(pairs), gold).aer
    assert (tuning.before, tuning.after.aer) == (before, after)
    assert after <= before.aer
    decoding = tuned.config.decoding
    assert tuning.chosen == f"{decoding.heuristic}, alpha {decoding.alpha:g}"
    for alpha in (0.0, 1.0, 2.0, 3.0):
        for heuristic in ("intersection", "grow-diag-final-and", "strict-grow-diag"):
            change = replace(decoding, alpha=alpha, backward_alpha=alpha, heuristic=heuristic)
            tuned.config = replace(tuned.config, decoding=change)
            assert evaluate(tuned.align(pairs), gold).aer >= after


def test_each_direction_has_its_own_threshold(recipe: PaperRecipe, tmp_path: Path) -> None:
    other = kept(recipe, tmp_path)
    pairs = list(SHORT)
    forward, backward = other.best(pairs)
    for field, words, inverse in (("alpha", forward, False), ("backward_alpha", backward, True)):
        others = {"alpha": -100.0, "backward_alpha": -100.0, "heuristic": "intersection"}
        decoding = replace(other.config.decoding, **{**others, field: 3.0})  # type: ignore[arg-type]
        other.config = replace(other.config, decoding=decoding)
        for found, best in zip(other.align(pairs), words, strict=True):
            allowed = best.links(3.0).inverse() if inverse else best.links(3.0)
            assert set(found.links) <= set(allowed.links)


def test_tags_classes_characters_and_wide_kernels() -> None:
    tagged = Bitext.of((" ".join(f"{w}|X{len(w)}" for w in p.source.tokens), p.target.text) for p in SHORT)
    recipe = learned(
        "features.source.tags=inline",
        "features.target.tags=classes",
        "features.target.characters=true",
        "features.source.words=50",
        "model.source_k1=3",
        "model.source_k2=3",
        "initial.words=pca",
        "training.word_epochs=1",
        "training.epochs=1",
        text=tagged,
    )
    assert len(recipe.align(list(tagged)[:5])) == 5
    with pytest.raises(InputError, match="has no tag"):
        recipe.align([SentencePair(Sentence(("bare",), "bare"), tokenize("le"))])


def test_vectors_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("the " + " ".join(["0.5"] * 31) + " 1\n", encoding="utf-8")
    recipe = learned("training.epochs=0", f"initial.source_vectors={path}")
    assert recipe.inventories is not None
    row = recipe.directions[0].networks[0].source.words.weight[recipe.inventories[0].words.number("the")]
    assert torch.allclose(row[:31] * 2, row[31].expand(31))
    path.write_text("nowhere " + " ".join(["1"] * 32) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="none of the text's words"):
        learned("training.epochs=0", f"initial.source_vectors={path}")


def test_damaged_models_are_refused(recipe: PaperRecipe, tmp_path: Path) -> None:
    recipe.save(tmp_path)
    about = About(recipe.name, to_mapping(recipe.config), recipe.seed)
    with pytest.raises(ModelError, match="unknown setting unheard"):
        PaperRecipe.load(tmp_path, replace(about, config={"unheard": 1}), Running())
    weights = tmp_path / "backward.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ModelError, match=r"backward.safetensors"):
        PaperRecipe.load(tmp_path, about, Running())


def test_an_interrupted_training_goes_on(tmp_path: Path) -> None:
    windows = ("model.target_k1=3", "model.target_k2=3")
    config = with_settings(PaperConfig(), (*SMALL, *windows, "training.word_epochs=2", "training.epochs=1"))
    seen = []
    for progress in PaperRecipe(config).fit(SHORT, FitExtras(checkpoint=Checkpoint(tmp_path, every=0))):
        seen.append((progress.phase, progress.step))
        if seen[-1] == ("backward 1/1 words", 8):
            break  # as if switched off in the second epoch of this stage, before it was kept
    assert seen[:3] == [("forward 1/1 words", 4), ("forward 1/1 words", 8), ("forward 1/1", 4)]
    rest, extras = PaperRecipe(config), FitExtras(checkpoint=Checkpoint(tmp_path, resume=True))
    again = [(progress.phase, progress.step) for progress in rest.fit(SHORT, extras)]
    assert again == [("backward 1/1 words", 8), ("backward 1/1", 4)]
    whole = PaperRecipe(config)
    for _ in whole.fit(SHORT):
        pass
    assert rest.align(list(SHORT)) == whole.align(list(SHORT))
    for one, two in zip(rest.directions, whole.directions, strict=True):
        for name, value in one.networks[0].state_dict().items():
            assert torch.equal(value, two.networks[0].state_dict()[name])
    assert rest.record == whole.record and len(whole.record) == 4
    kept = Checkpoint(tmp_path, resume=True)
    with pytest.raises(ModelError, match="of another seed"):
        list(PaperRecipe(config, seed=2).fit(SHORT, FitExtras(checkpoint=kept)))
    kept.remove()
    assert not tmp_path.exists()


def test_an_ensemble_goes_on_from_a_single_model_decoded_otherwise(tmp_path: Path) -> None:
    single = with_settings(PaperConfig(), SMALL)
    two = with_settings(single, ("members=2", "decoding.alpha=-1", "decoding.spread=variance"))
    list(PaperRecipe(single).fit(SHORT, FitExtras(checkpoint=Checkpoint(tmp_path, every=0))))
    resumed, extras = PaperRecipe(two), FitExtras(checkpoint=Checkpoint(tmp_path, resume=True))
    again = {progress.phase for progress in resumed.fit(SHORT, extras)}
    assert again == {"forward 2/2", "backward 2/2"}
    whole = PaperRecipe(two)
    list(whole.fit(SHORT))
    assert resumed.align(list(SHORT)) == whole.align(list(SHORT))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.pop("distance"), "distance"),
        (lambda arrays: arrays.update(distance=arrays["distance"][:1]), "not of this network"),
        (lambda arrays: arrays.update({"optimizer.7.0.step": np.zeros((), np.float32)}), "out of range"),
        (lambda arrays: arrays.update({"optimizer.0.0.squares": np.zeros(3, np.float32)}), "not of this"),
        (lambda arrays: arrays["distance"].fill(np.nan), "NaN"),
        (lambda arrays: arrays.update(extra=np.zeros(3)), "remove it"),
    ],
)
def test_a_checkpoint_of_numbers_that_cannot_be_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    config = with_settings(PaperConfig(), (*SMALL, "training.epochs=2"))
    steps = PaperRecipe(config).fit(SHORT, FitExtras(checkpoint=Checkpoint(tmp_path, every=0)))
    for progress in steps:
        if progress.phase.startswith("backward"):
            break
    kept = Checkpoint(tmp_path, resume=True)
    (name,) = (path.stem for path in tmp_path.glob("forward-1*.safetensors"))
    loaded = kept.load({}, name)
    assert loaded is not None
    change(loaded[0])
    kept.keep(loaded[0], loaded[1], name)
    with pytest.raises(ModelError, match=message):
        list(PaperRecipe(config).fit(SHORT, FitExtras(checkpoint=kept)))


def test_nothing_to_learn_from() -> None:
    with pytest.raises(InputError, match="no pair has words on both sides"):
        learned(text=Bitext.of([("", "le"), ("the", "")]))
    with pytest.raises(UsageError, match="not learned anything"):
        PaperRecipe().align([])


def test_settings() -> None:
    config = with_settings(
        PaperConfig(), ["features.target.words=80000", "training.r=2", "model.diagonal=false"]
    )
    assert config.features.target.words == 80_000
    assert config.training.r == 2.0
    assert config.model.diagonal is False
    assert from_mapping(PaperConfig, json.loads(json.dumps(to_mapping(config)))) == config


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.speed=9", "unknown setting training.speed"),
        ("engine.speed=9", "unknown section 'engine'"),
        ("training.epochs=many", "must be an integer, got 'many'"),
        ("training.epochs=1.5", "must be an integer, got 1.5"),
        ("training=9", "is a section"),
        ("members=0", "members must be 1 or greater, got 0"),
        ("seed", "KEY=VALUE"),
    ],
)
def test_bad_settings(setting: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        with_settings(PaperConfig(), [setting])


@pytest.mark.parametrize("longest", [600, 40])
def test_batches_for_aligning_hold_every_pair_once_and_are_hardly_padded(longest: int) -> None:
    random = np.random.default_rng(1)
    odd = np.array([[longest, 1]] * 40 + [[1, longest]] * 40 + [[longest, longest]] * 5)
    lengths = np.concatenate([odd, random.integers(1, longest, (300, 2))])[random.permutation(385)]
    source, target = lengths.T
    rows = np.flatnonzero(source > 1)
    batches = list(_batches(rows, source, target))
    assert sorted(np.concatenate(batches).tolist()) == rows.tolist()
    for own in batches:
        cells = len(own) * int(source[own].max()) * int(target[own].max())
        assert len(own) == 1 or (cells <= PADDED and len(own) <= BATCH)
        assert cells <= 4 * int((source[own] * target[own]).sum())
    assert not list(_batches(rows[:0], source, target))
