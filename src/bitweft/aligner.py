"""The aligner: learn from parallel text, align any other, save and load."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from bitweft.errors import BitweftError, ModelError, UsageError
from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.evaluate import Score, evaluate
from bitweft.progress import Progress
from bitweft.recipes.default.posterior import Decoding, Inference, agreement
from bitweft.recipes.devices import check_device
from bitweft.settings import to_mapping, with_settings
from bitweft.storage.model_directory import About, check_files, read_about, write_model
from bitweft.text.bitext import Bitext, Sentence, SentencePair, tokenize

RECIPES = ("default", "paper")
CHUNK = 256  # pairs that one thread aligns in a turn
WORDS = 20_000  # of a chunk, at most: long sentences come in smaller ones

PairLike: TypeAlias = SentencePair | tuple[str | Sequence[str], str | Sequence[str]]


class Recipe(Protocol):
    """What every recipe can do."""

    config: Any
    seed: int
    threads: int | None
    record: list[dict[str, Any]]
    revision: ClassVar[int]

    def fit(self, bitext: Iterable[SentencePair]) -> Iterator[Progress]: ...

    def align(self, pairs: Sequence[SentencePair]) -> list[Alignment]: ...

    def save(self, directory: Path) -> None: ...


def _recipe_kind(name: str) -> tuple[Any, Any]:
    """Return a recipe's class and that of its configuration; importing only what that recipe needs."""
    if name == "default":
        from bitweft.recipes.default.learn import DefaultConfig
        from bitweft.recipes.default.recipe import DefaultRecipe

        return DefaultRecipe, DefaultConfig
    if name == "paper":
        from bitweft.recipes.paper.recipe import PaperConfig, PaperRecipe

        return PaperRecipe, PaperConfig
    raise UsageError(f"there is no recipe {name!r}; there are {', '.join(RECIPES)}")


class Aligner:
    """Align the words of sentence pairs, by a model learned from parallel text.

    Any number of threads may use one aligner at the same time, once it has learned.
    """

    def __init__(
        self,
        recipe: str = "default",
        *,
        seed: int = 1,
        threads: int | None = None,
        device: str = "cpu",
        settings: Iterable[str] = (),
    ) -> None:
        kind, config = _recipe_kind(recipe)
        if seed < 0:
            raise UsageError(f"a seed of {seed} cannot be: it is 0 or more")
        if threads is not None and threads < 1:
            raise UsageError(f"{threads} threads cannot be: at least 1 is needed")
        check_device(device)
        self.recipe: Recipe = kind(
            with_settings(config(), settings), seed=seed, threads=threads, device=device
        )
        self.about = About(recipe, {}, seed)

    def train(self, bitext: Bitext | Iterable[PairLike], **help: Any) -> Iterator[Progress]:
        """Learn from parallel text step by step, telling how far it is; done when the iterator ends.

        `fit` says what can be given beside the text.
        """
        if self.about.recipe == "paper" and "checkpoint" in help:
            recipe: Any = self.recipe
            recipe.checkpoints = help.pop("checkpoint").directory
        if help and self.about.recipe != "default":
            raise UsageError(f"the recipe {self.about.recipe} cannot use {', '.join(sorted(help))}")
        text = _Counted(bitext)
        wall, cpu = time.perf_counter(), time.process_time()
        yield from self.recipe.fit(text, **help)
        training = {
            "pairs": text.pairs,
            "words": text.words,
            "seconds": round(time.perf_counter() - wall, 1),
            "cpu_seconds": round(time.process_time() - cpu, 1),
            "record": self.recipe.record,
        }
        self.about = replace(self.about, training=training, tokenize=text.tokenize)

    def fit(
        self,
        bitext: Bitext | Iterable[PairLike],
        *,
        progress: Callable[[Progress], None] | None = None,
        **help: Any,
    ) -> Aligner:
        """Learn from parallel text, and return the aligner.

        The default recipe also takes `lexicon`, word pairs that are known (bitweft.links.known.read_lexicon);
        `known`, links that are known (bitweft.corpus.align_files.KnownLinks); `checkpoint`, to be able to go on after a
        stop (bitweft.storage.checkpoint.Checkpoint); and `go_on=True`, to learn on instead of anew.
        """
        for event in self.train(bitext, **help):
            if progress is not None:
                progress(event)
        return self

    @overload
    def align(
        self, source: str | Sequence[str], target: str | Sequence[str], *, decoding: Decoding | None = None
    ) -> Alignment: ...

    @overload
    def align(
        self, source: Bitext | Iterable[PairLike], *, decoding: Decoding | None = None
    ) -> Iterator[Alignment]: ...

    def align(
        self, source: Any, target: Any = None, *, decoding: Decoding | None = None
    ) -> Alignment | Iterator[Alignment]:
        """Align one pair, or each of many; the links of a pair depend on the model and that pair alone.

        Sentences are strings, cut as the model's training text was, or sequences of words. Many are aligned
        as they come, in order; a fault in the text comes up after the alignments of the pairs before it.
        """
        if target is not None:
            return self.infer([(source, target)], decoding=decoding)[0].alignment
        return (inference.alignment for _, inference in self.stream(source, decoding=decoding))

    def tune(self, pairs: Bitext | Iterable[PairLike], gold: Sequence[GoldAlignment]) -> Score:
        """Choose on pairs with gold links what the paper leaves to a dev set: α, and the heuristic."""
        if self.about.recipe != "paper":
            raise UsageError(f"the recipe {self.about.recipe} leaves nothing to choose on a dev set")
        recipe: Any = self.recipe
        dev = [self._pair(pair) for pair in pairs]
        recipe.tune(dev, gold)
        return evaluate(recipe.align(dev), gold)

    def infer(self, pairs: Iterable[PairLike], *, decoding: Decoding | None = None) -> list[Inference]:
        """Return all that the model thinks of some pairs: links, scores, and words without links if asked."""
        return self._infer([self._pair(pair) for pair in pairs], decoding or Decoding())

    def score(self, source: str | Sequence[str], target: str | Sequence[str]) -> float:
        """Score a pair as translations: the higher, the better; 0 is what unrelated words would give."""
        score = self.infer([(source, target)])[0].score
        if score is None:
            raise UsageError(f"the recipe {self.about.recipe} does not score pairs")
        return score

    def posteriors(self, source: str | Sequence[str], target: str | Sequence[str]) -> npt.NDArray[np.float64]:
        """Return the probability of every link of a pair, as a (source, target) matrix."""
        if self.about.recipe != "default":
            raise UsageError(f"the recipe {self.about.recipe} has no posteriors")
        recipe: Any = self.recipe
        return agreement(*recipe.posteriors(self._pair((source, target))))

    def stream(
        self, pairs: Bitext | Iterable[PairLike], *, decoding: Decoding | None = None
    ) -> Iterator[tuple[SentencePair, Inference]]:
        """Infer pair by pair as they come, in order, holding no more than the threads are busy with."""
        decoding = decoding or Decoding()
        chunks = _chunks(pairs if isinstance(pairs, Bitext) else map(self._pair, pairs))
        workers = (self.recipe.threads or 1) if self.about.recipe == "default" else 1
        fault: Exception | None = None
        with ThreadPoolExecutor(workers) as pool:
            waiting: deque[tuple[list[SentencePair], Future[list[Inference]]]] = deque()
            try:
                while fault is None:
                    try:
                        chunk = next(chunks, None)
                    except Exception as error:  # comes up below, after the pairs before it
                        fault = error
                        break
                    if chunk is None:
                        break
                    waiting.append((chunk, pool.submit(self._infer, chunk, decoding)))
                    if len(waiting) > 2 * workers:
                        own, future = waiting.popleft()
                        yield from zip(own, future.result(), strict=True)
                while waiting:
                    own, future = waiting.popleft()
                    yield from zip(own, future.result(), strict=True)
            finally:
                for _, future in waiting:
                    future.cancel()
        if fault is not None:
            raise fault

    def _infer(self, pairs: Sequence[SentencePair], decoding: Decoding) -> list[Inference]:
        recipe: Any = self.recipe
        if self.about.recipe == "default":
            inferences: list[Inference] = recipe.infer(pairs, decoding)
            return inferences
        if decoding.threshold is not None or decoding.null:
            raise UsageError(f"the recipe {self.about.recipe} has no thresholds and no P(NULL)")
        return self._align_otherwise(pairs, decoding)

    def _align_otherwise(self, pairs: Sequence[SentencePair], decoding: Decoding) -> list[Inference]:
        """Align by a recipe that knows links alone."""
        recipe: Any = self.recipe
        long = [max(map(len, pair)) > decoding.longest for pair in pairs]
        kept = [pair for pair, too_long in zip(pairs, long, strict=True) if not too_long]
        found = iter(recipe.align(kept, heuristic=decoding.heuristic, direction=decoding.direction))
        return [
            Inference(Alignment(), too_long=True) if too_long else Inference(next(found)) for too_long in long
        ]

    def _pair(self, pair: PairLike) -> SentencePair:
        return _pair(pair, self.about.tokenize)

    def save(
        self,
        directory: str | os.PathLike[str],
        *,
        force: bool = False,
        languages: tuple[str, str] | None = None,
        note: str | None = None,
    ) -> None:
        """Write the model as a directory, which appears whole or not at all."""
        about = replace(
            self.about,
            config=to_mapping(self.recipe.config),
            languages=languages or self.about.languages,
            note=note or self.about.note,
        )
        write_model(directory, about, self.recipe.save, force=force)
        self.about = about

    @classmethod
    def load(
        cls, directory: str | os.PathLike[str], *, threads: int | None = None, device: str = "cpu"
    ) -> Aligner:
        """Read a model that `save` wrote."""
        check_device(device)
        path = Path(directory)
        about = read_about(path)
        try:
            kind, _ = _recipe_kind(about.recipe)
            tokenize("", about.tokenize)
        except UsageError as error:
            raise ModelError(f"{path}: this model cannot be used: {error}") from error
        aligner = cls.__new__(cls)
        aligner.about = about
        check_files(path, *(entry.name for entry in path.iterdir()))
        try:
            aligner.recipe = kind.load(path, threads=threads, device=device)
        except BitweftError:
            raise
        except Exception as error:  # whatever a damaged or hostile file makes of a reader
            raise ModelError(f"{path}: the model is damaged: {error!r}") from error
        return aligner


class _Counted:
    """Count the pairs and words of a text while a recipe walks it."""

    def __init__(self, bitext: Bitext | Iterable[PairLike]) -> None:
        self._bitext = bitext
        self.names: Sequence[str] = getattr(bitext, "names", ())
        self.tokenize: str = getattr(bitext, "tokenize", "space")
        self.pairs = 0
        self.words = [0, 0]

    def __iter__(self) -> Iterator[SentencePair]:
        self.pairs, self.words = 0, [0, 0]
        for pair in map(_pair, self._bitext):
            self.pairs += 1
            self.words[0] += len(pair.source)
            self.words[1] += len(pair.target)
            yield pair


def _chunks(pairs: Iterable[SentencePair]) -> Iterator[list[SentencePair]]:
    """Part pairs into lists; what was read before a fault comes first."""
    stream = iter(pairs)
    while True:
        chunk: list[SentencePair] = []
        words = 0
        try:
            for pair in islice(stream, CHUNK):
                chunk.append(pair)
                words += len(pair.source) + len(pair.target)
                if words > WORDS:
                    break
        except Exception:
            if chunk:
                yield chunk
            raise
        if not chunk:
            return
        yield chunk


def _pair(pair: PairLike, how: str = "space") -> SentencePair:
    if isinstance(pair, SentencePair):
        return pair
    source, target = pair
    return SentencePair(_sentence(source, how), _sentence(target, how))


def _sentence(words: str | Sequence[str], how: str) -> Sentence:
    return tokenize(words, how) if isinstance(words, str) else Sentence(words, " ".join(words))
