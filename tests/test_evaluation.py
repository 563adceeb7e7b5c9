"""Scores worked out by hand, counts that add up, and bootstrap samples whose outcome is known."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Alignment, GoldAlignment, Link
from bitweft.links.evaluate import Counts, add_up, evaluate, word_errors
from bitweft.links.formats.registry import read_gold
from bitweft.links.significance import MEASURES, compare, confidence_intervals
from bitweft.text.bitext import Bitext

# Two right of three on possible, one of two on sure; then one of one on both, of three sure.
LINKS = [Alignment.of([(0, 0), (1, 2), (2, 2)]), Alignment.of([(0, 1)])]
GOLDS = [
    GoldAlignment.of([(0, 0), (1, 1)], [(1, 2)]),
    GoldAlignment.of([(0, 1), (1, 0), (2, 2)]),
]

Cells = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6)


def test_score_worked_out_by_hand() -> None:
    score = evaluate(LINKS[:1], GOLDS[:1])
    assert score.precision == pytest.approx(2 / 3)
    assert score.recall == pytest.approx(1 / 2)
    assert score.f1 == pytest.approx(4 / 7)
    assert score.aer == pytest.approx(1 - 3 / 5)
    assert (score.links, score.sure, score.possible, score.sentences) == (3, 2, 3, 1)


def test_counts_are_summed_before_they_are_divided() -> None:
    score = evaluate(LINKS, GOLDS)
    assert score.counts == Counts(sentences=2, links=4, sure=5, possible=6, links_sure=2, links_possible=3)
    assert score.precision == pytest.approx(3 / 4)
    assert score.recall == pytest.approx(2 / 5)
    assert score.f1 == pytest.approx(2 * (3 / 4) * (2 / 5) / (3 / 4 + 2 / 5))
    assert score.aer == pytest.approx(1 - 5 / 9)


def test_no_links_are_a_result() -> None:
    score = evaluate([Alignment(), Alignment()], GOLDS)
    assert (score.precision, score.recall, score.f1, score.aer) == (0.0, 0.0, 0.0, 1.0)
    assert (score.links, score.sure, score.sentences) == (0, 5, 2)


def test_nothing_asked_and_nothing_given_is_no_error() -> None:
    for links, golds in (([Alignment()], [GoldAlignment.of([])]), ([], [])):
        score = evaluate(links, golds)
        assert (score.precision, score.recall, score.f1, score.aer) == (0.0, 0.0, 0.0, 0.0)


def test_recall_counts_sure_links_alone() -> None:
    score = evaluate([Alignment.of([(0, 0)])], [GoldAlignment.of([], [(0, 0)])])
    assert (score.precision, score.recall, score.aer) == (1.0, 0.0, 0.0)


@given(st.lists(st.tuples(Cells, Cells, Cells), max_size=4), st.integers(0, 4))
def test_counts_of_parts_add_up_to_the_counts_of_all(
    sentences: list[tuple[frozenset[Link], frozenset[Link], frozenset[Link]]], cut: int
) -> None:
    links = [Alignment.of(each) for each, _, _ in sentences]
    golds = [GoldAlignment.of(sure, possible) for _, sure, possible in sentences]
    whole = evaluate(links, golds)
    parts = evaluate(links[:cut], golds[:cut]).counts + evaluate(links[cut:], golds[cut:]).counts
    assert parts == whole.counts == add_up(whole.per_sentence)
    assert all(0 <= getattr(whole, name) <= 1 for name in MEASURES)


@given(Cells, Cells, Cells)
def test_swapping_languages_changes_no_count(
    links: frozenset[Link], sure: frozenset[Link], possible: frozenset[Link]
) -> None:
    alignment, gold = Alignment.of(links), GoldAlignment.of(sure, possible)
    assert Counts.of(alignment, gold) == Counts.of(alignment.inverse(), gold.inverse())


def test_unequal_numbers_of_sentences_are_an_error_with_the_line() -> None:
    with pytest.raises(InputError, match=r"^out\.txt:2: this line is missing, but test\.gold has it"):
        evaluate(LINKS[:1], GOLDS, names=("out.txt", "test.gold"))
    with pytest.raises(InputError, match=r"^gold:2: this line is missing, but links has it"):
        evaluate(LINKS, GOLDS[:1])


def test_signature_tells_gold_apart_and_not_links() -> None:
    signature = evaluate(LINKS, GOLDS).signature
    assert evaluate([Alignment(), Alignment()], GOLDS).signature == signature
    assert signature.startswith("AER|gold:") and "|sentences:2|sure:5|possible:6|" in signature
    shifted = [GoldAlignment.of([(0, 0), (1, 2)], [(1, 1)]), GOLDS[1]]
    assert evaluate(LINKS, shifted).signature != signature


def test_word_errors_are_counted_by_their_words() -> None:
    pairs = Bitext.of([("the old house", "la maison vieille"), ("the house sleeps", "dort la maison")])
    links = [Alignment.of([(0, 0), (1, 1)]), Alignment.of([(0, 0), (1, 1), (2, 0)])]
    golds = [
        GoldAlignment.of([(1, 2), (2, 1)], [(0, 0)]),
        GoldAlignment.of([(1, 2), (2, 0)], [(0, 1)]),
    ]
    errors = word_errors(links, golds, pairs)
    assert errors.wrong == {("old", "maison"): 1, ("the", "dort"): 1, ("house", "la"): 1}
    assert errors.missed == {("house", "maison"): 2, ("old", "vieille"): 1}
    assert errors.missed.most_common(1) == [(("house", "maison"), 2)]


RIGHT = Counts(1, 2, 2, 2, 2, 2)
WRONG = Counts(1, 2, 2, 2, 0, 0)
HALF = Counts(1, 2, 2, 2, 1, 1)


def test_interval_of_equal_sentences_is_a_point() -> None:
    for interval in confidence_intervals([HALF] * 20, samples=50).values():
        assert interval == (0.5, 0.5)


def test_interval_of_mixed_sentences_is_that_of_the_binomial() -> None:
    # Precision of a sample is the share of right ones among 100 drawn with chance 1/2: 0.5 ± 1.96 · 0.05.
    low, high = confidence_intervals([RIGHT, WRONG] * 50, samples=4000, seed=3)["precision"]
    assert low == pytest.approx(0.402, abs=0.012)
    assert high == pytest.approx(0.598, abs=0.012)


def test_samples_depend_on_the_seed_alone() -> None:
    sentences = [RIGHT, WRONG, HALF] * 10
    first = confidence_intervals(sentences, samples=100, seed=5)
    assert confidence_intervals(sentences, samples=100, seed=5) == first
    assert confidence_intervals(sentences, samples=100, seed=6) != first


def test_a_system_compared_with_itself_does_not_differ() -> None:
    for comparison in compare([RIGHT, WRONG] * 9, [RIGHT, WRONG] * 9, samples=100).values():
        assert comparison == (0.0, (0.0, 0.0), 1.0)


def test_a_steady_difference_is_significant_however_the_sentences_vary() -> None:
    # The sentences differ much, the systems steadily: only a paired test sees it.
    first = [Counts(1, 10, 10, 10, right, right) for right in (1, 8) * 20]
    second = [Counts(1, 10, 10, 10, right + 1, right + 1) for right in (1, 8) * 20]
    comparison = compare(first, second, samples=999)["aer"]
    assert comparison.difference == pytest.approx(-0.1)
    assert comparison.interval == pytest.approx((-0.1, -0.1))
    assert comparison.p == pytest.approx(1 / 1000)


def test_a_difference_in_one_sentence_is_not_significant() -> None:
    comparison = compare([RIGHT] * 40, [RIGHT] * 39 + [WRONG], samples=500)["f1"]
    assert comparison.difference == pytest.approx(-1 / 40)
    assert comparison.p > 0.1


def test_bootstrap_refuses_what_it_cannot_do() -> None:
    with pytest.raises(UsageError, match="2 and 1 sentences"):
        compare([RIGHT, RIGHT], [RIGHT])
    with pytest.raises(UsageError, match="samples must be 1 or greater"):
        confidence_intervals([RIGHT], samples=0)
    with pytest.raises(UsageError, match="no sentences"):
        confidence_intervals([])


def test_hansards_sure_links_score_as_their_definitions_say() -> None:
    data = Path(os.environ.get("WEFT_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))
    gold_file = data / "en-fr" / "test.gold"
    if not gold_file.exists():
        pytest.skip(f"needs the Hansards test set: {gold_file}")
    golds = list(read_gold(gold_file, "possible"))
    score = evaluate([Alignment.of(gold.sure) for gold in golds], golds)
    assert (score.precision, score.recall, score.f1, score.aer) == (1.0, 1.0, 1.0, 0.0)
    assert (score.sentences, score.links, score.sure) == (447, 4038, 4038)
    assert score.possible - score.sure == 13400
    score = evaluate([Alignment.of(gold.possible) for gold in golds], golds)
    assert (score.precision, score.recall, score.aer) == (1.0, 1.0, 0.0)
