"""How far a job is, on standard error."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from bitweft.cli import main, progress
from bitweft.cli.progress import Meter
from bitweft.progress import Progress
from small import write_joint, write_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_is_for_terminals_only() -> None:
    times = iter(range(0, 10_000, 10))
    for stream in (Terminal(), io.StringIO()):
        with Meter(stream, clock=lambda: float(next(times))) as meter:
            for step in range(1, 11):
                meter.show(Progress(step, 10, "lse", 0.5))
        text = stream.getvalue()
        assert ("\r" in text) == stream.isatty()
        assert "learning words" in text and "/s" in text and "left" in text and "loss 0.500" in text
        assert len(text.split("\n")) < 6
        assert text.endswith("\r" if stream.isatty() else "\n")


def test_the_time_left_is_that_of_the_phase() -> None:
    """A second phase of as many steps does not count the time of the first as its own."""
    stream = Terminal()
    seconds = iter(range(1000))
    with Meter(stream, clock=lambda: float(next(seconds))) as meter:
        for phase in ("forward", "backward"):
            for step in range(1, 101):  # a second each
                meter.show(Progress(step, 100, phase))
                drawn = stream.getvalue().rpartition("\r")[2]
                assert drawn.lstrip("[= ]").startswith(phase)
                if step > 1:
                    minutes, rest = re.findall(r"(\d+):(\d+) left", drawn)[0]
                    assert int(minutes) * 60 + int(rest) == 100 - step


@pytest.mark.parametrize("joint", [False, True])
def test_aligning_by_a_model_tells_how_much_is_done(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    joint: bool,
) -> None:
    monkeypatch.setattr(progress, "LINE", 0.0)
    monkeypatch.setattr("bitweft.recipes.chunks.CHUNK", 64)
    text = [write_joint(tmp_path)] if joint else write_text(tmp_path)
    assert main(["align", *text, "--model", str(model), "-o", str(tmp_path / "out")]) == 0
    assert re.findall(r"aligning +(\d+) %", capsys.readouterr().err) == ["21", "43", "64", "85"]
