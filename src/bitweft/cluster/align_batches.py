"""Batches of columns in, the same with columns of links and scores out: for engines that other people run.

    Ray Data       data.map_batches(AlignBatches, fn_constructor_args=["enfr.weft", "en", "fr"], …)
    Spark          frame.mapInPandas(AlignBatches("enfr.weft", "en", "fr").over, schema)
    Hugging Face   data.map(AlignBatches("enfr.weft", "en", "fr"), batched=True, num_proc=8)
    datatrove      a step of a pipeline that calls it with the texts of some documents

Nothing of these is imported. The object holds names alone, so that it can be sent anywhere; a process loads
the model when it aligns its first batch, and keeps it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from bitweft.aligner import Aligner
from bitweft.errors import UsageError
from bitweft.recipes.base import Decoding

Batch = TypeVar("Batch")


class AlignBatches:
    """Align the two texts of each row of a batch."""

    def __init__(
        self,
        model: str | os.PathLike[str],
        source: str = "source",
        target: str = "target",
        *,
        links: str = "links",
        score: str | None = "score",
        probabilities: str | None = None,
        decoding: Decoding | None = None,
        threads: int = 1,
    ) -> None:
        """Name the model and the columns; the model is not loaded yet.

        Args:
            model: the model's directory, or its URL; every machine must find it there.
            source: the column of the source texts.
            target: the column of the target texts.
            links: the column to add: links as `0-0 1-2`.
            score: the column to add: the scores of the pairs, NaN for those that have none.
            probabilities: the column to add, if named: a list of the links' probabilities.
            decoding: how links are chosen.
            threads: of one process.
        """
        self.model = os.fspath(model)
        self.columns = (source, target)
        self.links, self.score, self.probabilities = links, score, probabilities
        self.decoding = decoding
        self.threads = threads

    def __call__(self, batch: Batch) -> Batch:
        """Align a batch: a mapping of columns, a data frame of pandas, or a table of Arrow.

        Returns:
            The same kind of batch, with the new columns. A text that is missing has no links.

        Raises:
            UsageError: the batch has no such columns.
        """
        found = self._aligned(*self._texts(batch))
        if hasattr(batch, "assign"):  # pandas
            added: Batch = batch.assign(**found)
            return added
        if hasattr(batch, "append_column"):  # Arrow
            table: Any = batch
            for name, values in found.items():
                table = table.append_column(name, [values])
            return table  # type: ignore[no-any-return]
        if not isinstance(batch, Mapping):
            raise UsageError(f"a batch must be columns, a data frame or a table, got {type(batch).__name__}")
        arrays = isinstance(batch[self.columns[0]], np.ndarray)
        return {**batch, **{name: _array(own) if arrays else own for name, own in found.items()}}  # type: ignore[return-value]

    def over(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Align batch after batch, as Spark's `mapInPandas` asks for it."""
        return map(self, batches)

    def _texts(self, batch: Any) -> list[Sequence[object]]:
        names = batch.column_names if hasattr(batch, "column_names") else list(batch)
        for name in self.columns:
            if name not in names:
                raise UsageError(f"the batch has no column {name!r}; it has {', '.join(map(str, names))}")
        columns = (batch[name] for name in self.columns)
        return [column.to_pylist() if hasattr(column, "to_pylist") else list(column) for column in columns]

    def _aligned(self, source: Sequence[object], target: Sequence[object]) -> dict[str, list[Any]]:
        pairs = [(_text(s), _text(t)) for s, t in zip(source, target, strict=True)]
        inferences = _loaded(self.model, self.threads).infer(pairs, decoding=self.decoding)
        columns: dict[str, list[Any]] = {self.links: [str(own.alignment) for own in inferences]}
        if self.score is not None:
            columns[self.score] = [float("nan") if own.score is None else own.score for own in inferences]
        if self.probabilities is not None:
            columns[self.probabilities] = [list(own.alignment.probabilities or ()) for own in inferences]
        return columns


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _array(values: list[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    if values and isinstance(values[0], float):
        return np.array(values)
    array = np.empty(len(values), object)
    array[:] = values
    return array


@lru_cache(maxsize=1)
def _loaded(model: str, threads: int) -> Aligner:
    return Aligner.load(model, threads=threads)
