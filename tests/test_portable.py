"""The inner loops in plain PyTorch against the compiled ones: the same numbers but for rounding."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bitweft.aligner import Aligner
from bitweft.errors import UsageError
from bitweft.recipes.default.compiled.types import (
    ONE,
    Cells,
    Inputs,
    Side,
    Tally,
    new_count_table,
    new_tally,
)
from bitweft.recipes.default.loops import Compiled, Loops, choose
from bitweft.recipes.default.pytorch import loops as portable
from bitweft.recipes.default.pytorch.chains import Direction, explain
from bitweft.recipes.default.pytorch.descent import Table, gradients
from bitweft.recipes.default.pytorch.loops import Portable
from bitweft.recipes.default.recipe import DefaultRecipe
from bitweft.sample import bitext, generate
from small_loops import adam_of, infer, some_counts, some_prior, some_side, some_words, vectors_alone

LENGTHS = ([3, 1, 14, 0, 25, 5, 2, 30], [4, 2, 12, 3, 1, 40, 2, 28])


def assert_same(found: Any, expected: Any) -> None:
    for own, known in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, known, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("strength", [0.0, 3.0])
def test_posteriors_are_the_compiled_ones(strength: float, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    source, target = (some_words(random, lengths, classes=3, unseen=2) for lengths in LENGTHS)
    counts = some_counts(random, unseen=2, strength=strength)
    prior = some_prior(random, classes=3, mixture=0.1)
    expected = infer(Compiled(), source, target, counts, prior)
    for cells in (1, 400, 1 << 22):  # each pair by itself, some together, all together
        monkeypatch.setattr("bitweft.recipes.default.pytorch.loops.CELLS", cells)
        found = infer(Portable("cpu"), source, target, counts, prior)
        for name in ("offsets", "source", "target"):
            own, known = getattr(found[0], name), getattr(expected[0], name)
            assert own.dtype == known.dtype and own.tolist() == known.tolist()
        assert_same(
            [found[0].values, found[1], *(own / ONE for own in found[2][:4]), *found[3]],
            [expected[0].values, expected[1], *(own / ONE for own in expected[2][:4]), *expected[3]],
        )


def test_known_cells_are_left_out_alike() -> None:
    random = np.random.default_rng(2)
    source, target = (some_words(random, lengths) for lengths in LENGTHS)
    counts, prior = some_counts(random), some_prior(random)
    known = infer(Compiled(), source, target, counts, prior, floor=0.05)[0]
    known = known._replace(values=known.values * 2)
    expected = infer(Compiled(), source, target, counts, prior, known=known)
    found = infer(Portable("cpu"), source, target, counts, prior, known=known)
    assert_same([found[0].values, found[1]], [expected[0].values, expected[1]])
    without = infer(Compiled(), source, target, counts, prior)
    assert np.abs(expected[0].values - without[0].values).max() > 0.05


def test_long_sentences_are_the_compiled_ones() -> None:
    random = np.random.default_rng(2)
    source, target = (some_words(random, [length], words=400, classes=2) for length in (500, 450))
    counts = vectors_alone(400, 400)
    prior = some_prior(random, classes=2, mixture=0.05)
    arguments = (Inputs(source, target, counts, prior), 0, new_tally(0))
    for found, expected in zip(
        Portable("cpu").matrices(*arguments), Compiled().matrices(*arguments), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("chained", [True, False])
def test_matrices_are_the_compiled_ones(chained: bool) -> None:
    random = np.random.default_rng(3)
    source, target = (some_words(random, lengths, unseen=3) for lengths in LENGTHS)
    counts, prior = some_counts(random, unseen=3), some_prior(random, chained=chained)
    for pair in (0, 5, 7):
        arguments = (Inputs(source, target, counts, prior), pair, new_tally(0))
        assert_same(Portable("cpu").matrices(*arguments), Compiled().matrices(*arguments))


def test_no_pair_and_pairs_of_no_words_have_no_cells() -> None:
    random = np.random.default_rng(3)
    source, target = (some_words(random, lengths) for lengths in ([0, 2], [1, 0]))
    for pairs in ([], [0, 1]):
        arguments = (source, target, some_counts(random), some_prior(random))
        cells, scores, _, _ = infer(Portable("cpu"), *arguments, pairs=np.array(pairs, np.int64))
        assert cells.offsets.tolist() == [0] * (len(pairs) + 1)
        assert scores.tolist() == [0.0] * len(pairs)


def test_counts_add_up_alike() -> None:
    random = np.random.default_rng(4)
    source, target = (some_words(random, lengths) for lengths in LENGTHS)
    counts, prior = some_counts(random), some_prior(random)
    tables = []
    both: tuple[Loops, ...] = (Compiled(), Portable("cpu"))
    for loops in both:
        table = new_count_table(16)
        for pairs in ([0, 1, 2], [3], [4, 5, 6, 7]):
            cells = infer(loops, source, target, counts, prior, pairs=pairs, floor=0.01)[0]
            table = loops.add_counts(source, target, np.array(pairs), cells, table, 0, 1)
        tables.append(
            {key: value / ONE for key, value in zip(table.keys, table.sums, strict=True) if key >= 0}
        )
        assert len(tables[-1]) == table.size
    assert tables[0] == pytest.approx(tables[1], rel=1e-3)
    assert len(tables[0]) > 50


def steps_of(
    loops: Any, *, chained: bool, batches: list[list[int]]
) -> tuple[list[Side], list[Any], list[Tally]]:
    """Take steps on a small text; return the sides and the tallies."""
    random = np.random.default_rng(5)
    sides = [some_side(random, lengths) for lengths in ([3, 1, 14, 7, 25, 5, 2], [4, 2, 12, 3, 1, 40, 2])]
    adams = [adam_of(side) for side in sides]
    prior = some_prior(random, chained=chained)
    with ThreadPoolExecutor(1) as pool:
        optimizer = loops.optimizer(sides, adams, group=3, negatives=1.5, pool=pool, threads=1)
        tallies = [optimizer.steps([np.array(pairs)], prior, [0.01]) for pairs in batches]
        optimizer.store()
    return sides, adams, tallies


@pytest.mark.parametrize("chained", [True, False])
@pytest.mark.parametrize("batches", [[[4]], [[0, 1, 2, 3, 4, 5, 6]], [[6, 0, 2], [5, 4, 3, 2]]])
def test_steps_are_the_compiled_ones(chained: bool, batches: list[list[int]]) -> None:
    sides, adams, tallies = steps_of(Compiled(), chained=chained, batches=batches)
    found_sides, found_adams, found_tallies = steps_of(Portable("cpu"), chained=chained, batches=batches)
    for own, known in zip(found_adams, adams, strict=True):
        assert own.steps.tolist() == known.steps.tolist()
        assert_same(own[:2], known[:2])
    assert_same([side.table for side in found_sides], [side.table for side in sides])
    for found, tally in zip(found_tallies, tallies, strict=True):
        assert_same(*([*(part.sum(0) / ONE for part in own[:4]), own.loss.sum(0)] for own in (found, tally)))


@pytest.fixture(scope="module")
def fitted() -> dict[str, Aligner]:
    text = bitext(generate(60))[0]
    return {name: Aligner(threads=1, kernels=name).fit(text) for name in ("compiled", "torch")}


def test_a_whole_fit_is_the_compiled_one(fitted: dict[str, Aligner]) -> None:
    compiled, plain = fitted["compiled"], fitted["torch"]
    assert isinstance(plain.recipe, DefaultRecipe) and isinstance(plain.recipe.loops, Portable)
    phases, values = zip(*(tuple(entry.values()) for entry in plain.recipe.record), strict=True)
    expected_phases, expected = zip(*(tuple(entry.values()) for entry in compiled.recipe.record), strict=True)
    assert phases == expected_phases and set(phases) == {"lse", "chain", "count"}
    assert values == pytest.approx(expected, rel=1e-3)
    text = bitext(generate(120, seed=9))[0]  # other text, with words that training did not see
    links, known = (
        {(n, link) for n, found in enumerate(aligner.align(text)) for link in found.links}
        for aligner in (plain, compiled)
    )
    assert len(links & known) > 0.99 * len(links | known) > 500
    pair = next(iter(text))
    words = pair.source.tokens, pair.target.tokens
    difference = plain.posteriors(*words) - compiled.posteriors(*words)
    assert np.abs(difference).max() < 1e-3


def test_a_kept_model_is_aligned_with_by_either(fitted: dict[str, Aligner], tmp_path: Path) -> None:
    fitted["torch"].save(tmp_path / "m")
    loaded = Aligner.load(tmp_path / "m", kernels="torch")
    assert isinstance(loaded.recipe, DefaultRecipe) and isinstance(loaded.recipe.loops, Portable)
    text = bitext(generate(60))[0]
    assert [a.links for a in loaded.align(text)] == [a.links for a in fitted["torch"].align(text)]


def test_what_is_copied_to_a_device_is_dropped_with_its_array() -> None:
    loops = Portable("cpu:0")  # not the name of the arrays' own device: everything is copied
    array = np.arange(3.0)
    tensor = loops.tensor(array)
    assert loops.tensor(array) is tensor and len(loops._kept) == 1
    array[0] = 7
    assert tensor.tolist() == [0.0, 1.0, 2.0]
    del array
    gc.collect()
    assert not loops._kept


def test_another_device_gives_the_same() -> None:
    random = np.random.default_rng(6)
    source, target = (some_words(random, lengths, unseen=2) for lengths in LENGTHS)
    counts, prior = some_counts(random, unseen=2), some_prior(random)
    here, there = (infer(Portable(device), source, target, counts, prior) for device in ("cpu", "cpu:0"))
    assert here[0].values.tolist() == there[0].values.tolist()
    steps = [steps_of(Portable(device), chained=True, batches=[[0, 1, 2]]) for device in ("cpu", "cpu:0")]
    assert_same([side.table for side in steps[0][0]], [side.table for side in steps[1][0]])


@pytest.mark.parametrize("chained", [True, False])
def test_nothing_stays_behind_on_the_cpu(chained: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work on tensors without values: they cannot be mixed with any on the CPU, as on a GPU."""
    random = np.random.default_rng(7)
    source, target = (some_words(random, lengths, unseen=2) for lengths in ([3, 14], [4, 12]))
    prior, counts = some_prior(random, mixture=0.1, chained=chained), some_counts(random, unseen=2)
    both = portable._Both(Portable("meta"), Inputs(source, target, counts, prior), np.arange(2))
    known = Cells(np.array([0, 1, 1]), np.zeros(1, np.int32), np.zeros(1, np.int32), np.ones(1, np.float32))
    forward, backward = both._emissions(both.known(known, np.arange(2)))
    ahead = Direction(forward, both.t.nulls, both.s.classes, both.t.mask, both.s.mask)
    posterior, scales = explain(ahead, prior, 0, None)
    assert {tensor.device.type for tensor in (forward, backward, posterior, scales)} == {"meta"}
    # What needs values, and is brought to the CPU or to as many rows as there are, is left out.
    monkeypatch.setattr("bitweft.recipes.default.pytorch.chains._tally", lambda *_: None)
    monkeypatch.setattr("bitweft.recipes.default.pytorch.descent.float", lambda _: 0.0, raising=False)
    nothing = torch.zeros(5, dtype=torch.int64, device="meta")
    monkeypatch.setattr(
        Table, "spelt", lambda _, words: (nothing, nothing, torch.ones(len(words), device="meta"))
    )
    sides = [some_side(random, lengths) for lengths in ([3, 1, 14], [4, 2, 12])]
    tables = [Table.of(side, adam_of(side), "meta") for side in sides]
    grid = np.array([[0, 1], [2, -1]])
    found = gradients(tables, sides, grid, prior, negatives=1.0, tally=new_tally(1))
    assert [(len(words), values.shape) for words, values in found] == [(18, (18, 4)), (18, (18, 4))]


@pytest.mark.parametrize("recipe", ["default", "paper"])
@pytest.mark.parametrize("device", ["cuda", "warp9", "meta"])
def test_a_device_that_is_not_there_is_refused(recipe: str, device: str, model: Path) -> None:
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(UsageError, match=f"the device '{device}' cannot be used on this machine"):
        Aligner(recipe, device=device)
    with pytest.raises(UsageError, match="cannot be used on this machine"):
        Aligner.load(model, device=device)


def test_loops_are_chosen_by_device_or_name() -> None:
    assert isinstance(choose("auto", "cpu"), Compiled)
    assert isinstance(choose("compiled", "cpu"), Compiled)
    assert isinstance(choose("torch", "cpu"), Portable)
    assert isinstance(choose("auto", "cpu:0"), Portable)
    with pytest.raises(UsageError, match="one of auto, compiled, torch"):
        choose("numba", "cpu")
    with pytest.raises(UsageError, match="run on the CPU, not on 'cuda'"):
        choose("compiled", "cuda")
