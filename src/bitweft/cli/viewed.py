"""Text with its links, or with a model that makes them, as `view` and `edit` take them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple, TypeVar

from bitweft.cli.options import add_link_format, add_text, bitext_of
from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Alignment, Entry
from bitweft.links.formats.registry import read_entries
from bitweft.text.bitext import Bitext, SentencePair
from bitweft.text.lines import LineFile

Item = TypeVar("Item")


def add_viewed(parser: argparse.ArgumentParser) -> None:
    """Add SOURCE, TARGET, LINKS, how to read them, and --model."""
    add_text(parser)
    parser.add_argument("links", metavar="LINKS", nargs="?", help="the links of the text")
    add_link_format(parser)
    parser.add_argument("--model", metavar="DIR", help="align the text with this model, instead of LINKS")


def settle_links(args: argparse.Namespace) -> None:
    """Find out which argument is which: with two files, the second may be TARGET or LINKS."""
    args.alone = args.target is None and args.links is None and args.model is None
    if args.links is None and args.model is None:
        args.target, args.links = None, args.target  # a joint file, and links
        if not (_holds_links(args.source) if args.alone else _is_joint(args)):
            raise UsageError("no links: give LINKS, or a model with --model DIR")
    if args.links is not None and args.model is not None:
        raise UsageError("give LINKS or --model DIR, not both")


def viewed_text(args: argparse.Namespace) -> Bitext | JsonLines:
    """Open the text that settled arguments name."""
    return JsonLines(args.source) if args.alone else bitext_of(args)


def _holds_links(path: str) -> bool:
    """Tell whether a file may hold JSON lines with text and links."""
    return path == "-" or next(iter(LineFile(path).lines()), "").startswith("{")


def _is_joint(args: argparse.Namespace) -> bool:
    """Tell whether SOURCE holds both sides, as far as can be seen without a walk."""
    if args.source == "-" or args.format != "auto" or not os.path.exists(args.source):
        return True
    try:
        next(iter(bitext_of(args)), None)
    except InputError as error:
        return error.line is not None  # a fault in a line of a joint file, not a file of another kind
    return True


class JsonLines:
    """Hold JSON lines that have both text and links."""

    def __init__(self, path: str) -> None:
        self.names = (path,)
        self.entries: list[Entry] = []
        for number, entry in enumerate(read_entries(path, "jsonl"), 1):
            if entry.pair is None:
                message = 'no text ("src" and "tgt") beside the links: give SOURCE, TARGET and LINKS'
                raise InputError(message, file=path, line=number)
            self.entries.append(entry)

    def __iter__(self) -> Iterator[SentencePair]:
        return (entry.pair for entry in self.entries if entry.pair is not None)


class Linked(NamedTuple):
    """Hold a pair with its links, and its score if the file has one."""

    pair: SentencePair
    alignment: Alignment
    score: float | None


def linked_pairs(args: argparse.Namespace, text: Bitext | JsonLines) -> Iterator[Linked]:
    """Read the links of the wanted lines, or make them."""
    if args.model is None:
        entries: Iterable[Entry] = (
            text.entries
            if isinstance(text, JsonLines)
            else read_entries(args.links, args.link_format, args.one_based, text=text)
        )
        for entry in wanted(args, entries):
            if entry.pair is not None:  # it never is: read_entries was given the text
                yield Linked(entry.pair, entry.alignment, entry.score)
        return
    from bitweft.aligner import Aligner

    pairs = list(wanted(args, text))
    for pair, alignment in zip(pairs, Aligner.load(args.model).align(pairs), strict=True):
        yield Linked(pair, alignment, None)


def wanted(args: argparse.Namespace, items: Iterable[Item]) -> Iterator[Item]:
    """Keep the line of --line, or all."""
    return iter(items) if args.line is None else islice(items, args.line - 1, args.line)
