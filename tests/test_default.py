"""The default recipe: what its numbers mean, on cases made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft import Aligner, Alignment, Decoding
from bitweft.recipes.default.posterior import (
    agreement,
    best_words,
    calibrated,
    links_by_direction,
    null_probabilities,
    uncalibrated,
    unlinked,
)
from small import aligner, sample

# Three source words, two target words; each column of the first and row of the second sums to at most 1.
FORWARD = np.array([[0.9, 0.1], [0.0, 0.2], [0.05, 0.1]])
BACKWARD = np.array([[0.8, 0.1], [0.1, 0.6], [0.3, 0.1]])


def test_each_word_chooses_unless_none_is_likelier() -> None:
    chosen = [best_words(FORWARD, BACKWARD)] * 2
    forward, backward, union = (
        links_by_direction(chosen, decoding)
        for decoding in (
            Decoding(direction="forward"),
            Decoding(direction="backward"),
            Decoding(heuristic="union"),
        )
    )
    assert [own.links for own in forward] == [((0, 0),)] * 2
    assert [own.links for own in backward] == [((0, 0), (1, 1))] * 2
    assert union == backward
    assert union[0].probabilities == tuple(agreement(FORWARD, BACKWARD)[link] for link in union[0].links)


def test_null_is_what_is_left() -> None:
    source, target = null_probabilities(FORWARD, BACKWARD)
    assert source.tolist() == pytest.approx([0.1, 0.3, 0.6])
    assert target.tolist() == pytest.approx([0.05, 0.6])
    left = unlinked(Alignment.of([(0, 0)]), (source, target))
    assert [place for place, _ in left[0]] == [1, 2] and [place for place, _ in left[1]] == [1]


@given(st.floats(1e-6, 1 - 1e-6), st.floats(1e-6, 1 - 1e-6))
def test_calibration_keeps_the_order_and_can_be_undone(one: float, other: float) -> None:
    low, high = calibrated(np.array(sorted([one, other])))
    assert 0 <= low <= high <= 1
    assert calibrated(np.array(uncalibrated(one))) == pytest.approx(one, rel=1e-6)
    assert calibrated(np.array([0.0, 1.0])).tolist() == [0.0, 1.0]
    assert (uncalibrated(1.0), calibrated(np.array([-1e-9, 1 + 1e-7])).tolist()) == (1.0, [0.0, 1.0])


def test_posteriors_are_distributions() -> None:
    for pair in list(sample()[0])[:20]:
        forward, backward = aligner().recipe.direction_posteriors(pair)  # type: ignore[attr-defined]
        assert forward.shape == backward.shape == (len(pair.source), len(pair.target))
        assert forward.min() >= 0 and forward.sum(0).max() <= 1 + 1e-4
        assert backward.min() >= 0 and backward.sum(1).max() <= 1 + 1e-4


def test_unknown_words_are_aligned_by_their_letters() -> None:
    found = aligner().align("the xylophonist sleeps .", "le xylophoniste dort .")
    assert {(0, 0), (3, 3)} <= set(found.links)
    twin = aligner().posteriors("the Qwxyz sleeps .", "le Qwxyz dort .")
    assert twin[1].argmax() == 1


def test_case_counts_where_asked() -> None:
    text = [("Polish Bell", "polonais Bell"), ("polish bell", "vernis cloche")] * 10
    strict = Aligner(threads=1, settings=["lowercase=false"]).fit(text)
    words = strict.recipe.spellings[0].words.known  # type: ignore[attr-defined]
    assert {"Polish", "polish", "Bell", "bell"} <= set(words)


def test_a_seed_gives_one_model_and_another_seed_another() -> None:
    pairs = list(sample()[0])[:80]
    tables = [
        Aligner(threads=1, seed=seed).fit(pairs).recipe.tables[0]  # type: ignore[attr-defined]
        for seed in (1, 1, 2)
    ]
    assert np.array_equal(tables[0], tables[1]) and not np.array_equal(tables[0], tables[2])
