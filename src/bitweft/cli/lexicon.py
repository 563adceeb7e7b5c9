"""`bitweft lexicon`: a dictionary of words from text and links."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TextIO

from bitweft.cli.linked import LinkFile, add_text_and_links, text_and_links
from bitweft.cli.options import add_output, add_quiet, at_least, report_oddities, share
from bitweft.cli.progress import Meter
from bitweft.corpus.concordance import Query, concordance, write_hits
from bitweft.corpus.lexicon import (
    Entry,
    Example,
    Lexicon,
    Pruning,
    examples,
    write_json,
    write_table,
    write_tsv,
)
from bitweft.errors import UsageError
from bitweft.storage.output import gzip_text, open_binary, open_output
from bitweft.text.bitext import Bitext

DESCRIPTION = """\
Count which words are linked to which: counts, p(target|source), p(source|target), and an example.
Words without a link count as linked to NULL.

formats:
  tsv        a header, then: source, target, count, count of each word, p(target|source),
             p(source|target), and an example: line number, source words, target words
  json       the same as JSON, one object a line
  moses      `target source p(target|source)` in PREFIX.f2e, `source target p(source|target)` in
             PREFIX.e2f, as Moses' training writes them
  marian     the same columns in PREFIX.s2t and PREFIX.t2s, as extract_lex writes them:
             PREFIX.s2t is what Marian's --shortlist reads
  bicleaner  the same columns in PREFIX.s2t.gz and PREFIX.t2s.gz, lower-cased, without NULL, and
             without translations ten times less probable than the best (--threshold 0.1)
"""
EXAMPLES = """\
  bitweft lexicon en.txt fr.txt links.txt --min-count 2 --top 5 > dictionary.tsv
  bitweft lexicon en.txt fr.txt links.txt --query house
  bitweft lexicon en.txt fr.txt links.txt --query 'house ||| maison' -o places.tsv
  bitweft lexicon en.txt fr.txt links.txt --to marian -o lex
  bitweft lexicon en.txt fr.txt links.txt --to bicleaner -o dict-en-fr
"""
_ENDINGS = {
    "moses": (".f2e", ".e2f"),
    "marian": (".s2t", ".t2s"),
    "bicleaner": (".s2t.gz", ".t2s.gz"),
}
_WRITERS: dict[str, Callable[[Iterator[Entry], Callable[[Entry], Example], TextIO], None]] = {
    "tsv": write_tsv,
    "json": write_json,
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_text_and_links(parser)
    parser.add_argument(
        "--to",
        choices=(*_WRITERS, *_ENDINGS),
        default="tsv",
        metavar="FORMAT",
        help="format to write, see above (tsv)",
    )
    add_output(parser, "the lexicon")
    parser.add_argument("--null", action="store_true", help="list words without a link too (tsv, json)")
    parser.add_argument(
        "--min-count", metavar="N", type=at_least(1), default=1, help="links an entry needs (1)"
    )
    parser.add_argument(
        "--top", metavar="N", type=at_least(1), help="translations kept for each source word (all)"
    )
    parser.add_argument(
        "--threshold",
        metavar="R",
        type=share,
        help="drop translations less than R times as probable as the word's best (0; bicleaner: 0.1)",
    )
    parser.add_argument(
        "--query",
        metavar="WORDS",
        help="write no dictionary, but the lines that have these words, what they are linked to in brackets: "
        "`house`, `white house`, `house ||| maison`, `||| maison`",
    )
    add_quiet(parser)


def run(args: argparse.Namespace) -> None:
    """Write the lexicon."""
    if args.query is not None:
        _write_concordance(args)
        return
    if args.to in _ENDINGS and args.output in (None, "-"):
        raise UsageError(f"--to {args.to} makes two files: give -o PREFIX")
    text, links = text_and_links(args)
    lower = args.lower or args.to == "bicleaner"
    names = (text.names[0], links.name)
    with Meter(quiet=args.quiet) as meter:
        lexicon = Lexicon.count(meter.watch(text, "counting links"), links, lower=lower, names=names)
    pruning = _pruning(args)
    if args.to in _WRITERS:
        _write_examples(args, lexicon, pruning, text, links)
    else:
        _write_tables(args, lexicon, pruning)
    report_oddities(text)


def _write_concordance(args: argparse.Namespace) -> None:
    query = Query.parse(args.query)
    text, links = text_and_links(args)
    with open_output(args.output, force=args.force) as stream:
        count = write_hits(concordance(text, links, query, names=(text.names[0], links.name)), stream)
    if not args.quiet:
        sys.stderr.write(f"bitweft: {count:,} places\n")


def _pruning(args: argparse.Namespace) -> Pruning:
    threshold = args.threshold
    if threshold is None:
        threshold = 0.1 if args.to == "bicleaner" else 0.0
    null = args.null if args.to in _WRITERS else args.to != "bicleaner"
    return Pruning(min_count=args.min_count, top=args.top, threshold=threshold, null=null)


def _write_examples(
    args: argparse.Namespace, lexicon: Lexicon, pruning: Pruning, text: Bitext, links: LinkFile
) -> None:
    with Meter(quiet=args.quiet) as meter:
        pairs = meter.watch(text, "finding examples")
        found = examples(lexicon.by_source(pruning), pairs, links, lower=args.lower)
    with open_output(args.output, force=args.force) as stream:
        _WRITERS[args.to](lexicon.by_source(pruning), lambda entry: found[entry.source, entry.target], stream)


def _write_tables(args: argparse.Namespace, lexicon: Lexicon, pruning: Pruning) -> None:
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(_open(args.output + ending, args.force)) for ending in _ENDINGS[args.to]
        )
        unwritable = write_table(lexicon.by_source(pruning), first)
        write_table((entry.inverse() for entry in lexicon.by_target(pruning)), second)
    if unwritable:
        sys.stderr.write(f"bitweft: {unwritable:,} entries left out: their words hold white space\n")


@contextmanager
def _open(path: str, force: bool) -> Iterator[TextIO]:
    if not path.endswith(".gz"):
        with open_output(path, force=force) as stream:
            yield stream
        return
    with open_binary(path, force=force) as raw, gzip_text(raw) as stream:
        yield stream
