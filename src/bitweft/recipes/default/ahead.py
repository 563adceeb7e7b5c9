"""Compile what aligning and adding up counts need, as a program of its own beside one that compiles the rest.

Loops are compiled for the types of a model's arrays, so one is made, from two pairs, without learning.
"""

from __future__ import annotations

import gc

import numpy as np

from bitweft.recipes.base import Decoding, Running
from bitweft.recipes.default.compiled.types import Cells, Inputs, Longs, Sums
from bitweft.recipes.default.config import DefaultConfig
from bitweft.recipes.default.loops import Compiled
from bitweft.recipes.default.recipe import DefaultRecipe
from bitweft.text.bitext import SentencePair, tokenize


class _Blind(Compiled):
    """Find no cell of any pair, without the loop that does: the other process compiles it."""

    @staticmethod
    def posteriors(inputs: Inputs, pairs: Longs, known: Cells, floor: float, out: Sums) -> Cells:
        """Return the cells of pairs that have none."""
        for nulls in out.nulls:
            nulls[:] = 1.0
        none = np.empty(0, np.int32)
        return Cells(np.zeros(len(pairs) + 1, np.int64), none, none, np.empty(0, np.float32))


def compile_aligning() -> None:
    """Compile, and keep what was compiled."""
    config = DefaultConfig(lse_epochs=0, chain_epochs=0, count_passes=1)
    recipe = DefaultRecipe(config, running=Running(threads=1))
    recipe.loops = _Blind()
    pair = SentencePair(tokenize("a b"), tokenize("c d"))
    for _ in recipe.fit([pair, pair]):
        pass
    recipe.infer([pair], Decoding())


if __name__ == "__main__":
    gc.disable()  # compiling makes many objects that stay: looking through them takes a sixth of the time
    compile_aligning()
