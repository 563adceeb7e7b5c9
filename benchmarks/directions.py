"""P, R, F1 and AER of the default recipe and of peers: each direction by itself, and symmetrized.

The default recipe symmetrizes by itself; peers by every heuristic, and a table shows the best on test: the
choice favors them.
"""

from __future__ import annotations

import shutil
from itertools import islice
from pathlib import Path
from typing import Any

from bitweft.aligner import Aligner
from bitweft.links.alignment import Alignment
from bitweft.links.evaluate import evaluate
from bitweft.recipes.base import Decoding
from bitweft.text.bitext import Bitext
from cells import Cells
from corpora import Row, Sample, file_sizes, gold_of, part_of, write_sample
from peers import DIRECTIONS, figures, run, system_key


def bitweft_links(sample: Sample, seed: int) -> dict[str, list[Alignment]]:
    """Train the default recipe, and align test and dev in each way; links depend on model and pair alone."""
    text = Bitext(*sample.files)
    aligner = Aligner(seed=seed, threads=1).fit(text)
    pairs = list(islice(text, sample.parts["train"].start))
    ways = {name: Decoding(direction=name) for name in DIRECTIONS} | {"default": Decoding()}
    return {name: list(aligner.align(pairs, decoding=own)) for name, own in ways.items()}


class Directions:
    """Measure systems other than the paper's recipe, and keep each result.

    What a run needs on the way is kept in `cache`, and thrown away when its result is there.
    """

    def __init__(self, cells: Cells, cache: Path, threads: int = 1) -> None:
        self.cells = cells
        self.cache = cache
        self.threads = threads

    def key(self, system: str, row: Row, seed: int) -> dict[str, Any]:
        """Give all that a result depends on."""
        text = {"text": row.text, "pairs": row.pairs, "files": file_sizes(row.text)}
        return {"what": "directions", "system": system, **text, "seed": seed, **system_key(system)}

    def has(self, system: str, row: Row, seed: int) -> bool:
        """Tell whether a result is kept."""
        return self.key(system, row, seed) in self.cells

    def get(self, system: str, row: Row, seed: int) -> dict[str, Any]:
        """Give the result that is kept, or measure it and keep it."""
        key = self.key(system, row, seed)
        directory = self.cache / self.cells.path(key).stem
        result = self.cells.get(key, lambda: measure(system, row, seed, directory, threads=self.threads))
        shutil.rmtree(directory, ignore_errors=True)
        return result


def measure(system: str, row: Row, seed: int, directory: Path, *, threads: int = 1) -> dict[str, Any]:
    """Align by a system in each way, and score test."""
    sample = write_sample(row, directory / "text")
    if system == "bitweft":
        links = bitweft_links(sample, seed)
    else:
        found = run(system, sample, directory / "links", seed=seed, threads=threads, resume=True)
        links = found.directions | found.links
    gold = gold_of(row.text, "test")
    scores = {way: figures(evaluate(part_of(own, sample, "test"), gold)) for way, own in links.items()}
    results: dict[str, Any] = {way: scores.pop(way) for way in DIRECTIONS}
    best = min(scores, key=lambda way: scores[way]["aer"])
    results["symmetrized"] = {"heuristic": best, **scores[best]}
    return {"results": results, "heuristics": scores, "all_pairs": sample.pairs}
