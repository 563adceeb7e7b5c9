"""The page in a real browser: Chromium, driven by Playwright. Skipped where either is missing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from weft.alignment import Alignment, GoldAlignment
from weft.evaluation import Counts, evaluate
from weft.text import Sentence, SentencePair, tokenize
from weft.viewer import page as write_page

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium, as in Debian's package `chromium`"),
]

SIZES = {"phone": (360, 740), "laptop": (1280, 800), "wide": (1920, 1080)}
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pair(source: str, target: str) -> SentencePair:
    return SentencePair(tokenize(source), tokenize(target))


PAIRS = [
    pair("the blue house on the hill", "la maison bleue sur la colline"),
    pair("she never reads", "elle ne lit jamais"),
    pair("yes", "oui"),
]
ALIGNMENTS = [
    Alignment.of([(0, 0), (1, 2), (2, 1), (3, 3), (4, 4), (0, 5)], [0.95, 0.9, 0.8, 0.7, 0.4, 0.2]),
    Alignment.of([(0, 0), (1, 1), (1, 3), (2, 2)], [0.99, 0.5, 0.9, 0.97]),
    Alignment.of([(0, 0)], [1.0]),
]
# Of the first pair's links three are sure (0-0 1-2 2-1), one is possible (3-3), two are wrong (4-4 0-5);
# a sure one is missed (5-5), and a possible one left open (4-5).
GOLDS = [
    GoldAlignment.of([(0, 0), (1, 2), (2, 1), (5, 5)], [(3, 3), (4, 5)]),
    GoldAlignment.of([(0, 0), (1, 1), (1, 3), (2, 2)]),
    GoldAlignment.of([(0, 0)]),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


Open = Callable[..., Any]


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Open]:
    """Give a function that opens a window of a size and a colour scheme, once."""
    known: dict[tuple[str, str], Any] = {}

    def window(size: str, scheme: str) -> Any:
        if (size, scheme) not in known:
            width, height = SIZES[size]
            viewport = {"width": width, "height": height}
            known[size, scheme] = browser.new_context(
                viewport=viewport, color_scheme=scheme, has_touch=size == "phone"
            )
        return known[size, scheme]

    yield window
    for context in known.values():
        context.close()


@pytest.fixture
def show(window: Open, tmp_path: Path) -> Iterator[Open]:
    """Give a function that writes a page, opens it from its file, and afterwards looks for complaints."""
    complaints: list[str] = []
    tabs = []

    def show(
        *arguments: Any, size: str = "laptop", scheme: str = "light", number: int = 1, **options: Any
    ) -> Any:
        file = tmp_path / "page.html"
        with file.open("w", encoding="utf-8") as stream:
            write_page(*arguments, stream=stream, **options)
        tab = window(size, scheme).new_page()
        tabs.append(tab)
        tab.set_default_timeout(10_000)
        tab.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        tab.on("request", lambda asked: complaints.extend([asked.url] * (not asked.url.startswith("file:"))))
        tab.goto(f"{file.as_uri()}#{number}")
        settle(tab)
        return tab

    yield show
    for tab in tabs:
        tab.close()
    assert complaints == []


def settle(tab: Any) -> None:
    """Wait until work that was put off to the next frame is done."""
    tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def lit(tab: Any) -> set[tuple[str, int]]:
    found = tab.eval_on_selector_all(
        "#stage .word.on", "all => all.map(w => [w.dataset.side, Number(w.dataset.at)])"
    )
    return {(side, at) for side, at in found}


def word(side: str, at: int) -> str:
    return f"#stage .word[data-side={side}][data-at='{at}']"


def numbers(tab: Any, which: str) -> dict[str, str]:
    """Read a list of numbers: #totals or #numbers."""
    items = tab.eval_on_selector_all(
        f"{which} div", "all => all.map(d => [...d.children].map(c => c.textContent))"
    )
    return dict(items)


def kinds(tab: Any, selector: str) -> list[str]:
    """Name the kinds of the threads or cells drawn, in order."""
    classes = tab.eval_on_selector_all(selector, "all => all.map(e => e.getAttribute('class'))")
    return sorted(name.split()[1] for name in classes)


def slide(tab: Any, selector: str, value: float) -> None:
    tab.locator(selector).fill(str(value))
    settle(tab)


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
    assert tab.locator("#gold").count() == 0


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
    for threshold, links in ((0, 6), (0.4, 5), (0.75, 3), (1, 0)):
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
    assert kinds(tab, ".field .sign") == ["missed", "wrong", "wrong"]  # told apart without colour
    assert numbers(tab, "#totals") == expected(0)
    counts = Counts.of(ALIGNMENTS[0], GOLDS[0])
    assert numbers(tab, "#numbers")["AER"] == f"{100 * counts.aer:.1f} %"
    tab.keyboard.press("v")
    assert kinds(tab, "#stage .cell") == seen
    assert tab.locator("#stage .cell .frame").count() == 6 and tab.locator("#stage .cell .cross").count() == 2
    assert kinds(tab, "#legend .cell") == sorted([*set(seen), *["link"] * 4])
    tab.uncheck("#gold")
    assert kinds(tab, "#stage .cell") == ["link"] * 6


def test_more_probable_links_are_stronger(show: Open) -> None:
    tab = show(PAIRS, ALIGNMENTS)
    opacity = tab.eval_on_selector_all(
        ".field .thread", "all => all.map(e => Number(getComputedStyle(e).opacity))"
    )
    likely = [p for p in ALIGNMENTS[0].probabilities or ()]
    assert sorted(range(6), key=opacity.__getitem__) == sorted(range(6), key=likely.__getitem__)


def listed(tab: Any) -> list[str]:
    rows: list[str] = tab.locator("#list [role=option] .number").all_inner_texts()
    tops = tab.eval_on_selector_all(
        "#list [role=option]", "all => all.map(r => r.getBoundingClientRect().top)"
    )
    return [number for _, number in sorted(zip(tops, rows, strict=True))]


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
        "() => { const start = performance.now(); weft.page.setThreshold(0.7); weft.page.recount();"
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


def test_the_policy_is_in_force(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    with file.open("w", encoding="utf-8") as stream:
        write_page(PAIRS, ALIGNMENTS, stream=stream)
    text = file.read_text(encoding="utf-8").replace("</body>", "<script>window.hacked = 1</script></body>")
    file.write_text(text, encoding="utf-8")
    tab = browser.new_page()
    refused: list[str] = []
    tab.on("console", lambda message: refused.append(message.text))
    tab.goto(file.as_uri())
    assert tab.evaluate("window.hacked") is None and any(
        "Content Security Policy" in each for each in refused
    )
    assert tab.locator(".word").count() == 12
    tab.context.close()


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
        " const pair = weft.makePair(side('good day'), side('bonjour'), [[0, 0, 0.75], [1, 0]]);"
        " const lit = seed => { root.title = JSON.stringify(seed); };"
        " new weft.Stage(root, { lit }).show(pair, weft.shown(pair, { threshold: 0, gold: false })); }"
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
            "([n, m]) => weft.bands(Array(n).fill(60), Array(m).fill(50),"
            " Array.from({length: Math.min(n, m)}, (_, k) => ({s: k, t: k})), 800, 6)",
            [n, m],
        )
        for start, end, total in ((0, 1, n), (2, 3, m)):
            assert [cut[start] for cut in cuts] == [0, *(cut[end] for cut in cuts[:-1])]
            assert cuts[-1][end] == total
        assert all(66 * (s2 - s) - 6 <= 800 and 56 * (t2 - t) - 6 <= 800 for s, s2, t, t2 in cuts)


def contrast(one: str, other: str) -> float:
    """Compute the contrast of two colours `rgb(r, g, b)` by the rule of WCAG 2."""

    def light(color: str) -> float:
        channels = [int(part) / 255 for part in color.removeprefix("rgb(").removesuffix(")").split(",")]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_have_contrast_and_the_button_turns_them(show: Open, scheme: str) -> None:
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


def test_an_empty_text_is_said_to_be_empty(show: Open) -> None:
    tab = show([], [])
    assert "no sentence pairs" in tab.inner_text("#stage")
    tab.keyboard.press("j")
    tab.keyboard.press("v")
