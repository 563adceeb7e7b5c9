"""The rules of projection that can be set."""

from __future__ import annotations

from dataclasses import dataclass

from bitweft.errors import UsageError


@dataclass(frozen=True)
class Rules:
    """Say what a projected span must be like.

    Attributes:
        gap: how many words in a row, inside a span, may have nothing to do with the source's.
        minimum: how probable a span must be; a less probable one is lost.
    """

    gap: int = 5
    minimum: float = 0.3

    def __post_init__(self) -> None:
        if self.gap < 0:
            raise UsageError(f"gap must be 0 or greater, got {self.gap}")
        if not 0 <= self.minimum <= 1:
            raise UsageError(f"the least probability must be between 0 and 1, got {self.minimum}")
