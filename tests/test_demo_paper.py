"""The demonstration of the paper's recipe: every part of it, on very little text."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bitweft.cli import demo_paper, main
from bitweft.sample import bitext, generate, natural
from bitweft.text.bitext import SentencePair, tokenize

SMALL = ("model.hidden=8", "model.output=8", "model.words=8", "decoding.sentences=5", "decoding.negatives=3")


@pytest.mark.usefixtures("one_thread")
def test_every_part_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    settings = (*SMALL, "training.word_epochs=1", "model.source_k1=3")
    monkeypatch.setattr(demo_paper, "SETTINGS", settings)
    monkeypatch.setattr(demo_paper, "TUNED", 5)
    monkeypatch.setattr(demo_paper, "natural", lambda: [own for own in natural() if len(own.source) == 8])
    assert main(["demo", "--recipe", "paper", "--pairs", "30"]) == 0
    shown = capsys.readouterr().out
    for name in demo_paper.AGGREGATIONS:
        assert re.search(rf"^    {name} +(\d+\.\d +){{5}}\d+\.\d$", shown, re.MULTILINE)
    matrix = re.findall(r"^ +(?:We|did|not|understand|the|last|question|\.)  (.*)$", shown, re.MULTILINE)
    assert len(matrix) == 8 and any("█" in row for row in matrix)
    assert len(re.findall(r"^      (?:windows|words): .+ \d+\.\d", shown, re.MULTILINE)) == 4
    assert max(map(len, shown.splitlines())) <= 90


def test_it_writes_no_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--recipe", "paper", "-o", "somewhere"]) == 2
    assert "-o is not supported by the demo of the recipe 'paper'" in capsys.readouterr().err


def test_shades_and_letters_stand_over_their_columns() -> None:
    pair = SentencePair(tokenize("a bc"), tokenize("xy z"))
    lines = list(demo_paper.side_by_side(pair, np.array([[0.0, 1.0], [0.5, 0.2]]), np.zeros((2, 2))))
    assert [line[:8] for line in lines] == ["    x   ", "    y z ", " a    ██", "bc  ▒▒░░"]


def test_windows_are_common_and_around_different_words() -> None:
    pairs = list(bitext(generate(300))[0])
    windows = demo_paper.common_windows(pairs, 3)
    assert len({window[1] for window in windows}) == 3 and all(len(window) == 3 for window in windows)
