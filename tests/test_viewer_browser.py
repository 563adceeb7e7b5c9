"""The page in a real browser: what pointing, sliding, searching and typing do. Skipped without one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.evaluate import Counts, evaluate
from bitweft.text.bitext import Sentence, SentencePair, tokenize
from bitweft.viewer import page as write_page
from chromium import (
    ALIGNMENTS,
    GOLDS,
    NEEDED,
    PAIRS,
    Chromium,
    Open,
    kinds,
    listed,
    lit,
    numbers,
    pair,
    settle,
    slide,
    word,
)

pytestmark = NEEDED


def expected(threshold: float) -> dict[str, str]:
    kept = [
        Alignment.of([link for link, p in zip(a.links, a.probabilities or (), strict=True) if p >= threshold])
        for a in ALIGNMENTS
    ]
    score = evaluate(kept, GOLDS)
    rates = {"Precision": score.precision, "Recall": score.recall, "AER": score.aer}
    return {
        "Pairs": "3",
        "Links": str(score.links),
        **{name: f"{100 * rate:.1f} %" for name, rate in rates.items()},
    }


def test_it_opens_by_itself_and_draws_links(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS, title="Houses", note="links of mine")
    assert tab.title() == "Houses" and tab.inner_text("h1") == "Houses"
    assert tab.locator(".word").all_inner_texts() == [*PAIRS[0].source.tokens, *PAIRS[0].target.tokens]
    assert kinds(tab, ".field .thread") == ["link"] * 6
    assert numbers(tab, "#totals") == {"Pairs": "3", "Links": "11"}
    assert numbers(tab, "#numbers") == {"Links": "6", "Unaligned": "1 + 0", "Mean probability": "66 %"}
    assert tab.locator("#sure, #possible").count() == 0


@pytest.mark.parametrize("matrix", [False, True])
def test_pointing_at_a_word_lights_its_partners_on_both_sides(show: Open, matrix: bool) -> None:
    tab = show(PAIRS, ALIGNMENTS)
    if matrix:
        tab.click("#as-matrix")
    tab.hover(word("source", 0))
    assert lit(tab) == {("source", 0), ("target", 0), ("target", 5)}
    assert tab.inner_text("#readout") == "the – la 95 %; colline 20 %"
    tab.hover(word("target", 5))
    assert lit(tab) == {("source", 0), ("target", 5)}
    tab.hover("h1")
    assert lit(tab) == set()
    tab.click(word("source", 5))
    tab.hover("h1")
    assert lit(tab) == {("source", 5)} and "has no link" in tab.inner_text("#readout")
    tab.keyboard.press("Escape")
    assert lit(tab) == set()


def test_a_tap_holds_a_word_and_another_lets_it_go(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS, size="phone", number=2)
    tab.tap(word("source", 1))
    assert lit(tab) == {("source", 1), ("target", 1), ("target", 3)}
    tab.tap(word("source", 1))
    tab.evaluate("document.activeElement.blur()")
    assert lit(tab) == set()


def test_the_slider_sets_the_threshold_for_drawing_and_counting(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS, GOLDS)
    for threshold, links in ((0.2, 6), (0.4, 5), (0.75, 3), (1, 0)):
        slide(tab, "#threshold", threshold)
        made = [kind for kind in kinds(tab, ".field .thread") if kind not in ("missed", "open")]
        assert len(made) == links
        assert numbers(tab, "#totals") == expected(threshold)
    tab.keyboard.press("[")
    settle(tab)
    assert tab.inner_text("#threshold-value") == "0.95"


def test_the_slider_starts_where_it_is_told_to(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS, threshold=0.6)
    assert tab.input_value("#threshold") == "0.6"
    assert len(kinds(tab, ".field .thread")) == 4


def test_gold_links_are_told_apart_and_counted(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS, GOLDS)
    seen = sorted(["sure"] * 3 + ["possible", "wrong", "wrong", "missed", "open"])
    assert kinds(tab, ".field .thread") == seen
    assert kinds(tab, ".field .sign") == ["missed", "wrong", "wrong"]  # told apart without color
    assert numbers(tab, "#totals") == expected(0)
    counts = Counts.of(ALIGNMENTS[0], GOLDS[0])
    assert numbers(tab, "#numbers")["AER"] == f"{100 * counts.aer:.1f} %"
    tab.keyboard.press("v")
    assert kinds(tab, "#stage .cell") == seen
    assert tab.locator("#stage .cell .frame").count() == 6 and tab.locator("#stage .cell .cross").count() == 2
    assert kinds(tab, "#legend .cell") == sorted([*set(seen), *["link"] * 4])
    tab.uncheck("#sure")
    tab.uncheck("#possible")
    assert kinds(tab, "#stage .cell") == ["link"] * 6


def test_more_probable_links_are_stronger(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS)
    opacity = tab.eval_on_selector_all(
        ".field .thread", "all => all.map(e => Number(getComputedStyle(e).opacity))"
    )
    likely = [p for p in ALIGNMENTS[0].probabilities or ()]
    assert sorted(range(6), key=opacity.__getitem__) == sorted(range(6), key=likely.__getitem__)


def test_search_filters_and_order(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS, GOLDS)
    assert listed(tab) == ["1", "2", "3"]
    tab.keyboard.press("/")
    tab.keyboard.type("JAMAIS")
    settle(tab)
    assert listed(tab) == ["2"] and tab.inner_text("#list mark") == "jamais"
    assert tab.inner_text("#found") == "1 of 3 pairs" and tab.input_value("#place") == "2"
    tab.fill("#search", "nowhere")
    settle(tab)
    assert listed(tab) == [] and "No pair" in tab.inner_text("#stage")
    tab.click("#filters summary")
    tab.click("#reset")
    assert listed(tab) == ["1", "2", "3"] and tab.locator(".word").count() > 0
    steps: list[tuple[Callable[[], Any], list[str]]] = [
        (lambda: tab.select_option("#against", "differs"), ["1"]),
        (lambda: tab.select_option("#against", "agrees"), ["2", "3"]),
        (lambda: tab.fill("#unaligned", "1"), ["1"]),
        (lambda: slide(tab, "#score", 90), ["1", "2"]),
        (lambda: slide(tab, "#score", 70), ["1"]),
        (lambda: tab.select_option("#order", "high"), ["3", "2", "1"]),
        (lambda: tab.select_option("#order", "low"), ["1", "2", "3"]),
        (lambda: tab.select_option("#order", "aer"), ["1", "2", "3"]),
    ]
    for choose, left in steps:
        choose()
        settle(tab)
        assert listed(tab) == left
        tab.click("#reset")


def test_scores_that_are_given_take_the_place_of_mean_probabilities(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS, scores=[-3.0, -10.0, None])
    assert tab.locator("#list .badge").all_inner_texts() == ["-3", "-10", "–"]
    tab.click("#filters summary")
    slide(tab, "#score", 50)
    assert tab.inner_text("#score-value") == "-6.5" and listed(tab) == ["2", "3"]


def test_the_keyboard_does_everything(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS, GOLDS)
    for key, number in (("j", "2"), ("n", "3"), ("j", "3"), ("k", "2"), ("p", "1"), ("k", "1")):
        tab.keyboard.press(key)
        assert tab.input_value("#place") == number
    tab.keyboard.press("n")
    assert tab.text_content("#spoken") == "Pair 2: she never reads – elle ne lit jamais"
    assert tab.evaluate("location.hash") == "#2"
    tab.keyboard.press("w")
    tab.keyboard.press("ArrowRight")
    assert lit(tab) == {("source", 1), ("target", 1), ("target", 3)}
    tab.keyboard.press("ArrowDown")
    assert tab.evaluate("document.activeElement.textContent") == "ne"
    tab.keyboard.press("v")
    assert (
        tab.get_attribute("#as-matrix", "aria-pressed") == "true" and tab.locator("#stage .cell").count() == 4
    )
    tab.keyboard.press("w")
    tab.keyboard.press("ArrowDown")
    assert lit(tab) == {("source", 1), ("target", 1), ("target", 3)}
    tab.keyboard.press("ArrowUp")
    tab.keyboard.press("Enter")
    tab.evaluate("document.activeElement.blur()")
    assert lit(tab) == {("source", 0), ("target", 0)}
    tab.keyboard.press("?")
    assert tab.is_visible("#help")
    tab.keyboard.press("Escape")
    assert not tab.is_visible("#help")
    tab.focus("#list")
    tab.keyboard.press("End")
    assert tab.input_value("#place") == "3"
    tab.fill("#place", "1")
    tab.keyboard.press("Enter")
    assert (
        tab.input_value("#place") == "1"
        and tab.get_attribute("#list [aria-selected=true]", "data-item") == "0"
    )


def test_ten_thousand_pairs_scroll_and_search(show: Open) -> None:
    many = 10_000
    pairs = [
        pair(f"word{k} " + "a b c d e f g h i j", f"mot{k} " + "k l m n o p q r s t") for k in range(many)
    ]
    links = Alignment.of([(k, k) for k in range(11)], [0.5 + k / 30 for k in range(11)])
    tab = show(pairs, [links] * many, [GoldAlignment.of(links.links)] * many)
    assert numbers(tab, "#totals")["Links"] == "110,000"
    assert tab.locator("#list [role=option]").count() < 40
    tab.focus("#list")
    tab.keyboard.press("End")
    assert tab.input_value("#place") == "10000" and listed(tab)[-1] == "10,000"
    assert tab.locator("#list [role=option]").count() < 40
    tab.fill("#search", "mot9876 ")
    settle(tab)
    assert listed(tab) == ["9,877"] and tab.locator(".word").first.inner_text() == "word9876"
    spent = tab.evaluate(
        "() => { const start = performance.now(); bitweft.page.setThreshold(0.7); bitweft.page.recount();"
        " return performance.now() - start; }"
    )
    assert spent < 2000
    assert numbers(tab, "#totals")["Links"] == "50,000"


ATTACKS = [
    "</script><script>window.hacked=1</script>",
    "<img/src=x/onerror=window.hacked=1>",
    "<svg/onload=window.hacked=1>",
    "'\"><iframe/src=javascript:alert(1)>",
    "{{7*7}}",
    "<!--",
]


def test_text_stays_text(show: Open) -> None:
    evil = SentencePair(Sentence(ATTACKS, " ".join(ATTACKS)), Sentence(ATTACKS, " ".join(ATTACKS)))
    links = Alignment.of([(k, k) for k in range(len(ATTACKS))])
    tab = show([evil], [links], title=ATTACKS[0], note=ATTACKS[1])
    assert tab.title() == ATTACKS[0]
    for view in ("links", "matrix"):
        tab.click(f"#as-{view}")
        tab.hover(word("source", 1))
        assert ATTACKS[1] in tab.inner_text("#readout")
    tab.fill("#search", "<img")
    settle(tab)
    assert tab.inner_text("#list mark") == "<img"
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("img, iframe, script:not([id=data])").count() == 1


def test_the_policy_is_in_force(chromium: Chromium, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    with file.open("w", encoding="utf-8") as stream:
        write_page(PAIRS, ALIGNMENTS, stream=stream)
    text = file.read_text(encoding="utf-8").replace("</body>", "<script>window.hacked = 1</script></body>")
    file.write_text(text, encoding="utf-8")
    tab = chromium.tab()
    refused: list[str] = []
    tab.on("console", lambda message: refused.append(message.text))
    tab.goto(file.as_uri())
    assert tab.evaluate("window.hacked") is None and any(
        "Content Security Policy" in each for each in refused
    )
    assert tab.locator(".word").count() == 12
    tab.close()


def lefts(tab: Any, side: str) -> list[float]:
    found: list[float] = tab.eval_on_selector_all(
        f"#stage .word[data-side={side}]", "all => all.map(w => w.getBoundingClientRect().left)"
    )
    return found


def test_right_to_left_and_unspaced_scripts(show: Open) -> None:
    hebrew = pair("the children eat apples", "הילדים אוכלים תפוחים")
    chinese = SentencePair(tokenize("I like books"), tokenize("我喜欢书", "char"))
    tab = show(
        [hebrew, chinese], [Alignment.of([(0, 0), (1, 0), (2, 1), (3, 2)]), Alignment.of([(0, 0), (2, 3)])]
    )
    assert lefts(tab, "target") == sorted(lefts(tab, "target"), reverse=True)
    assert lefts(tab, "source") == sorted(lefts(tab, "source"))
    tab.keyboard.press("w")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowLeft")
    assert tab.evaluate("document.activeElement.textContent") == "אוכלים"
    tab.keyboard.press("j")
    assert tab.locator("#stage .word[data-side=target]").all_inner_texts() == ["我", "喜", "欢", "书"]
    assert tab.locator("#list .text").nth(3).inner_text() == "我喜欢书"  # as written, not cut apart


def test_an_empty_text_is_said_to_be_empty(show: Open) -> None:
    tab = show([], [])
    assert "no sentence pairs" in tab.inner_text("#stage")
    tab.keyboard.press("j")
    tab.keyboard.press("v")
