"""Editing in a real browser: by mouse, by touch, by keyboard alone, in two tabs, on every screen."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from bitweft.edit import GoldStore, Judgment
from bitweft.links.alignment import Alignment, GoldAlignment, Link
from bitweft.recipes.base import Inference
from bitweft.text.bitext import Sentence, SentencePair
from chromium import NEEDED, PATIENCE, SIZES, Chromium, kinds, listed, numbers, pair, settle, until, word
from editing import PAIRS, SUGGESTED, edited

pytestmark = NEEDED

Visit: TypeAlias = Callable[..., Any]
ATTACKS = "</script><script>window.hacked=1</script> <img/src=x/onerror=window.hacked=1> {{7*7}} <!--"


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return tmp_path / "gold.jsonl"


@pytest.fixture
def visit(chromium: Chromium, gold: Path) -> Iterator[Visit]:
    """Give a function that serves a session, once, and opens the page; look for complaints afterwards."""
    complaints: list[str] = []
    with ExitStack() as stack:
        served: list[str] = []

        def opened(number: int = 1, *, size: str = "laptop", forgiving: bool = False, **session: Any) -> Any:
            if not served:
                served.append(stack.enter_context(edited(gold, **session)))
            tab = chromium.tab(size)
            stack.callback(tab.close)
            tab.set_default_timeout(PATIENCE)
            if not forgiving:
                tab.on("console", lambda m: complaints.extend([m.text] * (m.type in ("error", "warning"))))
            tab.on("pageerror", lambda error: complaints.append(str(error)))
            tab.on(
                "request",
                lambda asked: complaints.extend([asked.url] * (not asked.url.startswith(served[0]))),
            )
            tab.goto(f"{served[0]}#{number}")
            until(tab, "globalThis.bitweft?.page?.state.k !== undefined")
            settle(tab)
            return tab

        yield opened
    assert complaints == []


def saved(tab: Any, gold: Path, k: int = 0, pairs: list[SentencePair] = PAIRS) -> Judgment:
    """Wait until everything is saved, and read what is on disk."""
    until(tab, "bitweft.page.records.unsaved === 0 && !bitweft.page.records.conflicts.size")
    found = GoldStore(gold, pairs)[k]
    assert found is not None
    return found


SURE = {(0, 0), (1, 2), (2, 1), (3, 3), (4, 5)}


@pytest.mark.parametrize("size", ["laptop", "wide"])
def test_links_are_made_with_the_mouse(visit: Visit, gold: Path, size: str) -> None:
    tab = visit(size=size)
    assert kinds(tab, ".field .thread") == ["link"] * 5 and not gold.exists()
    tab.click(word("source", 4))
    tab.click(word("target", 4))  # no link: sure
    assert saved(tab, gold).gold == GoldAlignment.of(SURE | {(4, 4)})
    tab.click(word("target", 4))  # possible
    assert saved(tab, gold).gold == GoldAlignment.of(SURE, {(4, 4)})
    tab.click(word("target", 4))  # none
    tab.click(word("target", 4), modifiers=["Shift"])  # possible at once
    assert saved(tab, gold).gold == GoldAlignment.of(SURE, {(4, 4)})
    assert kinds(tab, ".field .thread").count("possible") == 1
    tab.keyboard.press("Escape")
    tab.hover(word("target", 0))
    tab.drag_and_drop(word("source", 5), word("target", 5))
    assert saved(tab, gold).gold == GoldAlignment.of(SURE | {(5, 5)}, {(4, 4)})
    tab.hover("h1")
    tab.locator(".grip[data-s='4'][data-t='5']").dispatch_event("click")  # on the thread: possible, none
    tab.locator(".grip[data-s='4'][data-t='5']").dispatch_event("click")
    kept = saved(tab, gold)
    assert kept.gold == GoldAlignment.of((SURE - {(4, 5)}) | {(5, 5)}, {(4, 4)})
    assert kept.by == "anna" and not kept.done
    tab.locator(".grip[data-s='5'][data-t='5']").dispatch_event("contextmenu")  # none, at once
    assert saved(tab, gold).gold == GoldAlignment.of(SURE - {(4, 5)}, {(4, 4)})


def seat(tab: Any, s: int, t: int) -> tuple[float, float]:
    """Find the middle of a cell of the matrix."""
    box = tab.locator(".sheet.body").bounding_box()
    cell = float(tab.get_attribute(".sheet.body", "data-cell"))
    return box["x"] + (t + 0.5) * cell, box["y"] + (s + 0.5) * cell


@pytest.mark.parametrize("fit", [False, True])
def test_cells_are_clicked_and_blocks_dragged(visit: Visit, gold: Path, fit: bool) -> None:
    tab = visit()
    tab.click("#as-matrix")
    tab.set_checked("#fit", fit)
    for kind in ("sure", "possible", None):
        tab.mouse.click(*seat(tab, 5, 5))
        assert saved(tab, gold).gold == GoldAlignment.of(
            SURE | ({(5, 5)} if kind == "sure" else set()), {(5, 5)} if kind == "possible" else set()
        )
    tab.mouse.click(*seat(tab, 3, 3), button="right")
    assert saved(tab, gold).gold == GoldAlignment.of(SURE - {(3, 3)})
    tab.mouse.click(*seat(tab, 3, 3))
    block = {(s, t) for s in (1, 2) for t in (1, 2, 3)}
    for left in (SURE | block, SURE - block):  # all of it, then none of it
        tab.mouse.move(*seat(tab, 1, 1))
        tab.mouse.down()
        tab.mouse.move(*seat(tab, 2, 2))
        tab.mouse.move(*seat(tab, 2, 3))
        assert tab.locator(".block").count() == 1
        tab.mouse.up()
        assert saved(tab, gold).gold == GoldAlignment.of(left)
    assert tab.locator(".block").count() == 0


def test_links_are_made_by_touch(visit: Visit, gold: Path) -> None:
    tab = visit(size="phone")
    tab.tap(word("source", 4))
    tab.tap(word("target", 4))
    assert saved(tab, gold).gold == GoldAlignment.of(SURE | {(4, 4)})
    tab.tap(word("source", 4))  # let go
    tab.tap("#as-matrix")
    tab.touchscreen.tap(*seat(tab, 0, 0))
    assert saved(tab, gold).gold == GoldAlignment.of(SURE - {(0, 0)} | {(4, 4)}, {(0, 0)})
    tab.tap("#done")
    assert saved(tab, gold).done


def drag_finger(tab: Any, *places: tuple[float, float], rest: float = 500) -> None:
    """Put a finger down, let it rest, move it along, and lift it."""
    client = tab.context.new_cdp_session(tab)

    def touch(kind: str, *place: tuple[float, float]) -> None:
        points = [{"x": x, "y": y} for x, y in place]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", places[0])
    tab.wait_for_timeout(rest)
    for place in places[1:]:
        touch("touchMove", place)
    touch("touchEnd")


def middle(tab: Any, selector: str) -> tuple[float, float]:
    """Find the middle of what is drawn."""
    x, y, width, height = tab.evaluate(
        "(place) => { const box = document.querySelector(place).getBoundingClientRect();"
        " return [box.x, box.y, box.width, box.height]; }",
        selector,
    )
    return x + width / 2, y + height / 2


def test_a_finger_drags_from_word_to_word_and_over_cells(visit: Visit, gold: Path) -> None:
    tab = visit(size="phone")
    tab.locator(word("source", 4)).scroll_into_view_if_needed()
    ends = middle(tab, word("source", 4)), middle(tab, word("target", 4))
    drag_finger(tab, ends[0], ends[1], rest=0)  # no rest: that is scrolling
    assert not gold.exists()
    ends = middle(tab, word("source", 4)), middle(tab, word("target", 4))
    drag_finger(tab, *ends)
    assert saved(tab, gold).gold == GoldAlignment.of(SURE | {(4, 4)})
    tab.tap("#as-matrix")
    tab.locator(".sheet.body").scroll_into_view_if_needed()
    drag_finger(tab, seat(tab, 1, 1), seat(tab, 1, 2), seat(tab, 2, 2))
    block = {(s, t) for s in (1, 2) for t in (1, 2)}
    assert saved(tab, gold).gold == GoldAlignment.of(SURE | {(4, 4)} | block)
    assert tab.locator(".block, .dragging").count() == 0


def press(tab: Any, keys: str) -> None:
    for key in keys.split():
        tab.keyboard.press(key)


def test_the_keyboard_alone_does_everything(visit: Visit, gold: Path) -> None:
    tab = visit()
    press(tab, "w ArrowRight ArrowRight ArrowRight ArrowRight Enter ArrowDown ArrowLeft Enter")
    assert saved(tab, gold).gold == GoldAlignment.of(SURE | {(4, 4)})
    press(tab, "Shift+Enter")
    assert saved(tab, gold).gold == GoldAlignment.of(SURE, {(4, 4)})
    press(tab, "Delete")
    assert saved(tab, gold).gold == GoldAlignment.of(SURE)
    press(tab, "Escape u")
    assert tab.evaluate("document.activeElement.textContent") == "hill"
    press(tab, "x")
    assert saved(tab, gold).unlinked == (frozenset({5}), frozenset())
    assert tab.get_by_role("button", name="hill: no link on purpose").count() == 1
    press(tab, "m")
    tab.keyboard.type("hill? d x a")
    press(tab, "Control+z")  # in a field, it is the field's
    tab.keyboard.type("hill!")
    tab.evaluate("document.activeElement.blur()")
    assert "hill!" in saved(tab, gold).comment
    press(tab, "v w ArrowDown ArrowRight Enter")
    assert (1, 1) in saved(tab, gold).gold.sure
    press(tab, "Shift+ArrowDown Shift+ArrowRight Shift+Enter")
    assert (
        saved(tab, gold).gold.possible >= {(1, 1), (1, 2), (2, 1), (2, 2)}
        and (1, 1) not in saved(tab, gold).gold.sure
    )
    assert tab.get_by_role("button", name="house – bleue: possible").count() == 1
    press(tab, "Shift+ArrowUp Delete")
    assert not {(1, 2), (2, 2)} & saved(tab, gold).gold.possible
    press(tab, "d")
    assert saved(tab, gold).done and tab.input_value("#place") != "1"
    assert numbers(tab, "#totals") == {"Pairs": "4", "Done": "1"}


def test_everything_can_be_undone_and_done_again(visit: Visit, gold: Path) -> None:
    tab = visit()
    tab.click(word("source", 5))
    tab.click(word("target", 5))
    tab.keyboard.press("x")  # the target word has the focus
    assert (
        saved(tab, gold).unlinked == (frozenset(), frozenset({5}))
        and (4, 5) not in saved(tab, gold).gold.sure
    )
    tab.keyboard.press("d")
    other = tab.input_value("#place")
    press(tab, "Control+z")
    assert other != "1" and tab.input_value("#place") == "1"  # back to where it was done
    press(tab, "Control+z Control+z")
    assert saved(tab, gold).gold == GoldAlignment.of(SURE) and tab.is_disabled("#undo")
    tab.click("#redo")
    assert saved(tab, gold).gold == GoldAlignment.of(SURE | {(5, 5)})
    press(tab, "Control+y Control+Shift+z")
    assert saved(tab, gold).done and tab.is_disabled("#redo")


def test_suggestions_are_accepted_from_a_probability_up(visit: Visit, gold: Path) -> None:
    tab = visit()
    tab.locator("#threshold").fill("0.92")
    settle(tab)
    tab.click("#accept")
    assert saved(tab, gold).gold == GoldAlignment.of([(0, 0), (2, 1), (3, 3)])
    assert numbers(tab, "#numbers") == {
        "Sure": "3",
        "Possible": "0",
        "Without a link": "3 + 3",
        "On purpose": "0",
    }


def test_suggestions_are_accepted_in_all_pairs_that_nobody_has_begun(visit: Visit, gold: Path) -> None:
    tab = visit()
    tab.click(word("source", 4))
    tab.click(word("target", 4))
    assert saved(tab, gold).gold == GoldAlignment.of(SURE | {(4, 4)})
    tab.locator("#threshold").fill("0.92")
    settle(tab)
    asked: list[str] = []

    def refuse(dialog: Any) -> None:
        asked.append(dialog.message)
        dialog.dismiss()

    tab.once("dialog", refuse)
    tab.click("#accept-all")
    assert asked == ["Accept the suggestions from 0.92 up in 3 pairs that nobody has begun?"]
    assert GoldStore(gold, PAIRS)[1] is None
    tab.once("dialog", lambda dialog: dialog.accept())
    tab.click("#accept-all")
    until(tab, "bitweft.page.records.get(3)")
    store = GoldStore(gold, PAIRS)
    assert saved(tab, gold).gold == GoldAlignment.of(SURE | {(4, 4)})  # begun before: as it was
    for k, inference in enumerate(SUGGESTED[1:], 1):
        chances = zip(inference.alignment.links, inference.alignment.probabilities or (), strict=True)
        found = store[k]
        assert found is not None and not found.done and found.by == "anna"
        assert found.gold == GoldAlignment.of([link for link, p in chances if p >= 0.92])
    tab.click("#accept-all")
    assert tab.inner_text("#readout") == "All pairs of the list have been begun."


def test_the_order_is_by_what_teaches_and_pairs_are_found_by_progress(visit: Visit, gold: Path) -> None:
    tab = visit(number=2)
    assert listed(tab) == ["4", "1", "2", "3"]
    tab.click("#done")
    saved(tab, gold, 1)
    assert tab.input_value("#place") == "3"
    tab.click("#filters summary")
    for progress, left in (("open", ["4", "1", "3"]), ("done", ["2"]), ("commented", [])):
        tab.select_option("#progress", progress)
        settle(tab)
        assert listed(tab) == left
    tab.click("#reset")
    assert listed(tab) == ["1", "2", "3", "4"]
    again = visit(number=0)
    assert again.input_value("#place") == "4"  # where the order begins that is left to do
    assert again.locator("#list .badge.done").all_inner_texts() == ["✓ done"]


def test_two_tabs_lose_nothing_and_mix_nothing(visit: Visit, gold: Path) -> None:
    one, two = visit(forgiving=True), visit(forgiving=True)  # the browser itself logs the refusal
    one.click(word("source", 5))
    one.click(word("target", 5))
    first = saved(one, gold)
    two.click(word("source", 4))
    two.click(word("target", 4))
    two.wait_for_selector("#conflict:not([hidden])")
    assert "changed elsewhere, by anna" in two.inner_text("#conflict-text")
    assert GoldStore(gold, PAIRS)[0] == first  # nothing was overwritten
    assert (4, 4) in drawn(two)  # and nothing lost
    two.click("#keep-mine")
    assert saved(two, gold).gold == GoldAlignment.of(SURE | {(4, 4)})
    one.evaluate("bitweft.page.records.refresh()")
    until(one, 'document.querySelectorAll(\'.thread[data-s="4"][data-t="4"]\').length === 1')
    assert (5, 5) not in drawn(one)
    two.click(word("target", 3))
    second = saved(two, gold)
    one.click(word("target", 1))
    one.wait_for_selector("#conflict:not([hidden])")
    one.click("#take-theirs")
    assert drawn(one) == drawn(two) and saved(one, gold) == second and one.is_disabled("#undo")


def drawn(tab: Any) -> set[Link]:
    found = tab.eval_on_selector_all(".field .thread", "all => all.map(e => [+e.dataset.s, +e.dataset.t])")
    return {(s, t) for s, t in found}


def test_a_server_that_is_away_is_told_and_tried_again(visit: Visit, gold: Path) -> None:
    tab = visit(forgiving=True)
    tab.evaluate("bitweft.RETRY = 200")
    tab.route("**/edit/save", lambda route: route.abort())
    tab.click(word("source", 5))
    tab.click(word("target", 5))
    tab.wait_for_selector("#saved.fault")
    assert "Not saved" in tab.inner_text("#saved") and not gold.exists()
    tab.unroute("**/edit/save")
    until(tab, "document.querySelector('#saved').textContent === 'Saved'")
    assert (5, 5) in saved(tab, gold).gold.sure


def test_fast_changes_are_all_kept(visit: Visit, gold: Path) -> None:
    tab = visit()
    tab.evaluate(
        "() => { for (let i = 0; i < 30; i++) bitweft.page.say(bitweft.Record.linked(bitweft.page.record(),"
        " [[i % 6, (i * 5) % 6, i < 24 ? 'sure' : 'none']])); }"
    )
    expected = set(SURE)
    for i in range(30):
        (expected.add if i < 24 else expected.discard)((i % 6, i * 5 % 6))
    assert saved(tab, gold).gold == GoldAlignment.of(expected)


def test_disagreements_are_shown_side_by_side_and_settled(visit: Visit, gold: Path) -> None:
    anna = Judgment(GoldAlignment.of([(0, 0), (1, 2), (5, 5)]), done=True, by="anna")
    ben = Judgment(GoldAlignment.of([(0, 0)], [(1, 2)]), done=True, by="ben")
    tab = visit(annotators={"anna": [anna, None, None, None], "ben": [ben, None, None, None]})
    panel = tab.locator("#settle")
    assert tab.inner_text("#list [data-item='0'] .badge") == "2 disputed"
    assert panel.locator("h2").inner_text() == "2 disputed links"
    assert [row.split("\t") for row in panel.locator("tr").all_inner_texts()] == [
        ["", "anna", "ben"],
        ["blue – bleue", "sure", "possible"],
        ["hill – colline", "sure", "no link"],
    ]
    assert "F1 80.0 %" in panel.inner_text() and "2 disputed links" in panel.locator(".agreed").inner_text()
    panel.get_by_role("button", name="blue – bleue: possible, as ben says").click()
    assert saved(tab, gold).gold.sure == SURE - {(1, 2)} and (1, 2) in saved(tab, gold).gold.possible
    assert "open" in kinds(tab, ".field .thread")  # hill – colline, of which only anna is sure
    tab.locator(".grip[data-s='5'][data-t='5']").dispatch_event("click")
    assert (5, 5) in saved(tab, gold).gold.sure
    tab.click("#filters summary")
    tab.select_option("#progress", "disputed")
    settle(tab)
    assert listed(tab) == ["1"]


def test_a_button_learns_from_what_is_done(visit: Visit, gold: Path) -> None:
    tab = visit(number=4, teach=True)
    assert drawn(tab) == {(0, 0), (1, 1), (2, 2)} and tab.is_disabled("#learn")
    assert tab.inner_text("#least") == "when 2 pairs are done"
    for _ in range(2):  # links 1-1 and 2-2 crossed, and done: this pair, and then the first
        for s, t in ((1, 1), (1, 1), (1, 2), (2, 2), (2, 2), (2, 1)):
            tab.evaluate(f"bitweft.page.hand.set([[{s}, {t}, {json.dumps('sure' if s != t else 'none')}]])")
        tab.keyboard.press("d")
        tab.evaluate("bitweft.page.choose(0)")
    until(tab, "bitweft.page.records.unsaved === 0")
    tab.evaluate("bitweft.page.choose(1)")
    assert (1, 1) in drawn(tab) and numbers(tab, "#totals")["Done"] == "2"
    assert tab.inner_text("#least") == ""
    tab.click("#learn")
    tab.wait_for_selector("#lesson:has-text('cross-validated on 2 pairs')")
    assert "AER 44.4 % before, 0.0 % after" in tab.inner_text("#lesson")
    assert drawn(tab) == {(0, 0), (1, 2), (2, 1)}  # what is not done is suggested anew


def test_the_button_is_there_only_where_something_can_be_learned(visit: Visit) -> None:
    assert visit().locator("#learn").count() == 0


def test_what_is_typed_stays_text(visit: Visit, gold: Path) -> None:
    words = ATTACKS.split()
    evil = [SentencePair(Sentence(words, ATTACKS), Sentence(words, ATTACKS)), *PAIRS[1:]]
    hostile = Judgment(GoldAlignment.of([(0, 0)]), done=True, by=ATTACKS)
    suggested = [Inference(Alignment()), *SUGGESTED[1:]]
    tab = visit(
        pairs=evil, suggested=suggested, annotators={ATTACKS: [hostile] + [None] * 3, "b": [None] * 4}
    )
    tab.fill("#comment", ATTACKS)
    tab.click(word("source", 0))
    tab.click(word("target", 1))
    assert saved(tab, gold, pairs=evil).comment == ATTACKS
    tab.reload()
    tab.wait_for_selector("#stage .word")
    assert tab.input_value("#comment") == ATTACKS and tab.evaluate("window.hacked") is None
    assert tab.locator("img, iframe").count() == 0


def test_the_policy_is_in_force(visit: Visit) -> None:
    tab = visit(forgiving=True)
    tab.evaluate(
        "() => { const e = document.createElement('script');"
        " try { e.textContent = 'window.hacked = 1'; document.body.append(e); } catch { /* refused */ } }"
    )
    assert tab.evaluate("window.hacked") is None
    assert tab.evaluate("fetch('http://127.0.0.1:9/').then(() => 1, () => 0)") == 0


@pytest.mark.parametrize("size", list(SIZES))
def test_it_fits_every_screen_and_everything_has_a_name(visit: Visit, size: str) -> None:
    long = pair(" ".join(f"word{k}" for k in range(60)), " ".join(f"mot{k}" for k in range(60)))
    said = [Judgment(GoldAlignment.of([(k, k) for k in range(0, 9, step)]), done=True) for step in (1, 2)]
    links = Inference(Alignment.of([(k, k) for k in range(60)], [0.9] * 60))
    tab = visit(pairs=[long], suggested=[links], annotators={"a": said[:1], "b": said[1:]}, size=size)
    for view in ("links", "matrix"):
        tab.click(f"#as-{view}")
        assert tab.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    unnamed = tab.evaluate(
        "() => [...document.querySelectorAll('button, input, select, textarea, [role=button]')]"
        ".filter(e => e.getClientRects().length && !(e.getAttribute('aria-label') || e.labels?.length ||"
        " e.textContent.trim())).map(e => e.outerHTML)"
    )
    assert unnamed == []


def test_ten_thousand_pairs_stay_quick(visit: Visit, gold: Path) -> None:
    many = 10_000
    pairs = [pair(f"word{k} a b c d e f g", f"mot{k} h i j k l m n") for k in range(many)]
    links = Inference(Alignment.of([(k, k) for k in range(8)], [0.5 + k / 20 for k in range(8)]))
    tab = visit(pairs=pairs, suggested=[links] * many)
    assert numbers(tab, "#totals") == {"Pairs": "10,000", "Done": "0"}
    spent = tab.evaluate(
        "() => { const start = performance.now(); bitweft.page.hand.set([[0, 1, 'sure']]);"
        " return performance.now() - start; }"
    )
    assert (0, 1) in saved(tab, gold, pairs=pairs).gold.sure
    assert spent < 5_000  # it is a few milliseconds; a walk over all pairs a click would show here
