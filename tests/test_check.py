"""`bitweft check`: every fault counted, the first lines told, and an exit code to stop a pipeline with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bitweft.cli import main
from bitweft.links.check import KINDS, Report, check

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str | bytes) -> Path:
        path = Path(name)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def kinds(report: Report) -> dict[tuple[str, str], tuple[int, list[int]]]:
    return {(f.file, f.kind): (f.count, f.lines) for f in report.findings.values()}


def test_good_text_and_links(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    write("s", "a b\nc\n"), write("t", "x\ny z\n"), write("l", "0-0 1-0\n0-1\n")
    assert main(["check", "s", "t", "l", "--strict"]) == 0
    assert capsys.readouterr().out == "s: 2 lines, t: 2 lines, l: 2 lines\nno problems found\n"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"a \xff", "encoding"),
        ("a\u2028b", "line-separator"),
        ("a\x0cb", "line-separator"),
        ("a\rb", "line-separator"),
        ("a\x00b", "control"),
        ("a\tb", "tab"),
        ("a ||| b", "bars"),
        ("", "empty"),
        ("a " * 19 + "a", "long"),
        ("a\r", "carriage-return"),
        ("a\u00a0b", "odd-space"),
        ("a\u200bb", "odd-space"),
        ("a  b", "repeated-space"),
        ("a ", "repeated-space"),
    ],
)
def test_each_fault_of_text(write: Write, line: str | bytes, kind: str) -> None:
    raw = line if isinstance(line, bytes) else line.encode()
    source = write("s", b"\n".join([b"good", raw, b"good", *[raw] * 6]) + b"\n")
    report = check(source, write("t", "x\n" * 9), long=20)
    assert kinds(report) == {("s", kind): (7, [2, 4, 5, 6, 7])}
    assert report.breaks == KINDS[kind][0]


def test_a_byte_order_mark(write: Write) -> None:
    report = check(write("s", "\ufeffa\n"), write("t", "x\n"), write("l", "0-0\n"))
    assert kinds(report) == {("s", "byte-order-mark"): (1, [1])}
    assert not report.breaks


def test_unequal_files(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    write("s", "a\n" * 3), write("t", "x\n" * 2), write("l", "0-0\n" * 5)
    assert main(["check", "s", "t", "l"]) == 1
    out = capsys.readouterr().out
    assert "t: the files have different numbers of lines (at line 3; s has 3, t has 2)" in out
    assert "l has 5, the text has 2" in out


@pytest.mark.parametrize(
    ("links", "kind", "lines"),
    [
        ("0-0\n0-1\n1-0 1-1\n", "out-of-range", [2]),
        ("0-0 x\n0-0\n1-\n", "link-syntax", [1, 3]),
        ("0-0\n0-0\n0-0 1-1 0-0\n", "duplicate-link", [3]),
        ("\n0-0\n0-0\n", "no-links", [1]),
        ("1 1 1\n2 1 2\n3 1 1\n", "out-of-range", [2]),
        ("1 1 1\n2 1 1\n9 1 1\n", "link-syntax", [3]),
    ],
)
def test_each_fault_of_links(write: Write, links: str, kind: str, lines: list[int]) -> None:
    source, target = write("s", "a b\nc\nd e\n"), write("t", "x\ny\nz w\n")
    link_format = "naacl" if links.startswith("1 ") else "pharaoh"
    report = check(source, target, write("l", links), link_format=link_format)
    found = {key: value for key, value in kinds(report).items() if key == ("l", kind)}
    assert found == {("l", kind): (len(lines), lines)}
    assert report.breaks == KINDS[kind][0]


def test_doubtful_links_do_not_hide_faults_of_the_text(write: Write) -> None:
    report = check(write("s", "a\tb c\n"), write("t", "x y\n"), write("l", "1-1\n"))
    assert kinds(report) == {("s", "tab"): (1, [1]), ("l", "link-syntax"): (1, [1])}
    assert "name the format pharaoh" in str(report)


def test_one_based_links_are_told_from_faulty_ones(write: Write) -> None:
    source, target, links = write("s", "a b\n"), write("t", "x y\n"), write("l", "1-1 2-2\n")
    assert check(source, target, links, link_format="pharaoh").breaks
    assert not check(source, target, links, link_format="talp").breaks
    assert not check(source, target, links, one_based=True).breaks


def test_words_are_counted_as_asked(write: Write) -> None:
    source, target, links = write("s", "東京\n"), write("t", "Tokyo!\n"), write("l", "1-0 0-1\n")
    assert check(source, target, links).breaks
    assert not check(source, target, links, tokenize="unicode").breaks


def test_json(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    write("s", "a\n\n"), write("t", "x\ny\n"), write("l", "0-0\n0-0\n")
    assert main(["check", "s", "t", "l", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "ok": False,
        "lines": {"s": 2, "t": 2, "l": 2},
        "findings": [
            {
                "kind": "out-of-range",
                "file": "l",
                "breaks": True,
                "count": 1,
                "lines": [2],
                "detail": "link 0-0 (zero-based) is outside a pair of 0 and 1 words; "
                "are the links one-based, inverted, or of another tokenization?",
            },
            {"kind": "empty", "file": "s", "breaks": False, "count": 1, "lines": [2], "detail": None},
        ],
    }


def test_notes_alone_break_nothing_unless_asked(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    write("s", "a\n\n"), write("t", "x\ny\n")
    assert main(["check", "s", "t"]) == 0
    assert (
        "note    s: empty lines, which GIZA++ and fast_align skip: 1 (at line 2)" in capsys.readouterr().out
    )
    assert main(["check", "s", "t", "--strict"]) == 1


def test_files_that_cannot_be_checked(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    write("s", "a\n")
    assert main(["check", "s", "missing"]) == 1
    assert "missing: no such file" in capsys.readouterr().err
    assert main(["check", "-", "-"]) == 2
