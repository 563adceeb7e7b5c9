"""Models that are kept: whole or not at all, and checked before they are believed."""

from __future__ import annotations

import json
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from bitweft import Aligner, Bitext, InputError, ModelError
from bitweft.storage.model_directory import check_free, write_model
from small import aligner


def test_the_record_of_training_is_kept(model: Path) -> None:
    about = Aligner.load(model).about
    assert (about.recipe, about.languages, about.note) == ("default", ("en", "fr"), "made for tests")
    assert about.training is not None and about.record
    assert about.training.pairs == 300 and about.training.words[0] > 1000
    assert about.config["dimensions"] > 0


def test_a_model_remembers_how_text_was_cut(tmp_path: Path) -> None:
    text = Bitext.of([("ab c", "x yz"), ("c ab", "yz x")], tokenize="char")
    Aligner(threads=1).fit(text).save(tmp_path / "m")
    assert Aligner.load(tmp_path / "m").posteriors("abc", "xyzz").shape == (3, 4)


def test_saving_overwrites_nothing_unasked(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "m"
    aligner().save(place)
    with pytest.raises(InputError, match="exists already"):
        aligner().save(place)
    aligner().save(place, force=True)
    assert sorted(path.name for path in place.parent.iterdir()) == ["m"]
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    with pytest.raises(InputError, match=r"holds file, and no model.json says that bitweft wrote it"):
        check_free(tmp_path / "precious", force=True)


def test_a_project_that_holds_a_model_is_not_replaced_by_one(tmp_path: Path) -> None:
    aligner().save(tmp_path / "project")
    (tmp_path / "project" / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"holds thesis.tex"):
        aligner().save(tmp_path / "project", force=True)
    assert (tmp_path / "project" / "thesis.tex").read_text() == "mine"
    files = {path.name for path in (tmp_path / "project").iterdir()}
    listed = json.loads((tmp_path / "project" / "model.json").read_text(encoding="utf-8"))["files"]
    assert {*listed, "model.json", "thesis.tex"} == files


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_model_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        aligner().save(tmp_path / "m")
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o077 for path in (tmp_path / "m", *(tmp_path / "m").iterdir())}
    assert modes == {0}


def test_a_place_that_cannot_be_written_is_said_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write here"):
        check_free(tmp_path / "file" / "m")
    check_free(tmp_path / "free")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), SafetensorError("IoError: full")])
def test_a_full_disk_leaves_the_old_model(tmp_path: Path, error: Exception) -> None:
    place = tmp_path / "m"
    aligner().save(place)
    before = {path.name: path.read_bytes() for path in place.iterdir()}

    def fail(directory: Path) -> None:
        (directory / "half").write_text("written")
        raise error

    with pytest.raises(InputError, match="cannot be written"):
        write_model(place, aligner().about, fail, force=True)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


# What is done to a model's files, and what must then be said.
def _edit_json(path: Path, **changes: Any) -> None:
    about = json.loads((path / "model.json").read_text(encoding="utf-8"))
    (path / "model.json").write_text(json.dumps(about | changes), encoding="utf-8")


def _edit_config(path: Path, **changes: Any) -> None:
    about = json.loads((path / "model.json").read_text(encoding="utf-8"))
    _edit_json(path, config=about["config"] | changes)


def _edit_arrays(path: Path, name: str, change: Any) -> None:
    arrays = load_file(path / "weights.safetensors")
    arrays[name] = np.ascontiguousarray(change(arrays[name]))
    save_file(arrays, path / "weights.safetensors")


def _set_first(value: float) -> Any:
    def change(array: Any) -> Any:
        array = array.copy()
        array.flat[0] = value
        return array

    return change


DAMAGES: dict[str, tuple[Any, str]] = {
    "no json": (lambda path: (path / "model.json").unlink(), "no bitweft model"),
    "half a json": (lambda path: (path / "model.json").write_text('{"format": 1, '), "no bitweft model"),
    "not utf-8": (lambda path: (path / "model.json").write_bytes(b"\xff\xfe"), "no bitweft model"),
    "deep json": (lambda path: (path / "model.json").write_text("[" * 100_000), "no bitweft model"),
    "a list": (lambda path: (path / "model.json").write_text("[]"), "no bitweft model"),
    "another format": (lambda path: _edit_json(path, format=99), "format 99.*train again"),
    "unknown recipe": (lambda path: _edit_json(path, recipe="../evil"), "unknown recipe"),
    "unknown tokenization": (lambda path: _edit_json(path, tokenize="x"), "tokeniz"),
    "seed": (lambda path: _edit_json(path, seed="1"), "seed"),
    "training": (lambda path: _edit_json(path, training=None), "training"),
    "languages": (lambda path: _edit_json(path, languages=["en"]), "languages"),
    "unknown setting": (lambda path: _edit_config(path, magic=1), "unknown setting magic"),
    "wrong setting": (lambda path: _edit_config(path, dimensions="many"), "dimensions"),
    "dimensions": (lambda path: _edit_config(path, dimensions=10**12), "dimensions must be 4096 or less"),
    "null": (lambda path: _edit_config(path, null=7.5), "null must be less than 1, got 7.5"),
    "nan": (lambda path: _edit_config(path, strength=float("nan")), "NaN"),
    "no weights": (lambda path: (path / "weights.safetensors").unlink(), "missing"),
    "cut weights": (lambda path: os.truncate(path / "weights.safetensors", 5000), "cannot be read"),
    "hostile header": (
        lambda path: (path / "weights.safetensors").write_bytes(struct.pack("<Q", 2**62) + b"{}"),
        "cannot be read",
    ),
    "no words": (lambda path: (path / "source.words.txt").unlink(), "missing"),
    "cut words": (
        lambda path: (path / "source.words.txt").write_text("the\t5\n", encoding="utf-8"),
        "damaged",
    ),
    "foreign words": (lambda path: (path / "target.words.txt").write_text("a b\n"), "expected a word"),
    "odd digits": (
        lambda path: (path / "target.words.txt").write_text("a\t²\n", encoding="utf-8"),
        "expected a word",
    ),
    "huge counts": (
        lambda path: (path / "target.words.txt").write_text(f"a\t{10**30}\n"),
        "count must be at most",
    ),
    "not finite": (lambda path: _edit_arrays(path, "source", _set_first(np.inf)), "NaN or infinity"),
    "too large": (lambda path: _edit_arrays(path, "source", _set_first(1e30)), "outside"),
    "other shape": (lambda path: _edit_arrays(path, "target", lambda array: array[1:]), "damaged"),
    "other type": (
        lambda path: _edit_arrays(path, "target", lambda array: array.astype(np.float64)),
        "damaged",
    ),
    "words out of bounds": (lambda path: _edit_arrays(path, "counts.sources", _set_first(10**9)), "outside"),
    "words below zero": (lambda path: _edit_arrays(path, "counts.sources", _set_first(-1)), "outside"),
    "offsets": (lambda path: _edit_arrays(path, "counts.offsets", _set_first(5)), "do not run"),
    "order": (lambda path: _edit_arrays(path, "counts.sources", lambda array: array[::-1]), "out of order"),
    "jumps": (lambda path: _edit_arrays(path, "jumps", lambda array: array[..., 1:]), "jumps is float32"),
    "never null": (lambda path: _edit_arrays(path, "source.nulls", _set_first(0.0)), "outside"),
    "negative jumps": (lambda path: _edit_arrays(path, "jumps", _set_first(-1.0)), "outside"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_and_hostile_models_are_refused(model: Path, tmp_path: Path, damage: str) -> None:
    copy = tmp_path / "m"
    shutil.copytree(model, copy)
    spoil, message = DAMAGES[damage]
    spoil(copy)
    with pytest.raises(ModelError, match=message):
        Aligner.load(copy)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("name", ["model.json", "weights.safetensors", "source.words.txt"])
def test_a_pipe_in_place_of_a_file_does_not_hang(model: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "m"
    shutil.copytree(model, copy)
    (copy / name).unlink()
    os.mkfifo(copy / name)
    with pytest.raises(ModelError):
        Aligner.load(copy)


def test_a_missing_model_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such model directory"):
        Aligner.load(tmp_path / "none")
