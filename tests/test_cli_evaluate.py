"""`bitweft evaluate` and `bitweft symmetrize` as a user meets them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bitweft.cli import main

Write = Callable[[str, str], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a file into the directory that the test runs in."""
    monkeypatch.chdir(tmp_path)

    def write_file(name: str, text: str) -> str:
        Path(name).write_text(text, encoding="utf-8")
        return name

    return write_file


@pytest.fixture
def files(write: Write) -> None:
    write("links", "0-0 1-2 2-2\n0-1\n")
    write("better", "0-0 1-1\n0-1 1-0\n")
    write("gold", "0-0 1-1 1?2\n0-1 1-0 2-2\n")
    write("en", "the old house\nshe is asleep\n")
    write("fr", "la vieille maison\ndort elle ici\n")


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


REPORT = """\
links against gold

                 %
  precision  75.00
  recall     40.00
  F1         52.17
  AER        44.44

2 sentences, 4 links; gold: 5 sure and 1 only possible
"""

WORDS = """
wrong: linked, but not possible (1 in all)
  1  house  maison

missed: sure, but not linked (3 in all)
  1  old  vieille
  1  is  dort
  1  asleep  ici
"""


@pytest.mark.usefixtures("files")
def test_report(capsys: pytest.CaptureFixture[str]) -> None:
    output = run(capsys, "evaluate", "links", "gold", "--samples", "0")
    assert output.startswith(REPORT + "\nsignature  AER|gold:")


@pytest.mark.usefixtures("files")
def test_report_with_words(capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["--source", "en", "--target", "fr"]
    output = run(capsys, "evaluate", "links", "gold", "--samples", "0", *texts)
    assert output.startswith(REPORT + WORDS + "\nsignature  AER|gold:")
    output = run(capsys, "evaluate", "links", "gold", "--samples", "0", *texts, "--top", "1")
    assert "is  dort" not in output and "(3 in all)" in output


@pytest.mark.usefixtures("files")
def test_report_with_intervals_and_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "evaluate", "better", "gold", "--compare", "links").splitlines()
    assert lines[2].split() == ["%", "95", "%", "interval"]
    assert lines[6].split() == ["AER", "11.11", "[0.00,", "20.00]"]
    assert lines[10] == "compared with links, links minus other"
    assert lines[16].split()[:3] == ["AER", "44.44", "-33.33"]


@pytest.mark.usefixtures("files")
def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["--source", "en", "--target", "fr"]
    output = run(capsys, "evaluate", "links", "gold", "--json", "--compare", "better", *texts)
    assert output.count("\n") == 1
    result = json.loads(output)
    assert result["precision"] == 0.75
    assert result["recall"] == 0.4
    assert result["f1"] == pytest.approx(12 / 23)
    assert result["aer"] == pytest.approx(4 / 9)
    assert [result[name] for name in ("links", "sure", "possible", "sentences")] == [4, 5, 6, 2]
    assert result["signature"].startswith("AER|gold:")
    assert result["other"]["precision"] == 1.0
    assert result["comparison"]["recall"]["difference"] == pytest.approx(-0.4)
    low, high = result["intervals"]["recall"]
    assert low <= 0.4 <= high
    assert result["wrong"] == [{"source": "house", "target": "maison", "count": 1}]
    assert {"source": "is", "target": "dort", "count": 1} in result["missed"]


@pytest.mark.usefixtures("files")
def test_the_same_in_other_formats(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    write("gold.wa", "1 1 1 S\n1 2 2 S\n1 2 3 P\n2 1 2 S\n2 2 1 S\n2 3 3 S\n")
    write("one-based", "1-1 2-3 3-3\n1-2\n")
    output = run(
        capsys, "evaluate", "one-based", "gold.wa", "--one-based-links", "--gold-format", "naacl", "--json"
    )
    assert json.loads(output) == json.loads(run(capsys, "evaluate", "links", "gold", "--json"))
    output = run(
        capsys, "evaluate", "links", "gold", "--compare", "one-based", "--one-based-compare", "--json"
    )
    assert json.loads(output)["comparison"]["aer"] == {"difference": 0.0, "interval": [0.0, 0.0], "p": 1.0}


@pytest.mark.usefixtures("files")
def test_no_links_are_a_result(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    write("empty", "\n\n")
    result = json.loads(run(capsys, "evaluate", "empty", "gold", "--json"))
    assert (result["precision"], result["recall"], result["f1"], result["aer"]) == (0, 0, 0, 1)
    assert result["links"] == 0
    write("nothing", "")
    assert "0 sentences, 0 links" in run(capsys, "evaluate", "nothing", "nothing", "--compare", "nothing")


@pytest.mark.usefixtures("files")
def test_links_outside_the_text_are_caught(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    texts = ["--source", "en", "--target", "fr"]
    write("far", "0-0\n0-1 2-3\n")
    error = run(capsys, "evaluate", "far", "gold", *texts, code=1)
    assert error.startswith("bitweft: far:2: link 2-3")
    write("far-gold", "0-0\n0-1 7?1\n")
    assert run(capsys, "evaluate", "links", "far-gold", *texts, code=1).startswith(
        "bitweft: far-gold:2: link 7-1"
    )


@pytest.mark.usefixtures("files")
def test_faults_name_file_and_line(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    write("short", "0-0\n")
    assert run(capsys, "evaluate", "short", "gold", code=1).startswith(
        "bitweft: short:2: this line is missing"
    )
    assert run(capsys, "evaluate", "links", "gold", "--compare", "short", code=1).startswith(
        "bitweft: short:2: "
    )
    assert run(capsys, "evaluate", "absent", "gold", code=1) == "bitweft: absent: no such file\n"
    run(capsys, "evaluate", "links", "gold", "--samples", "0", "--compare", "better", code=2)


def test_symmetrize(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    write("forward", "0-0 1-1\n\n0-0\n")
    write("backward", "1-1 0-1\n\n0-0 0-1\n")
    both = ["forward", "backward"]
    assert run(capsys, "symmetrize", *both) == "0-0 0-1 1-1\n\n0-0 0-1\n"
    assert run(capsys, "symmetrize", *both, "--order", "atools") == "0-0 1-1\n\n0-0 0-1\n"
    assert run(capsys, "symmetrize", *both, "--heuristic", "strict-grow-diag") == "0-0 1-1\n\n0-0\n"
    assert run(capsys, "symmetrize", *both, "--heuristic", "intersection", "--to", "talp") == "2-2\n\n1-1\n"
    run(capsys, "symmetrize", *both, "--heuristic", "union", "-o", "out")
    assert Path("out").read_text(encoding="utf-8") == "0-0 0-1 1-1\n\n0-0 0-1\n"


def test_symmetrize_keeps_scores(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    write("forward", "0-0:0.9 1-1:0.5\n")
    write("backward", "0-0:0.4\n")
    output = run(capsys, "symmetrize", "forward", "backward", "--heuristic", "union", "--to", "scored")
    assert output == "0-0:0.6 1-1:0.5\n"


def test_symmetrize_writes_no_half_file(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    write("forward", "0-0\n0-0\n")
    write("backward", "0-0\n0=0\n")
    arguments = ["symmetrize", "forward", "backward", "--from", "pharaoh", "-o", "out"]
    assert run(capsys, *arguments, code=1).startswith("bitweft: backward:2: '0=0'")
    write("backward", "0-0\n")
    assert run(capsys, *arguments, code=1).startswith("bitweft: backward:2: this line is missing")
    assert not Path("out").exists()
