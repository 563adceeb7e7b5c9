"""Turn entries of links into others: the other direction, without possible links, of another tokenization."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest

from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Alignment, Entry
from bitweft.text.bitext import Bitext, Sentence, SentencePair


def convert(
    entries: Iterable[Entry],
    *,
    possible: str | None = None,
    onto: Iterable[SentencePair] | None = None,
    inverse: bool = False,
) -> Iterator[Entry]:
    """Change entries as they pass: `keep` possible links as links or `drop` them, remap, swap the sides."""
    if possible not in (None, "keep", "drop"):
        raise UsageError(f"possible must be keep or drop, got {possible!r}")
    if onto is not None:
        entries = remap(entries, onto)
    for entry in entries:
        if possible == "drop":
            entry = replace(entry, alignment=entry.alignment.without(entry.unsure))
        if possible is not None:
            entry = replace(entry, unsure=frozenset())
        yield entry.inverse() if inverse else entry


def remap(entries: Iterable[Entry], onto: Iterable[SentencePair]) -> Iterator[Entry]:
    """Carry links over to another tokenization of the same text, by where the characters stand.

    White space, SentencePiece's `▁` and subword-nmt's `@@` do not count. A word in pieces gives its links to
    every piece; pieces of one word give it all of theirs, each with its best probability.
    """
    name = onto.names[0] if isinstance(onto, Bitext) else "the other tokenization"
    for number, (entry, pair) in enumerate(zip_longest(entries, onto), 1):
        if entry is None or pair is None:
            message = "the links and the other tokenization differ in their number of lines"
            raise InputError(message, file=name, line=number)
        if entry.pair is None:
            raise UsageError(
                "to carry links over, the text that they belong to is needed: --source, --target"
            )
        try:
            source = positions(entry.pair.source, pair.source)
            target = positions(entry.pair.target, pair.target)
        except ValueError as error:
            raise InputError(str(error), file=name, line=number) from error
        yield _carried(entry, pair, source, target)


def _carried(entry: Entry, pair: SentencePair, source: list[list[int]], target: list[list[int]]) -> Entry:
    probabilities = entry.alignment.probabilities or (1.0,) * len(entry.alignment)
    items = [
        ((new_s, new_t), (s, t) in entry.unsure, probability)
        for (s, t), probability in zip(entry.alignment.links, probabilities, strict=True)
        for new_s in source[s]
        for new_t in target[t]
    ]
    links = [link for link, _, _ in items]
    known = [probability for _, _, probability in items] if entry.alignment.probabilities else None
    sure = {link for link, unsure, _ in items if not unsure}
    return replace(entry, alignment=Alignment.of(links, known), unsure=frozenset(links) - sure, pair=pair)


def positions(sentence: Sentence, other: Sentence) -> list[list[int]]:
    """For each token, list the tokens of the other tokenization that share a character with it."""
    mine, theirs = _bare(sentence), _bare(other)
    if "".join(mine) != "".join(theirs):
        raise ValueError(f"not the same text: {sentence.text!r} and {other.text!r}")
    owners = [place for place, piece in enumerate(theirs) for _ in piece]
    found = []
    start = 0
    for piece in mine:
        end = start + len(piece)
        # A token of nothing but `▁` belongs to what follows it.
        found.append(sorted(set(owners[start : max(end, start + 1)])))
        start = end
    return found


def _bare(sentence: Sentence) -> list[str]:
    last = len(sentence) - 1
    pieces = [
        token[:-2] if token.endswith("@@") and place < last else token
        for place, token in enumerate(sentence.tokens)
    ]
    return ["".join(piece.replace("▁", " ").split()) for piece in pieces]
