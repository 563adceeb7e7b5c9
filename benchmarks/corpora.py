"""The text that benchmarks measure on, and the field's protocol: what is read, in which order, how written.

The directory is named by WEFT_DATA, or is `shared/data` beside the repository. A language pair is a directory
`en-fr` with `train.en.xz`, `dev.en`, `test.en`, their counterparts, `dev.gold` and `test.gold`. All text is
lower-cased; the text of test and dev (never their gold links) stands before the training pairs.
"""

from __future__ import annotations

import lzma
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.formats.registry import read_gold

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("WEFT_DATA", ROOT.parent / "shared" / "data"))
MEASURED = ("test", "dev")  # in the order of the text


class NoDataError(Exception):
    """Say that the text to measure on is not there."""


@dataclass(frozen=True)
class Row:
    """Name a text: a language pair, and how many of its training pairs (None: all)."""

    text: str
    pairs: int | None = None

    @classmethod
    def parse(cls, name: str) -> Row:
        """Read `en-fr`, `en-fr:all`, `en-fr:2000` or `en-fr:2k`."""
        text, _, size = name.partition(":")
        if size in ("", "all"):
            return cls(text)
        number = size.removesuffix("k")
        if not number.isdecimal() or not int(number):
            raise ValueError(f"{name!r}: write a row as en-fr, en-fr:2000 or en-fr:2k")
        return cls(text, int(number) * (1000 if size.endswith("k") else 1))

    def __str__(self) -> str:
        return f"{self.text}, all pairs" if self.pairs is None else f"{self.text}, {self.pairs:,} pairs"


@dataclass(frozen=True)
class Sample:
    """Hold the files of a text as the protocol wants them, and where test and dev are in it."""

    source: Path
    target: Path
    parts: dict[str, range]
    pairs: int  # all of them, those of test and dev included

    @property
    def files(self) -> list[str]:
        """Give the two files, as arguments of a command."""
        return [str(self.source), str(self.target)]


def lines(path: Path, limit: int | None = None) -> Iterator[str]:
    """Give the lines of a plain or .xz file, without their ends."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8", newline="\n") as stream:
        yield from islice((line.rstrip("\n") for line in stream), limit)


def available(text: str, data: Path | None = None) -> bool:
    """Tell whether the files of a language pair are there."""
    return ((data or DATA) / text / "test.gold").exists()


def pairs_of(
    text: str, part: str, limit: int | None = None, data: Path | None = None
) -> Iterator[tuple[str, str]]:
    """Give the lower-cased pairs of one part of a language pair."""
    if not available(text, data):
        raise NoDataError(f"no text {text} in {data or DATA}; set WEFT_DATA to the directory that holds it")
    end = ".xz" if part == "train" else ""
    sides = (lines((data or DATA) / text / f"{part}.{language}{end}", limit) for language in text.split("-"))
    for source, target in zip(*sides, strict=True):
        yield source.lower(), target.lower()


@cache
def size_of(text: str, data: Path) -> int:
    """Count the training pairs of a language pair."""
    return sum(1 for _ in pairs_of(text, "train", data=data))


def write_sample(row: Row, directory: Path, data: Path | None = None) -> Sample:
    """Write a text as the protocol wants it: test, dev, then the first training pairs."""
    directory.mkdir(parents=True, exist_ok=True)
    languages = row.text.split("-")
    paths = [directory / f"text.{language}" for language in languages]
    parts: dict[str, range] = {}
    number = 0
    with (
        open(paths[0], "w", encoding="utf-8", newline="\n") as first,
        open(paths[1], "w", encoding="utf-8", newline="\n") as second,
    ):
        for part in (*MEASURED, "train"):
            start = number
            limit = row.pairs if part == "train" else None
            for source, target in pairs_of(row.text, part, limit, data):
                first.write(source + "\n")
                second.write(target + "\n")
                number += 1
            parts[part] = range(start, number)
    return Sample(paths[0], paths[1], parts, number)


def gold_of(text: str, part: str, data: Path | None = None) -> list[GoldAlignment]:
    """Read the gold links of test or dev."""
    return list(read_gold((data or DATA) / text / f"{part}.gold"))


def part_of(alignments: list[Alignment], sample: Sample, part: str) -> list[Alignment]:
    """Take the links of test or dev from those of a text."""
    own = sample.parts[part]
    return alignments[own.start : own.stop]
