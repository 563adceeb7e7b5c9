"""`bitweft check`: faults in text and links, before they break something."""

from __future__ import annotations

import argparse
import json

from bitweft.cli.options import add_link_format, at_least
from bitweft.links.check import LONG, check
from bitweft.storage.output import open_output
from bitweft.text.tokenize import TOKENIZERS

DESCRIPTION = """\
Look for problems in text and links before they break another tool: line counts, encoding, empty and very
long lines, odd spaces, links out of range or given twice. What would break a tool is an error, the rest are
warnings. Exits with 1 if there are errors."""
EXAMPLES = """\
  bitweft check en.txt fr.txt
  bitweft check en.txt.gz fr.txt.gz links.txt
  bitweft check en.txt fr.txt gold.talp --from talp --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("source", metavar="SOURCE", help="the source text")
    parser.add_argument("target", metavar="TARGET", help="the target text")
    parser.add_argument("links", metavar="LINKS", nargs="?", help="links between them")
    add_link_format(parser)
    parser.add_argument(
        "--tokenize", choices=tuple(TOKENIZERS), default="space", help="how words are counted (space)"
    )
    parser.add_argument(
        "--long",
        type=at_least(1),
        default=LONG,
        metavar="N",
        help=f"words from which on a line is very long ({LONG})",
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Check, and print what was found."""
    report = check(
        args.source,
        args.target,
        args.links,
        link_format=args.link_format,
        one_based=args.one_based,
        tokenize=args.tokenize,
        long=args.long,
    )
    text = json.dumps(report.as_json(), ensure_ascii=False) if args.json else str(report)
    with open_output(None) as stream:
        stream.write(text + "\n")
    return int(report.breaks or (args.strict and bool(report.findings)))
