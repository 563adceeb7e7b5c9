"""Parallel text: sentences, pairs, and files of them that can be walked more than once."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, overload, runtime_checkable

from bitweft.errors import UsageError
from bitweft.text.joint import FORMATS, PARQUET, detect_format, joint_reader
from bitweft.text.lines import LineFile, Oddities
from bitweft.text.parquet import count_rows
from bitweft.text.tokenize import TOKENIZERS, by_space

if TYPE_CHECKING:
    from bitweft.text.parallel import Most

Span: TypeAlias = tuple[int, int]
Path: TypeAlias = str | os.PathLike[str]


class Sentence:
    """Hold one sentence: its tokens, the text they were cut from and, if known, a tag of each token."""

    __slots__ = ("tags", "text", "tokens")

    def __init__(self, tokens: Iterable[str], text: str, tags: Sequence[str] | None = None) -> None:
        self.tokens = tuple(tokens)
        self.text = text
        self.tags = tags

    @property
    def spans(self) -> tuple[Span, ...]:
        """Find where each token stands: text[start:end] is the token."""
        spans = []
        end = 0
        for token in self.tokens:
            start = self.text.index(token, end)
            end = start + len(token)
            spans.append((start, end))
        return tuple(spans)

    def __len__(self) -> int:
        return len(self.tokens)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sentence):
            return NotImplemented
        return self.tokens == other.tokens and self.text == other.text

    def __hash__(self) -> int:
        return hash((self.tokens, self.text))

    def __repr__(self) -> str:
        return f"Sentence({self.tokens!r}, {self.text!r})"


class SentencePair(NamedTuple):
    """Hold a sentence and its translation."""

    source: Sentence
    target: Sentence

    def reversed(self) -> SentencePair:
        """Swap source and target."""
        return SentencePair(self.target, self.source)


class Lines(Sequence[SentencePair]):
    """Hold some pairs as lines of UTF-8, each with its line feed, whose words stand between spaces or tabs.

    Who can take them as they are saves to make sentences of them.
    """

    def __init__(self, source: bytes, target: bytes) -> None:
        self.source = source
        self.target = target
        self._count = source.count(b"\n")
        self._pairs: list[SentencePair] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> SentencePair: ...

    @overload
    def __getitem__(self, place: slice) -> list[SentencePair]: ...

    def __getitem__(self, place: int | slice) -> SentencePair | list[SentencePair]:
        if self._pairs is None:
            sides = (side.decode().split("\n")[:-1] for side in (self.source, self.target))
            self._pairs = [
                SentencePair(Sentence(by_space(s), s), Sentence(by_space(t), t))
                for s, t in zip(*sides, strict=True)
            ]
        return self._pairs[place]


@runtime_checkable
class InBlocks(Protocol):
    """Walk pairs, or many at a time."""

    def blocks(self) -> Iterator[Lines] | None:
        """Walk the pairs many at a time, as lines; None where that cannot be: walk the pairs then."""

    def __iter__(self) -> Iterator[SentencePair]: ...


def tokenize(text: str, how: str = "space") -> Sentence:
    """Cut a text into a sentence of tokens: at `space`, by `unicode` words, or by `char`."""
    if how not in TOKENIZERS:
        raise UsageError(f"tokenize must be one of {', '.join(TOKENIZERS)}, got {how!r}")
    return Sentence(TOKENIZERS[how](text), text)


class Bitext:
    """Walk sentence pairs from files, as often as wanted, without holding them.

    Give two files, or one that holds both sides: `src ||| tgt`, two columns (TSV, Parquet), or JSON lines.
    `-` is standard input. With `streaming`, standard input and pipes are read as they come, and can be
    walked only once. After a walk, `oddities` says what was put right on the way; unless `strict`, a
    line that cannot be read is an empty pair, and counted there.
    """

    def __init__(
        self,
        source: Path,
        target: Path | None = None,
        *,
        tokenize: str = "space",
        format: str = "auto",
        languages: Sequence[str] | None = None,
        strict: bool = True,
        streaming: bool = False,
    ) -> None:
        _check_options(source, target, tokenize, format)
        self.tokenize = tokenize
        self.format = "parallel" if target is not None else format
        self.languages = None if languages is None else tuple(languages)
        self.oddities = Oddities()
        self._files = [
            LineFile(path, strict=strict, streaming=streaming)
            for path in (source, target)
            if path is not None
        ]
        self._texts: tuple[tuple[str, str], ...] | None = None
        self._swapped = False

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], *, tokenize: str = "space") -> Bitext:
        """Make a bitext of strings held in memory."""
        bitext = cls("memory", "memory", tokenize=tokenize)
        bitext._texts = tuple((source, target) for source, target in pairs)
        return bitext

    @property
    def names(self) -> tuple[str, ...]:
        """Name the files, as messages do."""
        return ("memory",) if self._texts is not None else tuple(file.name for file in self._files)

    def idle(self) -> bool:
        """Tell whether the next pair of a stream would have to be waited for."""
        return any(file.idle() for file in self._files)

    def count(self) -> int:
        """Count the pairs, without parting or cutting them; of two files, the lines of the first."""
        if self._texts is not None:
            return len(self._texts)
        return count_rows(self._files[0]) if self._format() == PARQUET else self._files[0].count()

    def _format(self) -> str:
        if self.format == "auto":
            self.format = detect_format(self._files[0])
        return self.format

    def reversed(self) -> Bitext:
        """Swap source and target."""
        other = copy.copy(self)
        other._swapped = not self._swapped
        return other

    def tokenized(self, how: str) -> Bitext:
        """Cut the same text in another way."""
        _check_options("", None, how, "auto")
        other = copy.copy(self)
        other.tokenize = how
        return other

    def raw_lines(self) -> Iterator[tuple[str, ...]]:
        """Walk the lines of each file as they stand; bytes that are no UTF-8 are written as `\\xe9`."""
        if self._format() == PARQUET:
            raise UsageError(f"{self.names[0]}: Parquet has no lines; give a file of text")
        walks = [file.raw_lines() for file in self._files]
        for lines in zip(*walks, strict=True):
            yield tuple(line.decode("utf-8", errors="backslashreplace") for line in lines)

    def blocks(self, most: Most | None = None) -> Iterator[Lines] | None:
        """Walk the pairs many at a time, as lines; None where words are not what stands between spaces.

        Pairs held in memory may be no text, and are not walked so. What is given, and what is found wrong,
        is the same as by walking the pairs; of a stream, nothing is held back while more is awaited.
        """
        return None if self._texts is not None or self.tokenize != "space" else self._blocks(most)

    def _blocks(self, most: Most | None) -> Iterator[Lines]:
        from bitweft.text.parallel import NO_MORE, as_lines, side_by_side

        oddities = Oddities()
        most = most or NO_MORE
        if len(self._files) == 2:
            lines = side_by_side(self._files[0], self._files[1], oddities, most)
        else:
            lines = as_lines(self._pairs(oddities), most, self.idle)
        for s, t in lines:
            yield Lines(t, s) if self._swapped else Lines(s, t)
        self.oddities = oddities

    def __iter__(self) -> Iterator[SentencePair]:
        oddities = Oddities()
        cut = TOKENIZERS[self.tokenize]
        pairs = self._pairs(oddities)
        if self._swapped:
            for s, t in pairs:
                yield SentencePair(Sentence(cut(t), t), Sentence(cut(s), s))
        else:
            for s, t in pairs:
                yield SentencePair(Sentence(cut(s), s), Sentence(cut(t), t))
        self.oddities = oddities

    def _pairs(self, oddities: Oddities) -> Iterator[tuple[str, str]]:
        if self._texts is not None:
            return _without_breaks(self._texts, oddities)
        if len(self._files) == 2:
            return self._parallel(oddities)
        read = joint_reader(self._format(), self.languages)
        return _without_breaks(read(self._files[0], oddities), oddities)

    def _parallel(self, oddities: Oddities) -> Iterator[tuple[str, str]]:
        source, target = self._files
        pairs = zip_longest(source.lines(oddities), target.lines(oddities))
        for number, (s, t) in enumerate(pairs, 1):
            if s is None or t is None:
                counts = (number - 1, number + sum(1 for _ in pairs))
                from bitweft.text.parallel import unequal

                raise unequal(source.name, target.name, counts if s is None else counts[::-1])
            yield s, t


def _check_options(source: Path, target: Path | None, tokenize: str, format: str) -> None:
    if tokenize not in TOKENIZERS:
        raise UsageError(f"tokenize must be one of {', '.join(TOKENIZERS)}, got {tokenize!r}")
    if format not in ("auto", *FORMATS):
        raise UsageError(f"format must be one of auto, {', '.join(FORMATS)}, got {format!r}")
    if target is None:
        return
    if format != "auto":
        raise UsageError(f"the format {format!r} is for one joint file; two files were given")
    if os.fspath(source) == os.fspath(target) == "-":
        raise UsageError("standard input cannot be both sides: give one joint file as `-`")


def _without_breaks(pairs: Iterable[tuple[str, str]], oddities: Oddities) -> Iterator[tuple[str, str]]:
    # A line break inside a text would break every format of one line a pair; offsets stay as they were.
    for s, t in pairs:
        if "\n" in s or "\n" in t:
            oddities.line_breaks += 1
            s, t = s.replace("\n", " "), t.replace("\n", " ")
        yield s, t
