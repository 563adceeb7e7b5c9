"""`bitweft convert`: links from one format into another."""

from __future__ import annotations

import argparse
import sys

from bitweft.cli.options import (
    add_link_format,
    add_output,
    add_text_options,
    at_least,
    optional_bitext_of,
    report_oddities,
    report_unmatched,
)
from bitweft.errors import UsageError
from bitweft.links.convert import Onto, convert
from bitweft.links.formats.registry import LINK_FORMATS, detect_link_format, read_entries, write_entries
from bitweft.storage.output import open_output
from bitweft.text.bitext import Bitext
from bitweft.text.lines import LineFile

DESCRIPTION = "Turn links from any format into any other.\n\nformats:\n" + "\n".join(
    f"  {link_format.name:<11} {link_format.summary}" for link_format in LINK_FORMATS.values()
)
EXAMPLES = """\
  bitweft convert test.wa --from naacl --to possible --source test.en --target test.fr -o test.gold
  bitweft convert links.txt --to jsonl --source en.txt --target fr.txt
  bitweft convert gold.talp --from talp --to pharaoh --possible drop
  bitweft convert words.links --source en.tok --target fr.tok --onto en.spm fr.spm"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("links", metavar="LINKS", help="the file of links; `-` is standard input")
    add_link_format(parser)
    parser.add_argument(
        "--to",
        choices=tuple(LINK_FORMATS),
        default="pharaoh",
        metavar="FORMAT",
        help="format to write (pharaoh)",
    )
    add_text_options(parser, "links outside it are an error, and giza and jsonl need its words")
    parser.add_argument(
        "--sentences",
        type=at_least(0),
        metavar="N",
        help="how many pairs there are, if neither text nor links tell",
    )
    parser.add_argument(
        "--possible", choices=("keep", "drop"), help="take possible links as links, or leave them out"
    )
    parser.add_argument("--inverse", action="store_true", help="swap source and target")
    parser.add_argument(
        "--onto",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="carry the links over to these files: the same text in pieces (SentencePiece, BPE, bytes)",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="fail at a pair that --onto cannot match instead of leaving it empty",
    )
    add_output(parser, "the links")


def run(args: argparse.Namespace) -> None:
    """Convert."""
    if [args.links, args.source, args.target, *(args.onto or ())].count("-") > 1:
        raise UsageError("standard input can be only one of the files")
    if args.strict and args.onto is None:
        raise UsageError("--strict is for --onto")
    text = optional_bitext_of(args)
    onto = None if args.onto is None else Onto(Bitext(*args.onto), args.strict)
    file = LineFile(args.links)
    link_format = args.link_format or detect_link_format(file, args.one_based)
    if text is not None and args.sentences is not None:
        raise UsageError("--sentences is for links without their text: the text tells how many there are")
    if link_format in ("naacl", "giza") and text is None and args.sentences is None:
        sys.stderr.write(
            f"bitweft: the format {link_format} does not tell of pairs without links at the end: "
            "give --source and --target, or --sentences\n"
        )
    entries = read_entries(file, link_format, args.one_based, text=text, sentences=args.sentences)
    changed = convert(entries, possible=args.possible, onto=onto, inverse=args.inverse)
    with open_output(args.output, force=args.force) as stream:
        write_entries(stream, changed, args.to)
    if text is not None:
        report_oddities(text)
    if onto is not None:
        report_unmatched(onto)
