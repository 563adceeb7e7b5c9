"""The server's page in a real browser: typing, alternatives, copying, every screen. Skipped without one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from bitweft import Aligner
from bitweft.links.formats.registry import read_entries
from bitweft.server import Limits
from bitweft.server.service import Service
from chromium import NEEDED, PATIENCE, SIZES, Chromium, kinds, lit, numbers, settle, word
from serving import align, running

pytestmark = NEEDED

SOURCE, TARGET = "The big house is near the river.", "La grande maison est près de la rivière."
ATTACKS = "</script><script>window.hacked=1</script> <img/src=x/onerror=window.hacked=1> {{7*7}} <!--"

Visit: TypeAlias = Callable[..., Any]


@pytest.fixture(scope="module")
def address(small_model: Path) -> Iterator[str]:
    service = Service(Aligner.load(small_model, threads=1), small_model, Limits(words=120))
    service.warm()
    with running(service) as found:
        yield found


@pytest.fixture
def visit(chromium: Chromium, address: str) -> Iterator[Visit]:
    """Give a function that opens the page and types; look for complaints afterwards."""
    complaints: list[str] = []
    tabs = []

    def opened(
        source: str = "",
        target: str = "",
        *,
        size: str = "laptop",
        scheme: str = "light",
        at: str = address,
        forgiving: bool = False,
    ) -> Any:
        tab = chromium.tab(size, scheme)
        tabs.append(tab)
        tab.set_default_timeout(PATIENCE)
        if not forgiving:
            tab.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        tab.on("request", lambda asked: complaints.extend([asked.url] * (not asked.url.startswith(at))))
        tab.goto(at)
        tab.wait_for_selector("#model:not(:text-is('bitweft'))")
        if source:
            write(tab, source, target)
        return tab

    yield opened
    for tab in tabs:
        tab.close()
    assert complaints == []


def write(tab: Any, source: str, target: str) -> None:
    """Put two sentences into the fields, and wait for the links."""
    tab.fill("#source", source)
    tab.fill("#target", target)
    answered(tab)


def answered(tab: Any) -> None:
    """Wait until what is shown belongs to what was typed."""
    tab.wait_for_selector("#stage[aria-busy=false]")
    settle(tab)


def test_links_are_drawn_while_one_types(visit: Visit, address: str) -> None:
    tab = visit()
    assert tab.title() == "small.weft – bitweft" and tab.inner_text("#model") == "small.weft"
    assert tab.inner_text("#source-name") == "English" and "recipe default" in tab.inner_text("#note")
    assert "appear as you type" in tab.inner_text("#stage") and tab.is_disabled("#copy-json")
    tab.fill("#source", SOURCE)
    tab.wait_for_selector("#stage:has-text('missing')")
    tab.type("#target", "La grande")
    tab.wait_for_selector("#stage .word[data-side=target]")
    tab.type("#target", TARGET.removeprefix("La grande"))
    answered(tab)
    expected = align(address, source=SOURCE, target=TARGET, tokenize="unicode").json
    words = [*expected["source"]["tokens"], *expected["target"]["tokens"]]
    assert tab.locator("#stage .word").all_inner_texts() == words
    drawn = tab.eval_on_selector_all(
        "#stage .thread", "all => all.map(e => [Number(e.dataset.s), Number(e.dataset.t)])"
    )
    assert drawn == [link[:2] for link in expected["links"]] and len(drawn) > 4
    told = numbers(tab, "#numbers")
    assert told["Links"] == str(len(drawn)) and told["Score"] == f"{expected['score']:.2f}"
    loose = [len(expected[side]["unaligned"]) for side in ("source", "target")]
    assert told["Unaligned"] == f"{loose[0]} + {loose[1]}"
    tab.fill("#source", " ")
    tab.wait_for_selector("#stage:has-text('missing')")
    assert tab.locator("#stage .word").count() == 0 and tab.is_disabled("#copy-pharaoh")


def test_only_the_last_answer_counts(visit: Visit) -> None:
    tab = visit(SOURCE, TARGET)

    def late(route: Any) -> None:
        if "slow" in route.request.post_data:
            tab.wait_for_timeout(300)
        route.continue_()

    tab.route("**/align", late)
    tab.fill("#source", "slow one")
    tab.wait_for_timeout(160)
    tab.fill("#source", "quick one")
    answered(tab)
    tab.wait_for_timeout(400)
    assert tab.locator("#stage .word[data-side=source]").all_inner_texts() == ["quick", "one"]


@pytest.mark.parametrize(
    ("how", "words"),
    [("space", ["it's", "so."]), ("unicode", ["it's", "so", "."]), ("char", list("it'sso."))],
)
def test_words_are_cut_as_chosen(visit: Visit, how: str, words: list[str]) -> None:
    tab = visit("it's so.", "c'est ça.")
    if how != "unicode":
        tab.select_option("#tokenize", how)
        answered(tab)
    assert tab.locator("#stage .word[data-side=source]").all_inner_texts() == words


@pytest.mark.parametrize("matrix", [False, True])
def test_a_click_shows_a_words_alternatives(visit: Visit, address: str, matrix: bool) -> None:
    tab = visit(SOURCE, TARGET)
    if matrix:
        tab.click("#as-matrix")
        assert tab.locator("#stage .cell").count() > 4
    assert not tab.is_visible("#alternatives")
    tab.click(word("source", 2))
    answer = align(address, source=SOURCE, target=TARGET, tokenize="unicode", alternatives=6).json
    told = answer["alternatives"]["source"][2]
    best = answer["target"]["tokens"][told["partners"][0][0]]
    assert "Partners of house" in tab.inner_text("#alternatives-title")
    rows = dict(
        tab.eval_on_selector_all(
            "#partners .partner",
            "all => all.map(r => [r.querySelector('.term').firstChild.data, r.lastChild.textContent])",
        )
    )
    assert rows[best] == shown(told["partners"][0][1]) and rows["no partner"] == shown(told["null"])
    assert 3 <= len(rows) <= 7
    assert "house: " in tab.inner_text("#spoken")
    other = tab.locator("button.partner").first
    other.hover()
    assert ("target", told["partners"][0][0]) in lit(tab)
    other.click()  # leads on to that word
    assert f"Partners of {best}" in tab.inner_text("#alternatives-title")
    tab.click(word("target", told["partners"][0][0]))  # once more lets go
    assert not tab.is_visible("#alternatives")
    tab.click(word("source", 0))
    tab.click("#close")
    assert not tab.is_visible("#alternatives") and not lit(tab)


def shown(p: float) -> str:
    """Write a probability as the page does."""
    return "< 1 %" if 0 < p < 0.005 else f"{int(100 * p + 0.5)} %"


def test_links_are_copied(visit: Visit, chromium: Chromium, address: str, tmp_path: Path) -> None:
    tab = visit(SOURCE, TARGET)
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address.rstrip("/"))
    expected = align(address, source=SOURCE, target=TARGET, tokenize="unicode").json
    tab.click("#copy-pharaoh")
    assert tab.evaluate("navigator.clipboard.readText()") == expected["pharaoh"]
    assert tab.locator("#copy-pharaoh.done").count() == 1
    tab.click("#copy-json")
    file = tmp_path / "links.jsonl"
    file.write_text(tab.evaluate("navigator.clipboard.readText()") + "\n", encoding="utf-8")
    (entry,) = read_entries(str(file))  # every verb of bitweft reads it
    assert entry.pair is not None and str(entry.alignment) == expected["pharaoh"]
    assert list(entry.pair.source.tokens) == expected["source"]["tokens"] and entry.score == expected["score"]
    # Where the page may not use the clipboard, the old way is taken.
    tab.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    tab.keyboard.press("p")
    tab.wait_for_selector("#copy-pharaoh.done")
    assert tab.evaluate("navigator.clipboard.readText()") == expected["pharaoh"]
    assert tab.evaluate("document.activeElement.id") == "copy-json"


def test_keys(visit: Visit) -> None:
    tab = visit(SOURCE, TARGET)
    tab.keyboard.press("v")  # in a field it is a letter
    assert tab.input_value("#target").endswith("v") and tab.locator("#stage .matrix").count() == 0
    tab.keyboard.press("Backspace")
    tab.wait_for_timeout(300)
    tab.keyboard.press("Escape")
    tab.keyboard.press("v")
    assert tab.locator("#stage .matrix").count() == 1
    tab.keyboard.press("v")
    tab.keyboard.press("w")
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("document.activeElement.textContent") == "big"
    tab.keyboard.press("Enter")
    assert "Partners of big" in tab.inner_text("#alternatives-title")
    tab.keyboard.press("v")
    assert tab.is_visible("#alternatives")  # the word stays chosen in the other view
    tab.keyboard.press("Escape")
    assert not tab.is_visible("#alternatives")
    tab.keyboard.press("?")
    assert tab.is_visible("#help")
    tab.keyboard.press("Escape")
    tab.keyboard.press("/")
    assert tab.evaluate("document.activeElement.id") == "source"


def test_faults_are_told(visit: Visit) -> None:
    tab = visit("a " * 121, "b", forgiving=True)  # the browser itself logs that a request was refused
    assert "more than 120 words" in tab.inner_text("#stage .fault")
    assert tab.is_disabled("#copy-json")
    tab.route("**/align", lambda route: route.abort())
    tab.fill("#source", "a")
    tab.wait_for_selector("#stage:has-text('does not answer')")
    tab.unroute("**/align")
    write(tab, "the house", "la maison")
    assert tab.locator("#stage .word").count() == 4


def test_text_and_metadata_stay_text(visit: Visit, small_model: Path, tmp_path: Path) -> None:
    evil = "<img src=x onerror=window.hacked=1>"
    directory = tmp_path / "<svg onload=window.hacked=1>"
    aligner = Aligner.load(small_model, threads=1)
    aligner.save(directory, languages=(evil, "</title><script>window.hacked=1</script>"), note=evil)
    with running(Service(Aligner.load(directory, threads=1), directory)) as address:
        tab = visit(ATTACKS, ATTACKS, at=address)
        assert tab.inner_text("#model") == directory.name and tab.inner_text("#source-name") == evil
        assert tab.inner_text("#note").endswith(evil)
        tab.select_option("#tokenize", "space")
        answered(tab)
        assert tab.locator("#stage .word[data-side=source]").all_inner_texts() == ATTACKS.split()
        for view in ("links", "matrix"):
            tab.click(f"#as-{view}")
            tab.hover(word("source", 1))
            assert ATTACKS.split()[1] in tab.inner_text("#readout")
            tab.click(word("source", 1))
            assert ATTACKS.split()[1] in tab.inner_text("#alternatives")
        settle(tab)
        assert tab.evaluate("window.hacked") is None
        assert tab.locator("img, iframe, script").count() == 1
        tab.close()


def test_the_policy_is_in_force(visit: Visit) -> None:
    tab = visit(forgiving=True)
    for attack in (
        "document.body.append(Object.assign(document.createElement('script'), {src: '/model'}))",
        "document.body.innerHTML = '<b>x</b>'",
        "document.body.append(Object.assign(document.createElement('script'), {text: 'window.hacked = 1'}))",
        "document.body.setAttribute('onclick', 'window.hacked = 1')",
    ):
        with pytest.raises(Exception, match="Trusted"):
            tab.evaluate(f"() => {{ {attack} }}")
    assert tab.evaluate("fetch('https://example.org/').then(() => 'sent', () => 'refused')") == "refused"


@pytest.mark.parametrize(
    ("size", "scheme"), [("phone", "light"), ("phone", "dark"), ("laptop", "light"), ("wide", "dark")]
)
def test_it_fits_every_screen(visit: Visit, size: str, scheme: str) -> None:
    tab = visit(SOURCE + " x" * 80, TARGET + " " + "y" * 200, size=size, scheme=scheme)
    for view in ("links", "matrix"):
        tab.click(f"#as-{view}")
        tab.click(word("source", 2))
        assert tab.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
        inside = (
            "id => { const box = document.getElementById(id).getBoundingClientRect();"
            " return box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight; }"
        )
        assert tab.evaluate(inside, "alternatives")  # in sight, however long the sentences
        tab.keyboard.press("Escape")
    dark = tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 27)"
    assert dark == (scheme == "dark")
    tab.click("#theme")
    assert (tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 27)") != dark


def test_everything_has_a_name(visit: Visit) -> None:
    tab = visit(SOURCE, TARGET)
    tab.click(word("source", 0))
    for role, count in (("banner", 1), ("main", 1), ("toolbar", 1), ("textbox", 2), ("combobox", 1)):
        assert tab.get_by_role(role).count() == count, role
    for role, name in (
        ("textbox", "English"),
        ("textbox", "French"),
        ("combobox", "Words"),
        ("button", "Copy Pharaoh"),
        ("button", "Close the alternatives"),
        ("region", "Partners of The"),
    ):
        assert tab.get_by_role(role, name=name).count() == 1, name
    unnamed = tab.evaluate(
        "() => [...document.querySelectorAll('button, select, textarea')].filter(e => e.offsetParent &&"
        " !(e.getAttribute('aria-label') || e.labels?.length || e.textContent.trim())).map(e => e.outerHTML)"
    )
    assert unnamed == []
    assert tab.get_by_role("status").inner_text().startswith("The: ")


def test_a_right_to_left_sentence_runs_so(visit: Visit) -> None:
    tab = visit("the children eat", "הילדים אוכלים תפוחים")
    lefts = tab.eval_on_selector_all(
        "#stage .word[data-side=target]", "all => all.map(w => w.getBoundingClientRect().left)"
    )
    assert lefts == sorted(lefts, reverse=True)
    assert tab.evaluate("getComputedStyle(document.getElementById('target')).direction") == "rtl"
    assert json.loads(tab.evaluate("bitweft.desk.written('json')"))["tgt"] == "הילדים אוכלים תפוחים"
    assert kinds(tab, "#stage .thread") == ["link"] * tab.locator("#stage .thread").count()
