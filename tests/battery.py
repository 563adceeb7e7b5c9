"""The recipes that the battery runs on: those that are registered, and a third one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bitweft import Aligner
from bitweft.recipes import registry
from dice import DiceRecipe

NAMES = (*registry.recipe_names(), DiceRecipe.name)
SMALL = {  # settings with which a recipe learns in a moment
    "paper": (
        "model.hidden=16",
        "model.output=16",
        "model.words=16",
        "training.batch=16",
        "training.rate=0.005",
        "training.table_rate=0.5",
        "training.word_epochs=3",
        "training.epochs=1",
        "decoding.alpha=0",  # so little is learned that hardly a word would exceed the usual threshold
        "decoding.backward_alpha=0",
        "decoding.sentences=20",
        "decoding.negatives=5",
    )
}


@contextmanager
def with_dice() -> Iterator[None]:
    """Make the third recipe known for a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_RECIPES", dict(registry._RECIPES))
        registry.register(DiceRecipe)
        yield


def new(name: str, **options: Any) -> Aligner:
    """Make an aligner that learns in a moment."""
    return Aligner(name, **{"threads": 1, "settings": SMALL.get(name, ()), **options})
