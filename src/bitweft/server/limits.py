"""How much one request may ask for, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass, fields

from bitweft.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limits:
    """Hold what the server refuses to go beyond."""

    body: int = 1 << 20  # bytes of a request
    pairs: int = 1000  # sentence pairs of a request
    words: int = 1000  # words of a sentence
    cells: int = 1 << 24  # word pairs of a request: the words of a source sentence times those of its target
    all_cells: int = 1 << 26  # of all requests that are aligned or wait for it
    timeout: float = 30.0  # seconds for a request to arrive, and as many for its answer
    partners: int = 100_000  # alternatives of a request: those of a word, times its words
    waiting: int = 128  # requests that are aligned or wait for it; further ones are sent away

    def __post_init__(self) -> None:
        for each in fields(self):
            if not 0 < getattr(self, each.name) < float("inf"):
                raise UsageError(f"{each.name} must be greater than 0, got {getattr(self, each.name)}")
