"""The text of translation experiments: what is translated from which language, and what is held out.

English-French has sentences to tune on and to test of its own. Of other language pairs 1,000 of each are
drawn from the training text, among pairs neither side of which comes twice, and taken out of it: no aligner
and no language model sees them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from bitweft.corpus.phrases import escape
from corpora import TRANSLATION, lines
from reporting import write_text

LONGEST, RATIO = 80, 9  # what Moses' clean-corpus-n.perl keeps
PARTS = ("mt-tune", "mt-test")
HELD = 1000  # sentences of each part
WORDS = range(4, 41)  # of a sentence that is drawn
OWN = ("en-fr",)  # texts with files of their own for both parts


@dataclass(frozen=True)
class Task:
    """Name a language pair, and the language to translate into."""

    text: str
    target: str

    @classmethod
    def of(cls, text: str, target: str | None = None) -> Task:
        """Translate into a language; by default English-French into French, others into English."""
        own = target or ("fr" if text == "en-fr" else "en")
        if own not in text.split("-"):
            raise SystemExit(f"{text}: cannot be translated into {own}")
        return cls(text, own)

    @property
    def source(self) -> str:
        """Name the language to translate from."""
        one, other = self.text.split("-")
        return one if other == self.target else other

    @property
    def languages(self) -> tuple[str, str]:
        """Name both, the source first."""
        return self.source, self.target

    @property
    def files(self) -> tuple[str, ...]:
        """Name the files that it needs, for each language."""
        return TRANSLATION if self.text in OWN else ("train.{}.xz", "train.{}.pos.xz")

    def __str__(self) -> str:
        names = {"en": "English", "fr": "French", "ro": "Romanian", "cs": "Czech"}
        return f"{names[self.source]}-{names[self.target]}"


@dataclass(frozen=True)
class _Pair:
    """Hold a training pair as it is written: words and tags of both sides."""

    words: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def fits(self) -> bool:
        short, long = sorted(len(side.split()) for side in self.words)
        return short > 0 and long <= LONGEST and long <= RATIO * short


def prepare_training(data: Path, task: Task, pairs: int | None, output: Path) -> None:
    """Write the first training pairs, lower-cased and escaped, and tags; not those too long or held out."""
    chosen = list(islice(_read(data, task), pairs))
    out = set() if task.text in OWN else set(drawn([pair.words for pair in chosen]))
    kept = [pair for row, pair in enumerate(chosen) if row not in out and pair.fits]
    for side, language in enumerate(task.languages):
        write_text(output / f"train.{language}", "".join(f"{pair.words[side]}\n" for pair in kept))
        if kept and kept[0].tags:
            text = "".join(f"{pair.tags[side]}\n" for pair in kept)
            write_text(output / f"train.{language}.pos", text)


def prepare_held(
    data: Path, task: Task, pairs: int | None, sizes: tuple[int | None, int | None], output: Path
) -> None:
    """Write the first sentences to tune on and to test, lower-cased, with Moses' escapes."""
    held = _own(data, task) if task.text in OWN else _taken(data, task, pairs)
    for part, own, size in zip(PARTS, held, sizes, strict=True):
        for side, language in enumerate(task.languages):
            text = "".join(f"{pair[side]}\n" for pair in own[:size])
            write_text(output / f"{part}.{language}", text)


def drawn(pairs: Sequence[Sequence[str]]) -> list[int]:
    """Draw the rows to hold out, those to tune on first, always the same of a text."""
    sides = [Counter(side) for side in zip(*pairs, strict=True)]
    rows = [
        row
        for row, pair in enumerate(pairs)
        if all(own[side] == 1 and len(side.split()) in WORDS for own, side in zip(sides, pair, strict=True))
    ]
    if len(rows) < 4 * HELD:
        raise SystemExit(f"too little text to hold {2 * HELD:,} pairs out of: {len(rows):,} are fit for it")
    return [int(row) for row in np.random.default_rng(1).permutation(rows)[: 2 * HELD]]


def _taken(data: Path, task: Task, pairs: int | None) -> list[list[tuple[str, ...]]]:
    every = [pair.words for pair in islice(_read(data, task), pairs)]
    rows = drawn(every)
    return [[every[row] for row in own] for own in (rows[:HELD], rows[HELD:])]


def _own(data: Path, task: Task) -> list[list[tuple[str, ...]]]:
    held = []
    for part in PARTS:
        sides = [read_lines(data / f"{part}.{language}") for language in task.languages]
        held.append([tuple(map(_escaped, pair)) for pair in zip(*sides, strict=True)])
    return held


def _read(data: Path, task: Task) -> Iterator[_Pair]:
    """Read the training text, with tags where they are."""
    words = [lines(data / f"train.{language}.xz") for language in task.languages]
    paths = [data / f"train.{language}.pos.xz" for language in task.languages]
    if not all(path.exists() for path in paths):
        for pair in zip(*words, strict=True):
            yield _Pair(tuple(map(_escaped, pair)), ())
        return
    for one, other, *tags in zip(*words, *map(lines, paths), strict=True):
        yield _Pair((_escaped(one), _escaped(other)), tuple(tags))


def _escaped(line: str) -> str:
    return " ".join(escape(word) for word in line.lower().split())


def read_lines(path: Path) -> list[str]:
    """Read the lines of a text."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]
