"""Links of a whole text, written as they come: one line in, one line out, and a summary of what was odd."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TextIO

from bitweft.aligner import Aligner
from bitweft.corpus.parquet_links import ParquetLinks
from bitweft.errors import InputError
from bitweft.links.alignment import Alignment, Entry
from bitweft.links.convert import Onto
from bitweft.links.formats.pharaoh import decimal
from bitweft.links.formats.registry import entry_writer, link_format_named
from bitweft.links.known import KnownLinks, with_known
from bitweft.links.table import LinkTable
from bitweft.recipes.base import Decoding, Inference, Sizes
from bitweft.storage.lockstep import lockstep
from bitweft.text.bitext import Bitext, SentencePair


@dataclass
class Summary:
    """Count what became of the pairs of a text."""

    pairs: int = 0
    links: int = 0
    empty: int = 0
    too_long: int = 0
    damaged: int = 0
    unlinked: int = 0  # with words on both sides, but without a link

    def count(self, pair: SentencePair, inference: Inference) -> None:
        """Add one pair."""
        self.pairs += 1
        self.links += len(inference.alignment)
        if not len(pair.source) or not len(pair.target):
            self.empty += 1
        elif inference.too_long:
            self.too_long += 1
        elif not inference.alignment.links:
            self.unlinked += 1

    def count_table(self, sizes: Sizes, table: LinkTable, longest: int) -> None:
        """Add pairs of some words, and their links."""
        empty, too_long = sizes.min(1, initial=1) == 0, sizes.max(1, initial=0) > longest
        none = table.offsets[1:] == table.offsets[:-1]
        self.pairs += len(sizes)
        self.links += len(table.source)
        self.empty += int(empty.sum())
        self.too_long += int((too_long & ~empty).sum())
        self.unlinked += int((none & ~empty & ~too_long).sum())

    def __add__(self, other: Summary) -> Summary:
        return Summary(
            *(own + more for own, more in zip(vars(self).values(), vars(other).values(), strict=True))
        )

    def __str__(self) -> str:
        damaged = f" ({self.damaged:,} of them damaged)" if self.damaged else ""
        odd = (
            (self.too_long, "too long"),
            (self.empty, f"with an empty side{damaged}"),
            (self.unlinked, "without a likely link"),
        )
        left = ", ".join(f"{count:,} {what}" for count, what in odd if count)
        return f"{self.pairs:,} pairs, {self.links:,} links" + (
            f"; pairs without links: {left}" if left else ""
        )


@dataclass(frozen=True)
class LinkOptions:
    """Say what is to be written of each pair."""

    link_format: str = "pharaoh"
    decoding: Decoding = field(default_factory=Decoding)
    strict: bool = False  # a pair that is too long is an error


def write_links(
    aligner: Aligner | None,
    pairs: Iterable[SentencePair],
    stream: TextIO | ParquetLinks,
    wanted: LinkOptions,
    *,
    scores: TextIO | None = None,
    known: KnownLinks | None = None,
    onto: Onto | None = None,
    name: str | None = None,
) -> Iterator[Summary]:
    """Write the links of the pairs as they come; give the summary so far now and then, and in the end.

    `scores` gets a line for each pair: its score, a tab, its links' probabilities. With `onto`, links are
    written of another tokenization. `name` is the text's, for messages. Without an aligner, because there was
    nothing to learn from, no pair gets links.
    """
    if not isinstance(stream, ParquetLinks):
        write_table = link_format_named(wanted.link_format).write_table
        if aligner is not None and write_table and not (scores or known or onto or wanted.decoding.null):
            yield from _write_tables(aligner, pairs, stream, wanted, write_table, name)
            return
    put = stream.put if isinstance(stream, ParquetLinks) else entry_writer(stream, wanted.link_format)
    summary = Summary()
    inferences = _inferences(aligner, pairs, wanted, known)
    for entry, pair, inference in _entries(inferences, onto, name or "text"):
        summary.count(pair, inference)
        if inference.too_long and wanted.strict:
            raise _too_long(len(pair.source), len(pair.target), wanted, name, summary.pairs)
        put(entry)
        if scores is not None:
            scores.write(score_line(entry) + "\n")
        if isinstance(pairs, Bitext) and pairs.idle():  # who sends line by line sees each answer
            for each in (stream, scores):
                if each is not None and not isinstance(each, ParquetLinks):
                    each.flush()
        yield summary
    if isinstance(pairs, Bitext):
        summary.damaged = pairs.oddities.damaged
    yield summary


def _write_tables(
    aligner: Aligner,
    pairs: Iterable[SentencePair],
    stream: TextIO,
    wanted: LinkOptions,
    write: Callable[[LinkTable], str],
    name: str | None,
) -> Iterator[Summary]:
    """Write links alone, many pairs at a time; those that were just learned from are not read again."""
    summary = Summary()
    tables = aligner.learned_tables(decoding=wanted.decoding)
    if tables is None:
        tables = aligner.stream_tables(pairs, decoding=wanted.decoding)
    for sizes, table in tables:
        if wanted.strict and (sizes > wanted.decoding.longest).any():
            place = int((sizes.max(1) > wanted.decoding.longest).argmax())
            stream.write(write(table.first(place)))
            source, target = sizes[place].tolist()
            raise _too_long(source, target, wanted, name, summary.pairs + place + 1)
        summary.count_table(sizes, table, wanted.decoding.longest)
        stream.write(write(table))
        if isinstance(pairs, Bitext) and pairs.idle():  # who sends line by line sees each answer
            stream.flush()
        yield summary
    if isinstance(pairs, Bitext):
        summary.damaged = pairs.oddities.damaged
    yield summary


def _too_long(source: int, target: int, wanted: LinkOptions, name: str | None, line: int) -> InputError:
    message = f"{source:,} and {target:,} words, more than --max-length {wanted.decoding.longest:,} allows"
    return InputError(message, file=name, line=line)


def _entries(
    inferences: Iterable[tuple[SentencePair, Inference]], onto: Onto | None, name: str
) -> Iterator[tuple[Entry, SentencePair, Inference]]:
    """Make entries of inferences, carried over to pieces if there are any."""
    for line, ((pair, inference), pieces) in enumerate(_with_pieces(inferences, onto, name), 1):
        entry = Entry(inference.alignment, score=inference.score, pair=pair, unlinked=inference.unlinked)
        yield entry if onto is None or pieces is None else onto.carried(entry, pieces, line), pair, inference


def _with_pieces(
    inferences: Iterable[tuple[SentencePair, Inference]], onto: Onto | None, name: str
) -> Iterator[tuple[tuple[SentencePair, Inference], SentencePair | None]]:
    if onto is None:
        return ((found, None) for found in inferences)
    return lockstep(inferences, onto.pieces, names=(name, onto.name))


def _inferences(
    aligner: Aligner | None, pairs: Iterable[SentencePair], wanted: LinkOptions, known: KnownLinks | None
) -> Iterator[tuple[SentencePair, Inference]]:
    if aligner is None:
        yield from ((pair, Inference(Alignment())) for pair in pairs)
        return
    if known is None:
        yield from aligner.stream(pairs, decoding=wanted.decoding)
        return
    certain: deque[Alignment] = deque()  # of the pairs that are being worked on

    def kept() -> Iterator[SentencePair]:
        for pair, links in known.beside(pairs):
            certain.append(links)
            yield pair

    for pair, inference in aligner.stream(kept(), decoding=wanted.decoding):
        yield pair, _with_known(inference, certain.popleft())


def _with_known(inference: Inference, known: Alignment) -> Inference:
    alignment = with_known(inference.alignment, known)
    if inference.unlinked is None:
        return replace(inference, alignment=alignment)
    linked = [{link[side] for link in alignment.links} for side in (0, 1)]
    source, target = (
        tuple((place, chance) for place, chance in own if place not in taken)
        for own, taken in zip(inference.unlinked, linked, strict=True)
    )
    return replace(inference, alignment=alignment, unlinked=(source, target))


def score_line(pair: Inference | Entry) -> str:
    """Write the score of a pair, a tab, and the probabilities of its links in their order."""
    score = "" if pair.score is None else f"{pair.score:.6f}"
    return score + "\t" + " ".join(map(decimal, pair.alignment.probabilities or ()))
