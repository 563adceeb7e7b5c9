"""Files of a model of the default recipe; none is believed unchecked: compiled code looks at no bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import save_file

from bitweft.errors import ModelError
from bitweft.recipes.default.bounds import LARGEST, read_counts, read_prior
from bitweft.recipes.default.compiled.types import Floats
from bitweft.recipes.default.learn import no_counts
from bitweft.recipes.default.parts import pass_arrays, read_state, state_arrays, state_of
from bitweft.recipes.default.refine.refiner import read_refiner, tree_arrays
from bitweft.recipes.default.refine.tune import read_tuned
from bitweft.recipes.default.spelling import Spelling
from bitweft.storage.model_directory import Arrays, check_files

if TYPE_CHECKING:
    from bitweft.recipes.default.recipe import DefaultRecipe

WEIGHTS = "weights.safetensors"
BEFORE = "before.safetensors"
SIDES = ("source", "target")


def save_model(recipe: DefaultRecipe, directory: Path) -> None:
    """Write what a recipe has learned into an existing directory."""
    assert recipe.counts is not None
    for name, spelling in zip(SIDES, recipe.spellings, strict=True):
        spelling.save(directory, name)
    arrays: dict[str, Any] = {
        "source": recipe.tables[0],
        "target": recipe.tables[1],
        "source.vectors": recipe.vectors[0],  # from the tables; kept because to load is quicker than to sum
        "target.vectors": recipe.vectors[1],
        "source.scales": recipe.scales[0],
        "target.scales": recipe.scales[1],
        **pass_arrays(recipe.counts, recipe.prior, recipe.nulls),
    }
    arrays |= tree_arrays("refiner", recipe.refiner.trees)  # so links do not change with the package
    if recipe.tuned is not None:
        arrays |= recipe.tuned.arrays()
    save_file(arrays, directory / WEIGHTS)
    if recipe.before is not None:
        save_file(state_arrays(recipe.before), directory / BEFORE)


def load_model(recipe: DefaultRecipe, directory: Path) -> None:
    """Let a recipe take over what `save_model` wrote."""
    check_files(
        directory, WEIGHTS, *(f"{side}.{what}.txt" for side in SIDES for what in ("words", "affixes"))
    )
    try:
        spellings = [Spelling.load(directory, name) for name in SIDES]
        counts = no_counts(spellings)
    except (OSError, ValueError, OverflowError) as error:
        raise ModelError(f"{directory}: the model cannot be used: {error}") from error
    arrays = Arrays(directory / WEIGHTS)
    width = recipe.config.dimensions

    def taken(ending: str, rows: list[int]) -> list[Floats]:
        names = (f"{side}{ending}" for side in SIDES)
        shapes = ((size, width) for size in rows)
        return [
            arrays.take(name, np.float32, shape, low=-LARGEST, high=LARGEST)
            for name, shape in zip(names, shapes, strict=True)
        ]

    tables = taken("", [own.size for own in spellings])
    recipe.prior = read_prior(arrays, recipe.config)
    likeness = float(arrays.take("likeness", np.float64, (1,), low=0, high=1)[0])
    counts = read_counts(arrays, counts)
    begun = any(phase.get("phase") == "count" for phase in recipe.record)
    strength = recipe.config.strength if begun else 0.0  # without a pass, vectors alone decide
    recipe.set_counts(counts._replace(strength=strength, cognate_probability=likeness))
    recipe.set_words(spellings, tables, taken(".vectors", [len(own.words) for own in spellings]))
    recipe.refiner = read_refiner(arrays)
    recipe.tuned = read_tuned(arrays, recipe.vocabulary_sizes)
    recipe.nulls, recipe.scales = (
        [
            arrays.take(f"{name}.{what}", np.float32, (len(spelling.words),), low=1e-12, high=1e6)
            for name, spelling in zip(SIDES, spellings, strict=True)
        ]
        for what in ("nulls", "scales")
    )
    if max(int(own.max(initial=0)) for own in recipe.classes) >= recipe.prior.jumps.shape[1]:
        raise arrays.fault("jumps", "are too few for the classes of words")
    if (directory / BEFORE).exists():
        before = Arrays(directory / BEFORE)
        recipe.before = read_state(before, state_of(recipe), no_counts(spellings), recipe.config)
