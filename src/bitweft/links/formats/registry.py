"""Every format of links by name: read any, write any, and tell them apart where that is certain."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count, islice, zip_longest
from typing import TextIO

from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Alignment, Entry, GoldAlignment, outside
from bitweft.links.formats.giza import format_giza, read_giza
from bitweft.links.formats.jsonl import format_jsonl, read_jsonl
from bitweft.links.formats.naacl import format_naacl, read_naacl
from bitweft.links.formats.pharaoh import format_line, format_table, read_lines
from bitweft.links.table import LinkTable
from bitweft.text.bitext import SentencePair
from bitweft.text.lines import LineFile


@dataclass(frozen=True)
class LinkFormat:
    """Describe one format of links, and how to read and write it."""

    name: str
    summary: str
    read: Callable[[LineFile, bool, int | None], Iterator[Entry]]  # file, one-based, number of sentences
    write: Callable[[Entry, int], str]  # entry, its number from 1
    one_based: bool = False
    base_is_fixed: bool = True
    holds_possible: bool = False
    line_a_pair: bool = True
    write_table: Callable[[LinkTable], str] | None = None  # a line for each pair, of arrays of links


def _line_format(name: str, summary: str, *, holds_possible: bool = False) -> LinkFormat:
    return LinkFormat(
        name,
        summary,
        lambda file, one_based, _: read_lines(file, name, one_based),
        lambda entry, _: format_line(entry, name),
        one_based=name == "talp",
        base_is_fixed=False,
        holds_possible=holds_possible,
        write_table=format_table if name == "pharaoh" else None,
    )


LINK_FORMATS = {
    link_format.name: link_format
    for link_format in (
        _line_format("pharaoh", "`0-0 1-2`: what most tools write, and Marian reads"),
        _line_format("possible", "`0-0 1?2`: sure and possible links", holds_possible=True),
        _line_format("possible-p", "`0-0 1p2`: the same, written with p", holds_possible=True),
        _line_format("scored", "`0-0:0.9 1-2:0.4`; also two scores, of which the first is kept, and NULL"),
        _line_format("talp", "`1-1 2p3`: one-based", holds_possible=True),
        LinkFormat(
            "naacl",
            "`.wa`: `sentence source target [S|P] [confidence]` a link, one-based",
            lambda file, _, sentences: read_naacl(file, sentences),
            format_naacl,
            one_based=True,
            holds_possible=True,
            line_a_pair=False,
        ),
        LinkFormat(
            "giza",
            "`A3.final`: three lines a pair, with the words",
            lambda file, _, sentences: read_giza(file, sentences),
            format_giza,
            one_based=True,
            line_a_pair=False,
        ),
        LinkFormat(
            "jsonl",
            "JSON lines with texts, spans, links and probabilities",
            lambda file, _one_based, _: read_jsonl(file),
            format_jsonl,
            holds_possible=True,
        ),
    )
}

_LOOKED_AT = 1000  # lines a format is told from
_NAACL = re.compile(r"\s*\d+\s+\d+\s+\d+(\s+[SP])?(\s+[-+.0-9eE]+)?\s*", re.ASCII)
_WORD = re.compile(r"(?:\d+|NULL)[-?p](?:\d+|NULL)(?::[-+.0-9eE]+){0,2}", re.ASCII)
_ZERO = re.compile(r"(?<!\d)0[-?p]|[-?p]0(?!\d)", re.ASCII)


def detect_link_format(file: LineFile, one_based: bool | None = None) -> str:
    """Tell the format of a file of links, or refuse where its first lines leave a doubt."""
    numbered = [(n, line) for n, line in enumerate(islice(file.lines(), _LOOKED_AT), 1) if line.strip()]
    lines = [line for _, line in numbered]
    if not lines:
        return "pharaoh"
    if lines[0].startswith("{"):
        return "jsonl"
    if lines[0].startswith("# Sentence pair ("):
        return "giza"
    if all(map(_NAACL.fullmatch, lines)):
        return "naacl"
    for number, line in numbered:
        word = next((word for word in line.split() if not _WORD.fullmatch(word)), None)
        if word is not None:
            message = f"{word!r} is of no known format of links; name one of {', '.join(LINK_FORMATS)}"
            raise InputError(message, file=file.name, line=number)
    words = " ".join(lines).split()
    scored = any(":" in word or "NULL" in word for word in words)
    unsure = any("?" in word or "p" in word for word in words)
    if scored and unsure:
        raise InputError("possible links and scores together: no known format of links", file=file.name)
    name = "scored" if scored else "possible" if unsure else "pharaoh"
    if one_based is None and not any(map(_ZERO.search, words)):
        message = f"no link has the index 0: name the format {name} (zero-based) or talp (one-based)"
        raise InputError(message, file=file.name)
    return name


def link_format_named(name: str) -> LinkFormat:
    """Find a format by its name."""
    if name not in LINK_FORMATS:
        raise UsageError(f"the format of links must be one of {', '.join(LINK_FORMATS)}, got {name!r}")
    return LINK_FORMATS[name]


def index_base(link_format: LinkFormat, one_based: bool | None) -> bool:
    """Tell whether indices begin at 1: as asked, or as is the format's way."""
    if one_based is None or one_based == link_format.one_based:
        return link_format.one_based
    if link_format.base_is_fixed:
        raise UsageError(
            f"indices of the format {link_format.name} begin at {int(link_format.one_based)}, always"
        )
    return one_based


def read_entries(
    path: str | os.PathLike[str] | LineFile,
    link_format: str | None = None,
    one_based: bool | None = None,
    *,
    text: Iterable[SentencePair] | None = None,
    sentences: int | None = None,
) -> Iterator[Entry]:
    """Read all that a file of links says, an entry a sentence pair.

    With the `text` (which is walked twice), the entries get its words, there must be as many as pairs, and a
    link outside is an error.
    Without, `sentences` tells formats that leave out pairs without links (naacl, giza) how many there are.
    """
    file = path if isinstance(path, LineFile) else LineFile(path)
    chosen = link_format_named(link_format or detect_link_format(file, one_based))
    base = index_base(chosen, one_based)
    if text is None:
        yield from chosen.read(file, base, sentences)
        return
    if sentences is None and not chosen.line_a_pair:
        sentences = sum(1 for _ in text)
    yield from _with_text(chosen.read(file, base, sentences), text, file.name, chosen)


def _with_text(
    entries: Iterator[Entry], text: Iterable[SentencePair], file: str, link_format: LinkFormat
) -> Iterator[Entry]:
    numbered = enumerate(zip_longest(entries, text), 1)
    for number, (entry, pair) in numbered:
        if entry is None or pair is None:
            total = number + sum(1 for _ in numbered)
            counts = (number - 1, total) if entry is None else (total, number - 1)
            raise InputError("links of {:,} pairs, but the text has {:,}".format(*counts), file=file)
        fault = outside(entry.alignment.links, len(pair.source), len(pair.target))
        if fault is not None:
            place = {"line": number} if link_format.line_a_pair else {}
            where = "" if link_format.line_a_pair else f"pair {number}: "
            raise InputError(where + fault, file=file, **place)
        yield replace(entry, pair=pair)


def read_alignments(
    path: str | os.PathLike[str],
    link_format: str | None = None,
    one_based: bool | None = None,
    *,
    text: Iterable[SentencePair] | None = None,
    sentences: int | None = None,
) -> Iterator[Alignment]:
    """Read links, an alignment a sentence pair; possible links count as links."""
    for entry in read_entries(path, link_format, one_based, text=text, sentences=sentences):
        yield entry.alignment


def read_gold(
    path: str | os.PathLike[str],
    link_format: str | None = None,
    one_based: bool | None = None,
    *,
    text: Iterable[SentencePair] | None = None,
    sentences: int | None = None,
) -> Iterator[GoldAlignment]:
    """Read hand-made links, sure and possible."""
    for entry in read_entries(path, link_format, one_based, text=text, sentences=sentences):
        yield entry.gold()


def write_entries(stream: TextIO, entries: Iterable[Entry], link_format: str = "pharaoh") -> int:
    """Write entries as they come and return their number; possible links need a format that holds them."""
    holds_possible, put = link_format_named(link_format).holds_possible, entry_writer(stream, link_format)
    number = 0
    for number, entry in enumerate(entries, 1):
        if entry.unsure and not holds_possible:
            raise UsageError(
                f"pair {number} has possible links, which the format {link_format} cannot hold: "
                "say whether to keep them as links or to drop them (--possible keep|drop)"
            )
        put(entry)
    return number


def entry_writer(stream: TextIO, link_format: str) -> Callable[[Entry], None]:
    """Return what writes the next entry to a stream."""
    chosen = link_format_named(link_format)
    numbers = count(1)

    def put(entry: Entry) -> None:
        text = chosen.write(entry, next(numbers))
        if text or chosen.line_a_pair:
            stream.write(text + "\n")

    return put


def write_alignments(
    stream: TextIO,
    alignments: Iterable[Alignment],
    link_format: str = "pharaoh",
    *,
    text: Iterable[SentencePair] | None = None,
) -> int:
    """Write alignments as they come and return their number; some link_formats want the text too."""
    if text is None:
        return write_entries(stream, map(Entry, alignments), link_format)
    pairs = zip(alignments, text, strict=True)
    return write_entries(stream, (Entry(links, pair=pair) for links, pair in pairs), link_format)


def write_gold(stream: TextIO, gold: Iterable[GoldAlignment], link_format: str = "possible") -> int:
    """Write hand-made links as they come and return their number."""
    entries = (Entry(Alignment.of(links.possible), links.possible - links.sure) for links in gold)
    return write_entries(stream, entries, link_format)
