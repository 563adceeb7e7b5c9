"""Steps of learning against autograd, finite differences and a plain Adam; nothing depends on threads."""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from torch import Tensor

from bitweft.aligner import Aligner
from bitweft.recipes.default import loops
from bitweft.recipes.default.compiled import gradients as compiled_gradients
from bitweft.recipes.default.compiled.adam import update
from bitweft.recipes.default.compiled.descent import descend
from bitweft.recipes.default.compiled.types import (
    CLIP,
    Adam,
    Gradient,
    Margin,
    Prior,
    Side,
    Step,
    new_tally,
)
from bitweft.recipes.default.groups import group_bounds
from bitweft.recipes.default.loops import Compiled
from bitweft.recipes.default.recipe import DefaultRecipe
from bitweft.sample import bitext, generate
from chain_layer import chain_scores
from small_loops import adam_of, offsets, some_prior, some_side

Matrix = npt.NDArray[np.float64]
NEGATIVES = 1.5


@njit
def _gradients(sides: Any, pairs: Any, margin: Any, group: Any, out: Any) -> None:
    compiled_gradients.gradients(sides, pairs, margin, group, out)


@njit
def _update(side: Any, gradient: Any, groups: Any, adam: Any, rate: Any, room: Any, part: Any) -> None:
    update(side, gradient, groups, adam, rate, room, part)


def gradient_of(
    sides: list[Side], pairs: list[int], prior: Prior, negatives: float = NEGATIVES
) -> tuple[float, list[Matrix]]:
    """Return the loss of one group, and its gradient by word on both sides."""
    tally = new_tally(1)
    group = np.array(pairs)
    found = []
    for side in sides:
        tokens = int((side.offsets[group + 1] - side.offsets[group]).sum())
        values = np.full((tokens, side.table.shape[1]), np.nan, np.float32)
        zero = np.zeros(1, np.int64)
        found.append(Gradient(zero, zero.copy(), np.full(tokens, -1, np.int32), values))
    both = (sides[0], sides[1])
    out = Step(tally, found[0], found[1])
    _gradients(both, group, Margin(prior, negatives), 0, out)
    by_word = []
    for side, gradient in zip(sides, found, strict=True):
        total = np.zeros((len(side.row_offsets) - 1, side.table.shape[1]))
        words = gradient.words[: gradient.sizes[0]]
        assert len(set(words.tolist())) == len(words)
        total[words] = gradient.values[: len(words)]
        by_word.append(total)
    return float(tally.loss[0, 0]), by_word


def word_vectors(side: Side) -> Matrix:
    """Compose every word's vector, a word at a time."""
    bounds = zip(side.row_offsets[:-1], side.row_offsets[1:], strict=True)
    return np.array(
        [side.table[side.rows[a:b]].astype(np.float64).sum(0) / np.sqrt(max(b - a, 1)) for a, b in bounds]
    )


def with_vectors(sides: list[Side]) -> list[Side]:
    """Give each word one row of its own, so that a gradient by word is a gradient by row."""
    return [
        side._replace(
            rows=np.arange(len(side.row_offsets) - 1, dtype=np.int32),
            row_offsets=np.arange(len(side.row_offsets)),
            table=word_vectors(side).astype(np.float32),
        )
        for side in sides
    ]


def negative_loss(scores: Callable[[int, int], Tensor], pairs: list[int], null: float) -> Tensor:
    """Sum log(1 + a) over each word of a pair and each other pair's sentence, in both directions."""
    total = torch.zeros((), dtype=torch.float64)
    for own in pairs:
        for other in pairs:
            if own != other:
                total += (null + (1 - null) * scores(other, own).exp().mean(0)).log1p().sum()
                total += (null + (1 - null) * scores(own, other).exp().mean(1)).log1p().sum()
    return total


def positive_parts(scores: Tensor, prior: Prior) -> tuple[Tensor, list[Tensor]]:
    """Return the agreed posteriors (source, target) of one pair, and both directions' log a."""
    logs, posteriors = [], []
    for direction in (0, 1):
        own = (scores if direction == 0 else scores.T).detach().clone().requires_grad_()  # (states, steps)
        if prior.chained:
            mask = torch.ones(1, len(own), 1, dtype=torch.bool)
            found = chain_scores(own[None], mask, torch.tensor(prior.jumps[direction, 0]), prior.null)[0]
        else:
            found = _lse(own, torch.tensor(prior.diagonals[direction]).double(), prior.null)
        (gradient,) = torch.autograd.grad(found.sum(), own)
        logs.append(found.detach())
        posteriors.append(gradient)
    return (posteriors[0] * posteriors[1].T).sqrt(), logs


def _lse(scores: Tensor, diagonal: Tensor, null: float) -> Tensor:
    n, steps = scores.shape
    k, step = torch.arange(n)[:, None], torch.arange(steps)
    distance = ((2 * step + 1) * n - (2 * k + 1) * steps).abs()
    weights = diagonal[(distance * len(diagonal) // (2 * n * steps)).clamp(max=len(diagonal) - 1)]
    return (null + (1 - null) * (weights / weights.sum(0) * scores.exp()).sum(0)).log()


@pytest.mark.parametrize("chained", [True, False])
def test_gradients_are_those_of_the_loss_drawn_towards_agreement(chained: bool) -> None:
    random = np.random.default_rng(1)
    sides = [some_side(random, lengths) for lengths in ([3, 9, 1, 14], [5, 8, 2, 13])]
    prior = some_prior(random, chained=chained)._replace(starts=np.ones((2, CLIP + 1), np.float32))
    pairs = [3, 0, 1, 2]
    loss, found = gradient_of(sides, pairs, prior)
    vectors = [torch.tensor(word_vectors(side), requires_grad=True) for side in sides]

    def scores(source: int, target: int) -> Tensor:
        own = [
            words[torch.tensor(side.tokens[side.offsets[pair] : side.offsets[pair + 1]])]
            for words, side, pair in zip(vectors, sides, (source, target), strict=True)
        ]
        return own[0] @ own[1].T  # (source, target)

    expected = NEGATIVES / (len(pairs) - 1) * negative_loss(scores, pairs, prior.null)
    drawn = torch.zeros((), dtype=torch.float64)
    for pair in pairs:
        own = scores(pair, pair)
        agreed, (t_logs, s_logs) = positive_parts(own, prior)
        drawn -= (own * agreed * (1 / (1 + t_logs.exp()) + 1 / (1 + s_logs.exp())[:, None])).sum()
        expected = expected + (1 + (-t_logs).exp()).log().sum() + (1 + (-s_logs).exp()).log().sum()
    assert loss == pytest.approx(float(expected.detach()), rel=1e-4)
    gradients = torch.autograd.grad(expected + drawn, vectors)
    for own_found, gradient in zip(found, gradients, strict=True):
        np.testing.assert_allclose(own_found, gradient, rtol=1e-3, atol=1e-4)
        assert np.abs(own_found).max() > 0.1


def numerical(sides: list[Side], value: Callable[[list[Side]], float]) -> list[Matrix]:
    """Differentiate by moving each number of the tables a little both ways."""
    slopes = []
    for number, side in enumerate(sides):
        slope = np.zeros(side.table.shape)
        for place in np.ndindex(*slope.shape):
            ends = []
            for step in (0.02, -0.02):
                moved = [own._replace(table=own.table.copy()) for own in sides]
                moved[number].table[place] += step
                ends.append(value(moved))
            slope[place] = (ends[0] - ends[1]) / 0.04
        slopes.append(slope)
    return slopes


def test_the_negative_part_is_the_slope_of_its_loss() -> None:
    random = np.random.default_rng(2)
    sides = with_vectors([some_side(random, lengths, words=5) for lengths in ([3, 4, 1], [5, 2, 2])])
    prior = some_prior(random)
    lighter, heavier = (gradient_of(sides, [0, 1, 2], prior, weight)[1] for weight in (1.0, 2.0))
    slopes = numerical(
        sides,
        lambda own: gradient_of(own, [0, 1, 2], prior, 2.0)[0] - gradient_of(own, [0, 1, 2], prior, 1.0)[0],
    )
    for light, heavy, slope in zip(lighter, heavier, slopes, strict=True):
        np.testing.assert_allclose(heavy - light, slope, rtol=0.01, atol=3e-3)


def test_where_both_directions_agree_the_whole_is_the_slope_of_the_loss() -> None:
    """Pairs of one word each: both directions have the same posterior."""
    random = np.random.default_rng(3)
    sides = with_vectors([some_side(random, [1, 1, 1, 1], words=6) for _ in range(2)])
    for chained in (True, False):
        prior = some_prior(random, chained=chained)
        found = gradient_of(sides, [0, 1, 2, 3], prior)[1]
        slopes = numerical(sides, lambda own, prior=prior: gradient_of(own, [0, 1, 2, 3], prior)[0])  # type: ignore[misc]
        for own, slope in zip(found, slopes, strict=True):
            np.testing.assert_allclose(own, slope, rtol=0.01, atol=3e-3)


def test_a_pair_alone_has_no_negatives() -> None:
    random = np.random.default_rng(4)
    sides = [some_side(random, [4]) for _ in range(2)]
    prior = some_prior(random)
    one, ten = (gradient_of(sides, [0], prior, weight) for weight in (1.0, 10.0))
    assert one[0] == ten[0] > 0
    assert np.array_equal(one[1][0], ten[1][0])


@njit
def _distinct(side: Any, pairs: Any, places: Any) -> Any:
    return compiled_gradients._distinct(side, pairs, places)


@given(st.lists(st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 5), max_size=9), min_size=1, max_size=6))
def test_distinct_words_are_those_of_a_dictionary(sentences: list[list[int]]) -> None:
    """Words keep the order in which they come."""
    tokens = [word for sentence in sentences for word in sentence]
    side = some_side(np.random.default_rng(0), [1])._replace(
        tokens=np.array(tokens, np.int32), offsets=offsets([len(sentence) for sentence in sentences])
    )
    pairs = np.arange(len(sentences))[::-1].copy()
    places = np.full(len(tokens) + 1, -1, np.int32)
    found = _distinct(side, pairs, places)
    order = [word for pair in pairs for word in sentences[pair]]
    assert found.tolist() == list(dict.fromkeys(order))
    assert [found[place] for place in places[:-1]] == order
    assert places[-1] == -1


def plain_adam(side: Side, adam: Adam, gradient: dict[int, Matrix], rate: float) -> None:
    """Move each row by Adam with one second moment a row, as the equations say."""
    rows: dict[int, Matrix] = {}
    for word, value in gradient.items():
        own = side.rows[side.row_offsets[word] : side.row_offsets[word + 1]]
        for row in own:
            rows[int(row)] = rows.get(int(row), 0) + value / np.sqrt(len(own))
    for row, total in rows.items():
        adam.steps[row] += 1
        adam.first[row] = 0.9 * adam.first[row] + 0.1 * total
        adam.second[row] = 0.99 * adam.second[row] + 0.01 * (total**2).mean()
        mean = adam.first[row] / (1 - 0.9 ** adam.steps[row])
        deviation = np.sqrt(adam.second[row] / (1 - 0.99 ** adam.steps[row])) + 1e-8
        side.table[row] -= rate * mean / deviation


@pytest.mark.parametrize(("begun", "parts"), [(0, 1), (5_000, 1), (0, 3)])
def test_updates_are_those_of_adam_and_leave_other_rows_alone(begun: int, parts: int) -> None:
    random = np.random.default_rng(5)
    side = some_side(random, [1], words=30)
    adam = adam_of(side)
    adam.steps[:] = begun
    adam.second[:] = random.uniform(0, 1, len(adam.second)) * (begun > 0)
    known, known_adam = side._replace(table=side.table.astype(np.float64)), copy.deepcopy(adam)
    before = side.table.copy()
    with ThreadPoolExecutor(1) as pool:
        optimizer = Compiled().optimizer(
            [side, side], [adam, adam], group=2, negatives=1.0, pool=pool, threads=1
        )
    touched = set()
    for rate in (0.02, 0.01, 0.005):
        words = np.stack([random.choice(8, 3, replace=False) for _ in range(2)])
        values = random.normal(0, 1, (words.size, 4)).astype(np.float32)
        starts = np.arange(len(words)) * 3
        gradient = Gradient(starts, np.full(len(words), 3), words.flatten().astype(np.int32), values)
        for part in range(parts):
            _update(side, gradient, len(words), adam, rate, optimizer.rooms[0], (part, parts))
        sums: dict[int, Matrix] = {}
        for word, value in zip(words.flatten().tolist(), values, strict=True):
            sums[word] = sums.get(word, 0) + value.astype(np.float64)
        plain_adam(known, known_adam, sums, rate)
        touched |= {int(r) for w in sums for r in side.rows[side.row_offsets[w] : side.row_offsets[w + 1]]}
        assert not optimizer.rooms[0].touched.any()
    np.testing.assert_allclose(side.table, known.table, rtol=1e-4, atol=1e-6)
    assert adam.steps.tolist() == known_adam.steps.tolist()
    np.testing.assert_allclose(adam.second, known_adam.second, rtol=1e-4)
    others = [row for row in range(len(before)) if row not in touched]
    assert len(others) > 5 and np.array_equal(side.table[others], before[others])
    assert not np.any(adam.first[others]) and set(adam.steps[others].tolist()) == {begun}


@pytest.mark.parametrize("chained", [True, False])
def test_steps_do_not_depend_on_threads(chained: bool) -> None:
    results = []
    for threads, at_a_time in ((1, 1), (1, 3), (2, 3), (3, 2), (5, 3)):
        random = np.random.default_rng(6)
        sides = [some_side(random, lengths) for lengths in ([3, 9, 1, 4, 6, 2, 8], [5, 8, 2, 3, 1, 7, 7])]
        adams = [adam_of(side) for side in sides]
        prior = some_prior(random, chained=chained)
        with ThreadPoolExecutor(threads) as pool:
            optimizer = Compiled().optimizer(sides, adams, group=2, negatives=1.0, pool=pool, threads=threads)
            batches = [random.permutation(size) for size in (7, 4, 7)]
            tallies = [
                optimizer.steps(batches[n : n + at_a_time], prior, [0.02, 0.01, 0.005][n : n + at_a_time])
                for n in range(0, 3, at_a_time)
            ]
        parts = [sum(part.sum(0) for part in own) for own in list(zip(*tallies, strict=True))[:-1]]
        results.append([array.tobytes() for array in (*(side.table for side in sides), *parts)])
    assert all(result == results[0] for result in results[1:])


def test_a_thread_that_fails_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(6)
    sides = [some_side(random, [3, 9, 1, 4]) for _ in range(2)]
    adams, prior = [adam_of(side) for side in sides], some_prior(random, chained=True)

    def failing(*arguments: Any) -> bool:
        if arguments[-1].own == 1:
            raise MemoryError
        return descend(*arguments)

    monkeypatch.setattr(loops, "descend", failing)
    with ThreadPoolExecutor(2) as pool:
        optimizer = Compiled().optimizer(sides, adams, group=2, negatives=1.0, pool=pool, threads=2)
        with pytest.raises(MemoryError):
            optimizer.steps([np.arange(4)], prior, [0.02])


def test_learning_does_not_depend_on_chunks_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    text = bitext(generate(60))[0]
    recipes: list[DefaultRecipe] = []
    for chunk, threads in ((2048, 1), (2048, 2), (7, 1), (7, 2)):
        monkeypatch.setattr("bitweft.recipes.default.counts.CHUNK", chunk)
        aligner = Aligner(threads=threads).fit(text)
        assert isinstance(aligner.recipe, DefaultRecipe)
        recipes.append(aligner.recipe)
    for recipe in recipes[1:]:
        for own, known in zip(recipe.tables, recipes[0].tables, strict=True):
            assert own.tobytes() == known.tobytes()
        assert recipe.counts is not None and recipes[0].counts is not None
        assert recipe.counts.values.tobytes() == recipes[0].counts.values.tobytes()
        assert recipe.prior.jumps.tobytes() == recipes[0].prior.jumps.tobytes()
    links = [[found.links for found in recipe.align(list(text))] for recipe in recipes]
    assert links[0] == links[1] == links[2] == links[3]


def test_groups_leave_no_pair_alone() -> None:
    assert group_bounds(16, 8).tolist() == [0, 8, 16]
    assert group_bounds(17, 8).tolist() == [0, 8, 17]
    assert group_bounds(18, 8).tolist() == [0, 8, 16, 18]
    assert group_bounds(1, 8).tolist() == [0, 1]
