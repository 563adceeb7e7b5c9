"""Compile what aligning needs, as a program of its own, while another process compiles what learning needs.

Loops are compiled for the types of a model's arrays, so one is made, from two pairs, without learning.
"""

from __future__ import annotations

from bitweft.recipes.base import Decoding, Running
from bitweft.recipes.default.config import DefaultConfig
from bitweft.recipes.default.recipe import DefaultRecipe
from bitweft.text.bitext import SentencePair, tokenize


def compile_aligning() -> None:
    """Compile, and keep what was compiled."""
    config = DefaultConfig(lse_epochs=0, chain_epochs=0, count_passes=0)
    recipe = DefaultRecipe(config, running=Running(threads=1))
    pair = SentencePair(tokenize("a b"), tokenize("c d"))
    for _ in recipe.fit([pair, pair]):
        pass
    recipe.infer([pair], Decoding())


if __name__ == "__main__":
    compile_aligning()
