"""The refiner: trees, their growth, and the links that come of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import small
from bitweft import Aligner, Decoding, ModelError, UsageError, sample
from bitweft.corpus.project.job import weights_by
from bitweft.recipes.base import STYLES, parse_style
from bitweft.recipes.default.compiled.features import NAMES, WIDTH, turned
from bitweft.recipes.default.compiled.trees import Trees, margins, no_trees
from bitweft.recipes.default.posterior import agreement
from bitweft.recipes.default.refine.boost import Boosting, binned, boosted
from bitweft.recipes.default.refine.refiner import FILE, between, load_refiner, shipped
from bitweft.recipes.default.spelling import are_signs
from bitweft.text.inputs import pair_of

PAIRS = [(pair.source.tokens, pair.target.tokens) for pair in small.sample()[0]][:40]


def walked(trees: Trees, cell: np.ndarray) -> float:
    """Apply trees as their definition says, question by question."""
    total = 0.0
    for features, bounds, values in zip(*trees, strict=True):
        place = sum(
            1 << bit
            for bit, (feature, bound) in enumerate(zip(features, bounds, strict=True))
            if cell[feature] > bound
        )
        total += float(values[place])
    return total


def test_trees_as_walked_one_by_one() -> None:
    generator = np.random.default_rng(3)
    trees = Trees(
        generator.integers(0, 7, (9, 3)).astype(np.int32),
        generator.standard_normal((9, 3)).astype(np.float32),
        generator.standard_normal((9, 8)).astype(np.float32),
    )
    cells = generator.standard_normal((50, 7)).astype(np.float32)
    cells[:5, :] = trees.bounds[0, 0]  # a number at a bound is not above it
    assert np.allclose(margins(trees, cells), [walked(trees, cell) for cell in cells], atol=1e-6)


def test_no_trees_add_nothing() -> None:
    assert margins(no_trees(), np.ones((3, 4), np.float32)).tolist() == [0, 0, 0]


def test_one_tree_by_hand() -> None:
    """Four cells, one number that tells them apart: slopes are ±1/2, curves 1/4."""
    cells = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]], np.float32)
    labels = np.array([0, 0, 1, 1], np.float32)
    settings = Boosting(rounds=1, depth=1, rate=0.5, ridge=1.0)
    trees, odds = boosted(binned(cells), labels, np.ones(4, np.float32), np.zeros(4), settings)
    assert trees.features.tolist() == [[0]]
    assert trees.bounds.tolist() == [[1.5]]
    step = 0.5 * 1.0 / (0.5 + 1.0)  # rate · G / (H + ridge)
    assert np.allclose(trees.values, [[-step, step]])
    assert np.allclose(odds, [-step, -step, step, step])
    assert np.allclose(margins(trees, cells), odds)


def test_more_rounds_fit_better_and_soft_labels_are_met() -> None:
    generator = np.random.default_rng(1)
    cells = generator.standard_normal((2000, 4)).astype(np.float32)
    labels = np.where(cells[:, 0] * cells[:, 1] > 0, 0.8, 0.1).astype(np.float32)
    data, weights = binned(cells), np.ones(2000, np.float32)
    settings = Boosting(rounds=60, depth=3, rate=0.2)
    trees, odds = boosted(data, labels, weights, np.zeros(2000), settings)
    assert np.abs(1 / (1 + np.exp(-odds)) - labels).mean() < 0.1
    assert np.allclose(margins(trees, cells), odds, atol=1e-4)
    again, _ = boosted(data, labels, weights, np.zeros(2000), settings)
    assert all((one == other).all() for one, other in zip(trees, again, strict=True))


def test_bins_part_numbers_at_their_bounds() -> None:
    cells = np.repeat(np.arange(100, dtype=np.float32), 3)[:, None]
    data = binned(cells)
    for code, number in zip(data.codes[:, 0].tolist(), cells[:, 0].tolist(), strict=True):
        assert all((number > bound) == (code > place) for place, bound in enumerate(data.bounds[0]))


def test_turned_twice_is_as_before() -> None:
    numbers = np.random.default_rng(0).standard_normal((20, WIDTH)).astype(np.float32)
    numbers[:, NAMES.index("signs")] = np.arange(20) % 4
    assert (turned(turned(numbers)) == numbers).all()
    assert (turned(numbers)[:, 0] == numbers[:, 1]).all()


def test_signs() -> None:
    assert are_signs(["a", "...", "3", "d'", "—", "语"]).tolist() == [0, 1, 0, 0, 1, 0]


def test_styles_between() -> None:
    assert between(0.0).shares == (1.0, 0.0)
    assert between(0.75) == ((0.5, 1.0), (0.5, 0.5))
    assert between(1.0) == ((0.5, 1.0), (0.0, 1.0))
    assert [parse_style(name) for name in STYLES] == list(STYLES.values())
    assert parse_style("0.3") == 0.3
    for wrong in ("some", "1.5", "-1", "nan"):
        with pytest.raises(UsageError, match="links must be words, default, phrases"):
            parse_style(wrong)
    with pytest.raises(UsageError, match="style must be between"):
        Decoding(style=1.5)


def test_shipped_refiner_is_small_and_damage_is_noticed(tmp_path: Path) -> None:
    assert FILE.stat().st_size <= 200_000
    arrays = load_file(FILE)
    assert arrays["refiner.features"].max() <= WIDTH
    damages = {
        "features": np.full_like(arrays["refiner.features"], WIDTH + 1),
        "values": np.full_like(arrays["refiner.values"], np.nan),
        "bounds": arrays["refiner.bounds"][:, :-1].copy(),
    }
    for name, damaged in damages.items():
        save_file({**arrays, f"refiner.{name}": damaged}, tmp_path / "damaged.safetensors")
        with pytest.raises(ModelError):
            load_refiner(tmp_path / "damaged.safetensors")
    shipped().save(tmp_path / "again.safetensors")
    assert (load_refiner(tmp_path / "again.safetensors").trees.values == shipped().trees.values).all()


def test_links_of_a_pair_depend_on_it_alone() -> None:
    aligner = small.aligner()
    together = list(aligner.align(PAIRS))
    assert [aligner.align(*pair) for pair in PAIRS] == together
    assert list(aligner.align(PAIRS[::-1])) == together[::-1]


def test_probabilities_and_posteriors_agree() -> None:
    aligner = small.aligner()
    for pair, alignment in zip(PAIRS, aligner.align(PAIRS), strict=True):
        chances = aligner.posteriors(*pair)
        assert ((chances >= 0) & (chances <= 1)).all()
        assert alignment.probabilities == tuple(chances[link] for link in alignment.links)
        threshold = aligner.recipe.config.threshold  # type: ignore[attr-defined]
        assert {(int(s), int(t)) for s, t in np.argwhere(chances >= threshold)} == set(alignment.links)


def test_what_is_projected_along_does_not_depend_on_the_refiner() -> None:
    aligner = small.aligner()
    pair = pair_of(PAIRS[0])
    forward, backward = aligner.recipe.direction_posteriors(pair)  # type: ignore[attr-defined]
    assert (weights_by(aligner, pair) == agreement(forward, backward)).all()
    assert (weights_by(aligner, pair) != aligner.posteriors(*PAIRS[0])).any()


def test_phrases_have_more_links_than_words() -> None:
    aligner = small.aligner()
    counts = [
        sum(map(len, aligner.align(PAIRS, decoding=Decoding(style=style)))) for style in (0.0, 0.5, 1.0)
    ]
    assert counts == sorted(counts)


def test_unrefined_links_are_still_there() -> None:
    aligner = Aligner(threads=1, settings=["refined=false", "threshold=0.525"]).fit(small.sample()[0])
    assert any(map(len, aligner.align(PAIRS)))
    with pytest.raises(UsageError, match="refined"):
        aligner.tune(PAIRS, small.sample()[1][:40])


def test_a_kept_model_has_its_own_refiner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, _ = sample.bitext(sample.generate(100))
    aligner = Aligner(threads=1).fit(text)
    aligner.save(tmp_path / "m")
    before = list(aligner.align(text))
    monkeypatch.setattr("bitweft.recipes.default.recipe.shipped", lambda: None)  # of a later version
    assert list(Aligner.load(tmp_path / "m", threads=1).align(text)) == before
