"""How the text to learn from is read: in blocks of lines where it comes in such, or pair by pair."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from bitweft.links.alignment import Alignment
from bitweft.links.known import KnownLinks
from bitweft.progress import Progress
from bitweft.recipes.default.compiled.types import Ints, Longs
from bitweft.recipes.default.forms import FormTable
from bitweft.recipes.default.knowledge import beside
from bitweft.recipes.default.spelling import Reader, Spelling, by_frequency, renumber
from bitweft.storage.spill import ArrayBuilder
from bitweft.text.bitext import InBlocks, SentencePair

READ = 10_000  # pairs, after which it is told how many were read


class LineReader:
    """Number the words of one side, line by line, as `Reader` does sentence by sentence."""

    def __init__(self, lowercase: bool) -> None:
        self._lowercase = lowercase
        self._forms = FormTable()
        self._tokens = ArrayBuilder(np.int32)
        self._offsets = ArrayBuilder(np.int64)
        self._offsets.extend(np.zeros(1, np.int64))
        self._count = 0

    def add(self, lines: bytes) -> None:
        """Take the next lines."""
        tokens, ends = self._forms.add(lines, lowercase=self._lowercase)
        self._tokens.extend(tokens)
        self._offsets.extend(ends + self._count)
        self._count += len(tokens)

    def finish(self, more: Mapping[str, int] | None = None) -> tuple[Spelling, Ints, Longs]:
        """Return the spelling, the numbers of all tokens, and where each sentence begins."""
        return by_frequency(*self.in_order(), more)

    def in_order(self) -> tuple[list[str], Ints, Longs]:
        """Return the words as they came, the numbers of all tokens, and where each sentence begins."""
        words: dict[str, int] = {}
        forms = self._forms.texts()
        if self._lowercase:
            forms = list(map(str.lower, forms))
        numbers = np.array([words.setdefault(form, len(words)) for form in forms], np.int32)
        tokens = self._tokens.finish()
        if len(words) < len(numbers):
            renumber(tokens, numbers)
        return list(words), tokens, self._offsets.finish()


class Read(NamedTuple):
    """Hold what was read."""

    source: Reader | LineReader
    target: Reader | LineReader
    links: dict[int, Alignment]  # that are known, of some pairs


def read(
    text: Iterable[SentencePair], *, lowercase: bool, threads: int = 1, known: KnownLinks | None = None
) -> Generator[Progress, None, Read]:
    """Read a text, telling how far it is; with more than one thread, the next block while one is numbered."""
    blocks = text.blocks() if known is None and isinstance(text, InBlocks) else None
    if blocks is None:
        return (yield from _pair_by_pair(text, lowercase, known))
    source, target = LineReader(lowercase), LineReader(lowercase)
    pairs = 0
    adding: list[Future[None]] = []
    with ThreadPoolExecutor(2) as pool:
        for block in blocks:
            if threads == 1:
                source.add(block.source)
                target.add(block.target)
            else:
                for own in adding:
                    own.result()
                adding = [pool.submit(source.add, block.source), pool.submit(target.add, block.target)]
            told, pairs = pairs // READ, pairs + len(block)
            if pairs // READ > told:
                yield Progress(pairs // READ * READ, 0, "reading")
    for own in adding:
        own.result()
    return Read(source, target, {})


def read_at_once(text: Iterable[SentencePair], *, lowercase: bool) -> Read:
    """Read a text in one thread."""
    reading = read(text, lowercase=lowercase)
    while True:
        try:
            next(reading)
        except StopIteration as done:
            found: Read = done.value
            return found


def _pair_by_pair(
    text: Iterable[SentencePair], lowercase: bool, known: KnownLinks | None
) -> Generator[Progress, None, Read]:
    source, target = Reader(lowercase), Reader(lowercase)
    links: dict[int, Alignment] = {}
    for number, (pair, certain) in enumerate(beside(text, known)):
        source.add(pair.source.tokens)
        target.add(pair.target.tokens)
        if certain.links:
            links[number] = certain
        if (number + 1) % READ == 0:
            yield Progress(number + 1, 0, "reading")
    return Read(source, target, links)
