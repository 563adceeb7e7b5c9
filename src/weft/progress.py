"""What a long job says about itself while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Progress:
    """Tell how far a job is: `step` of `total` in `phase`, and the loss since the last report."""

    step: int
    total: int
    phase: str
    loss: float | None = None


class Watch(Protocol):
    """Give items on, one by one, telling somebody how far they are; a total of 0 is not known."""

    def __call__(self, items: Iterable[Item], phase: str, total: int = 0) -> Iterator[Item]: ...


def unwatched(items: Iterable[Item], phase: str, total: int = 0) -> Iterator[Item]:
    """Give items on and tell nobody."""
    return iter(items)
