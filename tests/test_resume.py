"""Learning that is stopped, or goes on: the same model in the end."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bitweft import Aligner, InputError, ModelError, UsageError, evaluate
from bitweft.recipes.base import FitExtras
from bitweft.sample import bitext, generate
from bitweft.storage.checkpoint import Checkpoint
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
    content = bytearray(again.path.read_bytes())
    content[-100] ^= 1
    again.path.write_bytes(content)
    with pytest.raises(ModelError, match="not those that were written"):
        Aligner(threads=1).fit(pairs, checkpoint=again)
    again.path.write_bytes(content[:500])
    with pytest.raises(ModelError, match="no checkpoint that can be used"):
        Aligner(threads=1).fit(pairs, checkpoint=again)
    with pytest.raises(UsageError):
        Checkpoint(tmp_path / "other", every=-1)


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
