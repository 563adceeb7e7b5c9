"""`bitweft phrases`: a phrase table, lexical tables and reordering from text and links."""

from __future__ import annotations

import argparse
import re
import sys

from bitweft.cli.linked import add_text_and_links, text_and_links
from bitweft.cli.options import add_quiet, at_least, report_oddities
from bitweft.cli.progress import Meter
from bitweft.corpus.phrases import PhraseOptions, write_phrase_tables
from bitweft.storage.output import refuse_inputs

DESCRIPTION = """\
Extract the phrase pairs that links allow, score them both ways, and write what Moses reads into DIR:

  phrase-table.gz       source ||| target ||| p(s|t) lex(s|t) p(t|s) lex(t|s) ||| links ||| counts
  lex.f2e, lex.e2f      target source p(t|s), and source target p(s|t)
  reordering-table.wbe-msd-bidirectional-fe.gz
                        mono, swap, other after the phrase before, and before the phrase after
  reordering-counts.gz  the counts behind it

The text is read twice and sorted on disk: memory does not grow with the number of phrases. The
directory appears whole or not at all. The same input gives the same bytes.
"""
EXAMPLES = """\
  bitweft phrases en.txt fr.txt links.txt -o model
  bitweft phrases en.txt fr.txt links.txt -o model --max-length 5 --memory 2G --lower --escape
"""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    defaults = PhraseOptions()
    add_text_and_links(parser)
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the directory to write")
    parser.add_argument("--force", action="store_true", help="replace a directory that exists")
    parser.add_argument(
        "--max-length",
        metavar="N",
        type=at_least(1),
        default=defaults.max_length,
        help="words a side (%(default)s)",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        type=_size,
        default=defaults.memory,
        help="held while sorting, e.g. 2G (512M)",
    )
    parser.add_argument(
        "--escape", action="store_true", help="write | < > [ ] & ' \" as Moses' tokenizer does"
    )
    add_quiet(parser)


def run(args: argparse.Namespace) -> None:
    """Write the tables."""
    text, links = text_and_links(args)
    refuse_inputs(args.output, (*text.names, links.name))
    options = PhraseOptions(
        max_length=args.max_length, memory=args.memory, lower=args.lower, escape=args.escape
    )
    names = (text.names[0], links.name)
    with Meter(quiet=args.quiet) as meter:
        summary = write_phrase_tables(
            text, links, args.output, options=options, force=args.force, names=names, watch=meter.watch
        )
    report_oddities(text)
    if not args.quiet:
        sys.stderr.write(f"bitweft: {args.output}: {summary}\n")


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMGT]?)B?", text, re.IGNORECASE)
    if found is None or int(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a size such as 512M or 2G")
    return int(found[1]) * _UNITS[found[2].upper()]
