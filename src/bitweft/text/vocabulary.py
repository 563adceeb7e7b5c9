"""Words as numbers: a vocabulary of the most common ones, kept as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import TextIO, TypeAlias

from bitweft.errors import ModelError

PAD, UNKNOWN = 0, 1  # the first two rows of every look-up table
RESERVED = 2
LARGEST = 1 << 53  # of a count: sums of some stay exact, and far from overflowing

Tokens: TypeAlias = Sequence[str]


class Vocabulary:
    """Number the most common entries; 0 is padding, 1 is every entry that is not in it."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = dict(counts)
        self.entries = tuple(self.counts)
        self.known = {entry: number for number, entry in enumerate(self.entries, RESERVED)}

    @classmethod
    def of(cls, counts: Mapping[str, int], size: int) -> Vocabulary:
        """Keep the `size` most common entries; among equals, the alphabet decides."""
        common = sorted(sorted(counts), key=counts.__getitem__, reverse=True)  # equals stay in their order
        return cls({entry: counts[entry] for entry in common[:size]})

    def __len__(self) -> int:
        return len(self.entries) + RESERVED

    def number(self, entry: str) -> int:
        """Return the number of an entry, or that of the unknown."""
        return self.known.get(entry, UNKNOWN)

    def numbers(self, entries: Iterable[str]) -> list[int]:
        """Return the numbers of several entries."""
        return list(map(self.known.get, entries, repeat(UNKNOWN)))

    def entry(self, number: int) -> str:
        """Return the entry behind a number; the reserved ones have names in angle brackets."""
        return ("<padding>", "<unknown>")[number] if number < RESERVED else self.entries[number - RESERVED]

    def save(self, path: Path) -> None:
        """Write one entry and its count a line."""
        lines = "".join(f"{entry}\t{count}\n" for entry, count in self.counts.items())
        path.write_text(lines, encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Read what `save` wrote."""
        try:
            with open_text(path) as stream:
                fields = [line.rpartition("\t") for line in stream.read().split("\n")]
        except UnicodeDecodeError as error:
            raise ModelError(f"{path}: not UTF-8 at byte {error.start + 1}: the model is damaged") from error
        if fields[-1] == ("", "", ""):
            fields.pop()
        for number, (_, tab, count) in enumerate(fields, 1):
            if not tab or not (count.isascii() and count.isdigit()):
                raise ModelError(f"{path}:{number}: expected a word, a tab and its count")
            if len(count) > 16 or int(count) > LARGEST:
                raise ModelError(f"{path}:{number}: the count must be at most {LARGEST}, got {count[:40]}")
        return cls({entry: int(count) for entry, _, count in fields})


def open_text(path: Path) -> TextIO:
    """Open a text file of a model; a pipe or a device in its place would be waited for without end."""
    if not path.is_file():
        raise ModelError(f"{path}: this file of the model is missing")
    try:
        return path.open(encoding="utf-8", newline="\n")
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from error
