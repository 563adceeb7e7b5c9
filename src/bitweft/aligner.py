"""The aligner: learn from parallel text, align any other, save and load."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import overload

import numpy as np
import numpy.typing as npt

from bitweft.errors import BitweftError, ModelError, UsageError
from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.known import KnownLinks, WordPair
from bitweft.links.table import LinkTable
from bitweft.progress import Progress
from bitweft.recipes.base import (
    EXTRAS,
    NO_EXTRAS,
    NOT_LEARNED,
    Decoding,
    FitExtras,
    Inference,
    Offer,
    Recipe,
    Running,
    Sizes,
    Tuning,
    require,
)
from bitweft.recipes.chunks import CHUNK, chunks_of, chunks_of_text, in_threads, never
from bitweft.recipes.devices import check_device
from bitweft.recipes.registry import DEFAULT, recipe_named
from bitweft.settings import to_mapping, with_settings
from bitweft.storage.checkpoint import Checkpoint
from bitweft.storage.model_directory import About, Training, read_about, write_model
from bitweft.storage.places import fetched, is_remote
from bitweft.text.bitext import Bitext, Lines, SentencePair, tokenize
from bitweft.text.inputs import PairLike, Pairs, pair_of, refuse_sentences
from bitweft.text.tags import TaggedText
from bitweft.text.tokenize import count_by_space


class Aligner:
    """Align the words of sentence pairs, by a model learned from parallel text.

    Any number of threads may use one aligner at the same time, once it has learned.
    """

    def __init__(
        self,
        recipe: str = DEFAULT,
        *,
        seed: int = 1,
        threads: int | None = None,
        device: str = "cpu",
        kernels: str = "auto",
        settings: Iterable[str] = (),
    ) -> None:
        """Choose how to learn; nothing is learned yet.

        Args:
            recipe: the name of a recipe, `default` or `paper`, or one that another package offers.
            seed: of everything that is drawn at random.
            threads: how many to use; all cores by default. It does not change the result.
            device: where to compute, such as `cuda`.
            kernels: the inner loops of the default recipe: `compiled`, `torch`, or `auto`.
            settings: changes of the recipe's settings, `KEY=VALUE` each.

        Raises:
            UsageError: there is no such recipe, device or setting, or a value is out of range.
        """
        kind = recipe_named(recipe)
        if seed < 0:
            raise UsageError(f"seed must be 0 or greater, got {seed}")
        config = with_settings(kind.settings(), settings)
        self.recipe: Recipe = kind(config, seed=seed, running=Running(threads, device, kernels))
        self.about = About(recipe, to_mapping(config), seed)

    def train(self, bitext: Bitext | Iterable[PairLike], extras: FitExtras = NO_EXTRAS) -> Iterator[Progress]:
        """Learn from parallel text step by step, telling how far it is; done when the iterator ends.

        Raises:
            UsageError: the recipe does not take one of the extras.
            NothingToLearnError: no pair has words on both sides.
        """
        for name, offer in EXTRAS.items():
            if getattr(extras, name):
                require(self.recipe, offer, name)
        text = _Counted(bitext)
        if text.tags:
            require(self.recipe, Offer.TAGS, "tags")
        wall, cpu = time.perf_counter(), _cpu_seconds()
        yield from self.recipe.fit(text, extras)
        seconds = time.perf_counter() - wall, _cpu_seconds() - cpu
        self.has_learned(text.pairs, (text.words[0], text.words[1]), seconds, text.files, text.tags)
        self.about = replace(self.about, tokenize=text.tokenize)

    def has_learned(
        self,
        pairs: int,
        words: tuple[int, int],
        seconds: tuple[float, float],
        files: tuple[str, ...] = (),
        tags: tuple[str | None, ...] = (),
    ) -> None:
        """Take note of what the recipe has learned from: pairs, words of each side, wall and CPU time."""
        wall, cpu = (round(own, 1) for own in seconds)
        training = Training(pairs, words, wall, cpu, self.recipe.record, files, tags)
        self.about = replace(self.about, config=to_mapping(self.recipe.config), training=training)

    def fit(
        self,
        bitext: Bitext | Iterable[PairLike],
        *,
        progress: Callable[[Progress], None] | None = None,
        lexicon: Sequence[WordPair] = (),
        known_links: KnownLinks | None = None,
        checkpoint: Checkpoint | None = None,
        continue_training: bool = False,
        hold_text: bool = False,
    ) -> Aligner:
        """Learn from parallel text, and return the aligner.

        Args:
            bitext: the text: a Bitext, or any iterable of pairs that can be walked more than once.
            progress: is called with a Progress now and then.
            lexicon: known word pairs (`bitweft.links.known.read_lexicon`).
            known_links: known links of the text (`bitweft.links.known.KnownLinks`).
            checkpoint: where to keep the state of learning, to go on after a stop
                (`bitweft.storage.checkpoint.Checkpoint`).
            continue_training: learn on from what this aligner has learned, instead of anew.
            hold_text: hold what was made of the text until it is aligned (`learned_tables`).

        Raises:
            UsageError: the recipe does not take one of these.
            NothingToLearnError: no pair has words on both sides.
        """
        extras = FitExtras(lexicon, known_links, checkpoint, continue_training, hold_text)
        for event in self.train(bitext, extras):
            if progress is not None:
                progress(event)
        return self

    @overload
    def align(
        self, source: str | Sequence[str], target: str | Sequence[str], *, decoding: Decoding | None = None
    ) -> Alignment: ...

    @overload
    def align(
        self,
        source: Bitext | Iterable[PairLike] | Mapping[str, Sequence[str]],
        *,
        decoding: Decoding | None = None,
    ) -> Iterator[Alignment]: ...

    def align(
        self,
        source: str | Sequence[str] | Bitext | Iterable[PairLike] | Mapping[str, Sequence[str]],
        target: str | Sequence[str] | None = None,
        *,
        decoding: Decoding | None = None,
    ) -> Alignment | Iterator[Alignment]:
        """Align one pair, or each of many; the links of a pair depend on the model and that pair alone.

        Sentences are strings, cut as the model's training text was, or sequences of words. Many are aligned
        as they come, in order; a fault in the text comes up after the alignments of the pairs before it.

        Args:
            source: a sentence or, without a target, pairs: a Bitext, lists of pairs or of rows, a table of
                two columns (pandas, polars), a dataset (Hugging Face). A spaCy document is a sentence.
            target: its translation.
            decoding: how links are chosen.

        Raises:
            UsageError: this is not plainly a pair, nor plainly many.
        """
        if target is not None:
            refuse_sentences(source, "source")
            refuse_sentences(target, "target")
            pair = pair_of((source, target), self.about.tokenize)
            return self.infer([pair], decoding=decoding)[0].alignment
        if isinstance(source, str):
            raise UsageError("got one sentence: give source and target, or many pairs of them")
        pairs = Pairs(source, self.about.tokenize)
        return (inference.alignment for _, inference in self.stream(pairs, decoding=decoding))

    def tune(self, pairs: Bitext | Iterable[PairLike], gold: Sequence[GoldAlignment]) -> Tuning:
        """Fit what the recipe leaves open to pairs with gold links, and keep that with the model.

        Returns:
            The scores before and after on these pairs, and what was chosen.

        Raises:
            UsageError: the recipe has nothing to tune.
        """
        require(self.recipe, Offer.TUNE, "tune")
        tuning = self.recipe.tune(list(Pairs(pairs, self.about.tokenize)), gold)
        self.about = replace(self.about, config=to_mapping(self.recipe.config))
        return tuning

    def infer(self, pairs: Iterable[PairLike], *, decoding: Decoding | None = None) -> list[Inference]:
        """Return all that the model says of some pairs: links, scores, and words without links if asked.

        Raises:
            UsageError: the recipe has no thresholds, or no probability of NULL, and that was asked for.
        """
        return self._infer(list(Pairs(pairs, self.about.tokenize)), decoding or Decoding())

    def score(self, source: str | Sequence[str], target: str | Sequence[str]) -> float:
        """Score a pair as translations: the higher, the better; 0 is what unrelated words would give."""
        require(self.recipe, Offer.SCORES, "score")
        score = self.infer([(source, target)])[0].score
        assert score is not None
        return score

    def posteriors(
        self, source: str | Sequence[str], target: str | Sequence[str]
    ) -> npt.NDArray[np.floating]:
        """Return the probability of every link of a pair, as a (source, target) matrix."""
        require(self.recipe, Offer.POSTERIORS, "posteriors")
        return self.recipe.posteriors(pair_of((source, target), self.about.tokenize)).links

    def score_matrix(
        self, source: str | Sequence[str], target: str | Sequence[str]
    ) -> npt.NDArray[np.floating]:
        """Return the score of every link of a pair before any decision, as a (source, target) matrix."""
        require(self.recipe, Offer.SCORE_MATRIX, "score_matrix")
        return self.recipe.score_matrix(pair_of((source, target), self.about.tokenize))

    def stream(
        self, pairs: Bitext | Iterable[PairLike], *, decoding: Decoding | None = None
    ) -> Iterator[tuple[SentencePair, Inference]]:
        """Infer pair by pair as they come, in order, holding no more than the threads are busy with.

        None of a stream is held back while the next is waited for.
        """
        decoding = decoding or Decoding()

        def work(chunk: list[SentencePair]) -> list[Inference]:
            return self._infer(chunk, decoding)

        idle = pairs.idle if isinstance(pairs, Bitext) else never
        chunks = chunks_of(Pairs(pairs, self.about.tokenize), idle)
        for chunk, inferences in in_threads(chunks, work, self.recipe.workers, idle):
            yield from zip(chunk, inferences, strict=True)

    def stream_tables(
        self, pairs: Bitext | Iterable[PairLike], *, decoding: Decoding | None = None
    ) -> Iterator[tuple[Sizes, LinkTable]]:
        """Infer as `stream` does, links alone: the words of some pairs, and their links as arrays."""
        decoding = decoding or Decoding()
        self._check_offers(decoding)

        def work(chunk: Sequence[SentencePair]) -> tuple[Sizes, LinkTable]:
            return self.recipe.sized_table(chunk, decoding)

        idle = pairs.idle if isinstance(pairs, Bitext) else never
        chunks = chunks_of_text(Pairs(pairs, self.about.tokenize), idle)
        for _, found in in_threads(chunks, work, self.recipe.workers, idle):
            yield found

    def learned_tables(self, *, decoding: Decoding | None = None) -> Iterator[tuple[Sizes, LinkTable]] | None:
        """Infer the text that was just learned from, as `stream_tables` does, without reading it again.

        None where the recipe does not hold it: `fit` was not asked to (`hold_text`), or it never does.
        """
        decoding = decoding or Decoding()
        self._check_offers(decoding)
        text = self.recipe.learned_text()
        if text is None:
            return None

        def work(first: int) -> tuple[Sizes, LinkTable]:
            sizes = text.sizes[first : first + CHUNK]
            too_long = sizes.max(1) > decoding.longest
            places = first + np.flatnonzero(~too_long)
            return sizes, text.link_table(places, decoding).with_empty(too_long)

        firsts = iter(range(0, len(text.sizes), CHUNK))
        return (found for _, found in in_threads(firsts, work, self.recipe.workers))

    def _infer(self, pairs: Sequence[SentencePair], decoding: Decoding) -> list[Inference]:
        """Ask the recipe for the pairs that are not too long."""
        self._check_offers(decoding)
        too_long = [max(map(len, pair)) > decoding.longest for pair in pairs]
        short = [pair for pair, left_out in zip(pairs, too_long, strict=True) if not left_out]
        found = iter(self.recipe.infer(short, decoding))
        return [Inference(Alignment(), too_long=True) if left_out else next(found) for left_out in too_long]

    def _check_offers(self, decoding: Decoding) -> None:
        if decoding.threshold is not None:
            require(self.recipe, Offer.THRESHOLD, "threshold")
        if decoding.null:
            require(self.recipe, Offer.NULL, "null")
        if decoding.style is not None:
            require(self.recipe, Offer.STYLE, "style")
        if decoding.unrefined is not None:
            require(self.recipe, Offer.STYLE, "unrefined")

    def save(
        self,
        directory: str | os.PathLike[str],
        *,
        force: bool = False,
        languages: tuple[str, str] | None = None,
        note: str | None = None,
    ) -> None:
        """Write the model as a directory, which appears whole or not at all.

        Args:
            directory: where; its parent directories are made.
            force: replace a model that is there.
            languages: the names of source and target language, kept with the model.
            note: where the text comes from and what may be done with it, kept with the model.

        Raises:
            UsageError: nothing was learned yet, or languages and note are not texts.
            InputError: the directory exists, or cannot be written.
        """
        _check_words(languages, note)
        about = replace(self.about, languages=languages or self.about.languages, note=note or self.about.note)
        if about.training is None:
            raise UsageError(NOT_LEARNED)
        write_model(directory, about, self.recipe.save, force=force)
        self.about = about

    @classmethod
    def load(
        cls,
        directory: str | os.PathLike[str],
        *,
        threads: int | None = None,
        device: str = "cpu",
        kernels: str = "auto",
    ) -> Aligner:
        """Read a model that `save` wrote, from a directory or a URL that fsspec opens.

        Raises:
            ModelError: the directory is no model, is damaged, or was made by another version.
            UsageError: the device cannot be used on this machine.
        """
        if is_remote(directory):
            with fetched(os.fspath(directory)) as copy:
                return cls.load(copy, threads=threads, device=device, kernels=kernels)
        path = Path(directory)
        about = read_about(path)
        try:
            kind = recipe_named(about.recipe)
            tokenize("", about.tokenize)
        except UsageError as error:
            raise ModelError(f"{path}: this model cannot be used: {error}") from error
        aligner = cls.__new__(cls)
        aligner.about = about
        running = Running(threads, device, kernels)
        check_device(device)
        try:
            aligner.recipe = kind.load(path, about, running)
        except BitweftError:
            raise
        except Exception as error:  # whatever a damaged or hostile file makes of a reader
            raise ModelError(f"{path}: the model is damaged: {error!r}") from error
        return aligner


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _check_words(languages: object, note: object) -> None:
    """Refuse what a model could not be loaded with."""
    if languages is not None:
        words = languages if isinstance(languages, tuple | list) else ()
        if len(words) != 2 or not all(isinstance(word, str) for word in words):
            raise UsageError(f"languages must be two names, got {languages!r}")
    if note is not None and not isinstance(note, str):
        raise UsageError(f"note must be a text, got {note!r}")


class _Counted:
    """Count the pairs and words of a text while a recipe walks it."""

    def __init__(self, bitext: Bitext | Iterable[PairLike]) -> None:
        self._text = Pairs(bitext)
        self.files = tuple(bitext.names) if isinstance(bitext, Bitext | TaggedText) else ()
        self.tags = bitext.tag_names if isinstance(bitext, TaggedText) else ()
        self.tokenize = bitext.tokenize if isinstance(bitext, Bitext | TaggedText) else "space"
        self.pairs = 0
        self.words = [0, 0]

    def blocks(self) -> Iterator[Lines] | None:
        """Walk the pairs many at a time, where that is possible."""
        blocks = self._text.blocks()
        return None if blocks is None else self._counted(blocks)

    def _counted(self, blocks: Iterator[Lines]) -> Iterator[Lines]:
        self.pairs, self.words = 0, [0, 0]
        for lines in blocks:
            self.pairs += len(lines)
            self.words[0] += count_by_space(lines.source)
            self.words[1] += count_by_space(lines.target)
            yield lines

    def __iter__(self) -> Iterator[SentencePair]:
        self.pairs, self.words = 0, [0, 0]
        for pair in self._text:
            self.pairs += 1
            self.words[0] += len(pair.source)
            self.words[1] += len(pair.target)
            yield pair
