"""Phrase, lexical and reordering tables in Moses' formats, made in three sorts on disk.

1. by source phrase: p(t|s) needs the count of each source phrase; best links, lexical weights, reordering;
2. by target phrase: p(s|t) needs the count of each target phrase;
3. by source phrase again, as the phrase table is read.

Each sort holds the total of a phrase under the phrase itself, followed by nothing, which comes before the
phrase followed by anything: so the total is known when its pairs come, however many they are.
"""

from __future__ import annotations

import os
import shutil
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Protocol, TextIO, TypeVar

import bitweft
from bitweft.corpus.lexicon import Lexicon, Pruning, Word, linked_pairs, linked_words, write_table
from bitweft.corpus.phrases.extraction import Orientation, PhraseSpan, extract_phrases, orientations
from bitweft.corpus.phrases.sorting import SortedCounts
from bitweft.errors import InputError
from bitweft.links.alignment import Alignment, Link
from bitweft.storage.output import gzip_text, new_directory
from bitweft.text.bitext import SentencePair

Item = TypeVar("Item")

BAR = " ||| "
SMOOTHING = 0.5  # added to each orientation's count, as Moses' training does
FILES = (
    "phrase-table.gz",
    "lex.f2e",
    "lex.e2f",
    "reordering-counts.gz",
    "reordering-table.wbe-msd-bidirectional-fe.gz",
)
MANIFEST = "phrases.json"  # says which files are bitweft's, for --force
_REMEMBERED = 1 << 16  # results of small functions that are asked for again and again
_KINDS = tuple(kind.value for kind in Orientation)
_PHRASES, _F2E, _E2F, _COUNTS, _REORDERING = FILES
# Moses' escape-special-chars.perl, in its order.
_ESCAPES = (
    ("&", "&amp;"),
    ("|", "&#124;"),
    ("<", "&lt;"),
    (">", "&gt;"),
    ("'", "&apos;"),
    ('"', "&quot;"),
    ("[", "&#91;"),
    ("]", "&#93;"),
)


class Watch(Protocol):
    """Give items on, one by one, telling somebody how far they are; a total of 0 is not known."""

    def __call__(self, items: Iterable[Item], phase: str, total: int = 0) -> Iterator[Item]: ...


def unwatched(items: Iterable[Item], phase: str, total: int = 0) -> Iterator[Item]:
    """Give items on and tell nobody."""
    return iter(items)


@dataclass(frozen=True, slots=True)
class PhraseOptions:
    """Say how long phrases may be, how many bytes a sort may hold, and what is done to words."""

    max_length: int = 7
    memory: int = 512 << 20
    lower: bool = False
    escape: bool = False


@dataclass(slots=True)
class PhraseSummary:
    """Count what a phrase extraction read and wrote."""

    sentence_pairs: int = 0
    extracted: int = 0
    phrase_pairs: int = 0
    word_pairs: int = 0
    unwritable: int = 0

    def __str__(self) -> str:
        text = (
            f"{self.sentence_pairs:,} sentence pairs, {self.extracted:,} phrase pairs extracted, "
            f"{self.phrase_pairs:,} different; {self.word_pairs:,} different word pairs"
        )
        if self.unwritable:
            text += f", of which {self.unwritable:,} hold white space and are not in the lexical tables"
        return text


def write_phrase_tables(
    pairs: Iterable[SentencePair],
    alignments: Iterable[Alignment],
    directory: str | os.PathLike[str],
    *,
    options: PhraseOptions | None = None,
    force: bool = False,
    names: tuple[str, str] = ("text", "links"),
    watch: Watch = unwatched,
) -> PhraseSummary:
    """Write the tables of a text into a new directory, which appears whole or not at all.

    The text is walked twice. Memory is that of the lexicon, for distinct word pairs, and `options.memory`.
    `watch` is told how far it is.
    """
    options = options or PhraseOptions()
    summary = PhraseSummary()
    about = {"bitweft": bitweft.__version__}
    with new_directory(directory, manifest=MANIFEST, about=about, force=force) as partial:
        work = partial / "sorting"
        work.mkdir()
        lexicon = Lexicon()
        sentences = _sentences(pairs, alignments, options, names)
        for line, source, target, alignment in watch(sentences, "counting words"):
            lexicon.add(line, source, target, linked_words(source, target, alignment))
            summary.sentence_pairs += 1
        summary.word_pairs = len(lexicon)
        with (partial / _F2E).open("w", encoding="utf-8", newline="\n") as stream:
            summary.unwritable = write_table(lexicon.by_source(Pruning(null=True)), stream)
        with (partial / _E2F).open("w", encoding="utf-8", newline="\n") as stream:
            write_table((e.inverse() for e in lexicon.by_target(Pruning(null=True))), stream)
        memory = options.memory // 2  # never more than two sorts at a time
        by_source = SortedCounts(work, memory=memory)
        sentences = _sentences(pairs, alignments, options, names)
        for _, source, target, alignment in watch(sentences, "extracting phrases", summary.sentence_pairs):
            summary.extracted += _extract(source, target, alignment, by_source, options.max_length)
        by_target = SortedCounts(work, memory=memory)
        with _compressed(partial / _COUNTS) as counts, _compressed(partial / _REORDERING) as table:
            found = watch(_occurrences(by_source), "scoring phrases")
            summary.phrase_pairs = _score(found, by_target, lexicon, (counts, table))
        by_source.clear()
        lines = _by_source_again(by_target, SortedCounts(work, memory=memory))
        with _compressed(partial / _PHRASES) as stream:
            stream.writelines(watch(lines, "writing phrases", summary.phrase_pairs))
        shutil.rmtree(work)
    return summary


@contextmanager
def _compressed(path: Path) -> Iterator[TextIO]:
    with path.open("wb") as raw, gzip_text(raw, level=6) as stream:
        yield stream


def _sentences(
    pairs: Iterable[SentencePair],
    alignments: Iterable[Alignment],
    options: PhraseOptions,
    names: tuple[str, str],
) -> Iterator[tuple[int, Sequence[str], Sequence[str], Alignment]]:
    for line, pair, alignment in linked_pairs(pairs, alignments, names=names):
        source, target = pair.source.tokens, pair.target.tokens
        if options.lower:
            source, target = tuple(map(str.lower, source)), tuple(map(str.lower, target))
        if options.escape:
            source, target = tuple(map(escape, source)), tuple(map(escape, target))
        elif "|||" in source or "|||" in target:
            side = "source" if "|||" in source else "target"
            raise InputError(
                f"the word ||| on the {side} side would break the columns of a phrase table; "
                "remove it, or give --escape to write words as Moses' tokenizer does",
                file=names[0],
                line=line,
            )
        yield line, source, target, alignment


def escape(word: str) -> str:
    """Write the characters that mean something to Moses as its tokenizer does."""
    for character, escaped in _ESCAPES:
        word = word.replace(character, escaped)
    return word


def unescape(word: str) -> str:
    """Undo `escape`."""
    for character, escaped in reversed(_ESCAPES):
        word = word.replace(escaped, character)
    return word


def _extract(
    source: Sequence[str], target: Sequence[str], alignment: Alignment, counts: SortedCounts, max_length: int
) -> int:
    links = frozenset(alignment.links)
    by_target = sorted((t, s) for s, t in links)
    extracted = 0
    for span in extract_phrases(links, len(source), len(target), max_length=max_length):
        source_phrase = " ".join(source[span.source_start : span.source_end])
        target_phrase = " ".join(target[span.target_start : span.target_end])
        inside = _links_inside(by_target, span)
        before, after = orientations(links, span, len(source), len(target))
        counts.add(BAR.join((source_phrase, target_phrase, inside, f"{before.value} {after.value}")))
        counts.add(source_phrase + BAR)
        extracted += 1
    return extracted


def _links_inside(by_target: Sequence[tuple[int, int]], span: PhraseSpan) -> str:
    # A consistent pair has all links of its target words inside.
    start = bisect_left(by_target, (span.target_start, -1))
    end = bisect_left(by_target, (span.target_end, -1))
    return " ".join(f"{s - span.source_start}-{t - span.target_start}" for t, s in by_target[start:end])


@dataclass(slots=True)
class _Occurrences:
    """Gather what was seen of one phrase pair: its links, and the orientation of its neighbors."""

    source: str
    target: str
    links: dict[str, int]
    before: dict[str, int]
    after: dict[str, int]

    @property
    def count(self) -> int:
        return sum(self.links.values())


def _score(
    found: Iterable[int | _Occurrences],
    by_target: SortedCounts,
    lexicon: Lexicon,
    reordering: tuple[TextIO, TextIO],
) -> int:
    p_target = lru_cache(maxsize=_REMEMBERED)(lexicon.p_target)
    p_source = lru_cache(maxsize=_REMEMBERED)(lambda target, source: lexicon.p_source(source, target))
    different = 0
    source_count = 0
    for item in found:
        if isinstance(item, int):
            source_count = item
            continue
        different += 1
        count = item.count
        best = _most_frequent(item.links, side=1)
        source, target = item.source.split(" "), item.target.split(" ")
        forward = lexical_weight(p_target, source, target, _links(best))
        # Moses chooses anew for the other direction, ordering equal counts by the other side's words.
        best_inverse = _links(_most_frequent(item.links, side=0))
        backward = lexical_weight(p_source, target, source, ((t, s) for s, t in best_inverse))
        _write_orientations(item, reordering)
        payload = f"{source_count} {forward:g} {backward:g}"
        by_target.add(BAR.join((item.target, item.source, best, payload)), count)
        by_target.add(item.target + BAR, count)
    return different


def _occurrences(by_source: SortedCounts) -> Iterator[int | _Occurrences]:
    """Give the total of each source phrase, then its phrase pairs."""
    records = ((key.split(BAR), count) for key, count in by_source)
    for (source, target), group in groupby(records, key=lambda record: (record[0][0], record[0][1])):
        if not target:
            yield sum(count for _, count in group)
            continue
        pair = _Occurrences(source, target, {}, {}, {})
        for (_, _, links, orientation), count in group:
            before, after = orientation.split(" ")
            pair.links[links] = pair.links.get(links, 0) + count
            pair.before[before] = pair.before.get(before, 0) + count
            pair.after[after] = pair.after.get(after, 0) + count
        yield pair


@lru_cache(maxsize=_REMEMBERED)
def _links(text: str) -> tuple[Link, ...]:
    return tuple((int(s), int(t)) for s, _, t in (link.partition("-") for link in text.split(" ")))


def _most_frequent(links: dict[str, int], *, side: int) -> str:
    """Choose among the links of a phrase pair; equal counts as Moses does, by what each word is linked to."""
    if len(links) == 1:
        return next(iter(links))
    return max(links, key=lambda text: (links[text], _grouped(text, side)))


def _grouped(text: str, side: int) -> list[list[int]]:
    links = _links(text)
    groups: list[list[int]] = [[] for _ in range(1 + max(link[side] for link in links))]
    for link in sorted(links):
        groups[link[side]].append(link[1 - side])
    return groups


def lexical_weight(
    probability: Callable[[Word, str], float],
    given: Sequence[str],
    words: Sequence[str],
    links: Iterable[Link],
) -> float:
    """Weigh words by the words they are linked to: for each, the mean of `probability(given, word)`.

    A link is (given, word); a word without one is given by NULL.
    """
    partners: list[list[str]] = [[] for _ in words]
    for place, word in links:
        partners[word].append(given[place])
    weight = 1.0
    for text, linked in zip(words, partners, strict=True):
        if len(linked) == 1:
            weight *= probability(linked[0], text)
        elif linked:
            weight *= sum(probability(partner, text) for partner in linked) / len(linked)
        else:
            weight *= probability(None, text)
    return weight


def _write_orientations(pair: _Occurrences, reordering: tuple[TextIO, TextIO]) -> None:
    head = pair.source + BAR + pair.target + BAR
    numbers = tuple(seen.get(kind, 0) for seen in (pair.before, pair.after) for kind in _KINDS)
    for stream, text in zip(reordering, _orientation_columns(numbers), strict=True):
        stream.write(head + text)


@lru_cache(maxsize=_REMEMBERED)
def _orientation_columns(numbers: tuple[int, ...]) -> tuple[str, str]:
    """Format the counts of both sides, and their smoothed shares."""
    smoothed = [number + SMOOTHING for number in numbers]
    half = len(numbers) // 2
    totals = [sum(smoothed[:half])] * half + [sum(smoothed[half:])] * half
    shares = (f"{number / total:f}" for number, total in zip(smoothed, totals, strict=True))
    return " ".join(map(str, numbers)) + "\n", " ".join(shares) + "\n"


def _by_source_again(by_target: SortedCounts, by_source: SortedCounts) -> Iterator[str]:
    target_count = 0
    for key, count in by_target:
        target, source, *rest = key.split(BAR)
        if not source:
            target_count = count
            continue
        links, payload = rest
        source_count, forward, backward = payload.split(" ")
        scores = f"{count / target_count:g} {backward} {count / int(source_count):g} {forward}"
        counts = f"{target_count} {source_count} {count}"
        by_source.add(BAR.join((source, target, scores, links, counts)))
    by_target.clear()
    for line, _ in by_source:
        yield f"{line} ||| |||\n"
    by_source.clear()
