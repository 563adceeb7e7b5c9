"""The default recipe: one symmetric score, learned by soft margin, then counted; posterior decoding."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import save_file

from bitweft.errors import ModelError, NothingToLearnError, UsageError
from bitweft.links.alignment import Alignment
from bitweft.links.known import WordPair
from bitweft.progress import Progress
from bitweft.recipes.default.blas import one_blas_thread
from bitweft.recipes.default.compiled.types import (
    CLIP,
    Counts,
    Floats,
    Inputs,
    Ints,
    Prior,
    Sums,
    Words,
    new_tally,
    no_cells,
)
from bitweft.recipes.default.compiled.vectors import compose
from bitweft.recipes.default.knowledge import (
    Knowledge,
    Known,
    Renumbering,
    beside,
    both_counts,
    counts_of_lexicon,
    lower_cased,
    word_counts,
)
from bitweft.recipes.default.learn import (
    DefaultConfig,
    Learning,
    Text,
    first_prior,
    no_counts,
    word_classes,
)
from bitweft.recipes.default.loops import choose
from bitweft.recipes.default.posterior import (
    Decoding,
    Inference,
    best_words,
    calibrated,
    links_by_direction,
    null_probabilities,
    uncalibrated,
    unlinked,
)
from bitweft.recipes.default.spelling import Reader, Spelling
from bitweft.settings import from_mapping
from bitweft.storage.checkpoint import Checkpoint, with_checkpoints
from bitweft.storage.model_directory import Arrays, check_files, read_about
from bitweft.text.bitext import Sentence, SentencePair

LARGEST = 1e4  # of a number in a table: learning stays far below, and products of these stay finite
WEIGHTS = "weights.safetensors"
NO_ROOM = np.empty(0, np.float32)
EMPTY = SentencePair(Sentence((), ""), Sentence((), ""))


class Coded(NamedTuple):
    """Hold some pairs in numbers, and the counts that go with them."""

    source: Words
    target: Words
    counts: Counts


class DefaultRecipe:
    """Train and apply the default aligner."""

    def __init__(
        self,
        config: DefaultConfig | None = None,
        *,
        seed: int = 1,
        threads: int | None = None,
        device: str = "cpu",
    ) -> None:
        self.config = config or DefaultConfig()
        self.loops = choose(self.config.kernels, device)
        self.seed = seed
        self.threads = threads or _cores()
        self.record: list[dict[str, Any]] = []
        self.spellings: list[Spelling] = []
        self.tables: list[Floats] = []
        self.prior = first_prior(self.config.null)
        self.counts: Counts | None = None
        self.vectors: list[Floats] = []
        self.classes: list[Ints] = []
        self.nulls: list[Floats] = []
        self.scales: list[Floats] = []

    def fit(
        self,
        bitext: Iterable[SentencePair],
        *,
        lexicon: Iterable[WordPair] = (),
        known: Known | None = None,
        checkpoint: Checkpoint | None = None,
        go_on: bool = False,
    ) -> Iterator[Progress]:
        """Learn from the pairs, telling how far it is; done when the iterator ends.

        `lexicon` and `known` give word pairs and links that are known; with `go_on`, what was learned before
        is learned from too.
        """
        entries = lower_cased(lexicon) if self.config.lowercase else list(lexicon)
        readers = [Reader(self.config.lowercase) for _ in range(2)]
        links: dict[int, Alignment] = {}
        for number, (pair, certain) in enumerate(beside(bitext, known)):
            readers[0].add(pair.source.tokens)
            readers[1].add(pair.target.tokens)
            if certain.links:
                links[number] = certain
        more = [Counter(own) for own in word_counts(entries)]
        if go_on:
            self._learned()
            for own, spelling in zip(more, self.spellings, strict=True):
                own.update(spelling.words.counts)
        texts = [Text(*reader.finish(own)) for reader, own in zip(readers, more, strict=True)]
        config, knowledge = self._knowledge(texts, entries, links, go_on)
        learning = Learning(
            texts, config, seed=self.seed, threads=self.threads, knowledge=knowledge, loops=self.loops
        )
        if not len(learning.pairs):
            raise NothingToLearnError("there is no pair with words on both sides to learn from")
        yield from learning.run() if checkpoint is None else with_checkpoints(learning, checkpoint)
        self._take(learning, go_on)

    def _knowledge(
        self, texts: list[Text], lexicon: list[WordPair], links: dict[int, Alignment], go_on: bool
    ) -> tuple[DefaultConfig, Knowledge]:
        """Gather what is known before learning, and the configuration to learn by."""
        spellings = [text.spelling for text in texts]
        words = no_counts(spellings)._replace(strength=self.config.strength)
        counts = counts_of_lexicon(lexicon, words, spellings) if lexicon else None
        if not go_on:
            return self.config, Knowledge(counts, links)
        numbers = Renumbering(self.spellings, spellings)
        counts = both_counts(numbers.counts(self._learned(), words), counts)
        jumps = self.prior.jumps.mean(1, keepdims=True)
        prior = self.prior._replace(mixture=0.0, chained=False, jumps=jumps)
        config = replace(self.config, lse_epochs=None, chain_epochs=None, batch=None, rate=None)
        return config, Knowledge(counts, links, numbers.tables(self.tables), prior)

    def _take(self, learning: Learning, go_on: bool) -> None:
        """Take over what was learned; of words that the new text does not have, the old is kept."""
        spellings = [text.spelling for text in learning.texts]
        nulls = learning.nulls
        if go_on:
            numbers = Renumbering(self.spellings, spellings)
            absent = [
                np.bincount(text.tokens, minlength=len(own)) == 0
                for text, own in zip(learning.texts, nulls, strict=True)
            ]
            nulls = [
                np.where(gone, numbers.values(old, side, own), own)
                for side, (gone, old, own) in enumerate(zip(absent, self.nulls, nulls, strict=True))
            ]
        self.config = learning.config
        self.record = [*self.record, *learning.record] if go_on else learning.record
        self._set(spellings, [side.table for side in learning.sides], learning.vectors)
        self.prior = learning.prior._replace(chained=True)
        self.counts = learning.counts
        self.nulls = nulls
        self.scales = learning.scales

    def _set(self, spellings: list[Spelling], tables: list[Floats], vectors: list[Floats]) -> None:
        self.spellings = spellings
        self.tables = tables
        self.vectors = vectors
        self.classes = [word_classes(spelling) for spelling in spellings]

    def infer(self, pairs: Sequence[SentencePair], decoding: Decoding | None = None) -> list[Inference]:
        """Align each pair by itself; pairs share nothing but the call."""
        decoding = decoding or Decoding()
        self._learned()
        if not pairs:
            return []
        long = [max(map(len, pair)) > decoding.longest for pair in pairs]
        pairs = [EMPTY if too_long else pair for pair, too_long in zip(pairs, long, strict=True)]
        coded = self._encode(pairs)
        inferences = self._by_threshold(coded, len(pairs), decoding.threshold or self.config.threshold)
        if decoding.by_direction or decoding.null:
            inferences = self._refined(coded, pairs, inferences, decoding)
        return [
            Inference(Alignment(), too_long=True) if too_long else inference
            for too_long, inference in zip(long, inferences, strict=True)
        ]

    def _by_threshold(self, coded: Coded, pairs: int, threshold: float) -> list[Inference]:
        scores = np.empty(pairs)
        with one_blas_thread():
            cells = self.loops.posteriors(
                Inputs(*coded, self.prior),
                np.arange(pairs),
                no_cells(),
                uncalibrated(threshold),
                Sums(new_tally(0), 0, scores, (NO_ROOM, NO_ROOM)),
            )
        links = list(zip(cells.source.tolist(), cells.target.tolist(), strict=True))
        values = calibrated(cells.values).tolist()
        bounds = cells.offsets.tolist()
        return [
            Inference(Alignment(tuple(links[a:b]), tuple(values[a:b])), score)
            for a, b, score in zip(bounds[:-1], bounds[1:], scores.tolist(), strict=True)
        ]

    def _refined(
        self, coded: Coded, pairs: Sequence[SentencePair], found: list[Inference], decoding: Decoding
    ) -> list[Inference]:
        """Choose links by direction, and look at the words that have none, as asked."""
        chosen, chances = [], []
        for number, pair in enumerate(pairs):
            matrices = self._matrices(coded, number) if all(map(len, pair)) else None
            if decoding.by_direction:
                chosen.append(best_words(*matrices) if matrices else (Alignment(), Alignment()))
            chances.append(null_probabilities(*matrices) if matrices and decoding.null else None)
        links = [inference.alignment for inference in found]
        if decoding.by_direction:
            links = links_by_direction(chosen, decoding)
        return [
            Inference(own, inference.score, unlinked(own, left) if left else None)
            for own, inference, left in zip(links, found, chances, strict=True)
        ]

    def align(self, pairs: Sequence[SentencePair]) -> list[Alignment]:
        """Align each pair by itself."""
        return [inference.alignment for inference in self.infer(pairs)]

    def posteriors(self, pair: SentencePair) -> tuple[Floats, Floats]:
        """Return both directions' posteriors of one pair, as (source, target) matrices."""
        self._learned()
        if not len(pair.source) or not len(pair.target):
            empty = np.zeros((len(pair.source), len(pair.target)), np.float32)
            return empty, empty
        return self._matrices(self._encode([pair]), 0)

    def _matrices(self, coded: Coded, number: int) -> tuple[Floats, Floats]:
        with one_blas_thread():
            forward, backward = self.loops.matrices(Inputs(*coded, self.prior), number, new_tally(0))
        return forward.T, backward

    def _learned(self) -> Counts:
        if self.counts is None:
            raise UsageError("this aligner has learned nothing yet")
        return self.counts

    def _encode(self, pairs: Sequence[SentencePair]) -> Coded:
        sides, unseen = [], []
        facts = zip(self.classes, self.nulls, self.scales, self.vectors, strict=True)
        for sentences, spelling, table, own_facts in zip(
            zip(*pairs, strict=True), self.spellings, self.tables, facts, strict=True
        ):
            tokens: Iterable[Sequence[str]] = (sentence.tokens for sentence in sentences)
            if self.config.lowercase:
                tokens = ([token.lower() for token in sentence] for sentence in tokens)
            numbers, offsets, words = spelling.encode(tokens)
            vectors = np.empty((len(words), table.shape[1]), np.float32)
            own = np.arange(len(words), dtype=np.int32)
            compose(own, *spelling.unseen_rows(words), table, vectors)
            sides.append(Words(numbers, offsets, *own_facts, vectors))
            unseen.append(words)
        return Coded(sides[0], sides[1], self._with_unseen(*unseen))

    def _with_unseen(self, source: list[str], target: list[str]) -> Counts:
        """Return the counts, where words that training did not see have their cognates too."""
        counts = self._learned()
        if not source and not target:
            return counts
        known, words = (spelling.words for spelling in self.spellings)
        fresh = {word: len(known) + number for number, word in enumerate(source)}
        later = [fresh.get(word, known.known.get(word, -1)) for word in target]
        cognates = np.concatenate([counts.cognates, np.array(later, np.int32)])
        for word, number in fresh.items():
            if word in words.known:
                cognates[words.known[word]] = number
        return counts._replace(cognates=cognates)

    def save(self, directory: Path) -> None:
        """Write the model into an existing directory."""
        counts = self._learned()
        for name, spelling in zip(("source", "target"), self.spellings, strict=True):
            spelling.save(directory, name)
        arrays: dict[str, Any] = {
            "source": self.tables[0],
            "target": self.tables[1],
            "source.vectors": self.vectors[0],  # from the tables; kept because to load is quicker than to sum
            "target.vectors": self.vectors[1],
            "source.nulls": self.nulls[0],
            "target.nulls": self.nulls[1],
            "source.scales": self.scales[0],
            "target.scales": self.scales[1],
            "likeness": np.array([counts.cognate_probability]),
            "jumps": self.prior.jumps,
            "starts": self.prior.starts,
            "diagonals": self.prior.diagonals,
            "counts.offsets": counts.offsets,
            "counts.sources": counts.sources,
            "counts.values": counts.values,
        }
        save_file(arrays, directory / WEIGHTS)

    @classmethod
    def load(cls, directory: Path, *, threads: int | None = None, device: str = "cpu") -> DefaultRecipe:
        """Read what `save` wrote; nothing of it is believed unchecked: compiled code looks at no bounds."""
        about = read_about(directory)
        names = (f"{side}.{what}.txt" for side in ("source", "target") for what in ("words", "affixes"))
        check_files(directory, WEIGHTS, *names)
        try:
            recipe = cls(
                from_mapping(DefaultConfig, about.config), seed=about.seed, threads=threads, device=device
            )
            spellings = [Spelling.load(directory, name) for name in ("source", "target")]
            counts = no_counts(spellings)
        except (OSError, ValueError, OverflowError, UsageError) as error:
            raise ModelError(f"{directory}: the model cannot be used: {error}") from error
        recipe.record = about.training.get("record", [])
        arrays = Arrays(directory / WEIGHTS)
        _check_config(directory, recipe.config)
        width = recipe.config.dimensions
        tables = [
            arrays.take(name, np.float32, (spelling.size, width), low=-LARGEST, high=LARGEST)
            for name, spelling in zip(("source", "target"), spellings, strict=True)
        ]
        recipe.prior = _read_prior(arrays, recipe.config)
        likeness = float(arrays.take("likeness", np.float64, (1,), low=0, high=1)[0])
        recipe.counts = _read_counts(arrays, counts)._replace(
            strength=recipe.config.strength, cognate_probability=likeness
        )
        vectors = [
            arrays.take(f"{name}.vectors", np.float32, (len(own.words), width), low=-LARGEST, high=LARGEST)
            for name, own in zip(("source", "target"), spellings, strict=True)
        ]
        recipe._set(spellings, tables, vectors)
        recipe.nulls, recipe.scales = (
            [
                arrays.take(f"{name}.{what}", np.float32, (len(spelling.words),), low=1e-12, high=1e6)
                for name, spelling in zip(("source", "target"), spellings, strict=True)
            ]
            for what in ("nulls", "scales")
        )
        if max(int(own.max(initial=0)) for own in recipe.classes) >= recipe.prior.jumps.shape[1]:
            raise arrays.fault("jumps", "are too few for the classes of words")
        return recipe


def _check_config(directory: Path, config: DefaultConfig) -> None:
    good = (
        0 < config.null < 1
        and 0 <= config.mixture < 1
        and 0 <= config.strength < np.inf
        and 0 < config.threshold <= 1
        and config.dimensions > 0
    )
    if not good:
        raise ModelError(f"{directory}: the model is damaged: its settings are out of range")


def _read_prior(arrays: Arrays, config: DefaultConfig) -> Prior:
    shapes: dict[str, tuple[int | None, ...]] = {
        "jumps": (2, None, 2 * CLIP + 1),
        "starts": (2, None),
        "diagonals": (2, None),
    }
    weights = {
        name: arrays.take(name, np.float32, shape, low=1e-9, high=1e9) for name, shape in shapes.items()
    }
    for name, array in weights.items():
        if 0 in array.shape:
            raise arrays.fault(name, f"has {array.shape[-1]} columns")
    return Prior(config.null, config.mixture, True, **weights)


def _read_counts(arrays: Arrays, words: Counts) -> Counts:
    values = arrays.take("counts.values", np.float32, (None,), low=0, high=1e12)
    size = len(values)
    sources = arrays.take("counts.sources", np.int32, (size,), low=0, high=len(words.source) - 1)
    offsets = arrays.take("counts.offsets", np.int64, words.offsets.shape, low=0, high=size)
    if offsets[0] != 0 or offsets[-1] != size or (np.diff(offsets) < 0).any():
        raise arrays.fault("counts.offsets", "do not run from the first count to the last")
    inside = np.ones(size, bool)
    inside[offsets[:-1][offsets[:-1] < size]] = False  # where another target word begins
    if (np.diff(sources, prepend=0) <= 0)[inside].any():
        raise arrays.fault("counts.sources", "are out of order")
    return words._replace(offsets=offsets, sources=sources, values=values)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
