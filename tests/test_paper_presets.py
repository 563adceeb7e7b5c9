"""The preset that trains as the paper does: what it sets, and what those settings do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from bitweft import Aligner
from bitweft.cli import main
from bitweft.errors import UsageError
from bitweft.links.alignment import Alignment
from bitweft.links.evaluate import evaluate
from bitweft.links.symmetrize import symmetrize_all
from bitweft.recipes.paper import decode
from bitweft.recipes.paper.aggregation import aggregation
from bitweft.recipes.paper.batches import Drawing, make_batch
from bitweft.recipes.paper.config import PaperConfig
from bitweft.recipes.paper.decode import PAPER_HEURISTICS, STRICT_HEURISTICS, DecodingConfig, negative_scores
from bitweft.recipes.paper.encoder import ModelConfig
from bitweft.recipes.paper.features import EncodedText, FeatureConfig, Inventory, SideConfig
from bitweft.recipes.paper.network import Network
from bitweft.recipes.paper.presets import PRESETS, PUBLISHED, preset
from bitweft.recipes.paper.recipe import PaperRecipe
from bitweft.recipes.paper.train import TrainingConfig, layer_optimizer, loss, table_optimizer, train
from bitweft.recipes.paper.vectors import hellinger_vectors
from bitweft.sample import bitext, generate
from bitweft.settings import to_mapping, with_settings

pytestmark = pytest.mark.usefixtures("one_thread")


TINY = ("model.hidden=8", "model.output=8", "model.words=8", "decoding.sentences=10", "decoding.negatives=3")
SOURCE = [("a", "b", "c"), ("b", "a", "d", "e", "a"), ("c",), ("d", "b")]
TARGET = [("x", "y", "z", "x"), ("y", "z"), ("w", "x", "y"), ("z",)]


def network(config: ModelConfig | None = None) -> Network:
    inventories = [Inventory.of(side, FeatureConfig(), SideConfig()) for side in (SOURCE, TARGET)]
    return Network(inventories[0], inventories[1], config or ModelConfig(hidden=8, output=8, words=8), seed=1)


def encoded(net: Network) -> tuple[EncodedText, EncodedText]:
    source, target = net._inventories
    return source.encode(SOURCE), target.encode(TARGET)


def test_the_preset_is_kept_with_the_model_and_other_settings_come_after_it(tmp_path: Path) -> None:
    text, _ = bitext(generate(20))
    for path, side in zip((tmp_path / "en", tmp_path / "fr"), zip(*text, strict=True), strict=True):
        path.write_text("".join(f"{sentence.text}\n" for sentence in side), encoding="utf-8")
    order = ["train", str(tmp_path / "en"), str(tmp_path / "fr"), "-o", str(tmp_path / "m"), "-q"]
    options = [part for own in TINY for part in ("--set", own)]
    assert main([*order, "--recipe", "paper", "--preset", "published", *options]) == 0
    recipe = Aligner.load(tmp_path / "m").recipe
    expected = with_settings(PaperConfig(), [*PUBLISHED, *TINY])
    assert recipe.config == expected and expected.training.epochs == 1
    order[order.index(str(tmp_path / "m"))] = str(tmp_path / "other")
    assert main([*order, "--preset", "published"]) == 2  # of the default recipe
    with pytest.raises(UsageError, match="preset must be one of bitweft, published, got 'letter'"):
        preset("letter")
    assert with_settings(PaperConfig(), PRESETS["bitweft"]) == PaperConfig()


def test_every_line_of_the_preset_is_a_difference_and_is_in_the_table_of_the_page() -> None:
    page = (Path(__file__).parents[1] / "docs" / "paper.md").read_text(encoding="utf-8")
    published = to_mapping(with_settings(PaperConfig(), PUBLISHED))
    plain = to_mapping(PaperConfig())
    for own in PUBLISHED:
        section, _, key = own.partition("=")[0].partition(".")
        assert published[section][key] != plain[section][key], own
        assert re.search(rf"^\|.*`{re.escape(own.partition('=')[0])}`", page, re.MULTILINE), own


def test_it_has_no_biases_and_windows_start_even() -> None:
    config = with_settings(PaperConfig(), [*PUBLISHED, "model.target_k1=3", *TINY]).model
    net = network(config)
    texts = encoded(net)
    for _ in train(net, *texts, TrainingConfig(optimizer="sgd", rate=0.01, epochs=2, batch=2), seed=1):
        pass
    assert not any(bias.any() for side in (net.source, net.target) for bias in (side.b1, side.b2))
    parts = network(config).target.m1.detach().view(3, 8, -1)
    assert len({round(float(part.abs().max()), 1) for part in parts}) == 1


def test_rates_may_stay_or_fall_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitweft.recipes.paper.train.REPORT_EVERY", 1)
    for final, last in ((1.0, 0.1), (0.5, 0.0625)):
        config = TrainingConfig(rate=0.1, epochs=2, batch=2, final_rate=final)
        net = network()
        both = (table_optimizer(net, config), layer_optimizer(net, config))
        for _ in train(net, *encoded(net), config, seed=1, optimizers=both):
            pass
        assert both[1].param_groups[0]["lr"] == pytest.approx(last)


def test_a_triplet_is_equation_3() -> None:
    net = network().double()
    source, target = encoded(net)
    drawing = Drawing(1, 0.0, np.arange(4))
    for seed in range(5):
        random = np.random.default_rng(seed)
        batch = make_batch(source, target, np.array([1]), drawing, random=random)
        assert batch.pairs == 1 and batch.negatives.tolist() == [[1]]
        other = batch.target.words[1, : int(batch.target.lengths[1])].tolist()
        sentences = [net._inventories[1].words.numbers(words) for words in TARGET]
        assert other in [sentences[0], *sentences[2:]]  # never the pair's own
        present, absent = net.encode_training(batch)
        scores = net.scores(batch.source, present + absent)[0]  # (source, target + absent)
        total = torch.logsumexp(scores, 0)
        mask = torch.cat([present.mask[0], absent.mask[0]])
        sign = torch.cat([-torch.ones(present.mask.shape[1]), torch.ones(absent.mask.shape[1])])
        expected = (torch.log(1 + torch.exp(sign * total)) * mask).sum()
        assert torch.allclose(loss(net, batch, aggregation("lse")), expected)


def test_negatives_come_from_the_whole_text_evenly() -> None:
    net = network()
    source, target = encoded(net)
    times = np.zeros(4)
    for seed in range(600):
        random = np.random.default_rng(seed)
        batch = make_batch(source, target, np.array([2]), Drawing(1, 0.0, np.arange(4)), random=random)
        words = batch.target.words[1, : int(batch.target.lengths[1])].tolist()
        times[[net._inventories[1].words.numbers(own) for own in TARGET].index(words)] += 1
    assert times[2] == 0 and (times[[0, 1, 3]] > 150).all()


def test_centers_of_whole_sentences_are_replaced() -> None:
    net = network()
    source, target = encoded(net)
    replaced = np.zeros(4)
    for seed in range(200):
        random = np.random.default_rng(seed)
        drawing = Drawing(1, 0.5, by_example=True)
        batch = make_batch(source, target, np.arange(4), drawing, random=random)
        counts = batch.replaced_mask.sum(1).numpy() if batch.replaced_mask.shape[1] else np.zeros(4)
        assert all(count in (0, len(words)) for count, words in zip(counts, TARGET, strict=True))
        replaced += counts > 0
    assert ((replaced > 70) & (replaced < 130)).all()


def test_new_centers_come_from_the_whole_text_by_frequency() -> None:
    source, target = encoded(network())
    times = np.zeros(1 + int(target.words.max()))
    for seed in range(400):
        random = np.random.default_rng(seed)
        batch = make_batch(source, target, np.array([0]), Drawing(1, 1.0, np.arange(4)), random=random)
        assert batch.negatives.tolist() == [[1]] and batch.replaced_mask.all()
        drawn = batch.target.words.flatten()[batch.replacements[0]]
        np.add.at(times, drawn.numpy(), 1)
        assert batch.target.lengths.tolist()[2:] == [4] and len(drawn) == 4  # the new centers themselves
    expected = np.bincount(target.words) / len(target.words)
    assert (times / times.sum()).tolist() == pytest.approx(expected.tolist(), abs=0.03)


def test_centers_are_replaced_where_both_windows_are_wide() -> None:
    published = with_settings(PaperConfig(), PUBLISHED)
    assert published.training.replacement_rate == 0.5 and published.learning.replacement_rate == 0
    both = with_settings(published, ["model.target_k1=3"])
    assert both.learning.replacement_rate == 0.5
    printed = with_settings(both, ["model.source_k1=1", "model.source_k2=1"])
    assert printed.learning.replacement_rate == 0
    assert with_settings(printed, ["training.replacement_where=any"]).learning.replacement_rate == 0.5
    assert PaperConfig().learning == PaperConfig().training


def test_a_batch_of_one_needs_negatives_from_the_text() -> None:
    with pytest.raises(UsageError, match="batch must be 2 or greater"):
        TrainingConfig(batch=1)
    rows, config = np.arange(4), TrainingConfig(batch=1, negatives_from="text")
    assert config.drawing(rows).text is rows and TrainingConfig().drawing(rows).text is None


def test_tuning_chooses_from_the_papers_heuristics_and_an_alpha_for_each_direction() -> None:
    text, gold = bitext(generate(30))
    pairs = list(text)
    recipe = PaperRecipe(with_settings(PaperConfig(), [*PUBLISHED, *TINY]))
    for _ in recipe.fit(text):
        pass
    recipe.tune(pairs, gold)
    chosen = recipe.config.decoding
    assert chosen.heuristic in PAPER_HEURISTICS
    alphas = (chosen.alpha, chosen.backward_alpha)
    for way, (words, own) in enumerate(zip(recipe.best(pairs), alphas, strict=True)):
        found = {}
        for alpha in chosen.alphas:
            links = [best.links(alpha) for best in words]
            found[alpha] = evaluate([one.inverse() for one in links] if way else links, gold).aer
        assert found[own] == min(found.values())


@pytest.mark.parametrize(
    ("choices", "tried"),
    [("all", (*PAPER_HEURISTICS, *STRICT_HEURISTICS)), ("paper", PAPER_HEURISTICS), ("none", ("grow-diag",))],
)
def test_tuning_tries_the_heuristics_it_may_choose_from(
    choices: str, tried: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, gold = bitext(generate(5))
    settings = [*TINY, "training.epochs=0", "decoding.heuristic=grow-diag", f"decoding.choose_from={choices}"]
    recipe = PaperRecipe(with_settings(PaperConfig(), settings))
    for _ in recipe.fit(text):
        pass
    seen: set[str] = set()

    def noting(
        forward: Iterable[Alignment], backward: Iterable[Alignment], heuristic: str
    ) -> Iterator[Alignment]:
        seen.add(heuristic)
        return symmetrize_all(forward, backward, heuristic)

    monkeypatch.setattr("bitweft.recipes.paper.recipe.symmetrize_all", noting)
    recipe.tune(list(text), gold)
    assert seen == {"grow-diag", *tried}  # that of the settings is scored to begin with


def test_variance_where_the_word_is_taken_for_the_sign() -> None:
    net = network().double()
    source, target = encoded(net)
    found = [
        negative_scores([net], source, target, np.arange(4), DecodingConfig(spread=spread), seed=1)
        for spread in ("deviation", "variance")
    ]
    assert torch.allclose(found[0].deviation ** 2, found[1].deviation)


@pytest.mark.parametrize(
    ("settings", "groups"),
    [
        (DecodingConfig(), [1, 1, 2, 4]),
        (DecodingConfig(sharing=3), [1, 1, 1, 2, 3]),
        (DecodingConfig(sharing=1, negatives=2), [1] * 8),
        (DecodingConfig(sharing=1, sentences=5), [1] * 5),
    ],
)
def test_sentences_are_scored_with_their_negatives(
    settings: DecodingConfig, groups: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network().double()
    scored: list[tuple[int, int]] = []
    monkeypatch.setattr(decode, "_add_scores", lambda *own: scored.append((len(own[-1]), len(own[-2]))))
    rows = np.array([0, 1, 1, 2, 3, 3, 3, 3])  # of 4, 2, 3 and 1 target words
    negative_scores([net], *encoded(net), rows, settings, seed=1)
    assert sorted(own for own, _ in scored) == groups
    assert {others for _, others in scored} == {min(settings.negatives, len(rows))}


def test_tuning_tries_alphas_by_steps() -> None:
    assert DecodingConfig().alphas[:3] == (-1, -0.75, -0.5) and DecodingConfig().alphas[-1] == 4
    assert DecodingConfig(alpha_step=0.1).alphas[20:22] == (1, 1.1)


def test_k_may_be_the_longest_word() -> None:
    inventory = Inventory.of([("abcdefg", "ab")], FeatureConfig(longest_word=0), SideConfig(characters=True))
    assert inventory.longest_word == 7 and inventory.spell(["abcdefgh"]).shape == (1, 7)


def test_window_and_contexts_of_the_pca_are_settings() -> None:
    text, _ = bitext(generate(30))
    base = ("training.epochs=0", "training.word_epochs=0", *TINY)
    found = []
    for extra in ((), ("initial.window=1",), ("initial.contexts=20",)):
        recipe = PaperRecipe(with_settings(PaperConfig(), [*base, *extra]))
        for _ in recipe.fit(text):
            pass
        found.append(recipe.directions[0].networks[0].source.words.weight.detach())
    assert not torch.allclose(found[0], found[1]) and not torch.allclose(found[0], found[2])
    assert hellinger_vectors([0, 1, 1, 2], [2, 2], 3, dimensions=2, window=1).any()


def test_buckets_may_be_even() -> None:
    net = network(ModelConfig(hidden=4, output=4, words=4, buckets=4, bucket_power=1))
    assert net.get_buffer("edges").tolist() == [0.25, 0.5, 0.75]
    wide = network(ModelConfig(hidden=4, output=4, words=4, table_range=0.1))
    assert float(wide.target.words.weight.detach().abs().max()) <= 0.1
