"""A quick regression on real text: 2,000 pairs of the Hansards by the field's protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

import corpora
from bitweft import Aligner, Bitext, evaluate
from corpora import Row, gold_of, part_of, write_sample


@pytest.mark.skipif(
    not corpora.available("en-fr"), reason=f"no text en-fr in {corpora.DATA}; WEFT_DATA names the directory"
)
def test_two_thousand_pairs_are_aligned_well(tmp_path: Path) -> None:
    sample = write_sample(Row("en-fr", 2000), tmp_path)
    text = Bitext(sample.source, sample.target)
    links = list(Aligner(seed=1).fit(text).align(text))
    score = evaluate(part_of(links, sample, "test"), gold_of("en-fr", "test"))
    assert (score.sentences, score.sure, score.possible) == (447, 4038, 17438)
    assert 100 * score.aer < 9.0
    assert 100 * score.precision > 88
    assert 100 * score.recall > 88
