"""Align a data frame of Spark with `mapInPandas`. Needs: pip install bitweft pyspark pandas pyarrow; Java."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from bitweft import Aligner
from bitweft.cluster.align_batches import AlignBatches
from bitweft.sample import bitext, generate

PAIRS = 300


def main() -> None:
    """Learn from a text, then align it in two partitions."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers' Python must have bitweft, too
    text, _ = bitext(generate(PAIRS))
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    with tempfile.TemporaryDirectory() as directory:
        model = Path(directory) / "enfr.weft"  # on a cluster: where all workers see it, or a URL
        Aligner(seed=1).fit(text).save(model)
        rows = [(number, pair.source.text, pair.target.text) for number, pair in enumerate(text)]
        frame = spark.createDataFrame(rows, "id long, en string, fr string").repartition(2)
        schema = "id long, en string, fr string, links string, score double"
        found = frame.mapInPandas(AlignBatches(model, "en", "fr").over, schema).orderBy("id").collect()
    spark.stop()
    print(found[0].en, found[0].fr, found[0].links, sep="\n")
    assert len(found) == PAIRS and found[0].links.startswith("0-0")


if __name__ == "__main__":
    main()
