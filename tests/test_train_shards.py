"""Training over files, by one command or by `count` and `merge`: the bytes of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt
import pytest

from bitweft import Aligner, Bitext, ModelError
from bitweft.cli import main
from bitweft.cluster import parts
from bitweft.recipes.default.compiled.types import Cells, Longs
from bitweft.recipes.default.counts import Counting
from bitweft.storage.part_file import read_part, write_part
from small import sample

PAIRS = [(pair.source.text, pair.target.text) for pair in sample()[0]][:30]
SETTINGS = ("descent_pairs=15", "dimensions=8", "lse_epochs=1", "chain_epochs=1")
QUICK = [*(word for setting in SETTINGS for word in ("--set", setting)), "--threads", "1", "-q"]
WEIGHTS = "weights.safetensors"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the text as a whole, and as shards of two columns and of two sides."""
    directory = tmp_path_factory.mktemp("corpus")
    lines = [f"{s}\t{t}" for s, t in PAIRS]
    (directory / "whole.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for number, (a, b) in enumerate(((0, 5), (5, 20), (20, 30))):
        (directory / f"{number}.tsv").write_text("\n".join(lines[a:b]) + "\n", encoding="utf-8")
        for side, language in enumerate(("en", "fr")):
            text = "".join(f"{pair[side]}\n" for pair in PAIRS[a:b])
            (directory / f"{number}.{language}").write_text(text, encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Train by one process on the whole."""
    model = tmp_path_factory.mktemp("whole") / "model"
    assert main(["train", str(corpus / "whole.txt"), "-o", str(model), *QUICK]) == 0
    return (model / WEIGHTS).read_bytes()


@pytest.mark.parametrize("patterns", [["*.tsv"], ["*.en", "*.fr"]])
def test_shards_give_the_model_of_the_whole(
    corpus: Path, whole: bytes, tmp_path: Path, patterns: list[str]
) -> None:
    shards = [str(corpus / pattern) for pattern in patterns]
    model = tmp_path / "model"
    assert main(["train", "--shards", *shards, "-o", str(model), *QUICK]) == 0
    assert (model / WEIGHTS).read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert main(["show", str(model)]) == 0


def test_count_and_merge_do_the_same(corpus: Path, whole: bytes, tmp_path: Path) -> None:
    model = str(tmp_path / "model")
    assert main(["train", "--shards", str(corpus / "*.tsv"), "--begin", "-o", model, *QUICK]) == 0
    for number in range(2):
        made = []
        for shard in ("2", "0", "1", "0"):  # in any order, and one again
            part = str(tmp_path / f"{number}.{shard}.part")
            assert main(["count", model, str(corpus / f"{shard}.tsv"), "-o", part, "-q"]) == 0
            made.append(part)
        assert main(["merge", *made[:3], "-o", model, "-q"]) == 0
    assert (Path(model) / WEIGHTS).read_bytes() == whole
    assert not (Path(model) / "before.safetensors").exists()


@pytest.fixture(scope="module")
def begun(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Begin a model, and count its shards once."""
    directory = tmp_path_factory.mktemp("begun")
    model = str(directory / "model")
    assert main(["train", "--shards", str(corpus / "*.tsv"), "--begin", "-o", model, *QUICK]) == 0
    for shard in range(3):
        part = str(directory / f"{shard}.part")
        assert main(["count", model, str(corpus / f"{shard}.tsv"), "-o", part, "-q"]) == 0
    return directory


def merge(begun: Path, out: Path, *parts: str) -> int:
    paths = [str(begun / part) if "/" not in part else part for part in parts]
    return main(["merge", *paths, "--from", str(begun / "model"), "-o", str(out), "-q"])


def test_parts_that_are_not_all_of_the_text_are_refused(
    begun: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert merge(begun, out, "0.part", "1.part") == 1
    assert "the parts are of 20 pairs, but the text has 30" in capsys.readouterr().err
    assert merge(begun, out, "0.part", "1.part", "2.part", "0.part") == 1
    assert "the same shard as in" in capsys.readouterr().err
    damaged = tmp_path / "2.part"
    content = bytearray((begun / "2.part").read_bytes())
    content[-9] ^= 1
    damaged.write_bytes(content)
    assert merge(begun, out, "0.part", "1.part", str(damaged)) == 1
    assert "not those that were written" in capsys.readouterr().err
    assert not out.exists()
    assert merge(begun, out, "2.part", "1.part", "0.part") == 0
    again = ["merge", str(begun / "0.part"), "--from", str(out), "-o", str(tmp_path / "x"), "-q"]
    assert main(again) == 1
    assert "counted by another model" in capsys.readouterr().err


def test_parts_with_other_words_are_refused(
    begun: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays, facts = read_part(str(begun / "0.part"))
    for name, change in {"keys": -1, "sums": -1, "source.unlinked": -1}.items():
        wrong = {**arrays, name: arrays[name] + change * (1 << 40)}
        write_part(str(tmp_path / "0.part"), wrong, facts)
        assert merge(begun, tmp_path / "out", str(tmp_path / "0.part"), "1.part", "2.part") == 1
        assert "the part is damaged" in capsys.readouterr().err


def test_a_shard_that_is_not_of_the_text_is_refused(
    begun: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.tsv"
    other.write_text("the zyxw\tle chat\n")
    assert main(["count", str(begun / "model"), str(other), "-o", str(tmp_path / "p")]) == 1
    assert "other.tsv: the word 'zyxw' is not in the text" in capsys.readouterr().err
    assert not (tmp_path / "p").exists()


def test_a_finished_model_is_not_counted_on(
    model: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["count", str(model), str(corpus / "0.tsv"), "-o", str(tmp_path / "p")]) == 2
    assert "the model has learned all" in capsys.readouterr().err


def test_training_goes_on_after_a_stop(
    corpus: Path,
    whole: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = tmp_path / "model"
    command = ["train", "--shards", str(corpus / "*.tsv"), "-o", str(model), *QUICK]
    plain, counted = parts.count_shard, []

    def failing(*arguments: object) -> int:
        counted.append(arguments)
        if len(counted) == 5:  # the second shard of the second pass
            raise KeyboardInterrupt
        return plain(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("bitweft.cluster.train.count_shard", failing)
    assert main(command) == 130
    assert sorted(path.name for path in (tmp_path / "model.parts").glob("*.weft")) == ["0.weft", "1.weft"]
    capsys.readouterr()
    assert main(command) == 1
    assert "give --resume" in capsys.readouterr().err
    assert main([*command, "--resume", "--seed", "2"]) == 1
    assert "the parts are of another seed" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0
    assert len(counted) == 8
    assert (model / WEIGHTS).read_bytes() == whole


def test_a_stop_while_clearing_up_is_after_the_end(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model"
    command = ["train", "--shards", str(corpus / "*.tsv"), "-o", str(model), *QUICK]
    with monkeypatch.context() as killed:
        killed.setattr("bitweft.cluster.train.clear_up", lambda *arguments: None)
        assert main(command) == 0
    before = (model / "model.json").read_bytes()
    (tmp_path / ".model.bitweft").mkdir()  # as a kill behind the renaming leaves it
    assert main(command) == 1
    assert "exists already" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0
    assert (model / "model.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_the_text_is_read_once(
    corpus: Path, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def reading(*files: str, **how: Any) -> Bitext:
        read.append(files[0])
        return Bitext(*files, **how)

    monkeypatch.setattr(parts, "Bitext", reading)
    model = tmp_path / "model"
    assert main(["train", "--shards", str(corpus / "*.tsv"), "-o", str(model), *QUICK]) == 0
    assert len(read) == len(list(corpus.glob("*.tsv"))) and (model / WEIGHTS).read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["model"]  # nothing else is left


@pytest.mark.parametrize("kept", ["whole", "damaged", "of another model"])
def test_what_pairs_added_is_found_again_only_where_it_was_not_kept(
    corpus: Path, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    again: list[object] = []
    plain = Counting.cells

    def cells(self: Counting, pairs: Longs, known: Cells) -> Cells:
        again.append(pairs)
        return plain(self, pairs, known)

    def other(path: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        arrays, facts = read_part(path)
        if ".trace." in path and kept == "damaged":
            raise ModelError(path)
        return arrays, facts | ({"model": "x"} if ".trace." in path and kept != "whole" else {})

    monkeypatch.setattr(Counting, "cells", cells)
    monkeypatch.setattr(parts, "read_part", other)
    model = tmp_path / "model"
    assert main(["train", "--shards", str(corpus / "*.tsv"), "-o", str(model), *QUICK]) == 0
    assert (model / WEIGHTS).read_bytes() == whole and bool(again) == (kept != "whole")


@pytest.mark.parametrize("fault", ["other text", "other settings", "damaged", "no words"])
def test_numbers_that_are_not_of_this_text_are_made_anew(corpus: Path, tmp_path: Path, fault: str) -> None:
    path, inputs = str(tmp_path / "text.part"), [str(corpus / "0.tsv")]
    number = parts.Numbering(Aligner().recipe.in_parts().numberer(), {})
    expected = number(inputs, path)
    kept, facts = read_part(path)
    if fault == "other text":
        number([str(corpus / "1.tsv")], path)
    elif fault == "other settings":
        other = Aligner(settings=["lowercase=false"]).recipe.in_parts().numberer()
        parts.Numbering(other, {})(inputs, path)
    elif fault == "damaged":
        content = bytearray(Path(path).read_bytes())
        content[-9] ^= 1
        Path(path).write_bytes(content)
    else:
        write_part(path, {**kept, "source.tokens": kept["source.tokens"] + 10_000}, facts)
    found = number(inputs, path)
    for ours, theirs in zip(expected, found, strict=True):
        assert ours.words == theirs.words and (ours.tokens == theirs.tokens).all()
        assert (ours.lengths == theirs.lengths).all()
    assert read_part(path)[1] == facts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give the text"),
        (["a", "--begin"], "--begin is for --shards"),
        (["a", "--ray"], "--ray is for --shards"),
        (["--shards", "a", "--from", "m"], "--from is for a single text"),
        (["--shards", "a", "--lexicon", "m"], "--lexicon is for a single text"),
        (["--shards", "a", "--workers", "2"], "--workers is for --ray"),
        (["--shards", "a"], "no file has a name like this"),
    ],
)
def test_options_that_do_not_go_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["train", *options, "-o", str(tmp_path / "m")]) in (1, 2)
    assert message in capsys.readouterr().err
