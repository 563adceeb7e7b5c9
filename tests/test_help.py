"""The examples in the help of verbs run as they stand."""

from __future__ import annotations

import importlib
import re
import shlex
import shutil
from pathlib import Path

import pytest

from bitweft.cli import main
from small import sample

VERBS = ("filter", "eflomal-align", "eflomal-makepriors", "lexicon")


@pytest.fixture
def folder(tmp_path: Path, small_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay out the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    pairs = list(sample()[0])[:60]
    for side, name in enumerate(("en.txt", "fr.txt")):
        Path(name).write_text("".join(pair[side].text + "\n" for pair in pairs), encoding="utf-8")
    for side, name in enumerate(("en.lemmas", "fr.lemmas")):
        lines = [" ".join(word[:4] for word in pair[side].tokens) + "\n" for pair in pairs]
        Path(name).write_text("".join(lines), encoding="utf-8")
    for name in ("text.en-fr", "more.en-fr"):
        lines = [f"{pair.source.text} ||| {pair.target.text}\n" for pair in pairs]
        Path(name).write_text("".join(lines), encoding="utf-8")
    Path("links.txt").write_text("0-0\n" * len(pairs), encoding="utf-8")
    shutil.copytree(small_model, "enfr.weft")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.usefixtures("folder")
def test_the_examples_run(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(f"bitweft.cli.{verb.replace('-', '_')}")
    examples = [line.strip() for line in module.EXAMPLES.splitlines() if line.strip()]
    assert any(line.startswith(f"bitweft {verb} ") for line in examples)
    for line in examples:
        command = re.sub(r" > \S+$", "", line)
        if "makepriors" not in line:  # which needs the links of the example before
            for made in Path().glob("*.links"):
                made.unlink()
        assert main(shlex.split(command)[1:]) == 0, f"{line}\n{capsys.readouterr().err}"
