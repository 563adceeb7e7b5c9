"""The documentation as a site: built without a warning, loading nothing from elsewhere, fit for a phone."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("material", "mkdocstrings")),
        reason="needs the extra docs: pip install 'bitweft[docs]'",
    ),
]


class Quiet(SimpleHTTPRequestHandler):
    """Serve files without a word."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_reference_is_made_from_the_code(site: Path) -> None:
    verbs = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    assert "usage: bitweft symmetrize" in verbs and "<!-- verbs -->" not in verbs
    names = (site / "reference" / "api.html").read_text(encoding="utf-8")
    assert "bitweft.aligner.Aligner.fit" in names


@pytest.mark.browser
def test_pages_load_nothing_from_elsewhere_and_fit_the_screen(site: Path, address: str) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs Chromium, as in Debian's package `chromium`")
    faults: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for width, scheme in ((360, "dark"), (1280, "light")):
            tab = browser.new_context(
                viewport={"width": width, "height": 740}, color_scheme=scheme
            ).new_page()
            tab.on("request", lambda asked: faults.extend([asked.url] * (not asked.url.startswith(address))))
            tab.on("response", lambda came: faults.extend([came.url] * (came.status >= 400)))
            tab.on("console", lambda said: faults.extend([said.text] * (said.type in ("error", "warning"))))
            for page in sorted(site.rglob("*.html")):
                name = page.relative_to(site).as_posix()
                tab.goto(f"{address}/{name}")
                wide = tab.evaluate("document.documentElement.scrollWidth")
                faults.extend([f"{name}: {wide} pixels wide on a screen of {width}"] * (wide > width))
        tab.goto(f"{address}/index.html")
        tab.locator(".md-search__input").click()
        tab.keyboard.type("threshold")
        tab.locator(".md-search-result__item").first.wait_for()
        browser.close()
    assert faults == []
