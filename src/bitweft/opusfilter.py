"""A filter for OpusFilter, which finds it by its module:

    - type: filter
      parameters:
        inputs: [en.gz, fr.gz]
        outputs: [good.en.gz, good.fr.gz]
        filters:
          - BitweftFilter: {model: enfr.weft, threshold: 0}
            module: bitweft.opusfilter

Unlike those of eflomal, scores depend on the model and the pair alone, not on chunk, order or run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bitweft.extras import needs

with needs("opusfilter"):
    from opusfilter import CLEAN_HIGH, ConfigurationError, FilterABC

if TYPE_CHECKING:
    from bitweft.corpus.filter import Judge


class BitweftFilter(FilterABC):  # type: ignore[misc]  # the package has no types
    """Score pairs by a kept model: the quality of `bitweft filter`, the higher the better."""

    score_direction = CLEAN_HIGH
    accept_threshold = float("-inf")
    reject_threshold = float("inf")

    def __init__(
        self, model: str | None = None, threshold: float = 0.0, threads: int = 1, **kwargs: Any
    ) -> None:
        """Take a model's directory, relative to the working directory of OpusFilter, and a threshold.

        Raises:
            ConfigurationError: no model is named.
            ModelError: it cannot be used.
        """
        super().__init__(**kwargs)
        if model is None:
            raise ConfigurationError("BitweftFilter needs a model: train one by `bitweft train`")
        self.model = os.path.join(self.workdir, model)
        self.threshold = threshold
        self.threads = threads
        self._kept: Judge | None = None
        self._judge()  # a model that is missing is told before the work begins

    def _judge(self) -> Judge:
        if self._kept is None:
            from bitweft.aligner import Aligner
            from bitweft.corpus.filter import Judge

            self._kept = Judge(Aligner.load(self.model, threads=self.threads))
        return self._kept

    def __getstate__(self) -> dict[str, Any]:
        """Leave the model out when the filter is sent to another process: it is loaded there."""
        return {**self.__dict__, "_kept": None}

    def score(self, pairs: Iterable[Sequence[str]]) -> Iterator[float]:
        """Give the quality of each pair."""
        for judgment in self._judge().judge(_two(pair) for pair in pairs):
            yield judgment.quality

    def accept(self, score: float) -> bool:
        """Tell whether a pair of this quality is kept."""
        return score >= self.threshold

    def filter(self, pairs: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
        """Give the accepted pairs, scored together, not one by one as the base class does."""
        return self._chosen(pairs, accepted=True)

    def filterfalse(self, pairs: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
        """Give the pairs that are not accepted."""
        return self._chosen(pairs, accepted=False)

    def _chosen(self, pairs: Iterable[Sequence[str]], *, accepted: bool) -> Iterator[Sequence[str]]:
        from collections import deque

        waiting: deque[Sequence[str]] = deque()  # the pairs that are being scored

        def passing() -> Iterator[Sequence[str]]:
            for pair in pairs:
                waiting.append(pair)
                yield pair

        for score in self.score(passing()):
            pair = waiting.popleft()
            if self.accept(score) == accepted:
                yield pair


def _two(pair: Sequence[str]) -> tuple[str, str]:
    if len(pair) != 2:
        raise ConfigurationError(f"BitweftFilter is for two languages, got {len(pair)}")
    return pair[0], pair[1]
