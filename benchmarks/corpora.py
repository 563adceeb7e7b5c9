"""The text that benchmarks measure on, and the field's protocol: what is read, in which order, how written.

The directory is named by WEFT_DATA, or is `shared/data` beside the repository. A language pair is a directory
`en-fr` with `train.en.xz`, `dev.en`, `test.en`, their counterparts, `dev.gold` and `test.gold` (README.md).
All text is lower-cased; the text of test and dev (never their gold links) stands before the training pairs.
"""

from __future__ import annotations

import lzma
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count, islice
from pathlib import Path

from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.formats.registry import read_gold
from bitweft.storage.output import open_output

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("WEFT_DATA", ROOT.parent / "shared" / "data"))
MEASURED = ("test", "dev")  # in the order of the text
# The files of a language pair, {} standing for each of its languages; those of tags, and of translation.
FILES = ("train.{}.xz", "dev.{}", "test.{}", "dev.gold", "test.gold")
TAGS = ("train.{}.pos.xz", "dev.{}.pos", "test.{}.pos")
TRANSLATION = ("train.{}.xz", "mt-tune.{}", "mt-test.{}")
HELP = """\
This benchmark measures on real text, which the project does not contain. Put it into a directory and name
that directory:
    WEFT_DATA=DIRECTORY python benchmarks/...
benchmarks/README.md says which files a language pair consists of, and where the text is published.
Without any text of your own you can run
    python benchmarks/sample.py"""


class NoDataError(SystemExit):
    """End the script, saying which text is missing and how to get it."""


@dataclass(frozen=True)
class Row:
    """Name a text: a language pair, and how many of its training pairs (None: all)."""

    text: str
    pairs: int | None = None

    @classmethod
    def parse(cls, name: str) -> Row:
        """Read `en-fr`, `en-fr:all`, `en-fr:2000`, `en-fr:2k` or `en-fr:10m`."""
        text, _, size = name.partition(":")
        if size in ("", "all"):
            return cls(text)
        number = size.rstrip("km")
        if not number.isdecimal() or not int(number) or len(size) - len(number) > 1:
            raise ValueError(f"{name!r}: write a row as en-fr, en-fr:2000, en-fr:2k or en-fr:10m")
        return cls(text, int(number) * {"k": 1_000, "m": 1_000_000}.get(size[-1], 1))

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


def _paths(text: str, files: Iterable[str], data: Path | None) -> list[Path]:
    names = (name.format(language) for name in files for language in text.split("-"))
    return [(data or DATA) / text / name for name in dict.fromkeys(names)]


def available(text: str, data: Path | None = None) -> bool:
    """Tell whether the files of a language pair are there."""
    return all(path.exists() for path in _paths(text, FILES, data))


def require(texts: Iterable[str], files: Iterable[str] = FILES, data: Path | None = None) -> None:
    """Make sure that files of language pairs are there, before anything runs.

    Raises:
        NoDataError: some are missing.
    """
    wanted = [path for text in dict.fromkeys(texts) for path in _paths(text, files, data)]
    missing = [path for path in wanted if not path.exists()]
    if missing:
        raise NoDataError("\n".join([*(f"{path}: no such file" for path in missing), "", HELP]))


def file_sizes(text: str, files: Iterable[str] = FILES, data: Path | None = None) -> dict[str, int]:
    """Give the sizes of files of a text by name: part of the key of what is measured on them."""
    return {path.name: path.stat().st_size for path in _paths(text, files, data)}


def pairs_of(
    text: str, part: str, limit: int | None = None, data: Path | None = None
) -> Iterator[tuple[str, str]]:
    """Give the lower-cased pairs of one part of a language pair."""
    require([text], data=data)
    end = ".xz" if part == "train" else ""
    sides = (lines((data or DATA) / text / f"{part}.{language}{end}", limit) for language in text.split("-"))
    for source, target in zip(*sides, strict=True):
        yield source.lower(), target.lower()


def grown_pairs(text: str, limit: int) -> Iterator[tuple[str, str]]:
    """Give training pairs, more than there are: again and again, with other words in the place of some.

    Each time a quarter of the words but the 2,000 most frequent of a side become new ones. So nine times the
    text has three times the words, and word pairs grow faster than words, as they do in real text.
    """
    frequent: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for pair in pairs_of(text, "train", 100_000):
        for own, sentence in zip(frequent, pair, strict=True):
            own.update(sentence.split())
    common = [{word for word, _ in own.most_common(2000)} for own in frequent]
    copies = (
        (_renamed(source, names[0]), _renamed(target, names[1]))
        for number in count()
        for names in [[_Names(number, own) for own in common]]
        for source, target in pairs_of(text, "train")
    )
    return islice(copies, limit)


class _Names(dict[str, str]):
    """Name a quarter of the words anew, but none that are common."""

    def __init__(self, number: int, common: set[str]) -> None:
        super().__init__((word, word) for word in common)
        self.number = number

    def __missing__(self, word: str) -> str:
        fresh = self.number > 0 and zlib.crc32(f"{self.number} {word}".encode()) % 4 == 0
        self[word] = f"{word}~{self.number}" if fresh else word
        return self[word]


def _renamed(sentence: str, names: _Names) -> str:
    return " ".join(map(names.__getitem__, sentence.split()))


def size_of(text: str) -> int:
    """Count the training pairs of a language pair."""
    return _size(text, DATA)


@cache
def _size(text: str, data: Path) -> int:
    return sum(1 for _ in pairs_of(text, "train", data=data))


def part_lines(text: str, part: str, language: str, limit: int | None = None) -> Iterator[str]:
    """Give the lines of one side of a part, or of its tags (`en.pos`), as they are written."""
    end = ".xz" if part == "train" else ""
    return lines(DATA / text / f"{part}.{language}{end}", limit)


def write_sample(row: Row, directory: Path, data: Path | None = None) -> Sample:
    """Write a text as the protocol wants it: test, dev, then the first training pairs.

    Where the text has not that many, it is grown.
    """
    grown = row.pairs is not None and row.pairs > (_size(row.text, data or DATA))
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
            walk = pairs_of(row.text, part, limit, data)
            if grown and limit is not None:
                walk = grown_pairs(row.text, limit)
            for source, target in walk:
                first.write(source + "\n")
                second.write(target + "\n")
                number += 1
            parts[part] = range(start, number)
    return Sample(paths[0], paths[1], parts, number)


def write_shards(text: str, pairs: int | None, sizes: Iterable[int], directory: Path) -> list[Path]:
    """Write training pairs in two columns, in shards of these sizes, unless that was done.

    Where the text has not that many, it is grown.
    """
    if not (directory / "done").exists():
        directory.mkdir(parents=True, exist_ok=True)
        walk = pairs_of(text, "train", pairs)
        if pairs is not None and pairs > size_of(text):
            walk = grown_pairs(text, pairs)
        for number, size in enumerate(sizes):
            lines = [f"{source}\t{target}\n" for source, target in islice(walk, size)]
            if not lines:
                break
            with open_output(directory / f"{number:03}.tsv.zst", force=True) as stream:
                stream.writelines(lines)
        (directory / "done").touch()
    return sorted(directory.glob("*.zst"))


def gold_of(text: str, part: str, data: Path | None = None) -> list[GoldAlignment]:
    """Read the gold links of test or dev."""
    return list(read_gold((data or DATA) / text / f"{part}.gold"))


def part_of(alignments: list[Alignment], sample: Sample, part: str) -> list[Alignment]:
    """Take the links of test or dev from those of a text."""
    own = sample.parts[part]
    return alignments[own.start : own.stop]
