"""Batches of columns, as Ray Data, Spark and others give them."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitweft.cluster.align_batches import AlignBatches
from bitweft.errors import UsageError
from small import aligner, sample

PAIRS = list(sample()[0])[:20]
LINKS = [str(links) for links in aligner().align(PAIRS)]


def columns() -> dict[str, Any]:
    source, target = ([pair[side].text for pair in PAIRS] for side in (0, 1))
    return {"id": list(range(len(PAIRS))), "en": source, "fr": target}


def test_columns_are_added_and_the_object_can_be_sent(model: Path) -> None:
    align = pickle.loads(pickle.dumps(AlignBatches(model, "en", "fr", probabilities="p")))
    found = align(columns())
    assert found["links"] == LINKS and found["id"] == columns()["id"]
    scores = [inference.score for inference in aligner().infer(PAIRS)]
    assert found["score"] == scores
    assert [len(own) for own in found["p"]] == [len(own.split()) for own in LINKS]


def test_arrays_come_back_as_arrays(model: Path) -> None:
    batch = {name: np.array(values) for name, values in columns().items()}
    found = AlignBatches(model, "en", "fr", probabilities="p")(batch)
    assert all(isinstance(column, np.ndarray) and len(column) == len(PAIRS) for column in found.values())
    assert found["links"].tolist() == LINKS and found["score"].dtype == np.float64


def test_data_frames_are_walked_as_spark_does(model: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="needs the extra pandas")
    frame = pandas.DataFrame(columns())
    found = list(AlignBatches(model, "en", "fr").over(iter([frame[:5], frame[5:]])))
    assert [len(each) for each in found] == [5, len(PAIRS) - 5]
    assert pandas.concat(found)["links"].tolist() == LINKS


def test_tables_of_arrow(model: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    found = AlignBatches(model, "en", "fr")(pyarrow.table(columns()))
    assert found.column_names == ["id", "en", "fr", "links", "score"]
    assert found["links"].to_pylist() == LINKS


def test_a_missing_text_has_no_links(model: Path) -> None:
    found = AlignBatches(model, "en", "fr")({"en": ["the cat", None, ""], "fr": [math.nan, "le chat", "x"]})
    assert found["links"] == ["", "", ""]


def test_what_is_no_batch_is_refused(model: Path) -> None:
    align = AlignBatches(model, "en", "fr")
    with pytest.raises(UsageError, match="no column 'fr'; it has id, en"):
        align({"id": [1], "en": ["x"]})
