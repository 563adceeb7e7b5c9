"""What an installation meets elsewhere: no place to write to, odd names of files, README shown by PyPI."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bitweft
from bitweft import sample
from bitweft.aligner import Aligner
from bitweft.cli import main
from small import write_text

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["with space", "two\nlines", "öäü – 日本", "-dash", "[a]*?"])
def test_files_may_have_any_name(
    name: str,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if os.name == "nt" and re.search(r"[\n*?]", name):
        pytest.skip("no name of a file on Windows")
    monkeypatch.chdir(tmp_path)
    source, target = (Path(path).rename(f"{name}.{n}") for n, path in enumerate(write_text(tmp_path)))
    kept, links, page = (f"./{name}.{ending}" for ending in ("weft", "links", "html"))
    shutil.copytree(model, kept)
    files = [f"./{source}", f"./{target}"]
    assert main(["align", *files, "--model", kept, "-o", links]) == 0
    assert main(["check", *files, links]) == 0
    assert main(["view", *files, links, "-o", page]) == 0
    assert main(["lexicon", *files, links, "-o", f"./{name}.tsv"]) == 0
    assert main(["evaluate", links, links]) == 0
    capsys.readouterr()
    assert main(["align", f"./{name}.none", "--model", kept]) == 1
    assert f"{name}.none" in capsys.readouterr().err


@pytest.mark.slow
def test_a_read_only_installation_without_a_home_works_after_one_line(tmp_path: Path) -> None:
    """Put a file where numba would make its directory, too: root can write what is read-only."""
    package = Path(shutil.copytree(Path(bitweft.__file__).parent, tmp_path / "site" / "bitweft"))
    for folder in package.rglob("__pycache__"):
        shutil.rmtree(folder)
    for folder in [package, *package.rglob("*/")]:
        (folder / "__pycache__").write_text("")
        folder.chmod(0o555)
    hidden = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    done = subprocess.run(
        [sys.executable, "-m", "bitweft", "align", *write_text(tmp_path), "-q"],
        env={
            **{name: value for name, value in os.environ.items() if name not in hidden},
            "HOME": os.path.join(os.devnull, "nowhere"),
            "PYTHONPATH": str(package.parent),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 300
    assert done.stderr.count("\n") == 1
    assert "compiled code is not kept" in done.stderr and "NUMBA_CACHE_DIR" in done.stderr


def test_readme_on_pypi_has_no_relative_link() -> None:
    spec = importlib.util.spec_from_file_location("setup", ROOT / "setup.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    links = re.findall(r"(!?)\[[^]]*\]\(([^)]*)\)", module.long_description())
    home = "https://github.com/bitweft/bitweft"
    own = [(picture, link) for picture, link in links if link.startswith(home)]
    assert all(link.startswith("https://") for _, link in links)
    assert {link for picture, link in own if picture} == {f"{home}/raw/HEAD/docs/view.png"}
    assert ("", f"{home}#results") in own
    for picture, link in own:
        path = (
            link.removeprefix(home).partition("#")[0].removeprefix("/raw/HEAD" if picture else "/blob/HEAD")
        )
        assert (ROOT / path.lstrip("/")).exists(), link


def test_readme_shows_the_links_of_a_real_model() -> None:
    """A model of the demo's text, with all that is default, gives the three lines of README."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"^(\S.*) \|\|\| (.*\S)   +([\d -]+)$", readme, re.M)
    assert len(examples) == 3
    aligner = Aligner().fit(sample.bitext(sample.generate(2000))[0])
    assert [str(aligner.align(source, target)) for source, target, _ in examples] == [e[2] for e in examples]
