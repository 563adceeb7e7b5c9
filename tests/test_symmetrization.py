"""Symmetrization: hand-made cases, the published procedures in slow and plain form, and what always holds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import product
from math import sqrt
from random import Random
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft.errors import InputError, UsageError
from bitweft.links import symmetrize as symmetrization
from bitweft.links.alignment import Alignment, Link
from bitweft.links.symmetrize import HEURISTICS, ORDERS, symmetrize, symmetrize_all

GROWING = [name for name in HEURISTICS if name not in ("intersection", "union")]


def parse(text: str) -> Alignment:
    return Alignment.of([(int(s), int(t)) for s, t in (link.split("-") for link in text.split())])


GOLDEN = [
    # A neighbor with one unaligned word: the case that tells Moses' rule from lilt's.
    ("0-0", "0-0 0-1", "intersection", "0-0"),
    ("0-0", "0-0 0-1", "union", "0-0 0-1"),
    ("0-0", "0-0 0-1", "grow", "0-0 0-1"),
    ("0-0", "0-0 0-1", "grow-diag", "0-0 0-1"),
    ("0-0", "0-0 0-1", "grow-diag-final", "0-0 0-1"),
    ("0-0", "0-0 0-1", "grow-diag-final-and", "0-0 0-1"),
    ("0-0", "0-0 0-1", "strict-grow-diag", "0-0"),
    ("0-0", "0-0 0-1", "strict-grow-diag-final", "0-0"),
    # A diagonal neighbor.
    ("0-0 1-1", "0-0", "intersection", "0-0"),
    ("0-0 1-1", "0-0", "grow", "0-0"),
    ("0-0 1-1", "0-0", "grow-diag", "0-0 1-1"),
    ("0-0 1-1", "0-0", "strict-grow-diag", "0-0 1-1"),
    # No neighbors: 2-2 joins two unaligned words, 0-3 only one.
    ("0-0 2-2", "0-0 0-3", "union", "0-0 0-3 2-2"),
    ("0-0 2-2", "0-0 0-3", "grow-diag", "0-0"),
    ("0-0 2-2", "0-0 0-3", "grow-diag-final", "0-0 0-3 2-2"),
    ("0-0 2-2", "0-0 0-3", "grow-diag-final-and", "0-0 2-2"),
    ("0-0 2-2", "0-0 0-3", "strict-grow-diag", "0-0"),
    ("0-0 2-2", "0-0 0-3", "strict-grow-diag-final", "0-0 2-2"),
    # Both words taken: not even the final step adds 0-2.
    ("0-0 2-2", "0-0 0-2 2-2", "grow-diag-final", "0-0 2-2"),
    # Growth goes on from what was added, onwards and backwards.
    ("0-0 1-1 2-2 3-3", "0-0", "grow-diag", "0-0 1-1 2-2 3-3"),
    ("0-0 1-1 2-2 3-3", "3-3", "grow-diag", "0-0 1-1 2-2 3-3"),
    ("0-0 0-1 0-2 0-3", "0-3", "grow", "0-0 0-1 0-2 0-3"),
    # Nothing in common, and nothing at all.
    ("0-0", "1-1", "grow-diag", ""),
    ("0-0", "1-1", "grow-diag-final-and", "0-0 1-1"),
    ("", "", "grow-diag-final-and", ""),
    ("", "2-1", "grow-diag-final", "2-1"),
    ("", "2-1", "intersection", ""),
]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("forward", "backward", "heuristic", "expected"), GOLDEN)
def test_hand_made_cases(forward: str, backward: str, heuristic: str, expected: str, order: str) -> None:
    assert str(symmetrize(parse(forward), parse(backward), heuristic, order=order)) == expected


def test_final_step_takes_forward_links_before_backward_ones() -> None:
    one, two = parse("0-1"), parse("0-0")
    for order in ORDERS:
        assert str(symmetrize(one, two, "grow-diag-final-and", order=order)) == "0-1"
        assert str(symmetrize(two, one, "grow-diag-final-and", order=order)) == "0-0"


def test_moses_tries_links_beside_before_diagonal_ones_and_atools_in_order_of_position() -> None:
    # Beside 1-1 lies 0-1, diagonally 0-0. Once 0-0 is in, 0-1 has both its words aligned.
    forward, backward = parse("0-0 1-1"), parse("0-1 1-1")
    assert str(symmetrize(forward, backward, "grow-diag", order="moses")) == "0-0 0-1 1-1"
    assert str(symmetrize(forward, backward, "grow-diag", order="atools")) == "0-0 1-1"


def test_moses_goes_through_links_by_target_position() -> None:
    # From 2-1 (target 1) the diagonal 1-0 and 1-2 are seen before 0-2 (target 2) sees 1-2 beside it.
    forward, backward = parse("0-2 1-0 2-1"), parse("0-2 1-2 2-1")
    assert str(symmetrize(forward, backward, "grow-diag")) == "0-2 1-0 2-1"
    # By source position it is the other way round, so swapping the languages is not the inverse here.
    swapped = symmetrize(forward.inverse(), backward.inverse(), "grow-diag").inverse()
    assert str(swapped) == "0-2 1-0 1-2 2-1"


Cells = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=18)


@st.composite
def directional(draw: st.DrawFn) -> tuple[Alignment, Alignment]:
    """Links as directional models give them: one source for a target word, and the other way round."""
    forward = draw(st.dictionaries(st.integers(0, 6), st.integers(0, 6)))
    backward = draw(st.dictionaries(st.integers(0, 6), st.integers(0, 6)))
    return Alignment.of([(s, t) for t, s in forward.items()]), Alignment.of(list(backward.items()))


Both = st.one_of(directional(), st.tuples(Cells.map(Alignment.of), Cells.map(Alignment.of)))


class Plain:
    """The procedures as their authors write them down: whole matrices, walked cell by cell."""

    def __init__(self, forward: Alignment, backward: Alignment, heuristic: str, order: str) -> None:
        self.forward, self.backward = set(forward.links), set(backward.links)
        self.union = self.forward | self.backward
        self.links = self.forward & self.backward
        self.cells = [(s, t) for s, t in product(range(7), range(7))]
        if order == "moses":
            self.cells.sort(key=lambda link: (link[1], link[0]))
        near = [(0, -1), (-1, 0), (0, 1), (1, 0)]
        self.steps = near if heuristic == "grow" else [*near, (-1, -1), (1, -1), (-1, 1), (1, 1)]
        may_grow = self.both if heuristic.startswith("strict") else self.either
        grow = self.grow_moses if order == "moses" else self.grow_atools
        while grow(may_grow):
            pass
        if "final" in heuristic:
            may_end = self.either if heuristic == "grow-diag-final" else self.both
            for direction in (self.forward, self.backward):
                for cell in self.cells:
                    if cell in direction - self.links and may_end(cell):
                        self.links.add(cell)

    def either(self, link: Link) -> bool:
        return not any(s == link[0] for s, _ in self.links) or not any(t == link[1] for _, t in self.links)

    def both(self, link: Link) -> bool:
        return not any(s == link[0] or t == link[1] for s, t in self.links)

    def grow_moses(self, may_add: Callable[[Link], bool]) -> bool:
        added = False
        for cell in self.cells:
            if cell in self.links:
                for step in self.steps:
                    link = cell[0] + step[0], cell[1] + step[1]
                    if link in self.union - self.links and may_add(link):
                        self.links.add(link)
                        added = True
        return added

    def grow_atools(self, may_add: Callable[[Link], bool]) -> bool:
        added = False
        for s, t in self.cells:
            beside = any((s + ds, t + dt) in self.links for ds, dt in self.steps)
            if (s, t) in self.union - self.links and beside and may_add((s, t)):
                self.links.add((s, t))
                added = True
        return added


@given(Both, st.sampled_from(GROWING), st.sampled_from(ORDERS))
def test_gives_what_the_plain_procedure_gives(
    both: tuple[Alignment, Alignment], heuristic: str, order: str
) -> None:
    plain = Plain(*both, heuristic, order)
    assert set(symmetrize(*both, heuristic, order=order).links) == plain.links


@given(Both, st.sampled_from(HEURISTICS), st.sampled_from(ORDERS))
def test_lies_between_intersection_and_union(
    both: tuple[Alignment, Alignment], heuristic: str, order: str
) -> None:
    forward, backward = (set(alignment.links) for alignment in both)
    result = symmetrize(*both, heuristic, order=order)
    assert forward & backward <= set(result.links) <= forward | backward
    assert list(result.links) == sorted(set(result.links))


@given(Both, st.sampled_from(ORDERS))
def test_growth_is_kept_by_the_final_step_which_leaves_no_word_out(
    both: tuple[Alignment, Alignment], order: str
) -> None:
    grown = symmetrize(*both, "grow-diag", order=order)
    final = symmetrize(*both, "grow-diag-final", order=order)
    union = symmetrize(*both, "union")
    assert set(grown.links) <= set(final.links)
    for side in (0, 1):
        assert {link[side] for link in final.links} == {link[side] for link in union.links}


@given(Cells, st.sampled_from(HEURISTICS), st.sampled_from(ORDERS))
def test_two_directions_that_agree_stay_as_they_are(
    links: frozenset[Link], heuristic: str, order: str
) -> None:
    alignment = Alignment.of(links)
    assert symmetrize(alignment, alignment, heuristic, order=order) == alignment


def swap_is_inverse(forward: Alignment, backward: Alignment, heuristic: str, order: str) -> bool:
    swapped = symmetrize(backward.inverse(), forward.inverse(), heuristic, order=order)
    return swapped == symmetrize(forward, backward, heuristic, order=order).inverse()


@given(Both, st.sampled_from(["intersection", "union"]))
def test_swapping_languages_inverts_intersection_and_union(
    both: tuple[Alignment, Alignment], heuristic: str
) -> None:
    assert swap_is_inverse(*both, heuristic, "moses")


@given(directional(), st.sampled_from(ORDERS))
def test_swapping_languages_inverts_grow_on_links_of_directional_models(
    both: tuple[Alignment, Alignment], order: str
) -> None:
    assert swap_is_inverse(*both, "grow", order)


@given(st.permutations(range(7)), st.lists(st.sampled_from("fb2-"), min_size=7, max_size=7))
def test_swapping_languages_inverts_all_where_no_links_compete(order: list[int], owners: list[str]) -> None:
    links = list(zip(range(7), order, owners, strict=True))
    forward = Alignment.of([(s, t) for s, t, owner in links if owner in "f2"])
    backward = Alignment.of([(s, t) for s, t, owner in links if owner in "b2"])
    for heuristic, tried in product(HEURISTICS, ORDERS):
        assert swap_is_inverse(forward, backward, heuristic, tried)


def test_probabilities_of_both_directions_are_averaged_and_of_one_kept() -> None:
    forward = Alignment.of([(0, 0), (1, 1)], [0.9, 0.6])
    backward = Alignment.of([(0, 0), (1, 2)], [0.4, 0.2])
    result = symmetrize(forward, backward, "union")
    assert result.links == ((0, 0), (1, 1), (1, 2))
    assert result.probabilities == pytest.approx((sqrt(0.36), 0.6, 0.2))


def test_scores_below_zero_are_averaged_as_logarithms() -> None:
    result = symmetrize(Alignment.of([(0, 0)], [-1.0]), Alignment.of([(0, 0)], [-3.0]), "intersection")
    assert result.probabilities == (-2.0,)


def test_probabilities_of_one_direction_alone_are_dropped_but_no_links_lack_none() -> None:
    scored = Alignment.of([(0, 0), (1, 1)], [0.9, 0.6])
    assert symmetrize(scored, Alignment.of([(0, 0)]), "union").probabilities is None
    assert symmetrize(scored, Alignment(), "union") == scored
    assert symmetrize(scored, Alignment(), "intersection") == Alignment()


@pytest.mark.parametrize("order", ORDERS)
def test_long_and_short_pairs_together_are_symmetrized_as_each_by_itself(
    monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    random = Random(3)

    def some(size: int) -> Alignment:
        return Alignment.of([(random.randrange(size), random.randrange(size)) for _ in range(size)])

    sizes = [1, 7, 300, 2, 0, 1500, 30, 5]
    forward, backward = ([some(size) for size in sizes] for _ in range(2))
    for heuristic in GROWING:
        alone = [symmetrize(a, b, heuristic, order=order) for a, b in zip(forward, backward, strict=True)]
        assert [*symmetrize_all(forward, backward, heuristic, order=order)] == alone
        monkeypatch.setattr(symmetrization, "ROOM", 2000)
        assert [*symmetrize_all(forward, backward, heuristic, order=order)] == alone


def test_links_at_words_that_no_sentence_has_are_refused() -> None:
    with pytest.raises(InputError, match="word 1,000,000,000"):
        symmetrize(Alignment.of([(0, 0)]), Alignment.of([(0, 999_999_999)]))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UsageError, match=r"heuristic must be one of .*, got 'grow-diagonal'"):
        symmetrize(Alignment(), Alignment(), "grow-diagonal")
    with pytest.raises(UsageError, match=r"order must be one of .*, got 'giza'"):
        symmetrize(Alignment(), Alignment(), "grow", order="giza")


def test_streams_and_names_the_line_that_is_missing() -> None:
    one = [parse("0-0")]
    stream = symmetrize_all(one * 2, one, "union", names=("fwd.txt", "bwd.txt"))
    assert str(next(stream)) == "0-0"
    with pytest.raises(InputError, match=r"^bwd\.txt:2: this line is missing, but fwd\.txt has it"):
        next(stream)
    with pytest.raises(InputError, match=r"^forward:1: "):
        list(symmetrize_all([], one, "union"))


@pytest.mark.slow
def test_a_hundred_thousand_pairs_of_twenty_words_take_well_under_ten_seconds() -> None:
    generator = Random(1)

    def beside(place: int) -> int:
        return min(19, max(0, round(place + generator.gauss(0, 0.3))))

    pairs = [
        (
            Alignment.of([(beside(t), t) for t in range(20) if generator.random() < 0.9]),
            Alignment.of([(s, beside(s)) for s in range(20) if generator.random() < 0.9]),
        )
        for _ in range(10_000)
    ]
    forward, backward = zip(*pairs, strict=True)
    seconds = []
    for _ in range(10):
        start = process_time()
        deque(symmetrize_all(forward, backward, "grow-diag-final-and"), 0)
        seconds.append(process_time() - start)
    assert 10 * min(seconds) < 5  # the least: other work on the machine only adds
