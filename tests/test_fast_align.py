"""`bitweft fast-align`: what fast_align's users type and get."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitweft.cli import main
from bitweft.cli.fast_align import links_line
from bitweft.links.alignment import Alignment
from bitweft.recipes.base import Decoding
from small import aligner, sample, write_joint


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[list[str], str]:
    assert main(["fast-align", *arguments, "--threads", "1"]) == code
    captured = capsys.readouterr()
    return captured.out.split("\n")[:-1], captured.err


@pytest.mark.parametrize(
    ("flags", "direction"),
    [
        (["-d", "-o", "-v"], "forward"),
        (["-vod"], "forward"),
        (["-dovr"], "backward"),
        (["-r", "-I", "3"], "backward"),
    ],
)
def test_bundled_flags_choose_the_direction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], direction: str
) -> None:
    lines, said = run(capsys, "-i", write_joint(tmp_path), *flags)
    expected = list(aligner().align(sample()[0], decoding=Decoding(direction=direction)))
    assert lines == [links_line(links, reverse=direction == "backward") for links in expected]
    assert "without a meaning here" in said


def test_links_come_in_the_order_of_the_words_that_chose() -> None:
    links = Alignment.of([(0, 2), (1, 0), (2, 1), (2, 3)])
    assert links_line(links, reverse=False) == "1-0 2-1 0-2 2-3"
    assert links_line(links, reverse=True) == "0-2 1-0 2-1 2-3"


def test_forced_alignment_writes_four_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    joint = write_joint(tmp_path)
    table = str(tmp_path / "table")
    learned, _ = run(capsys, "-i", joint, "-dov", "-p", table)
    forced, _ = run(capsys, "-i", joint, "-f", table)
    fields = [line.split(" ||| ") for line in forced]
    assert [own[2] for own in fields] == learned
    assert [" ||| ".join(own[:2]) for own in fields] == Path(joint).read_text(encoding="utf-8").split("\n")[
        :-1
    ]
    assert all(float(own[3]) > 0 for own in fields)
    run(capsys, "-i", joint, "-f", table, "-p", "x", code=2)
    run(capsys, "-i", joint, "-p", table, code=1)


def test_scores_are_added_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, _ = run(capsys, "-i", write_joint(tmp_path), "-s")
    assert all(float(line.split(" ||| ")[1]) > 0 for line in lines)


def test_odd_lines_give_blank_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd"
    path.write_bytes(b"a b ||| x y\n\xff ||| x\n ||| \nno bar\na ||| b ||| c\n" + b"a b ||| x y\n" * 3)
    lines, said = run(capsys, "-i", str(path))
    assert len(lines) == 8 and lines[1:4] == ["", "", ""]
    assert "2 lines that cannot be read" in said
    path.write_bytes(b" ||| \n")
    assert run(capsys, "-i", str(path))[0] == [""]


def test_a_missing_input_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such file" in run(capsys, "-i", str(tmp_path / "none"), code=1)[1]
