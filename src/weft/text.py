"""Parallel text: sentences, pairs, and files of them that can be walked more than once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple, TypeAlias

from weft.errors import InputError

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sentence:
    """Hold one sentence: its tokens, and the text they were cut from."""

    tokens: tuple[str, ...]
    text: str

    def __len__(self) -> int:
        return len(self.tokens)


class SentencePair(NamedTuple):
    """Hold a sentence and its translation."""

    source: Sentence
    target: Sentence

    def reversed(self) -> SentencePair:
        """Swap source and target."""
        return SentencePair(self.target, self.source)


def tokenize(text: str) -> Sentence:
    """Split at spaces and tabs."""
    return Sentence(tuple(text.replace("\t", " ").split(" ")) if text else (), text)


class Bitext:
    """Walk sentence pairs from files, as often as wanted, without holding them."""

    def __init__(self, source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
        self.source = os.fspath(source)
        self.target = os.fspath(target)

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Bitext:
        """Make a bitext of strings held in memory."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[SentencePair]:
        with open(self.source, encoding="utf-8", newline="\n") as source:
            with open(self.target, encoding="utf-8", newline="\n") as target:
                for number, (s, t) in enumerate(zip_longest(source, target), 1):
                    if s is None or t is None:
                        raise InputError("the files have different numbers of lines", line=number)
                    yield SentencePair(tokenize(s.strip()), tokenize(t.strip()))
