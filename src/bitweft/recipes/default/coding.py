"""Pairs in numbers, as the inner loops of the default recipe take them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bitweft.recipes.default.compiled.refine import Signs
from bitweft.recipes.default.compiled.types import Common, Counts, Inputs, Ints, Longs, Prior, Words
from bitweft.recipes.default.compiled.vectors import compose
from bitweft.recipes.default.learn import Text
from bitweft.recipes.default.spelling import are_signs
from bitweft.text.bitext import Lines, SentencePair

if TYPE_CHECKING:
    from bitweft.recipes.default.recipe import DefaultRecipe


class Coded(NamedTuple):
    """Hold some pairs in numbers, and the counts that go with them."""

    source: Words
    target: Words
    counts: Counts
    signs: Signs
    common: Common

    def inputs(self, prior: Prior) -> Inputs:
        """Return what the inner loops take."""
        return Inputs(self.source, self.target, self.counts, prior, self.common)


def code_pairs(recipe: DefaultRecipe, pairs: Sequence[SentencePair]) -> Coded:
    """Give pairs as the inner loops take them."""
    lowercase = recipe.config.lowercase
    encoded = (
        spelling.encode((sentence.tokens for sentence in sentences), lowercase=lowercase)
        for spelling, sentences in zip(recipe.spellings, zip(*pairs, strict=True), strict=True)
    )
    return _coded(recipe, encoded)


def code_lines(recipe: DefaultRecipe, lines: Lines) -> Coded:
    """Give the pairs of some lines as the inner loops take them."""
    lowercase = recipe.config.lowercase
    encoded = (
        spelling.encode_lines(side, lowercase=lowercase)
        for spelling, side in zip(recipe.spellings, (lines.source, lines.target), strict=True)
    )
    return _coded(recipe, encoded)


def _coded(recipe: DefaultRecipe, encoded: Iterable[tuple[Ints, Longs, list[str]]]) -> Coded:
    """Put what is known of the words beside the numbers of both sides."""
    sides, unseen = [], []
    for (numbers, offsets, words), spelling, table, own_facts in zip(
        encoded, recipe.spellings, recipe.tables, recipe.facts, strict=True
    ):
        vectors = np.empty((len(words), table.shape[1]), np.float32)
        if words:
            own = np.arange(len(words), dtype=np.int32)
            compose(own, *spelling.unseen_rows(words), table, vectors)
        sides.append(Words(numbers, offsets, *own_facts, vectors))
        unseen.append(words)
    signs = (
        np.concatenate([own, are_signs(words)]) if words else own  # no copy of a large vocabulary
        for own, words in zip(recipe.signs, unseen, strict=True)
    )
    return Coded(sides[0], sides[1], _with_unseen(recipe, *unseen), Signs(*signs), recipe.common)


def code_held(recipe: DefaultRecipe, texts: Sequence[Text], pairs: Longs) -> Coded:
    """Give some pairs of a text that it has learned from as the inner loops take them."""
    sides = []
    for text, own_facts in zip(texts, recipe.facts, strict=True):
        lengths = text.offsets[pairs + 1] - text.offsets[pairs]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(offsets[-1]) + np.repeat(text.offsets[pairs] - offsets[:-1], lengths)
        none = np.empty((0, own_facts[3].shape[1]), np.float32)
        sides.append(Words(text.tokens[places], offsets, *own_facts, none))
    return Coded(sides[0], sides[1], recipe.learned_counts(), Signs(*recipe.signs), recipe.common)


def _with_unseen(recipe: DefaultRecipe, source: list[str], target: list[str]) -> Counts:
    """Return the counts, where words that training did not see have their cognates too."""
    counts = recipe.learned_counts()
    if not source and not target:
        return counts
    known, words = (spelling.words for spelling in recipe.spellings)
    fresh = {word: len(known) + number for number, word in enumerate(source)}
    later = [fresh.get(word, known.known.get(word, -1)) for word in target]
    cognates = np.concatenate([counts.cognates, np.array(later, np.int32)])
    for word, number in fresh.items():
        if word in words.known:
            cognates[words.known[word]] = number
    return counts._replace(cognates=cognates)
