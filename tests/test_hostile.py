"""Small things that hostile use has found: each was a traceback, a wrong file or a silent loss."""

from __future__ import annotations

import json
import os
import random
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitweft import Aligner
from bitweft.cli import main
from bitweft.errors import ModelError, UsageError
from bitweft.recipes import registry
from bitweft.settings import Settings
from bitweft.storage.checkpoint import Checkpoint
from small import write_text

HEAD = "# Sentence pair (1) source length 1 target length 1 alignment score : 1e999"
GIZA = f"{HEAD}\nb\nNULL ({{ }}) a ({{ 1 }})"


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("index", [1 << 20, 1 << 40, 1 << 63])
def test_links_of_words_that_no_sentence_has_are_named(
    index: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = write(tmp_path / "good", '{"links": [[0, 0]]}\n' * 2)
    bad = write(tmp_path / "bad", f'{{"links": [[0, 0]]}}\n{{"links": [[{index}, 1]]}}\n')
    for files in ((good, bad), (bad, good)):
        assert main(["symmetrize", *files, "--from", "jsonl"]) == 1
        assert f"{bad}:2: " in capsys.readouterr().err


def test_another_text_to_carry_links_onto_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    links, text = write(tmp_path / "links", "0-0\n0-1\n"), write(tmp_path / "text", "a b\nc d\n")
    other = write(tmp_path / "other", "ab\nxx d\n")
    command = ["convert", links, "--source", text, "--target", text, "--onto", other, text]
    for options, code in (([], 0), (["--strict"], 1)):
        assert main([*command, *options]) == code
        assert f"{other}:2: not the same text: 'c d' and 'xx d'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("link_format", "line"),
    [
        ("scored", "0-0:1e999"),
        ("naacl", "1 1 1 nan"),
        ("naacl", "1 1 1 1e999"),
        ("jsonl", '{"links": [[0, 0, NaN]]}'),
        ("jsonl", '{"links": [[0, 0, -Infinity]]}'),
        ("jsonl", '{"links": [], "score": 1e999}'),
        ("giza", GIZA),
    ],
)
def test_numbers_that_are_not_finite_are_refused(
    link_format: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    links = write(tmp_path / "links", line + "\n")
    assert main(["convert", links, "--from", link_format, "--to", "jsonl", "--sentences", "1"]) == 1
    output, error = capsys.readouterr()
    assert output == "" and f"{links}:" in error


def test_a_line_break_in_json_breaks_no_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    links = write(tmp_path / "links", '{"src": "a\\nb", "tgt": "c", "links": [[1, 0]]}\n')
    assert main(["convert", links, "--to", "giza"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_a_line_behind_the_end_draws_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, links = write(tmp_path / "text", "a\n"), write(tmp_path / "links", "0-0\n")
    assert main(["view", text, text, links, "--line", "999"]) == 1
    output, error = capsys.readouterr()
    assert output == "" and "999: the text ends before this line" in error
    assert main(["view", text, text, links, "--line", "1"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")


def test_resume_after_a_kill_behind_the_save_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, made = write_text(tmp_path), tmp_path / "m"
    command = [
        "train",
        *text,
        "-o",
        str(made),
        "--resume",
        "--set",
        "lse_epochs=1",
        "--set",
        "chain_epochs=1",
    ]
    with monkeypatch.context() as killed:
        killed.setattr(Checkpoint, "remove", lambda self: None)  # as if killed between saving and clearing up
        assert main(command) == 0
    kept, hidden = tmp_path / "m.checkpoint", tmp_path / ".m.bitweft"
    hidden.mkdir()
    (hidden / "lock").write_text("")  # it goes last
    before = (made / "model.json").read_bytes()
    assert kept.exists()
    assert main(command) == 0
    assert "learned and saved before the stop" in capsys.readouterr().err
    assert not kept.exists() and not hidden.exists() and (made / "model.json").read_bytes() == before


def test_a_checkpoint_of_other_learning_does_not_make_a_model_finished(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, made = write_text(tmp_path), tmp_path / "m"
    shutil.copytree(model, made)
    for result in (None, "0" * 64):
        checkpoint = Checkpoint(tmp_path / "m.checkpoint", resume=True)
        checkpoint.keep({"a": np.zeros(1)}, {})
        if result is not None:
            checkpoint.finish(result)
        later = max(path.stat().st_mtime for path in checkpoint.directory.iterdir()) + 1
        os.utime(made / "model.json", (later, later))  # newer, and yet not what it came to
        assert main(["train", *text, "-o", str(made), "--resume"]) == 1
        assert "exists already" in capsys.readouterr().err
        assert checkpoint.path().exists() and checkpoint.result == result


def test_a_crafted_checkpoint_of_the_papers_recipe_is_refused(tmp_path: Path) -> None:
    from bitweft.recipes.paper.stages import Stages

    for epoch, record in (("x", None), (-1, None), (1.5, None), (1, 5), (None, None)):
        kept = Checkpoint(tmp_path / "c", resume=True)
        kept.keep({"a": np.zeros(1)}, {"seed": 1, "epoch": epoch, "record": record}, "forward")
        with pytest.raises(ModelError, match="the checkpoint is damaged"):
            Stages(Checkpoint(tmp_path / "c", resume=True), {"seed": 1}).epochs("forward")


def numbers(kind: type[Settings], prefix: str = "") -> list[tuple[str, type, Any]]:
    """List the settings that are numbers: their names, their types, their limits."""
    found: list[tuple[str, type, Any]] = []
    for field in fields(kind):
        value = getattr(kind(), field.name)
        if isinstance(value, Settings):
            found += numbers(type(value), f"{prefix}{field.name}.")
        elif "int" in str(field.type) or "float" in str(field.type):
            found.append((prefix + field.name, float if "float" in str(field.type) else int, field.metadata))
    return found


@pytest.mark.parametrize("name", ["default", "paper"])
def test_settings_out_of_range_end_before_learning(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(1)
    text = write_text(tmp_path)
    wrong: list[str] = []
    for key, kind, limits in numbers(registry.recipe_named(name).settings):
        values: list[object] = ["1e999", "-1e999", "nan", "many", "[]", "null x"]
        values += ["1.5"] if kind is int else []
        for limit, sign in (("at_least", -1), ("above", -1), ("at_most", 1), ("below", 1)):
            edge = limits.get(limit)
            if edge is not None:
                values += [edge + sign * chance.choice((1, 7, 10**6, chance.randint(1, 10**9)))]
                values += [edge] if limit in ("above", "below") else []
        wrong += [f"{key}={value}" for value in values]
    assert len(wrong) > 100
    for setting in wrong:
        with pytest.raises(UsageError):
            Aligner(name, settings=[setting])
    for setting in chance.sample(wrong, 5):
        command = ["train", *text, "-o", str(tmp_path / "m"), "--recipe", name, "--set", setting]
        assert main(command) == 2 and setting.split("=")[0] in capsys.readouterr().err
        assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("seed", range(4))
def test_any_setting_that_is_accepted_trains_a_model_that_loads(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    pairs = [("the cat sleeps", "le chat dort"), ("the dog", "le chien"), ("a cat", "un chat")] * 4
    drawn = {
        "dimensions": chance.choice((1, 2, 64, 97)),
        "lse_epochs": chance.choice((0, 1, 3)),
        "chain_epochs": chance.choice((0, 1, 3)),
        "count_passes": chance.choice((0, 1, 5)),
        "rate": chance.choice((1e-9, 0.02, 10)),
        "group": chance.choice((2, 3, 1024)),
        "batch": chance.choice((1, 7, 100_000)),
        "null": chance.choice((1e-9, 0.5, 1 - 1e-9)),
        "mixture": chance.choice((0, 0.5, 1 - 1e-9)),
        "negatives": chance.choice((0, 1, 1e6)),
        "strength": chance.choice((1e-9, 3, 1e6)),
        "longest": chance.choice((3, 400)),
        "threshold": chance.choice((1e-9, 0.5, 1)),
    }
    aligner = Aligner(settings=[f"{key}={value}" for key, value in drawn.items()], threads=1)
    try:
        aligner.fit(pairs)
    except UsageError as error:
        assert "diverged" in str(error)
        return
    aligner.save(tmp_path / "m")
    loaded = Aligner.load(tmp_path / "m", threads=1)
    assert list(loaded.align(pairs)) == list(aligner.align(pairs))
    assert json.loads((tmp_path / "m" / "model.json").read_text())["config"]["group"] == drawn["group"]
