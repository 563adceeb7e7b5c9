"""The aligner: learn from parallel text, align any other, save and load."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeAlias, overload

import weft
from weft.alignment import Alignment
from weft.configuration import with_settings
from weft.errors import InputError, ModelError, UsageError
from weft.progress import Progress
from weft.text import Bitext, Sentence, SentencePair, tokenize

FORMAT = 1  # of the model directory
CHUNK = 512  # pairs that one thread aligns in a turn

PairLike: TypeAlias = SentencePair | tuple[str | Sequence[str], str | Sequence[str]]


class Recipe(Protocol):
    """What every recipe can do."""

    threads: int | None

    def fit(self, bitext: Iterable[SentencePair]) -> Iterator[Progress]: ...

    def align(self, pairs: Sequence[SentencePair]) -> list[Alignment]: ...

    def save(self, directory: Path) -> None: ...


def _recipe_kind(name: str) -> tuple[Any, Any]:
    """Return a recipe's class and that of its configuration; importing only what that recipe needs."""
    if name == "default":
        from weft.default import DefaultRecipe
        from weft.learning import DefaultConfig

        return DefaultRecipe, DefaultConfig
    if name == "paper":
        from weft.paper import PaperConfig, PaperRecipe

        return PaperRecipe, PaperConfig
    raise UsageError(f"there is no recipe {name!r}; there are default, paper")


class Aligner:
    """Align the words of sentence pairs, by a model learned from parallel text."""

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
        self.name = recipe
        self.recipe: Recipe = kind(
            with_settings(config(), settings), seed=seed, threads=threads, device=device
        )

    def train(self, bitext: Bitext | Iterable[PairLike]) -> Iterator[Progress]:
        """Learn from parallel text step by step, telling how far it is; done when the iterator ends."""
        return self.recipe.fit(bitext if isinstance(bitext, Bitext) else map(_pair, bitext))

    def fit(
        self,
        bitext: Bitext | Iterable[PairLike],
        *,
        progress: Callable[[Progress], None] | None = None,
    ) -> Aligner:
        """Learn from parallel text, and return the aligner."""
        for event in self.train(bitext):
            if progress is not None:
                progress(event)
        return self

    @overload
    def align(self, source: str | Sequence[str], target: str | Sequence[str]) -> Alignment: ...

    @overload
    def align(self, source: Bitext | Iterable[PairLike]) -> Iterator[Alignment]: ...

    def align(self, source: Any, target: Any = None) -> Alignment | Iterator[Alignment]:
        """Align one pair, or each of many; the links of a pair depend on the model and that pair alone.

        Sentences are strings, cut at spaces, or sequences of words. Many are aligned as they come, in order.
        """
        if target is not None:
            return self.recipe.align([_pair((source, target))])[0]
        return self._stream(source if isinstance(source, Bitext) else map(_pair, source))

    def _stream(self, pairs: Iterable[SentencePair]) -> Iterator[Alignment]:
        chunks = iter(pairs)
        threads = self.recipe.threads or 1
        with ThreadPoolExecutor(threads) as pool:
            waiting: deque[Future[list[Alignment]]] = deque()
            try:
                while True:
                    chunk = list(islice(chunks, CHUNK))
                    if chunk:
                        waiting.append(pool.submit(self.recipe.align, chunk))
                    if waiting and (not chunk or len(waiting) > 2 * threads):
                        yield from waiting.popleft().result()
                    elif not chunk:
                        return
            finally:
                for future in waiting:
                    future.cancel()

    def save(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the model as a directory, which appears whole or not at all."""
        target = Path(directory)
        if target.exists() and not force:
            raise InputError("exists already; give --force to overwrite it", file=str(target))
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            self.recipe.save(partial)
            about = {"format": FORMAT, "weft": weft.__version__, "recipe": self.name}
            text = json.dumps(about, indent=2) + "\n"
            (partial / "model.json").write_text(text, encoding="utf-8", newline="\n")
            partial.chmod(0o755)
            if target.exists():
                shutil.rmtree(target)
            partial.rename(target)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise

    @classmethod
    def load(
        cls, directory: str | os.PathLike[str], *, threads: int | None = None, device: str = "cpu"
    ) -> Aligner:
        """Read a model that `save` wrote."""
        path = Path(directory)
        try:
            about = json.loads((path / "model.json").read_text(encoding="utf-8"))
            version, name = about["format"], about["recipe"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{path}: this is no weft model: {error}") from error
        if version != FORMAT:
            raise ModelError(f"{path}: a model of format {version}; this weft reads format {FORMAT}")
        kind, _ = _recipe_kind(name)
        aligner = cls.__new__(cls)
        aligner.name = name
        aligner.recipe = kind.load(path, threads=threads, device=device)
        return aligner


def _pair(pair: PairLike) -> SentencePair:
    if isinstance(pair, SentencePair):
        return pair
    source, target = pair
    return SentencePair(_sentence(source), _sentence(target))


def _sentence(words: str | Sequence[str]) -> Sentence:
    return tokenize(words) if isinstance(words, str) else Sentence(words, " ".join(words))
