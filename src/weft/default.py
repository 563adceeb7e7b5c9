"""The default recipe: one symmetric score, learned by soft margin, then counted; posterior decoding."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from weft import kernels
from weft.alignment import Alignment
from weft.blas import one_blas_thread
from weft.configuration import from_mapping, to_mapping
from weft.errors import ModelError, UsageError
from weft.kernels import Floats
from weft.learning import (
    DefaultConfig,
    Learning,
    Text,
    first_prior,
    new_tally,
    no_cells,
    no_counts,
    word_vectors,
)
from weft.progress import Progress
from weft.spelling import Reader, Spelling
from weft.text import SentencePair


class Inference(NamedTuple):
    """Hold what the model thinks of one pair."""

    alignment: Alignment
    score: float  # mean log ratio a word: higher is better, 0 is what chance would give


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
        self.seed = seed
        self.threads = threads or _cores()
        self.record: list[dict[str, Any]] = []
        self.spellings: list[Spelling] = []
        self.tables: list[Floats] = []
        self.prior = first_prior(self.config.null)
        self.counts: kernels.Counts | None = None
        self.vectors: list[Floats] = []

    def fit(self, bitext: Iterable[SentencePair]) -> Iterator[Progress]:
        """Learn from the pairs, telling how far it is; done when the iterator ends."""
        readers = [Reader(self.config.lowercase) for _ in range(2)]
        for pair in bitext:
            readers[0].add(pair.source.tokens)
            readers[1].add(pair.target.tokens)
        texts = [Text(*reader.finish()) for reader in readers]
        learning = Learning(texts, self.config, seed=self.seed, threads=self.threads)
        yield from learning.run()
        self.config = learning.config
        self.record = learning.record
        self._set([text.spelling for text in texts], [side.table for side in learning.sides])
        self.prior = learning.prior._replace(chained=True)
        self.counts = learning.counts

    def _set(self, spellings: list[Spelling], tables: list[Floats]) -> None:
        self.spellings = spellings
        self.tables = tables
        pairs = zip(spellings, tables, strict=True)
        self.vectors = [word_vectors(spelling, table) for spelling, table in pairs]

    def infer(self, pairs: Sequence[SentencePair]) -> list[Inference]:
        """Align each pair by itself; pairs share nothing but the call."""
        source, target = self._words(pairs)
        counts = self._learned()
        scores = np.empty(len(pairs))
        with one_blas_thread():
            cells = kernels.posteriors(
                source,
                target,
                np.arange(len(pairs)),
                counts,
                no_cells(),
                self.prior,
                self.config.threshold,
                new_tally(0),
                0,
                scores,
            )
        links = list(zip(cells.source.tolist(), cells.target.tolist(), strict=True))
        values = cells.values.tolist()
        bounds = cells.offsets.tolist()
        return [
            Inference(Alignment(tuple(links[a:b]), tuple(values[a:b])), score)
            for a, b, score in zip(bounds[:-1], bounds[1:], scores.tolist(), strict=True)
        ]

    def align(self, pairs: Sequence[SentencePair]) -> list[Alignment]:
        """Align each pair by itself."""
        return [inference.alignment for inference in self.infer(pairs)]

    def posteriors(self, pair: SentencePair) -> tuple[Floats, Floats]:
        """Return both directions' posteriors of one pair, as (source, target) matrices."""
        source, target = self._words([pair])
        if not len(pair.source) or not len(pair.target):
            empty = np.zeros((len(pair.source), len(pair.target)), np.float32)
            return empty, empty
        with one_blas_thread():
            forward, backward = kernels.matrices(source, target, 0, self._learned(), self.prior, new_tally(0))
        return forward.T, backward

    def _learned(self) -> kernels.Counts:
        if self.counts is None:
            raise UsageError("this aligner has learned nothing yet")
        return self.counts

    def _words(self, pairs: Sequence[SentencePair]) -> list[kernels.Words]:
        sides = []
        for sentences, spelling, table, vectors in zip(
            zip(*pairs, strict=True), self.spellings, self.tables, self.vectors, strict=True
        ):
            tokens: Iterable[Sequence[str]] = (sentence.tokens for sentence in sentences)
            if self.config.lowercase:
                tokens = ([token.lower() for token in sentence] for sentence in tokens)
            numbers, offsets, words = spelling.encode(tokens)
            unseen = np.empty((len(words), table.shape[1]), np.float32)
            own = np.arange(len(words), dtype=np.int32)
            kernels.compose(own, *spelling.unseen_rows(words), table, unseen)
            sides.append(kernels.Words(numbers, offsets, vectors, unseen))
        return sides

    def save(self, directory: Path) -> None:
        """Write the model into an existing directory."""
        counts = self._learned()
        for name, spelling in zip(("source", "target"), self.spellings, strict=True):
            spelling.save(directory, name)
        arrays: dict[str, Any] = {
            "source": self.tables[0],
            "target": self.tables[1],
            "jumps": self.prior.jumps,
            "starts": self.prior.starts,
            "diagonals": self.prior.diagonals,
            "counts.offsets": counts.offsets,
            "counts.sources": counts.sources,
            "counts.values": counts.values,
        }
        save_file(arrays, directory / "weights.safetensors")
        about = {"config": to_mapping(self.config), "seed": self.seed, "record": self.record}
        text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
        (directory / "default.json").write_text(text, encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, directory: Path, *, threads: int | None = None, device: str = "cpu") -> DefaultRecipe:
        """Read what `save` wrote."""
        try:
            about = json.loads((directory / "default.json").read_text(encoding="utf-8"))
            config = from_mapping(DefaultConfig, about["config"])
            recipe = cls(config, seed=about["seed"], threads=threads, device=device)
            recipe.record = about["record"]
            arrays = load_file(directory / "weights.safetensors")
            spellings = [Spelling.load(directory, name) for name in ("source", "target")]
            recipe._set(spellings, [arrays["source"], arrays["target"]])
            recipe.prior = kernels.Prior(
                config.null, True, arrays["jumps"], arrays["starts"], arrays["diagonals"]
            )
            recipe.counts = no_counts(spellings)._replace(
                offsets=arrays["counts.offsets"],
                sources=arrays["counts.sources"],
                values=arrays["counts.values"],
                strength=config.strength,
            )
        except (OSError, ValueError, KeyError, TypeError, UsageError, SafetensorError) as error:
            raise ModelError(f"{directory}: the model cannot be used: {error}") from error
        return recipe


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
