"""Work in parts: any order, any number of machines, the bytes of one run."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bitweft.cli import main
from bitweft.corpus.shards import find_shards, parse_shard, shard_of
from bitweft.errors import InputError, UsageError
from small import aligner, sample, write_joint


def expected() -> str:
    """Give the links of a single run."""
    return "".join(f"{links}\n" for links in aligner().align(sample()[0]))


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Write the text as five compressed joint files."""
    pairs = list(sample()[0])
    for number in range(5):
        own = pairs[number * 60 : (number + 1) * 60]
        lines = "".join(f"{pair.source.text} ||| {pair.target.text}\n" for pair in own)
        (tmp_path / f"text.{number}.gz").write_bytes(gzip.compress(lines.encode()))
    return tmp_path


def run(directory: Path, model: Path, *options: str, code: int = 0) -> None:
    arguments = [
        "--shards",
        str(directory / "text.*.gz"),
        "--out",
        str(directory / "out"),
        "--model",
        str(model),
    ]
    assert main(["align", *arguments, *options]) == code


def joined(directory: Path) -> str:
    return "".join(path.read_text() for path in sorted((directory / "out").glob("*.links")))


@pytest.mark.parametrize("parts", [1, 3, 7])
def test_parts_of_one_text_join_to_the_whole(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], parts: int
) -> None:
    joint = write_joint(tmp_path)
    for part in reversed(range(1, parts + 1)):
        output = str(tmp_path / f"{part}.part")
        assert main(["align", joint, "--model", str(model), "--shard", f"{part}/{parts}", "-o", output]) == 0
    assert "".join((tmp_path / f"{part}.part").read_text() for part in range(1, parts + 1)) == expected()


def test_parts_cover_all_and_nothing_twice() -> None:
    pairs = list(sample()[0])
    for parts in (1, 2, 7, 299, 400):
        assert [pair for part in range(1, parts + 1) for pair in shard_of(pairs, part, parts)] == pairs


def test_files_are_aligned_each_by_itself(model: Path, shards: Path) -> None:
    run(shards, model, "--shard", "2/2")
    run(shards, model, "--shard", "1/2", "--threads", "2")
    assert joined(shards) == expected()
    manifest = json.loads((shards / "out" / "text.0.links.manifest.json").read_text(encoding="utf-8"))
    assert manifest["summary"]["pairs"] == 60 and len(manifest["output"]["sha256"]) == 64


def test_finished_shards_are_passed_over_and_others_done_again(
    model: Path, shards: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(shards, model)
    capsys.readouterr()
    run(shards, model, code=1)
    assert "exists already" in capsys.readouterr().err
    out = shards / "out"
    (out / "text.1.links").write_text("cut sho")
    unfinished = json.loads((out / "text.2.links.manifest.json").read_text(encoding="utf-8"))
    for key in ("inputs", "output", "summary"):  # as a kill behind the links leaves it
        unfinished.pop(key)
    (out / "text.2.links.manifest.json").write_text(json.dumps(unfinished))
    (out / "text.3.links").unlink()
    run(shards, model, "--resume")
    said = capsys.readouterr().err
    assert said.count("done before") == 2 and "now aligned: 180 pairs" in said
    assert joined(shards) == expected()
    (shards / "text.4.gz").write_bytes(gzip.compress(b"the cat ||| le chat\n"))
    run(shards, model, "--resume")
    assert capsys.readouterr().err.count("done before") == 4
    run(shards, model, "--resume", "--precision")
    assert capsys.readouterr().err.count("done before") == 0


def test_a_damaged_shard_leaves_nothing_half_written(
    model: Path, shards: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (shards / "text.2.gz").write_bytes((shards / "text.2.gz").read_bytes()[:100])
    run(shards, model, code=1)
    assert "text.2.gz" in capsys.readouterr().err
    names = sorted(path.name for path in (shards / "out").iterdir())
    assert names == [f"text.{number}.links{end}" for number in (0, 1) for end in ("", ".manifest.json")]


def test_two_patterns_belong_together(tmp_path: Path) -> None:
    for name in ("a.en", "b.en", "a.fr", "b.fr"):
        (tmp_path / name).write_text("x\n")
    found = find_shards([str(tmp_path / "*.en"), str(tmp_path / "*.fr")], "out", "jsonl")
    assert [tuple(Path(name).name for name in shard.inputs) for shard in found] == [
        ("a.en", "a.fr"),
        ("b.en", "b.fr"),
    ]
    assert [shard.name for shard in found] == ["a.en.jsonl", "b.en.jsonl"]
    (tmp_path / "c.en").write_text("x\n")
    with pytest.raises(InputError, match=r"c\.fr: no such file, but .*c\.en needs it"):
        find_shards([str(tmp_path / "*.en"), str(tmp_path / "*.fr")], "out", "pharaoh")
    with pytest.raises(InputError, match="no file"):
        find_shards([str(tmp_path / "*.xx")], "out", "pharaoh")
    with pytest.raises(UsageError):
        find_shards(["a", "b", "c"], "out", "pharaoh")
    (tmp_path / "a.en.gz").write_text("x\n")
    with pytest.raises(InputError, match="two of the shards"):
        find_shards([str(tmp_path / "a.en*")], "out", "pharaoh")


def names_of(directory: Path, patterns: list[str], files: list[str]) -> list[tuple[str, ...]]:
    for name in files:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("x\n")
    found = find_shards([f"{directory}/{pattern}" for pattern in patterns], "out", "pharaoh")
    return [tuple(str(Path(name).relative_to(directory)) for name in shard.inputs) for shard in found]


PAIRED: list[tuple[list[str], list[tuple[str, str]]]] = [
    (["e/k-*", "f/k-*_fr"], [("e/k-1", "f/k-1_fr"), ("e/k-10", "f/k-10_fr"), ("e/k-2", "f/k-2_fr")]),
    (["a?.en", "a?.fr"], [("a1.en", "a1.fr"), ("a2.en", "a2.fr")]),
    (["[a-c]x.en", "y[!d-z].fr"], [("ax.en", "ya.fr"), ("bx.en", "yb.fr")]),
    (["*-*.en", "*-*.fr"], [("a-b.en", "a-b.fr"), ("a-b-c.en", "a-b-c.fr")]),
    (["en/**/t*", "fr/**/t*"], [("en/t0", "fr/t0"), ("en/x/t1", "fr/x/t1"), ("en/x/y/t2", "fr/x/y/t2")]),
    (["*/en*", "*/fr*"], [("1/en-a", "1/fr-a"), ("2/en-b", "2/fr-b")]),
    (["* x\n.en", "*.fr"], [("a b x\n.en", "a b.fr"), ("\n x\n.en", "\n.fr")]),
    (["é(*)[[]+.en", "*[[].fr"], [("é(1)[+.en", "1[.fr"), ("é(2)[+.en", "2[.fr")]),
]


@pytest.mark.skipif(sys.platform == "win32", reason="names that POSIX alone allows")
@pytest.mark.parametrize(("patterns", "pairs"), PAIRED)
def test_files_are_paired_by_what_wildcards_stand_for(
    tmp_path: Path, patterns: list[str], pairs: list[tuple[str, str]]
) -> None:
    found = names_of(tmp_path, patterns, [name for pair in pairs for name in pair])
    assert sorted(found) == sorted(pairs)
    for side in (0, 1):
        missing = tmp_path / pairs[0][side]
        missing.unlink()
        with pytest.raises(InputError) as caught:
            names_of(tmp_path, patterns, [])
        assert str(caught.value).startswith(f"{missing}: no such file, but {tmp_path / pairs[0][1 - side]} ")
        missing.write_text("x\n")


def test_a_shifted_side_is_an_error_that_names_the_missing_file(tmp_path: Path) -> None:
    files = [f"a{n}.en" for n in (1, 2, 3)] + [f"a{n}.fr" for n in (2, 3, 9)]
    with pytest.raises(InputError, match=r"a1\.fr: no such file, but .*a1\.en needs it as its other side"):
        names_of(tmp_path, ["a?.en", "a?.fr"], files)
    (tmp_path / "a1.en").unlink()
    with pytest.raises(InputError, match=r"a9\.en: no such file, but .*a9\.fr needs it"):
        names_of(tmp_path, ["a?.en", "a?.fr"], [])
    with pytest.raises(InputError, match="not as many wildcards"):
        names_of(tmp_path, ["a?.en", "a?.f?"], [])


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8 are those of Linux")
def test_names_of_any_bytes_are_aligned_and_resumed(model: Path, tmp_path: Path) -> None:
    pairs = list(sample()[0])[:3]
    for side, ending in enumerate((b".en", b".fr")):
        lines = "".join(f"{pair[side].text}\n" for pair in pairs)
        for stem in (b"a b", b"caf\xe9", b"new\nline"):
            (tmp_path / os.fsdecode(stem + ending)).write_text(lines, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "bitweft",
        "align",
        "--model",
        str(model),
        "--out",
        str(tmp_path / "out"),
    ]
    command += ["--resume", "--shards", f"{tmp_path}/*.en", f"{tmp_path}/*.fr"]
    for done in (0, 3):
        said = subprocess.run(command, capture_output=True, check=True).stderr
        assert said.count(b"done before") == done
    manifest = tmp_path / "out" / os.fsdecode(b"caf\xe9.en.links.manifest.json")
    assert json.loads(manifest.read_bytes())["inputs"][0]["name"] == os.fsdecode(b"caf\xe9.en")


def test_what_bitweft_did_not_write_is_kept(
    model: Path, shards: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = shards / "out"
    out.mkdir()
    for name in ("text.1.links", "text.1.links.manifest.json"):
        (out / name).write_text("[]")
        run(shards, model, "--resume", code=1)
        assert "exists already, and no manifest says" in capsys.readouterr().err
        assert (out / name).read_text() == "[]"
        (out / name).unlink()
    (out / "text.1.links").write_text("mine")
    run(shards, model, "--resume", "--force")
    assert joined(shards) == expected()


def test_leftovers_of_killed_runs_are_removed(model: Path, shards: Path) -> None:
    run(shards, model)
    for name in (".text.0.links.bitweft", ".text.1.links.manifest.json.bitweft"):
        (shards / "out" / name).mkdir()
        (shards / "out" / name / "new").write_text("half")
    run(shards, model, "--resume")
    assert len(list((shards / "out").iterdir())) == 10


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "-1/2", "a/b", "1/2/3"])
def test_parts_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_shard(text)
