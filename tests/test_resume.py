"""Learning that is stopped, or goes on: the same model in the end."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitweft import Aligner, InputError, ModelError, UsageError, evaluate
from bitweft.recipes.base import FitExtras
from bitweft.sample import bitext, generate
from bitweft.storage.checkpoint import Checkpoint
from bitweft.text.bitext import SentencePair
from small import sample, write_text

TRAIN = [sys.executable, "-m", "bitweft", "train", "--threads", "1", "--quiet"]


def model_bytes(directory: Path) -> dict[str, bytes]:
    """Read all files of a model; of model.json, all but how long learning took."""
    files = {path.name: path.read_bytes() for path in directory.iterdir()}
    about = json.loads(files.pop("model.json"))
    for key in ("seconds", "cpu_seconds"):
        about["training"].pop(key)
    return {**files, "model.json": json.dumps(about).encode()}


@pytest.mark.parametrize("stop", [1, 40, 95, 96])
def test_learning_goes_on_where_it_was_stopped(tmp_path: Path, stop: int) -> None:
    pairs = list(sample()[0])
    whole = Aligner(threads=1).fit(pairs)
    stopped = Aligner(threads=1).train(pairs, FitExtras(checkpoint=Checkpoint(tmp_path / "c", every=0)))
    for number, _ in enumerate(stopped, 1):
        if number == stop:
            break
    stopped.close()  # type: ignore[attr-defined]
    again = Aligner(threads=1).fit(pairs, checkpoint=Checkpoint(tmp_path / "c", resume=True))
    whole.save(tmp_path / "whole")
    again.save(tmp_path / "again")
    assert model_bytes(tmp_path / "whole") == model_bytes(tmp_path / "again")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_kill_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    text = write_text(tmp_path)
    options = ["--set", "lse_epochs=30", "--set", "chain_epochs=10"]
    subprocess.run(
        [*TRAIN, *text, "-o", str(tmp_path / "warm"), *options], check=True
    )  # compiled code is cached
    started = time.monotonic()
    subprocess.run([*TRAIN, *text, "-o", str(tmp_path / "whole"), *options], check=True)
    took = time.monotonic() - started
    chance = random.Random(7)
    output = tmp_path / "killed"
    command = [*TRAIN, *text, "-o", str(output), *options, "--checkpoint-every", "0", "--resume"]
    for _ in range(6):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            process.wait(took * chance.uniform(0.3, 0.8))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert output.exists() == (process.returncode == 0)
        if output.exists():
            break
    if not output.exists():
        subprocess.run(command, check=True)
    assert model_bytes(output) == model_bytes(tmp_path / "whole")
    assert not list(tmp_path.glob("killed.checkpoint"))


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    pairs = list(sample()[0])[:40]
    learning = Aligner(threads=1).train(pairs, FitExtras(checkpoint=Checkpoint(tmp_path, every=0)))
    next(learning)
    next(learning)
    with pytest.raises(InputError, match="give --resume"):
        Checkpoint(tmp_path)
    again = Checkpoint(tmp_path, resume=True)
    with pytest.raises(ModelError, match="another text"):
        Aligner(threads=1).fit(pairs[:39], checkpoint=again)
    with pytest.raises(ModelError, match="another seed"):
        Aligner(threads=1, seed=2).fit(pairs, checkpoint=again)
    with pytest.raises(ModelError, match="another settings"):
        Aligner(threads=1, settings=["null=0.2"]).fit(pairs, checkpoint=again)
    content = bytearray(again.path().read_bytes())
    content[-100] ^= 1
    again.path().write_bytes(content)
    with pytest.raises(ModelError, match="not those that were written"):
        Aligner(threads=1).fit(pairs, checkpoint=again)
    again.path().write_bytes(content[:500])
    with pytest.raises(ModelError, match="no checkpoint that can be used"):
        Aligner(threads=1).fit(pairs, checkpoint=again)
    with pytest.raises(UsageError):
        Checkpoint(tmp_path / "other", every=-1)


def stopped(directory: Path, stop: int) -> list[SentencePair]:
    """Learn from pairs, a few, until so many steps are done, keeping each; return the pairs."""
    pairs = list(sample()[0])[:40]
    extras = FitExtras(checkpoint=Checkpoint(directory, every=0))
    for number, _ in enumerate(Aligner(threads=1).train(pairs, extras), 1):
        if number == stop:
            break
    return pairs


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[SentencePair], Any, Any]:
    """Give a checkpoint between the passes of counting: its directory, pairs, arrays and facts."""
    directory = tmp_path_factory.mktemp("checkpoint")
    pairs = list(sample()[0])[:40]
    total = sum(1 for _ in Aligner(threads=1).train(pairs))
    stopped(directory, total)  # kept before the event before the last: one pass of two is done
    kept = Checkpoint(directory, resume=True).load({})
    assert kept is not None
    assert kept[0]["progress"][1] == 1 and len(kept[0]["cells.0.offsets"]) == 41
    return directory, pairs, *kept


def put(name: str, value: float, place: int = 0) -> Callable[[dict[str, Any]], None]:
    """Give a change of one number of an array."""

    def change(arrays: dict[str, Any]) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name].flat[place] = value

    return change


CRAFTED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "cell": (put("cells.0.source", 10**6), "outside their sentences"),
    "negative cell": (put("cells.0.target", -1), "outside"),
    "cells' offsets": (put("cells.0.offsets", 10**9, -1), "do not run"),
    "offsets out of order": (put("cells.0.offsets", 5000, 1), "do not run"),
    "fewer offsets": (lambda arrays: arrays.update({"cells.0.offsets": np.zeros(3, np.int64)}), "not 41"),
    "more cells": (lambda arrays: arrays.update({"cells.1.offsets": np.zeros(3, np.int64)}), "no pairs"),
    "no cells": (lambda arrays: arrays.pop("cells.0.offsets"), "missing"),
    "count's source": (put("counts.sources", 10**6), "outside"),
    "counts' offsets": (put("counts.offsets", 10**6, -1), "outside"),
    "type": (lambda arrays: arrays.update({"source.table": arrays["source.table"].astype(float)}), "float64"),
    "rows": (lambda arrays: arrays.update({"source.table": arrays["source.table"][1:]}), "table is float32"),
    "adam": (lambda arrays: arrays.update({"target.steps": arrays["target.steps"][1:]}), "steps is int64"),
    "steps of a row": (put("source.steps", -5), "outside"),
    "nan": (put("source.table", np.nan), "NaN"),
    "jumps": (lambda arrays: arrays.update({"prior.jumps": np.ones((2, 3, 1), np.float32)}), "jumps is"),
    "classes": (
        lambda arrays: arrays.update({"prior.jumps": arrays["prior.jumps"][:, [0] * 9]}),
        "of 9 classes",
    ),
    "passes": (put("progress", 7, 1), "beyond"),
    "steps": (put("progress", -1), "outside"),
    "tally": (lambda arrays: arrays.pop("tally.loss"), "missing"),
}


@pytest.mark.parametrize("crafted", CRAFTED)
def test_a_crafted_checkpoint_is_refused_before_compiled_code_sees_it(
    tmp_path: Path, counting: tuple[Path, list[SentencePair], Any, Any], crafted: str
) -> None:
    directory, pairs, arrays, facts = counting
    shutil.copytree(directory, tmp_path / "c")
    checkpoint = Checkpoint(tmp_path / "c", resume=True)
    arrays = dict(arrays)
    change, message = CRAFTED[crafted]
    change(arrays)
    checkpoint.keep(arrays, facts)  # with a digest that is right
    with pytest.raises(ModelError, match=message):
        Aligner(threads=1).fit(pairs, checkpoint=checkpoint)


@pytest.mark.parametrize("record", [None, 5, [5]])
def test_a_crafted_record_is_refused(
    tmp_path: Path, counting: tuple[Path, list[SentencePair], Any, Any], record: object
) -> None:
    _, pairs, arrays, facts = counting
    Checkpoint(tmp_path / "c").keep(arrays, {**facts, "record": record})
    with pytest.raises(ModelError, match="no record"):
        Aligner(threads=1).fit(pairs, checkpoint=Checkpoint(tmp_path / "c", resume=True))


def test_only_a_directory_of_its_own_is_taken_and_emptied(tmp_path: Path) -> None:
    place = tmp_path / "c"
    place.mkdir()
    Checkpoint(place).keep({"a": np.zeros(3)}, {}, "one")
    checkpoint = Checkpoint(place, resume=True)
    checkpoint.keep({"a": np.ones(3)}, {"n": 1}, "two")
    (place / "weights.safetensors").write_text("precious")
    with pytest.raises(InputError, match=r"holds weights.safetensors, which is no checkpoint"):
        Checkpoint(place, resume=True)
    checkpoint.remove()
    assert [path.name for path in place.iterdir()] == ["weights.safetensors"]
    with pytest.raises(InputError, match="no checkpoint"):
        Checkpoint(place)
    with pytest.raises(InputError, match="is a file"):
        Checkpoint(place / "weights.safetensors")


@pytest.mark.parametrize("name", ["../precious", "/precious", "a" * 300, "\ud800", "a\0b", ""])
def test_a_manifest_that_names_no_file_of_its_directory_is_no_manifest(tmp_path: Path, name: str) -> None:
    Checkpoint(tmp_path).keep({"a": np.arange(3)}, {})
    (tmp_path / "checkpoint.json").write_text(json.dumps({"files": ["state.safetensors", name]}))
    with pytest.raises(InputError, match="which is no checkpoint"):  # what it names is not removed in the end
        Checkpoint(tmp_path, resume=True)


def test_states_are_known_by_name_and_leftovers_are_removed(tmp_path: Path) -> None:
    place = tmp_path / "c"
    first = Checkpoint(place)
    first.keep({"a": np.zeros(3)}, {"text": "x"}, "one")
    assert first.load({}, "one") is None  # nothing is given back unasked
    for name in (".one.safetensors.bitweft", ".checkpoint.json.bitweft"):  # as a kill leaves them
        (place / name).mkdir()
        (place / name / "new").write_text("half")
    again = Checkpoint(place, resume=True)
    kept = again.load({"text": "x"}, "one")
    assert kept is not None and kept[0]["a"].tolist() == [0, 0, 0] and kept[1] == {"text": "x"}
    assert again.load({}, "two") is None
    with pytest.raises(ModelError, match="of another text"):
        again.load({"text": "y"}, "one")
    again.remove()
    assert not place.exists()


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    place = tmp_path / "c"
    for states in ([], ["one"]):
        for name in states:
            Checkpoint(place, resume=True).keep({"a": np.zeros(3)}, {}, name)
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", full)
            for name in ("one", "two"):
                with pytest.raises(InputError, match="cannot be written: No space left on device"):
                    Checkpoint(place, resume=True).keep({"a": np.ones(3)}, {}, name)
        again = Checkpoint(place, resume=True)
        assert (again.load({}, "one") is None) == (not states)
        assert again.load({}, "two") is None
    assert Checkpoint(place, resume=True).load({}, "one")[0]["a"].tolist() == [0, 0, 0]  # type: ignore[index]


def test_going_on_with_new_text_learns_it_and_keeps_the_old() -> None:
    pairs = list(sample()[0])
    others, gold = bitext(generate(300, seed=9))
    aligner = Aligner(threads=1).fit(pairs[:150])
    before = evaluate(aligner.align(others), gold)
    old_words = set(aligner.recipe.spellings[0].words.entries)  # type: ignore[attr-defined]
    aligner.fit(pairs[150:], continue_training=True)
    assert evaluate(aligner.align(others), gold).aer < before.aer
    counts = aligner.recipe.spellings[0].words.counts  # type: ignore[attr-defined]
    assert old_words < set(counts)
    words = [word.lower() for pair in pairs for word in pair.source.tokens]
    assert counts["."] == words.count(".")


def test_going_on_needs_something_learned() -> None:
    with pytest.raises(UsageError, match="not learned anything"):
        Aligner().fit([("a", "b")], continue_training=True)
