"""What was seen to go wrong on the page, and what was missing, on every screen. Skipped without a browser."""

from __future__ import annotations

from typing import Any

import pytest

from bitweft.links.alignment import Alignment, GoldAlignment
from chromium import (
    ALIGNMENTS,
    GOLDS,
    NEEDED,
    PAIRS,
    SIZES,
    Open,
    kinds,
    listed,
    numbers,
    pair,
    settle,
    slide,
    word,
)

pytestmark = NEEDED

LONG = pair(" ".join(f"word{k}" for k in range(60)), " ".join(f"mot{k}" for k in range(60)))
DIAGONAL = [(k, k) for k in range(60)]


def box(tab: Any, selector: str) -> dict[str, float]:
    found: dict[str, float] = tab.locator(selector).bounding_box()
    return found


@pytest.mark.parametrize("size", list(SIZES))
def test_a_long_line_about_a_word_prints_over_nothing(show: Open, size: str) -> None:
    many = Alignment.of([(0, t) for t in range(40)], [0.9] * 40)
    tab = show([LONG], [many], [GoldAlignment.of(many.links)], size=size)
    tab.evaluate("window.innerHeight && (document.querySelector('#stage').style.minHeight = '900px')")
    tab.focus(word("source", 0))
    settle(tab)
    line, below = box(tab, "#readout"), box(tab, "#numbers")
    text = tab.evaluate(
        "() => { const all = document.createRange();"
        " all.selectNodeContents(document.querySelector('#readout'));"
        " return all.getBoundingClientRect().height; }"
    )
    assert text > 1.5 * 16 * 1.15  # it has several lines
    assert line["height"] >= text - 1 and line["y"] + line["height"] <= below["y"]


def test_another_order_is_read_from_its_top(show: Open) -> None:
    pairs = [pair("a b", "c d") for _ in range(60)]
    links = [Alignment.of([(0, 0)]) for _ in range(59)] + [Alignment.of([(0, 1)])]
    tab = show(pairs, links, [GoldAlignment.of([(0, 0)])] * 60, number=30)
    tab.click("#filters summary")
    tab.select_option("#order", "aer")
    settle(tab)
    assert listed(tab)[0] == "60" and tab.input_value("#place") == "60"
    assert tab.get_attribute("#list [aria-selected=true] ", "data-item") == "59"
    assert tab.evaluate("document.querySelector('#list').scrollTop") == 0


@pytest.mark.parametrize("size", list(SIZES))
def test_the_words_of_a_big_matrix_stay_in_sight(show: Open, size: str) -> None:
    tab = show([LONG], [Alignment.of(DIAGONAL)], size=size)
    tab.click("#as-matrix")
    tab.evaluate(
        "() => { const m = document.querySelector('.matrix'); m.scrollTo(m.scrollWidth, m.scrollHeight); }"
    )
    settle(tab)
    frame = box(tab, ".matrix")
    assert frame["height"] <= SIZES[size][1] and frame["width"] <= SIZES[size][0]
    assert box(tab, ".sheet.heads")["y"] == pytest.approx(frame["y"], abs=1)
    assert box(tab, ".sheet.names")["x"] == pytest.approx(frame["x"], abs=1)
    last, head = box(tab, "#stage .cell[data-t='59'] .grip"), box(tab, word("target", 59))
    assert abs(head["x"] - (last["x"] + last["width"] / 2)) < 24  # the head stands above its column


@pytest.mark.parametrize("size", list(SIZES))
def test_a_big_matrix_can_be_fitted_to_the_screen(show: Open, size: str) -> None:
    tab = show([LONG], [Alignment.of(DIAGONAL)], size=size)
    tab.keyboard.press("v")
    tab.keyboard.press("f")
    settle(tab)
    assert tab.is_checked("#fit")
    inside = (
        "() => { const m = document.querySelector('.matrix');"
        " return [m.scrollWidth - m.clientWidth, m.scrollHeight - m.clientHeight]; }"
    )
    assert max(tab.evaluate(inside)) <= 0
    assert box(tab, ".matrix")["height"] <= SIZES[size][1]
    assert tab.locator("#stage .cell").count() == 60
    tab.keyboard.press("v")
    assert not tab.is_visible("#fit")


THROUGH = """() => {
  const inside = (box, x, y) =>
    x > box.left + 1 && x < box.right - 1 && y > box.top + 1 && y < box.bottom - 1;
  const words = [...document.querySelectorAll('#stage .word')].map((each) => each.getBoundingClientRect());
  const drawn = [...document.querySelectorAll('#stage .thread, #stage .stub')]
    .filter((each) => getComputedStyle(each).visibility === 'visible');
  const frame = document.querySelector('#stage svg.threads').getBoundingClientRect();
  const points = (path) =>
    Array.from({ length: 30 }, (_, i) => path.getPointAtLength(path.getTotalLength() * i / 29));
  const crossing = drawn.filter((path) => points(path).some(({ x, y }) =>
    words.some((box) => inside(box, x + frame.left, y + frame.top))));
  return [drawn.length, crossing.length];
}"""


@pytest.mark.parametrize("size", list(SIZES))
def test_no_link_runs_through_a_word(show: Open, size: str) -> None:
    crossed = [*DIAGONAL, (2, 57), (58, 3), (30, 1), (5, 40)]
    tab = show([LONG], [Alignment.of(crossed)], size=size)
    drawn, crossing = tab.evaluate(THROUGH)
    assert drawn >= 64 and crossing == 0
    if size != "phone":
        far = tab.locator("#stage .thread.far[data-s='2'][data-t='57']")
        assert not far.is_visible() and tab.locator("#stage .stub[data-s='2'][data-t='57']").count() == 2
        tab.hover(word("source", 2))
        assert far.evaluate("each => getComputedStyle(each).visibility") == "visible"


def test_sure_and_possible_gold_links_are_switched_apart(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS, GOLDS)
    made = ["possible", "sure", "sure", "sure", "wrong", "wrong"]
    tab.uncheck("#possible")
    assert kinds(tab, ".field .thread") == sorted(["missed", *made])
    tab.check("#possible")
    tab.uncheck("#sure")
    assert kinds(tab, ".field .thread") == sorted(["open", *made])
    tab.uncheck("#possible")
    assert kinds(tab, ".field .thread") == ["link"] * 6
    tab.keyboard.press("g")
    assert kinds(tab, ".field .thread") == sorted(["missed", "open", *made])


def test_a_thicket_of_possible_links_is_not_drawn_at_once(show: Open) -> None:
    block = [(s, t) for s in range(6) for t in range(6)]
    tab = show(PAIRS, ALIGNMENTS, [GoldAlignment.of([(0, 0)], block), *GOLDS[1:]])
    assert not tab.is_checked("#possible") and "open" not in kinds(tab, ".field .thread")
    tab.check("#possible")
    assert kinds(tab, ".field .thread").count("open") == 30


def test_the_threshold_begins_where_the_links_were_cut(show: Open) -> None:
    cut = [Alignment.of([(0, 0), (1, 2)], [0.525, 0.9]), *ALIGNMENTS[1:2], Alignment.of([(0, 0)], [0.6])]
    tab = show(PAIRS, [cut[0], Alignment.of([(0, 0)], [0.7]), cut[2]])
    assert tab.inner_text("#threshold-value") == "0.52" and tab.get_attribute("#threshold", "min") == "0.52"
    assert numbers(tab, "#totals")["Links"] == "4"
    slide(tab, "#threshold", 0.55)
    assert numbers(tab, "#totals")["Links"] == "3"


def test_links_that_are_all_certain_have_no_threshold(show: Open) -> None:
    tab = show(PAIRS[2:], [Alignment.of([(0, 0)], [1.0])])
    assert tab.locator("#threshold").count() == 0 and "probable" not in tab.inner_text("#legend")
    assert tab.inner_text("#list .badge") == ""


def test_an_empty_pair_says_that_it_is_empty(show: Open) -> None:
    tab = show([pair("", ""), pair("a", "")], [Alignment(), Alignment()])
    assert "Both sentences" in tab.inner_text("#stage") and tab.inner_text("#readout") == ""
    tab.keyboard.press("j")
    assert tab.locator(".word").all_inner_texts() == ["a"]
    assert tab.inner_text("#readout") == "The target sentence is empty: there is nothing to link."


def searched(tab: Any, text: str, mode: str = "words") -> list[str]:
    tab.select_option("#mode", mode)
    tab.fill("#search", text)
    settle(tab)
    return listed(tab)


@pytest.mark.parametrize("matrix", [False, True])
def test_words_of_either_side_are_found_and_marked_in_the_drawing(show: Open, matrix: bool) -> None:
    pairs = [*PAIRS, pair("a lighthouse .", "un phare ."), pair("Cafe\u0301 House (1)", "maison du café")]
    tab = show(pairs, [*ALIGNMENTS, Alignment(), Alignment()])
    if matrix:
        tab.click("#as-matrix")
    assert searched(tab, "house maison") == ["1", "5"]
    assert sorted(tab.locator("#stage .word.hit").all_text_contents()) == ["house", "maison"]
    assert tab.locator("#list mark").all_inner_texts()[:2] == ["house", "maison"]
    assert searched(tab, "house") == ["1", "4", "5"]
    assert searched(tab, "house", "exact") == ["1"]
    assert searched(tab, "House (1)", "exact") == ["5"]
    assert tab.locator("#stage .word.hit").all_text_contents() == ["House", "(1)"]
    assert searched(tab, "café") == ["5"]  # however its accent is written
    assert searched(tab, "^a .*house", "pattern") == ["4"]
    assert searched(tab, "house( [-^$", "words") == []
    assert searched(tab, "house(", "pattern") == ["1", "2", "3", "4", "5"]
    assert "regular expression" in tab.inner_text("#found")


OTHERS = [Alignment.of([(0, 0), (1, 2), (5, 5), (4, 5)]), ALIGNMENTS[1], Alignment()]


@pytest.mark.parametrize("size", list(SIZES))
def test_two_systems_are_compared_in_one_drawing(show: Open, size: str) -> None:
    tab = show(PAIRS, ALIGNMENTS, GOLDS, others=OTHERS, systems=("mine", "B's"), size=size)
    drawn = sorted(["both"] * 2 + ["only-a"] * 4 + ["only-b"] * 2)
    assert kinds(tab, ".field .thread") == drawn
    assert {name: numbers(tab, "#numbers")[name] for name in ("Both", "Only A", "Only B")} == {
        "Both": "2",
        "Only A": "4",
        "Only B": "2",
    }
    assert numbers(tab, "#totals")["Both"] == "6" and numbers(tab, "#totals")["Only A"] == "5"
    assert "only A: mine" in tab.inner_text("#legend") and "only B: B's" in tab.inner_text("#legend")
    tab.keyboard.press("v")
    assert kinds(tab, "#stage .cell") == drawn
    tab.keyboard.press("g")  # gold was on: off, on again, and the comparison makes room
    tab.keyboard.press("g")
    assert "wrong" in kinds(tab, "#stage .cell") and not tab.is_checked("#compare")
    tab.keyboard.press("c")
    assert kinds(tab, "#stage .cell") == drawn


def test_pairs_are_found_by_how_the_systems_differ(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS, others=OTHERS)
    tab.click("#filters summary")
    tab.select_option("#apart", "alike")
    settle(tab)
    assert listed(tab) == ["2"]
    tab.select_option("#apart", "any")
    tab.select_option("#order", "apart")
    settle(tab)
    assert listed(tab) == ["1", "3", "2"]


@pytest.mark.parametrize("size", list(SIZES))
def test_a_clicked_word_shows_every_place_it_stands_at(show: Open, size: str) -> None:
    pairs = [*PAIRS, pair("The end", "la fin"), pair("other", "la")]
    links = [*ALIGNMENTS, Alignment.of([(0, 0), (1, 1)], [0.9, 0.8]), Alignment.of([(0, 0)], [0.9])]
    tab = show(pairs, links, size=size)
    assert not tab.is_visible("#concordance")
    tab.click(word("source", 4))
    panel = tab.locator("#concordance")
    assert panel.locator("h2").inner_text() == "the – 3 places in 2 pairs"
    assert panel.locator(".translations li").all_inner_texts() == ["la 2", "la … colline 1"]
    assert panel.locator(".kwic-line").count() == 3
    assert tab.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    slide(tab, "#threshold", 0.5)
    tab.keyboard.press("Escape")
    tab.click(word("source", 4))
    assert panel.locator(".translations li").all_inner_texts() == ["la 2", "no link 1"]
    panel.locator(".kwic-line").last.click()
    assert tab.input_value("#place") == "4" and not panel.is_visible()


@pytest.mark.parametrize("size", list(SIZES))
def test_what_is_said_of_a_word_is_in_sight_in_a_long_pair(show: Open, size: str) -> None:
    tab = show([LONG], [Alignment.of(DIAGONAL, [0.9] * 60)], size=size)
    tab.evaluate("document.querySelector('#stage').style.minHeight = '3000px'")
    tab.click(word("source", 0))
    settle(tab)
    line = box(tab, "#readout")
    assert line["y"] >= 0 and line["y"] + line["height"] <= SIZES[size][1]
    tab.click("#places")
    settle(tab)
    assert 0 <= box(tab, "#concordance")["y"] < SIZES[size][1]
    assert tab.evaluate("document.activeElement.className") == "kwic-line"
    tab.keyboard.press("Escape")
    assert not tab.is_visible("#places")


def test_the_bands_of_a_long_pair_are_alike(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS)
    cuts = tab.evaluate(
        "bitweft.bands(Array(27).fill(60), Array(27).fill(60),"
        " Array.from({ length: 27 }, (_, k) => ({ s: k, t: k })), 860, 6)"
    )
    assert [cut[1] - cut[0] for cut in cuts] == [9, 9, 9]  # not 13, 13 and 1
