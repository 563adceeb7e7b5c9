"""Networks that are trained in processes of their own: the same models, checkpoints and errors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from bitweft.errors import BitweftError, UsageError
from bitweft.recipes.base import FitExtras, Running
from bitweft.recipes.paper import processes
from bitweft.recipes.paper.config import PaperConfig
from bitweft.recipes.paper.recipe import PaperRecipe
from bitweft.sample import bitext, generate
from bitweft.settings import with_settings
from bitweft.storage.checkpoint import Checkpoint

SMALL = (
    "model.hidden=8",
    "model.output=8",
    "model.words=8",
    "training.word_epochs=1",
    "decoding.sentences=10",
    "decoding.negatives=3",
)
TEXT, _ = bitext(generate(40))


pytestmark = pytest.mark.usefixtures("one_thread")


def recipe(threads: int, *settings: str) -> PaperRecipe:
    config = with_settings(PaperConfig(), [*SMALL, *settings])
    return PaperRecipe(config, running=Running(threads=threads))


@pytest.mark.slow  # eight processes, each of which imports PyTorch
def test_models_of_processes_are_the_same_and_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = recipe(1, "members=2")
    list(plain.fit(TEXT))
    monkeypatch.setattr(processes, "LARGE", 1)
    beside = recipe(2, "members=2")
    told = list(beside.fit(TEXT, FitExtras(checkpoint=Checkpoint(tmp_path, every=0))))
    again = recipe(2, "members=2")
    silent = list(again.fit(TEXT, FitExtras(checkpoint=Checkpoint(tmp_path, resume=True))))
    assert {progress.phase for progress in told} >= {"forward 1/2 words", "backward 2/2"} and not silent
    for other in (beside, again):
        assert other.record == plain.record and len(plain.record) == 8
        for one, two in zip(plain.directions, other.directions, strict=True):
            assert torch.equal(one.negative.mean, two.negative.mean)
            for first, second in zip(one.networks, two.networks, strict=True):
                for name, value in first.state_dict().items():
                    assert torch.equal(value, second.state_dict()[name])


@pytest.mark.slow
def test_an_error_of_a_process_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LARGE", 1)
    with pytest.raises(UsageError, match="training diverged"):
        list(recipe(2, "training.optimizer=sgd", "training.rate=100", "training.table_rate=100").fit(TEXT))
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(BitweftError, match="exit code 1"):
        list(recipe(2).fit(TEXT))


def test_small_text_needs_no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitweft.recipes.paper.recipe.fit_beside", lambda *_: pytest.fail("a process"))
    list(recipe(4).fit(TEXT))
