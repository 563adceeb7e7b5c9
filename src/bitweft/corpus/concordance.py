"""Where words stand in a text, and what they are linked to there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TextIO

from bitweft.corpus.lexicon import keys_of, linked_pairs
from bitweft.errors import UsageError
from bitweft.links.alignment import Alignment
from bitweft.text.bitext import SentencePair

COLUMNS = ("line", "source", "target")


@dataclass(frozen=True)
class Query:
    """Hold the words to look for, of the source, of the target, or of both where they are linked."""

    source: tuple[str, ...]
    target: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Query:
        """Read `house`, `white house`, `house ||| maison` or `||| maison`.

        Raises:
            UsageError: there is no word in it.
        """
        source, _, target = f" {text} ".partition(" ||| ")
        query = cls(tuple(source.lower().split()), tuple(target.lower().split()))
        if not query.source and not query.target:
            raise UsageError(f"--query {text!r}: give words, such as house, or house ||| maison")
        return query


class Hit(NamedTuple):
    """Hold a line number, counted from one, and both sentences with the words in brackets."""

    line: int
    source: str
    target: str


def concordance(
    pairs: Iterable[SentencePair],
    alignments: Iterable[Alignment],
    query: Query,
    *,
    names: tuple[str, str] = ("text", "links"),
) -> Iterator[Hit]:
    """Find each place of the words, whatever their case, and mark what they are linked to.

    Words of both sides belong together where one link is between them. A word that has a tag is found by it.
    """
    for line, pair, alignment in linked_pairs(pairs, alignments, names=names):
        for source, target in _places(keys_of(pair, lower=True), alignment, query):
            yield Hit(line, _marked(pair.source.tokens, source), _marked(pair.target.tokens, target))


def _places(
    keys: tuple[Sequence[str], Sequence[str]], alignment: Alignment, query: Query
) -> Iterator[tuple[Collection[int], Collection[int]]]:
    if not query.source:
        turned = _places((keys[1], keys[0]), alignment.inverse(), Query(query.target, ()))
        yield from ((source, target) for target, source in turned)
        return
    for source in _found(keys[0], query.source):
        linked = {t for s, t in alignment.links if s in source}
        if not query.target:
            yield source, linked
        else:
            spans = _found(keys[1], query.target)
            yield from ((source, target) for target in spans if not linked.isdisjoint(target))


def _found(keys: Sequence[str], words: Sequence[str]) -> list[range]:
    size = len(words)
    starts = range(len(keys) - size + 1)
    return [range(n, n + size) for n in starts if tuple(keys[n : n + size]) == words]


def _marked(tokens: Sequence[str], places: Collection[int]) -> str:
    """Put neighboring words in one pair of brackets."""
    words = []
    for n, token in enumerate(tokens):
        start = "[" if n in places and n - 1 not in places else ""
        end = "]" if n in places and n + 1 not in places else ""
        words.append(f"{start}{token}{end}")
    return " ".join(words)


def write_hits(hits: Iterable[Hit], stream: TextIO) -> int:
    """Write hits as columns under a header, and return how many there are."""
    stream.write("\t".join(COLUMNS) + "\n")
    count = 0
    for hit in hits:
        count += 1
        stream.write("\t".join(map(str, hit)) + "\n")
    return count
