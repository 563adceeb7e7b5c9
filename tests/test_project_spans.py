"""Spans by posterior mass: the rules on cases whose answer is known, and what holds for any links."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft import Alignment, UsageError, project
from bitweft.corpus.project import Outcome, Rules, Span

Words = list[str]


def places(outcomes: list[Outcome]) -> list[tuple[int, int] | None]:
    return [None if found.target is None else (found.target.start, found.target.end) for found in outcomes]


def linked(links: str, source: int, target: int) -> npt.NDArray[np.float64]:
    """Make a matrix of `s-t:p` links."""
    weights = np.zeros((source, target))
    for link in links.split():
        place, _, probability = link.partition(":")
        s, t = map(int, place.split("-"))
        weights[s, t] = float(probability or 1)
    return weights


def test_a_reordered_name_is_one_span() -> None:
    source, target = ["the", "European", "Parliament", "met"], ["il", "Parlamento", "europeo", "si", "riunì"]
    found = project([(1, 3, "ORG")], source, target, Alignment.of([(0, 0), (1, 2), (2, 1), (3, 4)]))
    assert found == [Outcome(Span(1, 3, "ORG"), Span(1, 3, "ORG"), 1.0)]


def test_a_gap_is_filled_up_to_the_limit() -> None:
    source, target = ["competition", "policy"], ["politica", "della", "concorrenza"]
    links = Alignment.of([(0, 2), (1, 0)])
    assert places(project([(0, 2, "X")], source, target, links)) == [(0, 3)]
    assert places(project([(0, 2, "X")], source, target, links, rules=Rules(gap=0))) == [(0, 1)]


def test_signs_at_the_edges_are_dropped_unless_the_source_has_them() -> None:
    links = Alignment.of([(0, 0), (0, 1), (0, 2)])
    assert places(project([(0, 1, "X")], ["Rome"], ["«", "Roma", "»"], links)) == [(1, 2)]
    links = Alignment.of([(0, 0), (1, 1), (2, 2)])
    assert places(project([(0, 3, "X")], ["“", "Rome", "”"], ["«", "Roma", "»"], links)) == [(0, 3)]


def test_mass_decides_not_single_links() -> None:
    # The link of the last word is likelier to be in the span than any one link outside, but not than all.
    weights = linked("0-0:0.9 1-1:0.3 2-1:0.35 3-1:0.35", 4, 2)
    assert places(project([(0, 2, "X")], list("abcd"), list("wx"), weights)) == [(0, 1)]


def test_an_unsure_word_between_does_not_pull_the_edge() -> None:
    # politica della concorrenza: `della` is linked to `of` before the name, not well.
    weights = linked("0-2:0.95 1-0:0.6 2-1:0.95", 3, 3)
    assert places(project([(0, 3, "X")], ["policy", "of", "competition"], list("abc"), weights)) == [(1, 3)]
    sure = linked("0-2:0.95 1-0:0.95 2-1:0.95", 3, 3)
    assert places(project([(0, 3, "X")], ["policy", "of", "competition"], list("abc"), sure)) == [(0, 3)]


def test_a_word_is_not_claimed_twice() -> None:
    found = project([(0, 1, "A"), (1, 2, "B")], ["a", "b"], ["x"], linked("0-0:0.6 1-0:0.9", 2, 1))
    assert places(found) == [None, (0, 1)]
    assert found[0].reason == "its counterpart belongs to another span"


def test_nested_spans_may_share_words() -> None:
    links = Alignment.of([(0, 1), (1, 0)])
    assert places(project([(0, 2, "A"), (0, 1, "B")], ["a", "b"], ["x", "y"], links)) == [(0, 2), (1, 2)]


def test_spans_of_one_word_take_no_time() -> None:
    spans = [Span(0, 1, "x")] * 600  # each looked for its place again when another was found
    outcomes = project(spans, ["a"], ["b"], Alignment.of([(0, 0)]))
    assert [outcome.target for outcome in outcomes] == spans


def test_what_has_no_counterpart_is_said() -> None:
    found = project([(0, 1, "A")], ["a", "b"], ["x"], linked("0-0:0.1 1-0:0.9", 2, 1))
    assert (found[0].target, found[0].reason) == (None, "no counterpart")
    assert 0 < found[0].probability < 0.3


@pytest.mark.parametrize(
    ("spans", "links", "message"),
    [
        ([(0, 3, "A")], Alignment(), "outside a source of 2 words"),
        ([(1, 1, "A")], Alignment(), "empty"),
        ([], Alignment.of([(0, 5)]), "outside a pair of 2 and 1 words"),
        ([], np.zeros((1, 1)), "the matrix is"),
    ],
)
def test_what_does_not_fit_is_refused(spans: list[Span], links: Alignment, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        project(spans, ["a", "b"], ["x"], links)


def test_a_string_is_not_taken_for_words() -> None:
    with pytest.raises(UsageError, match="sequence of words"):
        project([], "a b", ["x"], Alignment())


def test_rules_are_checked() -> None:
    with pytest.raises(UsageError, match="gap must be 0 or greater, got -1"):
        Rules(gap=-1)
    with pytest.raises(UsageError, match="between 0 and 1"):
        Rules(minimum=2)


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Span], Words, Words, npt.NDArray[np.float64]]:
    rows, columns = draw(st.integers(1, 8)), draw(st.integers(0, 8))
    word = st.sampled_from(["a", "b", ",", "»", "x1"])
    source, target = (draw(st.lists(word, min_size=n, max_size=n)) for n in (rows, columns))
    value = st.sampled_from([0.0, 0.0, 0.01, 0.2, 0.5, 0.9, 1.0])
    weights = [[draw(value) for _ in range(columns)] for _ in range(rows)]
    starts = draw(st.lists(st.integers(0, rows - 1), max_size=4))
    spans = [Span(start, draw(st.integers(start + 1, rows)), "L") for start in starts]
    return spans, source, target, np.array(weights).reshape(rows, columns)


@given(problems(), st.integers(0, 3))
def test_any_links_give_sound_spans(
    problem: tuple[list[Span], Words, Words, npt.NDArray[np.float64]], gap: int
) -> None:
    spans, source, target, weights = problem
    found = project(spans, source, target, weights, rules=Rules(gap=gap))
    assert [outcome.source for outcome in found] == spans
    for outcome in found:
        assert 0 <= outcome.probability <= 1
        assert (outcome.target is None) == (outcome.reason is not None)
        if outcome.target is not None:
            assert 0 <= outcome.target.start < outcome.target.end <= len(target)
            assert outcome.probability >= 0.3
    for one, outcome in enumerate(found):
        for other in found[:one]:
            if outcome.target and other.target and not outcome.source.overlaps(other.source):
                assert not outcome.target.overlaps(other.target)


@given(st.integers(1, 8), st.data())
def test_the_same_sentence_keeps_its_spans(length: int, data: st.DataObject) -> None:
    words = [f"w{n}" for n in range(length)]
    edges = sorted(data.draw(st.sets(st.integers(0, length), max_size=6)))
    spans = [Span(start, end, "L") for start, end in zip(edges[::2], edges[1::2], strict=False)]
    links = Alignment.of([(n, n) for n in range(length)])
    assert [found.target for found in project(spans, words, words, links)] == spans
