"""Files that belong together line by line, walked side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from bitweft.errors import InputError

First = TypeVar("First")
Second = TypeVar("Second")

_END = object()


def lockstep(
    first: Iterable[First], second: Iterable[Second], *, names: tuple[str, str]
) -> Iterator[tuple[First, Second]]:
    """Yield the two items of each line, and fail at the line where one of the two ends too early.

    `names` are the files' names, for the message.
    """
    others = iter(second)
    line = 0
    for line, item in enumerate(first, 1):
        other = next(others, _END)
        if other is _END:
            raise _too_short(names[1], names[0], line)
        yield item, other  # type: ignore[misc]
    if next(others, _END) is not _END:
        raise _too_short(names[0], names[1], line + 1)


def _too_short(short: str, long: str, line: int) -> InputError:
    return InputError(
        f"this line is missing, but {long} has it; the two need one line for each sentence pair",
        file=short,
        line=line,
    )
