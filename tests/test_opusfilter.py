"""The filter for OpusFilter, in the real package; skipped where it is not installed."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from small import sample

opusfilter = pytest.importorskip("opusfilter", reason="OpusFilter is not installed: pip install opusfilter")

GOOD, WRONG = 60, 20


@pytest.fixture
def work(tmp_path: Path, small_model: Path) -> Path:
    pairs = [(pair.source.text, pair.target.text) for pair in sample()[0]]
    lines = [*pairs[:GOOD], *((pairs[n][0], pairs[n + 50][1]) for n in range(WRONG)), ("", "")]
    for side, name in enumerate(("en.gz", "fr.gz")):
        with gzip.open(tmp_path / name, "wt", encoding="utf-8") as stream:
            stream.writelines(line[side] + "\n" for line in lines)
    (tmp_path / "enfr.weft").symlink_to(small_model)
    return tmp_path


def execute(work: Path, *steps: dict[str, Any]) -> None:
    from opusfilter.opusfilter import OpusFilter

    OpusFilter({"common": {"output_directory": str(work)}, "steps": list(steps)}).execute_steps()


def filters(**options: Any) -> list[dict[str, Any]]:
    return [{"BitweftFilter": {"model": "enfr.weft", **options}, "module": "bitweft.opusfilter"}]


def test_a_configuration_runs(work: Path) -> None:
    inputs = ["en.gz", "fr.gz"]
    filtering = {"inputs": inputs, "outputs": ["good.en", "good.fr"], "filters": filters(threshold=0)}
    scoring = {"inputs": inputs, "output": "scores.jsonl", "filters": filters()}
    execute(work, {"type": "filter", "parameters": filtering}, {"type": "score", "parameters": scoring})
    lines = (work / "scores.jsonl").read_text().splitlines()
    scores = [json.loads(line)["BitweftFilter"] for line in lines]
    assert len(scores) == GOOD + WRONG + 1
    kept = (work / "good.en").read_text().splitlines()
    assert len(kept) == sum(score >= 0 for score in scores)
    assert sum(score >= 0 for score in scores[:GOOD]) > 0.8 * GOOD
    assert sum(score >= 0 for score in scores[GOOD:]) < 0.2 * WRONG


def test_the_convention(work: Path) -> None:
    from bitweft.opusfilter import BitweftFilter

    own = BitweftFilter(model="enfr.weft", workdir=str(work))
    pairs = [
        ("the cat sleeps .", "le chat dort ."),
        ("the cat sleeps .", "vous mangez une pomme !"),
        ("", ""),
    ]
    scores = list(own.score(pairs))
    assert scores[0] > scores[1] > scores[2]
    assert own.score_direction == opusfilter.CLEAN_HIGH
    assert list(own.filter(pairs)) == [pair for pair, score in zip(pairs, scores, strict=True) if score >= 0]
    assert list(own.filterfalse(pairs)) == [pair for pair in pairs if pair not in list(own.filter(pairs))]
    assert list(own.decisions(pairs)) == [own.accept(score) for score in scores]
    sent = pickle.loads(pickle.dumps(own))
    assert list(sent.score(pairs)) == scores
    with pytest.raises(opusfilter.ConfigurationError, match="needs a model"):
        BitweftFilter()
    with pytest.raises(opusfilter.ConfigurationError, match="two languages, got 3"):
        list(own.score([("a", "b", "c")]))
