"""Work in parts: any order, any number of machines, the bytes of one run."""

from __future__ import annotations

import gzip
import json
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
    (out / "text.2.links.manifest.json").unlink()
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
    assert [shard.output.name for shard in found] == ["a.en.jsonl", "b.en.jsonl"]
    (tmp_path / "c.en").write_text("x\n")
    with pytest.raises(InputError, match="do not match alike: see 'c'"):
        find_shards([str(tmp_path / "*.en"), str(tmp_path / "*.fr")], "out", "pharaoh")
    with pytest.raises(InputError, match="no file"):
        find_shards([str(tmp_path / "*.xx")], "out", "pharaoh")
    with pytest.raises(UsageError):
        find_shards(["a", "b", "c"], "out", "pharaoh")
    (tmp_path / "a.en.gz").write_text("x\n")
    with pytest.raises(InputError, match="two of the shards"):
        find_shards([str(tmp_path / "a.en*")], "out", "pharaoh")


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "-1/2", "a/b", "1/2/3"])
def test_parts_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_shard(text)
