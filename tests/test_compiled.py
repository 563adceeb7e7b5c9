"""The compiled inner loops against known answers: every path one by one, dictionaries, numbers by hand."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from bitweft.recipes.default.compiled import emissions, exponentials
from bitweft.recipes.default.compiled.counting import add_counts
from bitweft.recipes.default.compiled.posteriors import matrices
from bitweft.recipes.default.compiled.types import (
    CLIP,
    LARGEST,
    NONE_COMMON,
    ONE,
    Cells,
    Inputs,
    Prior,
    common_counts,
    new_count_table,
    new_tally,
)
from bitweft.recipes.default.loops import Compiled
from chain_layer import chain_scores
from small_loops import infer, plain_words, some_counts, some_prior, some_words, vectors_alone

Matrix = npt.NDArray[np.float64]


class Explained(NamedTuple):
    """Hold what a sum over all paths says of one direction."""

    posterior: Matrix  # (steps, states)
    likelihood: float
    jumps: Matrix  # (2, classes, 2 · CLIP + 1)
    starts: Matrix  # (2, CLIP + 1)


def every_path(emission: Matrix, nulls: Any, classes: Any, prior: Prior, direction: int) -> Explained:
    """Walk all paths: each step goes to a state, or explains nothing and stays where it is."""
    steps, n = emission.shape
    weights = prior.jumps[direction].astype(np.float64)
    start_weights = prior.starts[direction].astype(np.float64)
    place = np.minimum(np.arange(n), CLIP)
    first = start_weights[place] / start_weights[place].sum()
    jump = np.clip(np.arange(n) - np.arange(n)[:, None], -CLIP, CLIP) + CLIP  # (from, to)
    own = np.stack([weights[classes[j], jump[j]] for j in range(n)])
    totals = own.sum(1)
    by_jump = (1 - prior.mixture) * own / totals[:, None]
    change = by_jump + prior.mixture / n
    posterior = np.zeros((steps, n))
    jumps = np.zeros((2, *weights.shape))
    starts = np.zeros((2, CLIP + 1))

    def walk(step: int, at: int, linked: list[int], chance: float) -> Iterator[tuple[list[int], float]]:
        if step == steps:
            yield linked, chance
            return
        yield from walk(step + 1, at, [*linked, -1 - at], chance * nulls[step])
        for k in range(n):
            moved = (1 - prior.null) * emission[step, k] * change[at, k]
            yield from walk(step + 1, k, [*linked, k], chance * moved)

    total = 0.0
    for k in range(n):
        begun = [([k], first[k] * (1 - prior.null) * emission[0, k]), ([-1 - k], first[k] * nulls[0])]
        for states, chance in begun:
            for path, weight in walk(1, k, states, chance):
                total += weight
                for step, state in enumerate(path):
                    if state < 0:
                        continue
                    posterior[step, state] += weight
                    if step == 0:
                        starts[0, place[state]] += weight
                        np.add.at(starts[1], place, weight / start_weights[place].sum())
                        continue
                    before = path[step - 1] if path[step - 1] >= 0 else -1 - path[step - 1]
                    share = weight * by_jump[before, state] / change[before, state]
                    jumps[0, classes[before], jump[before, state]] += share
                    np.add.at(jumps[1, classes[before]], jump[before], share / totals[before])
    return Explained(posterior / total, total, jumps / total, starts / total)


@pytest.mark.parametrize(
    ("n_source", "n_target", "mixture"), [(3, 3, 0.0), (1, 2, 0.1), (2, 1, 0.2), (13, 3, 0.1), (3, 13, 0.0)]
)
def test_chain_is_the_sum_over_all_paths(n_source: int, n_target: int, mixture: float) -> None:
    random = np.random.default_rng([n_source, n_target])
    prior = some_prior(random, classes=2, mixture=mixture)
    scores = random.normal(0, 1.5, (n_target, n_source))
    sizes = (n_source, n_target)
    nulls = [random.uniform(0.02, 0.4, size) for size in sizes]
    classes = [random.integers(0, 2, size) for size in sizes]
    source, target = plain_words(scores, nulls, classes)
    tally = new_tally(1, 2)
    forward, backward = matrices(Inputs(source, target, vectors_alone(*sizes), prior), 0, tally)
    found = [
        (0, forward, np.exp(scores), nulls[1], classes[0]),
        (1, backward, np.exp(scores.T), nulls[0], classes[1]),
    ]
    likelihood = 0.0
    for direction, posterior, emission, own_nulls, own_classes in found:
        if len(emission) > 3:  # 13 steps have too many paths
            continue
        expected = every_path(emission, own_nulls, own_classes, prior, direction)
        np.testing.assert_allclose(posterior, expected.posterior, rtol=1e-4, atol=1e-6)
        jumps, starts = tally.jumps[0, direction] / ONE, tally.starts[0, direction] / ONE
        np.testing.assert_allclose(jumps, expected.jumps, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(starts, expected.starts, rtol=1e-4, atol=1e-6)
        likelihood += math.log(expected.likelihood)
    if max(sizes) <= 3:
        score = infer(Compiled(), source, target, vectors_alone(*sizes), prior)[1]
        assert score[0] * sum(sizes) == pytest.approx(likelihood, rel=1e-4, abs=1e-5)


def test_a_chain_of_many_words_is_the_forward_algorithm() -> None:
    """Hold 40 × 30 words to the layer `chain_scores`: its factors, and posteriors as its gradient."""
    random = np.random.default_rng(3)
    prior = some_prior(random)._replace(starts=np.ones((2, CLIP + 1), np.float32))
    scores = random.normal(0, 2, (40, 30))
    nulls = [np.full(size, prior.null) for size in (30, 40)]
    source, target = plain_words(scores, nulls, [np.zeros(size) for size in (30, 40)])
    found = matrices(Inputs(source, target, vectors_alone(30, 40), prior), 0, new_tally(0))
    total = 0.0
    for direction, posterior in enumerate(found):
        own = torch.tensor(scores if direction == 0 else scores.T)[None].mT.clone().requires_grad_()
        mask = torch.ones(1, own.shape[1], 1, dtype=torch.bool)
        likelihood = chain_scores(own, mask, torch.tensor(prior.jumps[direction, 0]), prior.null).sum()
        (gradient,) = torch.autograd.grad(likelihood, own)
        np.testing.assert_allclose(posterior, gradient[0].T, rtol=1e-3, atol=1e-6)
        total += float(likelihood.detach())
    score = infer(Compiled(), source, target, vectors_alone(30, 40), prior)[1]
    assert score[0] * 70 == pytest.approx(total, rel=1e-4)


def test_weights_set_by_their_tallies_make_the_text_likelier() -> None:
    random = np.random.default_rng(4)
    lengths = random.integers(2, 25, (2, 20))
    source, target = (some_words(random, list(own)) for own in lengths)
    counts = vectors_alone(12, 12)
    prior = some_prior(random)
    likelihoods = []
    for _ in range(6):
        _, scores, tally, _ = infer(Compiled(), source, target, counts, prior)
        likelihoods.append(float((scores * lengths.sum(0)).sum()))
        jumps, starts = tally.jumps[0] / ONE, tally.starts[0] / ONE
        prior = prior._replace(
            jumps=((jumps[:, 0] + 1e-9) / (jumps[:, 1] + 1e-9)).astype(np.float32),
            starts=((starts[:, 0] + 1e-9) / (starts[:, 1] + 1e-9)).astype(np.float32),
        )
    assert np.all(np.diff(likelihoods) > 0)
    assert likelihoods[-1] - likelihoods[0] > 5


def test_lse_by_hand() -> None:
    random = np.random.default_rng(5)
    scores = random.normal(0, 1, (3, 5))
    prior = some_prior(random, chained=False)
    sizes = (5, 3)
    source, target = plain_words(
        scores, [np.ones(size) for size in sizes], [np.zeros(size) for size in sizes]
    )
    tally = new_tally(1)
    found = matrices(Inputs(source, target, vectors_alone(*sizes), prior), 0, tally)
    buckets = prior.diagonals.shape[1]
    for direction, posterior in enumerate(found):
        emission = np.exp(scores if direction == 0 else scores.T)
        steps, n = emission.shape
        taken, chances = np.zeros(buckets), np.zeros(buckets)
        for step in range(steps):
            # |3/10 − 1/10| = 1/5: no bucket's edge is met, so that division may round either way.
            distances = [abs((2 * step + 1) / (2 * steps) - (2 * k + 1) / (2 * n)) for k in range(n)]
            places = [int(distance * buckets) for distance in distances]
            weights = prior.diagonals[direction][places].astype(float)
            joint = (1 - prior.null) * weights / weights.sum() * emission[step]
            expected = joint / (prior.null + joint.sum())
            np.testing.assert_allclose(posterior[step], expected, rtol=1e-5)
            np.add.at(taken, places, expected)
            np.add.at(chances, places, expected.sum() / weights.sum())
        np.testing.assert_allclose(tally.diagonals[0, direction] / ONE, [taken, chances], rtol=1e-5)


def test_posteriors_depend_on_the_pair_alone() -> None:
    random = np.random.default_rng(6)
    lengths = random.integers(0, 30, (2, 40))
    source, target = (some_words(random, list(own), classes=3, unseen=4) for own in lengths)
    counts, prior = some_counts(random, unseen=4), some_prior(random, classes=3, mixture=0.05)
    cells, scores, _, _ = infer(Compiled(), source, target, counts, prior, floor=0.05)
    order = random.permutation(40)
    halves = [order[:13], order[13:]]
    with ThreadPoolExecutor(2) as pool:
        found = list(
            pool.map(
                lambda own: infer(Compiled(), source, target, counts, prior, floor=0.05, pairs=own), halves
            )
        )
    for own, (some, some_scores, _, _) in zip(halves, found, strict=True):
        for place, pair in enumerate(own):
            assert some_scores[place] == scores[pair]
            expected = [
                part[cells.offsets[pair] : cells.offsets[pair + 1]].tolist() for part in _parts(cells)
            ]
            got = [part[some.offsets[place] : some.offsets[place + 1]].tolist() for part in _parts(some)]
            assert got == expected


def _parts(cells: Cells) -> list[Any]:
    return [cells.source, cells.target, cells.values]


def test_the_cells_of_a_pair_are_the_agreement_of_both_directions() -> None:
    random = np.random.default_rng(17)
    source, target = (some_words(random, [9, 14], unseen=2) for _ in range(2))
    counts, prior = some_counts(random, unseen=2), some_prior(random)
    cells, _, tally, unlinked = infer(Compiled(), source, target, counts, prior, floor=0.02)
    sums = np.zeros(2)
    alone: list[list[float]] = [[], []]
    for pair in (0, 1):
        forward, backward = matrices(Inputs(source, target, counts, prior), pair, new_tally(0))
        agreed = np.sqrt(forward.T * backward)
        kept = np.nonzero(agreed >= 0.02)
        own = slice(cells.offsets[pair], cells.offsets[pair + 1])
        assert cells.source[own].tolist() == kept[0].tolist()
        assert cells.target[own].tolist() == kept[1].tolist()
        np.testing.assert_allclose(cells.values[own], agreed[kept], rtol=1e-5)
        s_tokens, t_tokens = (
            side.tokens[side.offsets[pair] : side.offsets[pair + 1]] for side in (source, target)
        )
        cognate = counts.cognates[t_tokens] == s_tokens[:, None]
        sums += [agreed[cognate].sum(), cognate.sum()]
        alone[0] += (1 - backward.sum(1)).tolist()
        alone[1] += (1 - forward.sum(1)).tolist()
    assert tally.cognates[0] / ONE == pytest.approx(sums, rel=1e-5)
    assert sums[1] > 2
    for own_unlinked, expected in zip(unlinked, alone, strict=True):
        np.testing.assert_allclose(own_unlinked, expected, rtol=1e-4, atol=1e-5)


def test_what_a_pair_added_to_the_counts_is_left_out() -> None:
    """Counts with the pair's own cells, which are known, are as counts without them."""
    random = np.random.default_rng(8)
    source, target = plain_words(random.normal(0, 1, (4, 5)), [[0.1] * 5, [0.1] * 4], [[0] * 5, [0] * 4])
    prior = some_prior(random)
    base = random.uniform(0, 3, (4, 5)).astype(np.float32)  # (target, source)
    own = random.uniform(0, 1, (4, 5)).astype(np.float32)

    def counts(values: npt.NDArray[np.float32]) -> Any:
        sources = np.tile(np.arange(5, dtype=np.int32), 4)
        plain = vectors_alone(5, 4)._replace(offsets=np.arange(0, 21, 5), sources=sources, strength=3.0)
        return plain._replace(values=values.flatten(), source=np.full(5, 7), target=np.full(4, 9))

    known = Cells(
        np.array([0, 20]),
        np.repeat(np.arange(5, dtype=np.int32), 4),
        np.tile(np.arange(4, dtype=np.int32), 5),
        own.T.flatten(),
    )
    left_out = infer(Compiled(), source, target, counts(base + own), prior, known=known)[0]
    without = infer(Compiled(), source, target, counts(base), prior)[0]
    np.testing.assert_allclose(left_out.values, without.values, rtol=1e-4)
    too_much = infer(Compiled(), source, target, counts(base * 0), prior, known=known)[0]
    nothing = infer(Compiled(), source, target, counts(base * 0), prior)[0]
    np.testing.assert_allclose(too_much.values, nothing.values, rtol=1e-5)  # no count is below zero


@njit
def _look_up(counts: Any, common: Any, sources: Any, targets: Any, own: Any) -> Any:
    return emissions.look_up(counts, common, sources, targets, own)


@given(st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 7)), st.floats(0, 9, width=32)))
def test_counts_are_found_as_in_a_dictionary(entries: dict[tuple[int, int], float]) -> None:
    """Keys are (target, source); target word 6 is one that training did not see."""
    ordered = sorted(entries)
    targets = np.array([target for target, _ in ordered], np.int64)
    counts = vectors_alone(8, 6)._replace(
        offsets=np.searchsorted(targets, np.arange(7)),
        sources=np.array([source for _, source in ordered], np.int32),
        values=np.array([entries[key] for key in ordered], np.float32),
    )
    words = np.arange(8, dtype=np.int32), np.arange(7, dtype=np.int32)
    expected = np.array([[entries.get((target, source), 0.0) for source in range(8)] for target in range(7)])
    nothing = np.empty((0, 0), np.float32)
    own = np.full((8, 7), 2.0, np.float32)  # (source, target)
    for common in (common_counts(counts), common_counts(counts, 3), NONE_COMMON):
        size = len(common.table)
        assert np.array_equal(common.table, expected[:size, :size].astype(np.float32))
        assert np.array_equal(_look_up(counts, common, *words, nothing), expected.astype(np.float32))
        left = _look_up(counts, common, *words, own)
        assert np.array_equal(left, np.maximum(expected - 2, 0).astype(np.float32))


def test_counts_of_long_rows_are_found() -> None:
    """Target word 5 has a count with every third source word, more of them than are gone through."""
    sources = np.arange(0, 6 * emissions.SHORT, 3, dtype=np.int32)
    counts = vectors_alone(6 * emissions.SHORT, 6)._replace(
        offsets=np.array([0, 0, 0, 0, 0, 0, len(sources)]), sources=sources, values=sources + np.float32(1)
    )
    words = np.array([0, 1, 3, 5, 6 * emissions.SHORT - 3], np.int32), np.array([5, 4], np.int32)
    for common in (common_counts(counts), common_counts(counts, 3), NONE_COMMON):
        found = _look_up(counts, common, *words, np.empty((0, 0), np.float32))
        assert found.tolist() == [[1, 0, 4, 0, 6 * emissions.SHORT - 2], [0] * 5]


@njit
def _exponentials(values: Any) -> None:
    exponentials.exponentials(values)


def test_exponentials_are_those_of_the_library() -> None:
    values = np.linspace(-87, LARGEST, 100_003, dtype=np.float32).reshape(1, -1)
    found = values.copy()
    _exponentials(found)
    assert np.abs(found / np.exp(values.astype(np.float64)) - 1).max() < 1e-5
    outside = np.array([[-1000.0, 20.0, 0.0]], np.float32)
    _exponentials(outside)
    assert 0 <= outside[0, 0] < 1e-37 and outside[0, 2] == 1
    assert outside[0, 1] == pytest.approx(np.exp(LARGEST), rel=1e-5)


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 40), max_size=6), st.lists(st.integers(0, 40), max_size=6)),
        max_size=8,
    ),
    st.integers(0, 1 << 16),
)
def test_cells_add_up_as_in_a_dictionary(pairs: list[tuple[list[int], list[int]]], seed: int) -> None:
    random = np.random.default_rng(seed)
    sides = [some_words(random, [len(pair[side]) for pair in pairs], words=41) for side in (0, 1)]
    texts = [[word for pair in pairs for word in pair[side]] for side in (0, 1)]
    source, target = (
        side._replace(tokens=np.array(text, np.int32)) for side, text in zip(sides, texts, strict=True)
    )
    expected: dict[int, float] = defaultdict(float)
    tables = [new_count_table(2), new_count_table(2)]
    for number, (own_source, own_target) in enumerate(pairs):
        full = [(s, t) for s in range(len(own_source)) for t in range(len(own_target))]
        values = random.uniform(0, 1, len(full)).astype(np.float32)
        places = np.array(full, np.int32).reshape(-1, 2)
        cells = Cells(np.array([0, len(full)]), places[:, 0].copy(), places[:, 1].copy(), values)
        tables = [
            add_counts(source, target, np.array([number]), cells, table, part, 2)
            for part, table in enumerate(tables)
        ]
        for (s, t), value in zip(full, values, strict=True):
            expected[(own_target[t] << 32) | own_source[s]] += math.floor(float(value) * ONE + 0.5) / ONE
    found: dict[int, float] = {}
    for part, (keys, sums, size) in enumerate(tables):
        own = {int(key): value / ONE for key, value in zip(keys, sums, strict=True) if key >= 0}
        assert size == len(own) and len(keys) >= 2 * size
        assert all((key >> 32) % 2 == part for key in own)
        found |= own
    assert found == expected


LONG = """
import numpy as np
from small_loops import infer, some_prior, some_words, vectors_alone
from bitweft.recipes.default.loops import Compiled
random = np.random.default_rng(1)
n = {words}
source = some_words(random, [n], words=n)._replace(tokens=np.arange(n, dtype=np.int32))
source = source._replace(vectors=random.normal(0, 0.6, (n, 32)).astype(np.float32))
prior = some_prior(random)
cells, scores, _, _ = infer(Compiled(), source, source, vectors_alone(n, n), prior, floor=0.5)
assert scores[0] > 1
assert (cells.source == cells.target).all() and len(cells.source) > 0.5 * n  # words that match
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["VmHWM"].split()[0]) // 1024)  # the peak since the program began
"""


@pytest.mark.parametrize(
    ("words", "megabytes"), [(500, 300), pytest.param(5_000, 600, marks=pytest.mark.slow)]
)
def test_long_sentences_take_bounded_memory(words: int, megabytes: int) -> None:
    if sys.platform != "linux":
        pytest.skip("peak memory is read from /proc")
    run = subprocess.run(
        [sys.executable, "-c", LONG.format(words=words)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < megabytes, run.stdout
