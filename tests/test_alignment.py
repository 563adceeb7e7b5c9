"""Links: sorted, without repeats, and gold in which sure links are possible."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft.links.alignment import Alignment, Entry, GoldAlignment
from bitweft.text.bitext import SentencePair, tokenize

LINKS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)))


@given(links=LINKS)
def test_links_are_sorted_and_given_once(links: list[tuple[int, int]]) -> None:
    alignment = Alignment.of(links)
    assert list(alignment.links) == sorted(set(links))
    assert len(alignment) == len(set(links))
    assert alignment.inverse().inverse() == alignment


def test_a_repeated_link_keeps_its_best_probability() -> None:
    alignment = Alignment.of([(1, 0), (0, 0), (1, 0)], [0.9, 0.5, 0.2])
    assert alignment == Alignment(((0, 0), (1, 0)), (0.5, 0.9))
    assert str(alignment) == "0-0 1-0"


def test_probabilities_follow_their_links() -> None:
    alignment = Alignment.of([(0, 2), (1, 0)], [0.5, 0.25])
    assert alignment.inverse() == Alignment(((0, 1), (2, 0)), (0.25, 0.5))
    assert alignment.without([(0, 2), (7, 7)]) == Alignment(((1, 0),), (0.25,))
    assert alignment.without(alignment.links) == Alignment.of([], []) == Alignment()


def test_links_and_probabilities_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="zip"):
        Alignment.of([(0, 0)], [0.5, 0.5])


def test_sure_links_are_possible() -> None:
    with pytest.raises(ValueError, match=r"not possible: \[\(0, 1\)\]"):
        GoldAlignment(frozenset({(0, 1)}), frozenset({(0, 0)}))
    gold = GoldAlignment.of([(0, 1)], [(2, 3)])
    assert gold.possible == {(0, 1), (2, 3)}
    assert gold.inverse() == GoldAlignment.of([(1, 0)], [(3, 2)])


def test_an_entry_turns_round_as_a_whole() -> None:
    pair = SentencePair(tokenize("a b"), tokenize("c"))
    entry = Entry(Alignment.of([(0, 0), (1, 0)], [0.5, 0.1]), frozenset({(1, 0)}), 2.0, "7", pair)
    turned = entry.inverse()
    assert turned.alignment.links == ((0, 0), (0, 1))
    assert turned.gold() == GoldAlignment.of([(0, 0)], [(0, 1)]) == entry.gold().inverse()
    assert turned.pair == pair.reversed()
    assert (turned.score, turned.name) == (2.0, "7")
    assert turned.inverse() == entry
