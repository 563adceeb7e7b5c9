"""Text with its links, as `lexicon` and `phrases` take them on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from bitweft.cli.options import add_link_format, add_text, bitext_of
from bitweft.errors import UsageError
from bitweft.links.alignment import Alignment
from bitweft.links.formats.registry import read_entries
from bitweft.text.bitext import Bitext
from bitweft.text.lines import LineFile


class LinkFile:
    """Walk the links of a text, as often as wanted."""

    def __init__(self, path: str, text: Bitext, *, link_format: str | None, one_based: bool | None) -> None:
        self._file = LineFile(path)
        self._text = text
        self._link_format = link_format
        self._one_based = one_based

    @property
    def name(self) -> str:
        """Name the file, as messages do."""
        return self._file.name

    def __iter__(self) -> Iterator[Alignment]:
        for entry in read_entries(self._file, self._link_format, self._one_based, text=self._text):
            yield entry.alignment


def add_text_and_links(parser: argparse.ArgumentParser) -> None:
    """Add SOURCE, TARGET, LINKS, how to read them, and --lower."""
    add_text(parser)
    parser.add_argument("links", metavar="LINKS", help="the links of the text; `-` is standard input")
    add_link_format(parser)
    parser.add_argument("--lower", action="store_true", help="lower-case the words")


def text_and_links(args: argparse.Namespace) -> tuple[Bitext, LinkFile]:
    """Open what the arguments name."""
    if args.links == "-" and "-" in (args.source, args.target):
        raise UsageError("standard input cannot be both text and links")
    text = bitext_of(args)
    return text, LinkFile(args.links, text, link_format=args.link_format, one_based=args.one_based)
