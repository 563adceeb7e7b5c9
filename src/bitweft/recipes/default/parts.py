"""The default recipe in parts: the passes of counting over shards, and the sample that comes before them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitweft.errors import InputError, UsageError
from bitweft.progress import Progress
from bitweft.recipes.base import check_learnable
from bitweft.recipes.default.bounds import read_cells, read_counts, read_prior
from bitweft.recipes.default.compiled.types import Cells, Counts, Floats, Ints, Longs, Prior, new_tally
from bitweft.recipes.default.config import DefaultConfig
from bitweft.recipes.default.counts import Part as Sums
from bitweft.recipes.default.counts import (
    Shard,
    State,
    added,
    cell_arrays,
    count,
    learnable,
    merge,
    state_by,
)
from bitweft.recipes.default.learn import Learning, Text, pair_hashes, sampled
from bitweft.recipes.default.loops import Loops
from bitweft.recipes.default.reading import read_at_once
from bitweft.recipes.default.spelling import Spelling
from bitweft.recipes.parts import Numbered, Part, PartTraining, Side, Survey, Trace
from bitweft.storage.model_directory import Arrays
from bitweft.storage.spill import counted
from bitweft.text.bitext import SentencePair

if TYPE_CHECKING:
    from bitweft.recipes.default.recipe import DefaultRecipe

MOST_PASSES = 2  # the second finds again what the first added to the counts
_SIDES = ("source", "target")
_TALLIES = ("jumps", "starts", "diagonals", "cognates")


class DefaultParts(PartTraining):
    """Learn in parts what `fit` learns from the whole; the recipe is what was learned so far."""

    def __init__(self, recipe: DefaultRecipe) -> None:
        """Take a recipe that has learned nothing, or goes on.

        Raises:
            UsageError: what pairs added in the last pass but one could not be found again.
        """
        if recipe.config.count_passes > MOST_PASSES:
            found = f"got {recipe.config.count_passes}"
            raise UsageError(f"count_passes must be at most {MOST_PASSES} to learn in parts, {found}")
        self.recipe = recipe
        self._spelt: tuple[Survey, list[Spelling]] | None = None  # the latest

    def numberer(self) -> Callable[[Iterable[SentencePair]], Numbered]:
        """Return what puts the text of a shard into numbers."""
        return _Numberer(self.recipe.config.lowercase)

    def surveyor(self) -> Callable[[Numbered], Survey]:
        """Return what surveys a shard."""
        return _Surveyor(self.recipe.config.longest)

    def chooser(self, survey: Survey) -> Callable[[Numbered, int], Part]:
        """Return what chooses of a shard the pairs that may belong to the sample."""
        config = self.recipe.config
        check_learnable([(own, own) for own in (survey.shortest,) if own], config.longest, "longest")
        spellings = self._spellings(survey)
        # Hashes are spread evenly: a few more than are wanted are below this, as good as surely.
        share = (config.descent_pairs + 10 * sqrt(config.descent_pairs) + 10) / survey.learnable
        return _Chooser(_Encoder(spellings, config), self.recipe.seed, min(int(share * 2**64), 2**64 - 1))

    def descend(self, survey: Survey, samples: Iterable[Part]) -> Iterator[Progress]:
        """Learn vectors from the sample; the recipe can be saved, and counted by, when the iterator ends."""
        recipe = self.recipe
        spellings = self._spellings(survey)
        source, target = _sampled(list(samples), recipe.config.descent_pairs, recipe.seed)
        texts = [Text(spellings[0], *source), Text(spellings[1], *target)]
        learning = Learning(
            texts, recipe.config, seed=recipe.seed, threads=recipe.threads, loops=recipe.loops
        )
        yield from learning.descend()
        recipe.take(learning)
        recipe.prior = learning.state().prior

    def _spellings(self, survey: Survey) -> list[Spelling]:
        if self._spelt is None or self._spelt[0] is not survey:
            self._spelt = survey, [Spelling.of(own) for own in survey.words]
        return self._spelt[1]

    @property
    def passes_left(self) -> int:
        """Tell how often the text is still to be counted."""
        done = sum(phase.get("phase") == "count" for phase in self.recipe.record)
        return self.recipe.config.count_passes - done

    def counter(self) -> Callable[[Numbered, Trace | None], tuple[Part, Trace]]:
        """Return what counts a shard."""
        recipe = self.recipe
        encoder = _Encoder(recipe.spellings, recipe.config)
        return _Counter(encoder, state_of(recipe), recipe.before, self.passes_left == 1, recipe.loops)

    def merge(self, parts: Iterable[Part]) -> None:
        """Take over what one pass over all shards has counted."""
        recipe = self.recipe
        last = state_of(recipe)
        state = merge(last, [_total(_sums(part, last) for part in parts)])
        recipe.record.append({"phase": "count", "entries": len(state.counts.values)})
        recipe.before = last if self.passes_left else None
        recipe.prior = state.prior
        recipe.set_counts(state.counts)
        recipe.nulls = [state.source.nulls, state.target.nulls]


def state_of(recipe: DefaultRecipe) -> State:
    """Return what a pass of counting goes by."""
    assert recipe.counts is not None
    return state_by(recipe.facts, recipe.counts, recipe.prior, recipe.config)


def state_arrays(state: State) -> dict[str, npt.NDArray[Any]]:
    """Return what one pass changes of a state, as arrays."""
    arrays = pass_arrays(state.counts, state.prior, (state.source.nulls, state.target.nulls))
    return {**arrays, "strength": np.array([state.counts.strength])}


def pass_arrays(counts: Counts, prior: Prior, nulls: Sequence[Floats]) -> dict[str, npt.NDArray[Any]]:
    """Return what passes of counting settle, as a model keeps it."""
    return {
        "jumps": prior.jumps,
        "starts": prior.starts,
        "diagonals": prior.diagonals,
        "source.nulls": nulls[0],
        "target.nulls": nulls[1],
        "counts.offsets": counts.offsets,
        "counts.sources": counts.sources,
        "counts.values": counts.values,
        "likeness": np.array([counts.cognate_probability]),
    }


def read_state(arrays: Arrays, later: State, words: Counts, config: DefaultConfig) -> State:
    """Take what `state_arrays` gave; the rest is that of a later state. `words` are counts of none."""
    source, target = (
        facts._replace(nulls=arrays.take(f"{side}.nulls", np.float32, facts.nulls.shape, low=1e-12, high=1e6))
        for side, facts in zip(_SIDES, (later.source, later.target), strict=True)
    )
    prior = read_prior(arrays, config)
    if prior.jumps.shape != later.prior.jumps.shape:
        raise arrays.fault("jumps", "are of other classes of words")
    counts = read_counts(arrays, words)._replace(
        strength=float(arrays.take("strength", np.float64, (1,), low=0, high=1e6)[0]),
        cognate_probability=float(arrays.take("likeness", np.float64, (1,), low=0, high=1)[0]),
    )
    return State(source, target, counts, prior, later.strength)


@dataclass(frozen=True)
class _Numberer:
    """Number words on sight."""

    lowercase: bool

    def __call__(self, pairs: Iterable[SentencePair]) -> Numbered:
        found = read_at_once(pairs, lowercase=self.lowercase)
        sides = (reader.in_order() for reader in (found.source, found.target))
        return Numbered(*(Side(words, tokens, np.diff(offsets)) for words, tokens, offsets in sides))


@dataclass(frozen=True)
class _Surveyor:
    """Count pairs and words."""

    longest: int

    def __call__(self, shard: Numbered) -> Survey:
        lengths = np.array([side.lengths for side in shard])
        most = lengths.max(0)[lengths.min(0) > 0]
        words = (
            Counter(dict(zip(side.words, counted(side.tokens, len(side.words)).tolist(), strict=True)))
            for side in shard
        )
        shortest = int(most.min()) if len(most) else None
        return Survey(shard.pairs, int((most <= self.longest).sum()), shortest, (next(words), next(words)))


class _Encoder:
    """Turn the numbers of a shard's own words into those of the whole text's."""

    def __init__(self, spellings: Sequence[Spelling], config: DefaultConfig) -> None:
        self.spellings = spellings
        self.longest = config.longest

    def __call__(self, shard: Numbered) -> Shard:
        source, target = map(self._side, self.spellings, shard)
        return Shard(source, target, learnable([source[1], target[1]], self.longest))

    @staticmethod
    def _side(spelling: Spelling, side: Side) -> tuple[Ints, Longs]:
        known = spelling.words.known
        unseen = next((word for word in side.words if word not in known), None)
        if unseen is not None:
            raise InputError(f"the word {unseen!r} is not in the text that the model was begun with")
        numbers = np.array([known[word] for word in side.words], np.int32)
        return numbers[side.tokens], _offsets(side.lengths)


def _offsets(lengths: Longs) -> Longs:
    """Tell where each sentence begins, and the last ends."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


@dataclass(frozen=True)
class _Chooser:
    """Choose the pairs whose numbers have a hash below a bound."""

    encode: _Encoder
    seed: int
    bound: int

    def __call__(self, shard: Numbered, first: int) -> Part:
        source, target, pairs, _ = self.encode(shard)
        numbers = first + pairs
        chosen = pairs[pair_hashes(numbers, self.seed) <= np.uint64(self.bound)]
        found: dict[str, npt.NDArray[np.integer]] = {"numbers": first + chosen}
        kept = np.isin(np.arange(shard.pairs), chosen)
        for name, side, (tokens, _) in zip(_SIDES, shard, (source, target), strict=True):
            found[name] = tokens[np.repeat(kept, side.lengths)]
            found[f"{name}.lengths"] = side.lengths[kept]
        return found


def _sampled(samples: Sequence[Part], most: int, seed: int) -> list[tuple[Ints, Longs]]:
    """Put the samples of all shards together, and keep the pairs with the least hashes."""
    numbers = np.concatenate([own["numbers"] for own in samples])
    kept = np.isin(numbers, sampled(numbers, most, seed))
    sides = []
    for side in _SIDES:
        tokens = np.concatenate([own[side] for own in samples])
        lengths = np.concatenate([own[f"{side}.lengths"] for own in samples])
        sides.append((tokens[np.repeat(kept, lengths)], _offsets(lengths[kept])))
    return sides


@dataclass(frozen=True)
class _Counter:
    """Count a shard by a state, less what its pairs added to it."""

    encode: _Encoder
    state: State
    before: State | None
    last: bool  # nobody will ask for the cells
    loops: Loops

    def __call__(self, shard: Numbered, trace: Trace | None = None) -> tuple[Part, Trace]:
        encoded = self.encode(shard)
        known: Sequence[Cells] = ()
        if trace is not None:
            arrays = Arrays(Path("trace"), trace, what="trace")
            known = read_cells(arrays, [side.lengths for side in shard], encoded.pairs)
        part, found = count(self.state, encoded, self.before, known=known, loops=self.loops)
        return _arrays(part), {} if self.last else cell_arrays(found)


def _arrays(sums: Sums) -> Part:
    tally = {f"tally.{name}": getattr(sums.tally, name) for name in _TALLIES}
    unlinked = {f"{side}.unlinked": own for side, own in zip(_SIDES, sums.unlinked, strict=True)}
    return {"keys": sums.keys, "sums": sums.sums, **tally, **unlinked}


def _sums(part: Part, state: State) -> Sums:
    """Take what was counted by a state.

    Raises:
        ModelError: it is none that can have been.
    """
    arrays = Arrays(Path("part"), part, what="part")
    empty = new_tally(1, state.prior.jumps.shape[1])
    tally = empty._replace(
        **{name: arrays.take(f"tally.{name}", np.int64, getattr(empty, name).shape) for name in _TALLIES}
    )
    source, target = (
        arrays.take(f"{side}.unlinked", np.int64, (len(facts.nulls), 2), low=0)
        for side, facts in zip(_SIDES, (state.source, state.target), strict=True)
    )
    keys = arrays.take("keys", np.int64, (None,), low=0, high=len(target) << 32)
    if (np.diff(keys) <= 0).any() or (keys & (2**32 - 1)).max(initial=0) >= len(source):
        raise arrays.fault("keys", "are out of order, or of no words")
    return Sums(keys, arrays.take("sums", np.int64, keys.shape, low=0), tally, (source, target))


def _total(parts: Iterable[Sums]) -> Sums:
    """Add parts up by twos, then fours: each entry is moved as often as the number of parts is halved."""
    stack: list[tuple[int, Sums]] = []
    for part in parts:
        level, own = 0, part
        while stack and stack[-1][0] == level:
            own = added([stack.pop()[1], own])
            level += 1
        stack.append((level, own))
    return added(own for _, own in stack)
