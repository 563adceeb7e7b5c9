"""`bitweft view`: alignments to look at."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
from collections.abc import Iterator
from itertools import tee
from typing import TextIO

from bitweft.cli.edit import add_editing, edit
from bitweft.cli.options import add_output, at_least, report_oddities, wants_color
from bitweft.cli.viewed import JsonLines, add_viewed, linked_pairs, settle_links, viewed_text, wanted
from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.evaluate import Counts
from bitweft.links.formats.registry import LINK_FORMATS, read_alignments, read_gold
from bitweft.storage.output import open_output
from bitweft.text.bitext import Bitext
from bitweft.viewer import LEGEND, page, svg, text_grid

DESCRIPTION = """\
Look at links. The result is a page for the browser: one HTML file that holds everything it needs, works
without a network and opens by double-click. With --svg it is a picture of one pair, with --text a grid
of letters for the terminal. The links come from a file, or from a model with --model; JSON lines that hold
both text and links need no other file. With --compare, another system's links are drawn beside them."""
EXAMPLES = """\
  bitweft view links.jsonl -o page.html
  bitweft view en.txt fr.txt links.txt -o page.html
  bitweft view test.en test.fr links.txt --gold test.gold -o page.html
  bitweft view en.txt fr.txt --model enfr.weft -o page.html
  bitweft view en.txt fr.txt links.txt --compare other-links.txt -o page.html
  bitweft view en.txt fr.txt links.txt --line 7 --svg -o pair7.svg
  bitweft view en.txt fr.txt links.txt --line 7 --text"""

_WIDTH = 100  # of a grid that goes to a file


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_viewed(parser)
    parser.add_argument("--gold", metavar="GOLD", help="gold links to compare with")
    parser.add_argument("--gold-format", choices=tuple(LINK_FORMATS), metavar="FORMAT", help="format of GOLD")
    parser.add_argument(
        "--one-based-gold", action="store_true", default=None, help="indices of GOLD begin at 1"
    )
    parser.add_argument("--compare", metavar="OTHER", help="links of another system, drawn beside them")
    parser.add_argument(
        "--compare-format", choices=tuple(LINK_FORMATS), metavar="FORMAT", help="format of OTHER"
    )
    parser.add_argument(
        "--one-based-compare", action="store_true", default=None, help="indices of OTHER begin at 1"
    )
    parser.add_argument("--line", type=at_least(1), metavar="N", help="only the pair on line N")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--svg", action="store_true", help="draw the pair of --line as one SVG picture")
    shape.add_argument("--text", action="store_true", help="draw a grid of letters for each pair")
    shape.add_argument(
        "--edit",
        action="store_true",
        help="correct the links in the browser, as `bitweft edit` does; FILE is GOLD",
    )
    add_editing(parser)
    parser.add_argument("--title", help="title of the page (default: the files' names)")
    add_output(parser, "the page, the picture or the grids")


def run(args: argparse.Namespace) -> None:
    """Write the page, the picture or the grids."""
    _settle(args)
    if args.edit:
        edit(args)
        return
    text = viewed_text(args)
    with open_output(args.output, force=args.force) as stream:
        write = _write_drawings if args.svg or args.text else _write_page
        drawn = stream if args.line is None or args.text else io.StringIO()  # one pair, or none at all
        count = write(args, text, drawn)
        if args.line is not None and not count:
            raise InputError("the text ends before this line", file=text.names[0], line=args.line)
        if isinstance(drawn, io.StringIO) and drawn is not stream:
            stream.write(drawn.getvalue())
    if isinstance(text, Bitext):
        report_oddities(text)
    if args.output not in (None, "-"):
        sys.stderr.write(f"bitweft: {args.output}: {count:,} sentence pair{'s' * (count != 1)}\n")


def _settle(args: argparse.Namespace) -> None:
    """Find out which argument is which, and refuse what does not go together."""
    settle_links(args)
    if [args.source, args.target, args.links, args.gold, args.compare].count("-") > 1:
        raise UsageError("standard input can be only one of text, links, gold and the other links")
    if args.compare is not None and (args.svg or args.text):
        raise UsageError("--compare is for the page: --svg and --text draw one system's links")
    if args.svg and args.line is None:
        raise UsageError("--svg draws one pair: say which with --line N")
    if args.output in (None, "-") and not (args.svg or args.text) and sys.stdout.isatty():
        raise UsageError("give -o page.html for a page, or --text for grids here")


def _golds(args: argparse.Namespace, text: Bitext | JsonLines) -> Iterator[GoldAlignment] | None:
    if args.gold is None:
        return None
    return wanted(args, read_gold(args.gold, args.gold_format, args.one_based_gold, text=text))


def _others(args: argparse.Namespace, text: Bitext | JsonLines) -> Iterator[Alignment] | None:
    if args.compare is None:
        return None
    link_format, one_based = args.compare_format, args.one_based_compare
    return wanted(args, read_alignments(args.compare, link_format, one_based, text=text))


def _write_page(args: argparse.Namespace, text: Bitext | JsonLines, stream: TextIO) -> int:
    linked = tee(linked_pairs(args, text), 3)
    name = _base(args.model or args.links or args.source)
    parts = [f"model {name}"] if args.model is not None else []
    parts += [f"links {name}"] if args.links is not None else []  # otherwise the title names them
    parts += [f"gold {_base(args.gold)}"] if args.gold is not None else []
    parts += [f"compared with {_base(args.compare)}"] if args.compare is not None else []
    return page(
        (each.pair for each in linked[0]),
        (each.alignment for each in linked[1]),
        _golds(args, text),
        stream=stream,
        scores=(each.score for each in linked[2]),
        title=" – ".join(map(_base, text.names)) if args.title is None else args.title,
        note=" · ".join(parts),
        others=_others(args, text),
        systems=(name, _base(args.compare or "")),
        first=args.line or 1,
    )


def _base(path: str) -> str:
    return os.path.basename(os.path.normpath(path))


def _write_drawings(args: argparse.Namespace, text: Bitext | JsonLines, stream: TextIO) -> int:
    terminal = stream.isatty()
    color = wants_color(stream)
    width = shutil.get_terminal_size().columns if terminal else _WIDTH
    golds = _golds(args, text)
    count = 0
    for count, (pair, alignment, _) in enumerate(linked_pairs(args, text), 1):
        gold = None if golds is None else next(golds)
        if args.svg:
            stream.write(svg(pair, alignment, gold))
            continue
        number = count if args.line is None else args.line
        stream.write(_heading(number, alignment, gold) + "\n")
        stream.write(text_grid(pair, alignment, gold, width=width, color=color) + "\n")
    if args.text and args.gold is not None:
        stream.write(LEGEND + "\n")
    return count


def _heading(number: int, alignment: Alignment, gold: GoldAlignment | None) -> str:
    heading = f"{number}: {len(alignment)} link{'s' * (len(alignment) != 1)}"
    if gold is None:
        return heading
    counts = Counts.of(alignment, gold)
    rates = (("precision", counts.precision), ("recall", counts.recall), ("AER", counts.aer))
    return f"{heading}, " + ", ".join(f"{name} {100 * rate:.1f}" for name, rate in rates)
