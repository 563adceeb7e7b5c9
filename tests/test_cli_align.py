"""`bitweft align`: one line in, one line out, whatever the lines hold; wishes, scores and faults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitweft.cli import main
from bitweft.links.formats.registry import read_alignments
from bitweft.recipes.base import COMPLETE, PRECISE, Decoding
from small import aligner, sample, write_joint, write_text

WEFT = [sys.executable, "-m", "bitweft"]
ODD_LINES = [
    "the cat ||| le chat",
    " ||| ",
    "the ||| ",
    " ||| le",
    "the cat ||| le chat",
    "👩‍👩‍👧 e\u0301 שלום עולם ||| 👩‍👩‍👧 é مرحبا",
    "a\x00b \x00 ||| \x00 c",
    "a ||| b ||| c",
    "\u200b\u00a0 ||| \u2028",
    "tab\tin side ||| tab\tin",
    "0-0 1-1 ||| -",
]


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def align(tmp_path: Path, *arguments: str, code: int = 0) -> list[str]:
    """Run the verb into a file and read its lines."""
    output = tmp_path / "out.links"
    output.unlink(missing_ok=True)
    assert main(["align", *arguments, "-o", str(output)]) == code
    return lines_of(output) if code == 0 else []


def test_a_kept_model_gives_the_links_of_learning(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = write_text(tmp_path)
    learned = align(tmp_path, *text, "--threads", "1")
    assert "300 pairs, " in capsys.readouterr().err
    assert align(tmp_path, *text, "--model", str(model)) == learned
    assert align(tmp_path, write_joint(tmp_path), "--model", str(model), "--threads", "2") == learned
    assert learned == [str(links) for links in aligner().align(sample()[0])]
    assert len(learned) == 300


def test_odd_lines_keep_their_place(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd"
    path.write_bytes("\n".join([*ODD_LINES, ""]).encode())
    found = align(tmp_path, str(path), "--model", str(model), "--format", "joint")
    assert len(found) == len(ODD_LINES)
    assert found[0] == found[4] != "" and found[1:4] == ["", "", ""]
    assert "3 with an empty side" in capsys.readouterr().err


def test_damaged_and_overlong_lines_are_left_empty_and_counted(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "damaged"
    long = "the " * 20
    path.write_bytes(
        b"the cat ||| le chat\n\xff\xfe ||| le\nno bar\n" + f"{long} ||| le\n".encode() + b"the ||| le\n"
    )
    arguments = [str(path), "--model", str(model), "--format", "joint", "--max-length", "10"]
    found = align(tmp_path, *arguments)
    assert [bool(line) for line in found] == [True, False, False, False, True]
    assert (
        "pairs without links: 1 too long, 2 with an empty side (2 of them damaged)" in capsys.readouterr().err
    )
    align(tmp_path, *arguments, "--strict", code=1)
    assert "damaged:2: not UTF-8" in capsys.readouterr().err
    path.write_text(f"a ||| b\n{long} ||| le\n")
    align(tmp_path, *arguments, "--strict", code=1)
    assert "damaged:2: 20 and 1 words, more than --max-length 10" in capsys.readouterr().err


LINE = st.one_of(
    st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace")), st.binary(max_size=9)
)


@given(st.lists(st.tuples(LINE, LINE), max_size=8))
@settings(max_examples=25)
def test_every_line_gives_a_line(
    model: Path, tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[bytes, bytes]]
) -> None:
    directory = tmp_path_factory.mktemp("lines")
    for side, name in enumerate(("s", "t")):
        lines = [b"." + pair[side].replace(b"\n", b" ") + b"\n" for pair in pairs]  # "." for no magic number
        (directory / name).write_bytes(b"".join(lines))
    arguments = [str(directory / "s"), str(directory / "t"), "--model", str(model), "-q"]
    assert len(align(directory, *arguments)) == len(pairs)
    assert len(align(directory, *arguments, "--to", "jsonl", "--null", "--tokenize", "unicode")) == len(pairs)


def test_text_without_a_word_gives_empty_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").write_text(" ||| \n ||| a\n")
    assert align(tmp_path, str(tmp_path / "empty")) == ["", ""]
    assert "no pair has words on both sides" in capsys.readouterr().err
    (tmp_path / "empty").write_text("")
    assert align(tmp_path, str(tmp_path / "empty")) == []


def test_scores_come_beside_the_links(model: Path, tmp_path: Path) -> None:
    text = write_text(tmp_path)
    arguments = [*text, "--model", str(model), "--scores", str(tmp_path / "scores")]
    plain = align(tmp_path, *arguments)
    for links, line in zip(plain, lines_of(tmp_path / "scores"), strict=True):
        score, chances = line.split("\t")
        assert float(score) > 0
        assert len(chances.split()) == len(links.split())
    scored = align(tmp_path, *arguments[:-2], "--to", "scored")
    assert [" ".join(item.split(":")[0] for item in line.split()) for line in scored] == plain
    with_null = align(tmp_path, *arguments[:-2], "--to", "scored", "--null", "--precision")
    assert any("NULL" in line for line in with_null)
    (tmp_path / "null").write_text("\n".join(with_null) + "\n")
    assert len(list(read_alignments(tmp_path / "null"))) == 300


def test_jsonl_holds_everything(model: Path, tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("The cat, (it) sleeps.\tLe chat dort!\n", encoding="utf-8")
    arguments = [str(tmp_path / "raw"), "--model", str(model), "--tokenize", "unicode"]
    (line,) = align(tmp_path, *arguments, "--to", "jsonl", "--null", "--precision")
    value = json.loads(line)
    words = [value["src"][start:end] for start, end in value["src_spans"]]
    assert words[:3] == ["The", "cat", ","] and isinstance(value["score"], float)
    linked = {link[0] for link in value["links"]}
    assert {place for place, _ in value["src_null"]} == set(range(len(words))) - linked
    assert all(0 <= chance <= 1 for *_, chance in [*value["links"], *value["src_null"], *value["tgt_null"]])


@pytest.mark.parametrize(
    ("options", "wish"),
    [
        (["--precision"], Decoding(threshold=PRECISE)),
        (["--recall"], Decoding(threshold=COMPLETE)),
        (["--threshold", "0.6"], Decoding(threshold=0.6)),
        (["--heuristic", "grow-diag-final-and"], Decoding(heuristic="grow-diag-final-and")),
        (["--direction", "backward"], Decoding(direction="backward")),
    ],
)
def test_wishes_are_passed_on(model: Path, tmp_path: Path, options: list[str], wish: Decoding) -> None:
    found = align(tmp_path, *write_text(tmp_path), "--model", str(model), *options)
    assert found == [str(links) for links in aligner().align(sample()[0], decoding=wish)]


def test_learning_options_reach_the_recipe(tmp_path: Path) -> None:
    text = write_text(tmp_path)
    kept = tmp_path / "kept"
    options = ["--set", "count_passes=1", "--seed", "3", "--no-lowercase", "--save-model", str(kept), "-q"]
    align(tmp_path, *text, *options)
    about = json.loads((kept / "model.json").read_text(encoding="utf-8"))
    assert (about["config"]["count_passes"], about["seed"], about["config"]["lowercase"]) == (1, 3, False)


def test_text_streams_through_pipes(model: Path) -> None:
    line = b"the cat ||| le chat\n"
    process = subprocess.Popen(
        [*WEFT, "align", "-", "--model", str(model), "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    output, _ = process.communicate(line * 1000)
    assert output == b"0-0 1-1\n" * 1000 and process.returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_who_keeps_a_pipe_open_gets_the_links_of_all_that_was_sent(model: Path) -> None:
    line = b"the cat ||| le chat\n"
    command = [*WEFT, "align", "-", "--model", str(model), "-q"]
    for options, first in ((["--format", "joint"], 1), ([], 2000)):  # a format is told by 1,000 lines
        process = subprocess.Popen([*command, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None and process.stdout is not None
        for lines in (first, 3, 300):
            process.stdin.write(line * lines)
            process.stdin.flush()
            assert [process.stdout.readline() for _ in range(lines)] == [b"0-0 1-1\n"] * lines
        output, _ = process.communicate(line + b"the cat ||| le")  # a last line without its end
        assert output.count(b"\n") == 2 and process.returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_two_pipes_of_different_lengths_are_a_fault_behind_the_links_before(model: Path) -> None:
    command = (
        f"{sys.executable} -m bitweft align <(yes cat | head -700) <(yes chat | head -600) --model {model}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True)
    assert done.returncode == 1 and b"/dev/fd/63 has 700" in done.stderr and b"has 600" in done.stderr
    assert done.stdout == b"0-0\n" * 600


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_closed_pipe_is_no_fault(model: Path, tmp_path: Path) -> None:
    joint = write_joint(tmp_path)
    command = f"{sys.executable} -m bitweft align {joint} --model {model} -q | true"
    done = subprocess.run(command, shell=True, capture_output=True)
    assert done.stderr == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_said(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    joint = write_joint(tmp_path)
    assert main(["align", joint, "--model", str(model), "-o", "/dev/full"]) == 1
    assert "No space left" in capsys.readouterr().err
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*WEFT, "align", joint, "--model", str(model)], stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 1
    assert (
        b"No space left" in done.stderr
        and b"Traceback" not in done.stderr
        and b"Exception" not in done.stderr
    )


def test_what_is_there_is_kept(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    joint = write_joint(tmp_path)
    before = Path(joint).read_bytes()
    (tmp_path / "out").write_text("precious")
    assert main(["align", joint, "--model", str(model), "-o", str(tmp_path / "out")]) == 1
    assert (tmp_path / "out").read_text() == "precious"
    assert main(["align", joint, "--model", str(model), "-o", joint, "--force"]) == 2
    assert "is an input" in capsys.readouterr().err and Path(joint).read_bytes() == before
    assert main(["align", joint, "--model", str(model), "-o", str(tmp_path / "out"), "--force"]) == 0
    assert len(lines_of(tmp_path / "out")) == 300


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the administrator may write anywhere")
def test_a_forbidden_place_is_said(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    output = str(tmp_path / "closed" / "out")
    assert main(["align", write_joint(tmp_path), "--model", str(model), "-o", output]) == 1
    assert "cannot write here" in capsys.readouterr().err


def test_unequal_files_write_nothing(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = write_text(tmp_path)
    with open(target, "a", encoding="utf-8") as stream:
        stream.write("encore\n")
    align(tmp_path, source, target, "--model", str(model), code=1)
    assert "different numbers of lines" in capsys.readouterr().err
    assert not (tmp_path / "out.links").exists()


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["TEXT", "--null"],
        ["TEXT", "--model", "m", "--seed", "1"],
        ["TEXT", "--model", "m", "--set", "a=b"],
        ["TEXT", "--model", "m", "--save-model", "n"],
        ["TEXT", "--shard", "1/2"],
        ["TEXT", "--model", "MODEL", "--shard", "3/2"],
        ["TEXT", "--model", "MODEL", "--threshold", "7"],
        ["TEXT", "--model", "MODEL", "--max-length", "0"],
        ["--shards", "x", "--model", "MODEL"],
        ["TEXT", "--shards", "x", "--out", "y", "--model", "MODEL"],
        ["--shards", "x", "--out", "y", "--model", "MODEL", "-o", "z"],
        ["TEXT", "--model", "MODEL", "--scores", "-"],
        ["TEXT", "--model", "MODEL", "--scores", "same", "-o", "same"],
        ["TEXT", "--model", "MODEL", "--shard", "1/2", "--known-links", "TEXT"],
        ["TEXT", "--set", "magic=1"],
        ["TEXT", "--threads", "0"],
    ],
)
def test_options_that_do_not_go_together(model: Path, tmp_path: Path, options: list[str]) -> None:
    names = {"TEXT": write_joint(tmp_path), "MODEL": str(model)}
    assert main(["align", *(names.get(option, option) for option in options)]) == 2


@pytest.mark.parametrize("options", [["TEXT", "--model", "none"], ["none", "--model", "MODEL"], ["none"]])
def test_missing_files_are_said(
    model: Path, tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    names = {
        "TEXT": write_joint(tmp_path),
        "MODEL": str(model),
        "none": str(tmp_path / "none"),
    }
    assert main(["align", *(names.get(option, option) for option in options)]) == 1
    assert "no such" in capsys.readouterr().err
