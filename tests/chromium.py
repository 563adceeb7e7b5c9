"""The page opened in Chromium, for the tests: windows, sample pairs, and what can be read off the page."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.text.bitext import SentencePair, tokenize
from bitweft.viewer import page as write_page

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NEEDED = [
    pytest.mark.browser,
    pytest.mark.skipif(PROGRAM is None, reason="needs Chromium, as in Debian's package `chromium`"),
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

PATIENCE = 30_000  # milliseconds, of a machine that has other things to do

Open: TypeAlias = Callable[..., Any]


class Chromium:
    """Hold a browser, and a window for each size and color scheme that was asked for."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self._windows: dict[tuple[str, str], Any] = {}

    def tab(self, size: str = "laptop", scheme: str = "light") -> Any:
        """Open an empty tab."""
        if (size, scheme) not in self._windows:
            width, height = SIZES[size]
            self._windows[size, scheme] = self.browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme, has_touch=size == "phone"
            )
        return self._windows[size, scheme].new_page()


def started() -> Iterator[Chromium]:
    """Run the browser."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=PROGRAM, args=FLAGS)
        yield Chromium(browser)
        browser.close()


def shown(chromium: Chromium, folder: Path) -> Iterator[Open]:
    """Give a function that writes a page and opens it from its file; look for complaints afterwards."""
    complaints: list[str] = []
    tabs = []

    def show(
        *arguments: Any, size: str = "laptop", scheme: str = "light", number: int = 1, **options: Any
    ) -> Any:
        file = folder / "page.html"
        with file.open("w", encoding="utf-8") as stream:
            write_page(*arguments, stream=stream, **options)
        tab = chromium.tab(size, scheme)
        tabs.append(tab)
        tab.set_default_timeout(PATIENCE)
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


def until(tab: Any, test: str) -> None:
    """Wait until an expression is true: Playwright's own way needs eval, which the pages' policy forbids."""
    for _ in range(PATIENCE // 25):
        if tab.evaluate(test):
            return
        tab.wait_for_timeout(25)
    raise AssertionError(f"never came true: {test}")


def pair(source: str, target: str) -> SentencePair:
    """Make a pair of two texts."""
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


def lit(tab: Any) -> set[tuple[str, int]]:
    """Tell which words are lit."""
    found = tab.eval_on_selector_all(
        "#stage .word.on", "all => all.map(w => [w.dataset.side, Number(w.dataset.at)])"
    )
    return {(side, at) for side, at in found}


def word(side: str, at: int) -> str:
    """Give the selector of a word."""
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
    """Move a slider."""
    tab.locator(selector).fill(str(value))
    settle(tab)


def listed(tab: Any) -> list[str]:
    """Read the numbers of the pairs in the list, from the top."""
    rows: list[str] = tab.locator("#list [role=option] .number").all_inner_texts()
    tops = tab.eval_on_selector_all(
        "#list [role=option]", "all => all.map(r => r.getBoundingClientRect().top)"
    )
    return [number for _, number in sorted(zip(tops, rows, strict=True))]
