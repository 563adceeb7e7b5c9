"""The documents: their commands run as they stand, their links lead somewhere, their names are right."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bitweft import sample
from bitweft.links.alignment import Alignment, Entry
from bitweft.links.formats.pharaoh import format_line
from small import write_text
from warm import warm_bitweft

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
NOT_RUN = ("make ", "pip ", "export ", "python benchmarks", "git ")  # set-up, and what takes hours


def commands(page: Path) -> str:
    """Gather the shell commands of a page."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(NOT_RUN))


@pytest.fixture
def folder(tmp_path: Path, model: Path) -> Path:
    """Lay out the files that the documents speak of."""
    drawn, natural = list(sample.generate(100, seed=3)), list(sample.natural())
    for prefix, pairs in (("", drawn), ("new.", drawn[:20]), ("test.", natural)):
        for language, side in (("en", 0), ("fr", 1)):
            name = f"{prefix}{language}" if prefix else f"{language}.txt"
            lines = [" ".join((pair.source, pair.target)[side]) for pair in pairs]
            (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    gold = [Entry(Alignment.of(p.gold.possible), p.gold.possible - p.gold.sure) for p in natural]
    lines = [format_line(entry, "possible") for entry in gold]
    (tmp_path / "test.gold").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name in ("enfr.weft", "en-fr.weft"):
        shutil.copytree(model, tmp_path / name)
    return tmp_path


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Iterator[Path]:
    """Give the directory of a `bitweft` that starts at once."""
    if os.name != "posix":
        pytest.skip("the documents' commands are for a POSIX shell")
    directory = tmp_path_factory.mktemp("program")
    with warm_bitweft(directory, write_text(directory), model) as place:
        yield place


@pytest.mark.parametrize(
    "page", [page for page in PAGES if commands(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_commands_of_a_page_run(page: Path, folder: Path, program: Path) -> None:
    script = commands(page)
    for name in re.findall(r"-o (en-?fr\.weft)", script):  # the page makes it itself
        shutil.rmtree(folder / name, ignore_errors=True)
    path = os.pathsep.join([str(program), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{done.stderr[-2000:]}\n{script}"


def test_pages_link_to_what_is_there() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if not target.startswith(("http", "mailto")):
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


def test_no_hint_installs_a_package_of_another_name() -> None:
    for path in [*PAGES, *ROOT.glob("*.md"), *(ROOT / "src").rglob("*.py"), *(ROOT / "examples").iterdir()]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"pip install\s+['\"]?weft\b", text), path
        assert not re.search(r"(?<![\w./*-])weft(?![\w-])(?!\W*suffix)", text), path


def test_lines_of_prose_are_short() -> None:
    for page in PAGES:
        code = made = False  # in a block of code; in one that a benchmark made
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            code ^= line.lstrip().startswith("```")
            made ^= bool(re.fullmatch(r"<!-- /?[\w-]+ -->", line)) and "verbs" not in line
            table = line.lstrip().startswith(("|", "![")) or "](" in line
            place = f"{page.relative_to(ROOT)}:{number}"
            assert code or made or table or len(line) <= 120, f"{place}: {len(line)} characters"
