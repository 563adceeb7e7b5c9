"""Tuning on gold links: what is learned, what is refused, and what is kept with a model."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import small
from bitweft import Aligner, GoldAlignment, ModelError, UsageError
from bitweft.cli import main
from bitweft.recipes.default.refine.memory import (
    PAIR_CELLS,
    WORD_CELLS,
    Meeting,
    recalled,
    recalled_by_others,
    remembered,
)
from bitweft.recipes.default.refine.tune import THRESHOLDS, Options, differences, folds_of, logit

TEXT, GOLD = list(small.sample()[0]), small.sample()[1]


def odd_gold() -> list[GoldAlignment]:
    """Make guidelines of their own: a word is linked to the word after its counterpart, too."""
    return [
        GoldAlignment.of({(s, t + d) for s, t in gold.sure for d in (0, 1) if t + d < len(pair.target)})
        for pair, gold in zip(TEXT, GOLD, strict=True)
    ]


def fresh() -> Aligner:
    """Return the small aligner, free to be tuned."""
    return copy.deepcopy(small.aligner())


def test_memory_by_hand() -> None:
    meeting = Meeting(np.array([0, 0, 1, -1]), np.array([2, 2, 2, 2]))
    surprise = np.array([1.0, 0.5, -1.0, 1.0])
    memory = remembered(meeting, surprise, (3, 3))
    assert np.allclose(memory.source, [1.5 / (2 + WORD_CELLS), -1 / (1 + WORD_CELLS), 0])
    assert np.allclose(memory.target, [0, 0, 1.5 / (4 + WORD_CELLS)])
    assert memory.keys.tolist() == [2 << 32, 2 << 32 | 1]
    assert np.allclose(memory.values, [1.5 / (2 + PAIR_CELLS), -1 / (1 + PAIR_CELLS)])
    assert np.allclose(recalled(memory, meeting)[3], [0, 1.5 / (4 + WORD_CELLS), 0])
    others = recalled_by_others(meeting, surprise, np.array([0, 1, 1, 1]))
    assert np.allclose(others[0], [0.5 / (1 + WORD_CELLS), 0.5 / (3 + WORD_CELLS), 0.5 / (1 + PAIR_CELLS)])


def test_folds_part_all_sentences() -> None:
    assert sorted(np.bincount(folds_of(23)).tolist()) == [4, 4, 5, 5, 5]
    assert set(folds_of(3).tolist()) == {0, 1, 2}


def test_differences_of_equal_tables_are_nothing() -> None:
    table = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert (differences(table, table) == 0).all()


def test_log_odds_of_a_probability() -> None:
    assert logit(0.5) == 0
    assert logit(0.0) == -np.inf
    assert logit(1.0) == np.inf


def test_options_are_judged_without_their_own_fold() -> None:
    """An option that is best on one sentence alone is not chosen for it."""

    class Made(Options):
        def __init__(self) -> None:
            self.tables = np.zeros((2, len(THRESHOLDS), 10, 2))
            self.tables[..., 1] = 10
            self.tables[0, :, :, 0] = 5
            self.tables[1, :, 0, 0] = 10

    assert Made().best(np.arange(10))[0] == 0
    assert (Made().held_out()[:, 0] == 5).all()


def test_tuning_learns_guidelines_and_is_kept(tmp_path: Path) -> None:
    aligner = fresh()
    gold = odd_gold()
    before = list(aligner.align(TEXT[:20]))
    tuning = aligner.tune(TEXT[100:], gold[100:])
    assert tuning.expected is not None
    assert tuning.expected.after < 0.7 * tuning.expected.before
    assert tuning.expected.low <= tuning.expected.after - tuning.expected.before <= tuning.expected.high < 0
    assert tuning.after.aer < tuning.before.aer
    after = list(aligner.align(TEXT[:20]))
    assert after != before
    aligner.save(tmp_path / "tuned.weft")
    loaded = Aligner.load(tmp_path / "tuned.weft", threads=2)
    assert list(loaded.align(TEXT[:20])) == after
    assert [loaded.align(pair.source.tokens, pair.target.tokens) for pair in TEXT[:20]] == after


def test_damaged_tuning_is_refused(tmp_path: Path) -> None:
    aligner = fresh()
    aligner.tune(TEXT, odd_gold())
    aligner.save(tmp_path / "tuned.weft")
    weights = tmp_path / "tuned.weft" / "weights.safetensors"
    whole = load_file(weights)
    damages = {
        "tuned.features": np.full_like(whole["tuned.features"], 1000),
        "tuned.settings": np.array([2.0, 0.5]),
        "tuned.memory.keys": whole["tuned.memory.keys"][::-1].copy(),
        "tuned.memory.source": whole["tuned.memory.source"][:-1].copy(),
        "tuned.values": np.full_like(whole["tuned.values"], np.inf),
    }
    for name, damaged in damages.items():
        save_file({**whole, name: damaged}, weights)
        with pytest.raises(ModelError):
            Aligner.load(tmp_path / "tuned.weft")


def test_ten_sentences_do_not_hurt() -> None:
    aligner = fresh()
    before = aligner.tune(TEXT[:10], GOLD[:10]).expected
    assert before is not None
    assert before.after <= before.before


def test_too_few_sentences_are_refused() -> None:
    with pytest.raises(UsageError, match="gold must have sure links in 5 sentences or more, got 2"):
        fresh().tune(TEXT[:2], GOLD[:2])


def test_tune_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fresh().save(tmp_path / "model.weft")
    source, target = small.write_text(tmp_path)
    gold = tmp_path / "gold"
    lines = [" ".join(f"{s}-{t}" for s, t in sorted(own.sure)) + "\n" for own in odd_gold()]
    gold.write_text("".join(lines))
    model, tuned = str(tmp_path / "model.weft"), str(tmp_path / "tuned.weft")
    assert main(["tune", model, source, target, str(gold), "-o", tuned, "--threads", "1"]) == 0
    assert "cross-validated on 300 pairs" in capsys.readouterr().err
    outputs = [tmp_path / name for name in ("plain", "tuned", "dev", "phrases")]
    options = [
        ["--model", model],
        ["--model", tuned],
        ["--model", model, "--dev", source, target, str(gold)],
        ["--model", model, "--links", "phrases"],
    ]
    for output, own in zip(outputs, options, strict=True):
        assert main(["align", source, target, *own, "-o", str(output), "-q"]) == 0
    plain, by_tuned, by_dev, phrases = (output.read_text() for output in outputs)
    assert by_tuned == by_dev != plain
    assert phrases != by_tuned
    assert main(["align", source, target, "--model", model, "--links", "many"]) == 2
    assert "links must be words, default, phrases or a number" in capsys.readouterr().err
