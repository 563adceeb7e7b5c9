"""Results of a recipe do not change unless its `revision` does: kept figures of benchmarks rely on it.

Bytes of weights depend on the processor: other vector instructions add in another order. So a model is told
by some sums over all its weights, each number taken with a sign drawn at random, every tensor scaled to the
same size. With other instructions (OpenBLAS, numba and PyTorch made to use none beyond SSE) they differed by
less than a fifth of TOLERANCE; a rate that is one per cent higher changes them by more than it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import load_file

from bitweft.aligner import Aligner
from bitweft.sample import bitext, generate

TOLERANCE = 1e-2
SUMS = 4
CHANGED = "results changed: raise `revision` of the recipe and keep the new values here, {}"


class Kept(NamedTuple):
    """Hold what a small model came to, and defaults that it does not show."""

    sums: tuple[float, ...]
    defaults: dict[str, Any]


# How a small model of each recipe is made: its pairs, and settings that keep it short.
SMALL: dict[str, tuple[int, tuple[str, ...]]] = {
    "default": (300, ()),
    "paper": (60, ("training.word_epochs=1", "training.epochs=1")),
}
KEPT: dict[tuple[str, int], Kept] = {
    ("default", 4): Kept(
        (3.398514, -0.997571, 3.636328, 2.172657),
        {
            "lowercase": True,
            "dimensions": 64,
            "lse_epochs": None,
            "chain_epochs": None,
            "count_passes": 2,
            "rate": None,
            "descent_pairs": 500_000,
            "group": 8,
            "batch": None,
            "null": 0.1,
            "mixture": 0.05,
            "negatives": 1.0,
            "strength": 3.0,
            "longest": 400,
            "refined": True,
            "links": 0.5,
            "threshold": 0.5,
        },
    ),
    ("paper", 3): Kept(
        (4.732371, -10.217747, -2.057505, 3.874578),
        {
            "features.source.words": 30000,
            "features.source.tags": "none",
            "features.source.characters": False,
            "features.target.words": 30000,
            "features.target.tags": "none",
            "features.target.characters": False,
            "features.lowercase": True,
            "features.longest_word": 20,
            "features.classes": 64,
            "initial.words": "pca",
            "initial.source_text": "",
            "initial.target_text": "",
            "initial.source_vectors": "",
            "initial.target_vectors": "",
            "model.hidden": 256,
            "model.output": 256,
            "model.words": 128,
            "model.tags": 32,
            "model.characters": 128,
            "model.distance": 32,
            "model.diagonal": True,
            "model.buckets": 8,
            "model.source_k1": 1,
            "model.source_k2": 1,
            "model.target_k1": 3,
            "model.target_k2": 3,
            "training.aggregation": "lse",
            "training.r": 1.0,
            "training.optimizer": "adam",
            "training.rate": 0.0005,
            "training.table_rate": 0.5,
            "training.table_damping": 2e-05,
            "training.word_epochs": 2,
            "training.epochs": 1,
            "training.window_rate": 0.2,
            "training.batch": 16,
            "training.negatives": 3,
            "training.window_negatives": 0,
            "training.replacement_rate": 1.0,
            "training.dropout": 0.0,
            "training.longest": 100,
            "decoding.alpha": 1.5,
            "decoding.backward_alpha": 1.5,
            "decoding.heuristic": "strict-grow-diag",
            "decoding.sentences": 1000,
            "decoding.negatives": 100,
            "members": 1,
        },
    ),
}


def flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Give settings as `section.key` and value."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def sums_of(model: Path) -> list[float]:
    """Sum up all weights of a model, with random signs."""
    total = np.zeros(SUMS)
    signs = np.random.RandomState(1)  # whose numbers are the same in every version of numpy
    for file in sorted(model.glob("*.safetensors")):
        for _, tensor in sorted(load_file(file).items()):
            total += signs.choice([-1.0, 1.0], (SUMS, tensor.size)) @ unit(tensor)
    return [round(float(value), 6) for value in total]


def unit(tensor: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Scale a tensor to length one."""
    values = tensor.astype(np.float64).ravel()
    return np.asarray(values / (np.linalg.norm(values) or 1.0))


def small_model(recipe: str, directory: Path, *settings: str) -> Path:
    """Train and save a small model."""
    pairs, short = SMALL[recipe]
    aligner = Aligner(recipe, threads=1, settings=[*short, *settings])
    aligner.fit(bitext(generate(pairs))[0]).save(directory)
    return directory


@pytest.mark.parametrize("recipe", SMALL)
def test_results_are_those_of_the_revision(recipe: str, tmp_path: Path) -> None:
    revision = Aligner(recipe).recipe.revision
    found = sums_of(small_model(recipe, tmp_path / "model.weft"))
    kept = KEPT.get((recipe, revision), Kept((), {})).sums
    assert found == pytest.approx(kept, abs=TOLERANCE), CHANGED.format(found)


@pytest.mark.parametrize("recipe", SMALL)
def test_defaults_are_those_of_the_revision(recipe: str) -> None:
    aligner: Any = Aligner(recipe)
    now = dict(flat(dataclasses.asdict(aligner.recipe.config)))
    kept = KEPT[recipe, aligner.recipe.revision].defaults
    # One that is no longer there, or has another name, changes nothing by itself.
    changed = {name: now[name] for name in kept if name in now and now[name] != kept[name]}
    assert not changed, CHANGED.format(changed)
    assert len(set(kept) & set(now)) > 5


@pytest.mark.parametrize(
    ("recipe", "setting"), [("default", "rate=0.0202"), ("paper", "training.table_rate=0.505")]
)
def test_a_small_change_of_learning_is_noticed(recipe: str, setting: str, tmp_path: Path) -> None:
    found = sums_of(small_model(recipe, tmp_path / "model.weft", setting))
    kept = KEPT[recipe, Aligner(recipe).recipe.revision].sums
    assert max(abs(one - other) for one, other in zip(found, kept, strict=True)) > TOLERANCE
