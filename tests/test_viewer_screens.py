"""The page on every screen, in light and dark, and for every reader. Skipped without a browser."""

from __future__ import annotations

import pytest

from bitweft.links.alignment import Alignment
from bitweft.text.bitext import SentencePair, tokenize
from chromium import (
    ALIGNMENTS,
    GOLDS,
    NEEDED,
    PAIRS,
    SIZES,
    Open,
    kinds,
    listed,
    lit,
    pair,
    settle,
)

pytestmark = NEEDED


LONG = SentencePair(
    tokenize(" ".join(f"word{k}" for k in range(70))), tokenize(" ".join(f"mot{k}" for k in range(64)))
)


@pytest.mark.parametrize("size", list(SIZES))
def test_it_fits_every_screen(show: Open, size: str) -> None:
    links = Alignment.of([(k, k) for k in range(60)] + [(69, 0)])
    pairs = [*PAIRS, LONG, pair("x" * 400, "y"), pair("", "")]
    tab = show(pairs, [*ALIGNMENTS, links, Alignment(), Alignment()], size=size, number=4)
    for number in range(4, 7):
        tab.evaluate(f"location.hash = '#{number}'")
        settle(tab)
        for view in ("links", "matrix"):
            tab.click(f"#as-{view}")
            assert tab.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    tab.evaluate("location.hash = '#4'")
    tab.click("#as-links")
    edges = "all => all.map(each => each.getBoundingClientRect()).map(box => [box.left, box.right])"
    ((left, right),) = tab.eval_on_selector_all("#stage", edges)
    boxes = tab.eval_on_selector_all("#stage .word", edges)
    assert len(boxes) == 134 and all(left <= box[0] and box[1] <= right for box in boxes)
    assert tab.locator(".field .thread").count() == 61
    if size != "phone":
        assert tab.locator(".field .thread.far").count() >= 1  # 69-0 leaves its band; few others do
        assert tab.locator(".field .thread.far").count() < 10


def test_the_list_opens_over_the_page_on_a_phone(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS, size="phone")
    assert not tab.is_visible("#list")
    tab.tap("#browse-open")
    assert tab.evaluate("document.querySelector('main').inert")  # what lies below cannot be reached
    tab.keyboard.press("Escape")
    assert not tab.is_visible("#list")
    assert tab.evaluate("document.activeElement.id") == "browse-open"
    tab.tap("#browse-open")
    tab.tap("#list [data-item='1']")
    assert not tab.is_visible("#list") and tab.input_value("#place") == "2"
    assert not tab.evaluate("document.querySelector('main').inert")


def test_the_list_opens_at_the_pair_on_show(show: Open) -> None:
    pairs = [pair(f"a{k}", f"b{k}") for k in range(200)]
    tab = show(pairs, [Alignment.of([(0, 0)])] * 200, size="phone", number=150)
    tab.tap("#browse-open")
    settle(tab)
    assert "150" in listed(tab) and tab.is_visible("#list [aria-selected=true]")


def test_it_is_drawn_anew_for_another_width(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS)
    assert tab.locator(".field.rows").count() == 1
    tab.set_viewport_size({"width": 360, "height": 740})
    settle(tab)
    assert tab.locator(".field.columns").count() == 1 and len(kinds(tab, ".field .thread")) == 6
    tab.keyboard.press("w")
    tab.keyboard.press("ArrowDown")
    assert lit(tab) == {("source", 1), ("target", 2)}
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("document.activeElement.textContent") == "bleue"


def test_another_page_can_use_the_drawing(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS)
    tab.evaluate(
        "() => { const root = document.body.appendChild(document.createElement('div')); root.id = 'other';"
        " const side = text => ({ text, words: text.split(' ') });"
        " const pair = bitweft.makePair(side('good day'), side('bonjour'), [[0, 0, 0.75], [1, 0]]);"
        " const lit = seed => { root.title = JSON.stringify(seed); };"
        " new bitweft.Stage(root, { lit }).show(pair, bitweft.shown(pair, { threshold: 0 })); }"
    )
    assert tab.locator("#other .thread").count() == 2
    tab.hover("#other .word[data-side=target]")
    assert tab.locator("#other .word.on").count() == 3
    assert tab.get_attribute("#other", "title") == '{"side":"target","at":0}'


def test_bands_hold_every_word_once_and_fit(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS)
    cases = [(1, 200), (200, 1), (0, 300), (300, 0), (40, 60), (250, 240), (2100, 2000)]
    for n, m in cases:
        cuts = tab.evaluate(
            "([n, m]) => bitweft.bands(Array(n).fill(60), Array(m).fill(50),"
            " Array.from({length: Math.min(n, m)}, (_, k) => ({s: k, t: k})), 800, 6)",
            [n, m],
        )
        for start, end, total in ((0, 1, n), (2, 3, m)):
            assert [cut[start] for cut in cuts] == [0, *(cut[end] for cut in cuts[:-1])]
            assert cuts[-1][end] == total
        assert all(66 * (s2 - s) - 6 <= 800 and 56 * (t2 - t) - 6 <= 800 for s, s2, t, t2 in cuts)


def contrast(one: str, other: str) -> float:
    """Compute the contrast of two colors `rgb(r, g, b)` by the rule of WCAG 2."""

    def light(color: str) -> float:
        channels = [int(part) / 255 for part in color.removeprefix("rgb(").removesuffix(")").split(",")]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_have_contrast_and_the_button_turns_them(show: Open, scheme: str) -> None:
    tab = show(PAIRS, ALIGNMENTS, GOLDS, scheme=scheme)

    def colors() -> dict[str, str]:
        found: dict[str, str] = tab.evaluate(
            "names => Object.fromEntries(names.map(name => { const e = document.createElement('i');"
            " e.style.color = `var(--${name})`; document.body.append(e);"
            " const color = getComputedStyle(e).color; e.remove(); return [name, color]; }))",
            ["paper", "card", "wash", "ink", "soft", "thread", "wrong", "missed", "focus", "edge"],
        )
        for ground in ("paper", "card", "wash"):
            for ink in ("ink", "soft"):
                assert contrast(found[ink], found[ground]) >= 4.5, (ink, ground)
            for line in ("thread", "wrong", "missed", "focus"):
                assert contrast(found[line], found[ground]) >= 3, (line, ground)
        assert contrast(found["edge"], found["card"]) >= 3  # borders of the controls
        assert contrast(found["card"], found["thread"]) >= 4.5  # the pressed button
        return found

    before = colors()
    tab.click("#theme")
    assert colors()["paper"] != before["paper"]
    tab.keyboard.press("t")
    assert colors() == before


def test_everything_has_a_name_and_a_place(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS, GOLDS)
    tab.click("#filters summary")
    for role, count in (
        ("banner", 1),
        ("navigation", 1),
        ("main", 1),
        ("listbox", 1),
        ("toolbar", 1),
        ("heading", 1),
    ):
        assert tab.get_by_role(role).count() == count, role
    unnamed = tab.evaluate(
        "() => [...document.querySelectorAll('button, input, select')].filter(e => e.offsetParent !== null &&"
        " !(e.getAttribute('aria-label') || e.labels?.length || e.textContent.trim())).map(e => e.outerHTML)"
    )
    assert unnamed == []
    assert tab.get_by_role("button", name="the: la 95 %; colline 20 %, wrong").count() == 1
    assert tab.get_by_role("slider", name="Threshold").count() == 1
    tab.keyboard.press("w")
    assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_motion_is_reduced_on_wish(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS)
    duration = "getComputedStyle(document.querySelector('.word')).transitionDuration"
    assert tab.evaluate(duration) != "0s"
    tab.emulate_media(reduced_motion="reduce")
    assert tab.evaluate(duration) == "0s"
