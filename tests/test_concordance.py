"""Where words stand, and what they are linked to there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bitweft.cli import main
from bitweft.corpus.concordance import Query
from bitweft.errors import UsageError

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("en").write_text("the White house\na house\nhouse to house\n", encoding="utf-8")
    Path("fr").write_text("la Maison blanche\nune demeure\nde maison en maison\n", encoding="utf-8")
    Path("links").write_text("0-0 1-2 2-1\n0-0 1-1\n0-1 1-2 2-3\n", encoding="utf-8")

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["lexicon", "en", "fr", "links", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        (
            "house",
            [
                "1\tthe White [house]\tla [Maison] blanche",
                "2\ta [house]\tune [demeure]",
                "3\t[house] to house\tde [maison] en maison",
                "3\thouse to [house]\tde maison en [maison]",
            ],
        ),
        ("white HOUSE", ["1\tthe [White house]\tla [Maison blanche]"]),
        ("house ||| demeure", ["2\ta [house]\tune [demeure]"]),
        ("to ||| maison", []),
        ("||| blanche", ["1\tthe [White] house\tla Maison [blanche]"]),
        ("castle", []),
    ],
)
def test_places(run: Run, query: str, hits: list[str]) -> None:
    code, out, err = run("--query", query)
    assert (code, out.splitlines()) == (0, ["line\tsource\ttarget", *hits])
    assert err == f"bitweft: {len(hits)} places\n"


def test_faults(run: Run) -> None:
    assert run("--query", " ||| ")[0] == 2
    with pytest.raises(UsageError):
        Query.parse("")
    Path("links").write_text("0-0\n9-9\n\n")
    code, _, err = run("--query", "house", "-o", "out")
    assert code == 1
    assert "links:2: link 9-9 (zero-based) is outside" in err
    assert not Path("out").exists()


def test_top_is_counted_for_each_source_word(run: Run) -> None:
    _, out, _ = run("--top", "1", "--lower")
    words = [line.split("\t")[:2] for line in out.splitlines()[1:]]
    assert [target for source, target in words if source == "house"] == ["maison"]
