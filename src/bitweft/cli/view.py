"""`bitweft view`: alignments to look at."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from itertools import islice, tee
from typing import NamedTuple, TextIO, TypeVar

from bitweft.cli.options import add_dialect, add_output, add_text, bitext_of, report_oddities
from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.evaluate import Counts
from bitweft.links.formats.registry import DIALECTS, read_entries, read_gold
from bitweft.storage.output import open_output
from bitweft.text.bitext import Bitext, SentencePair
from bitweft.viewer import LEGEND, page, svg, text_grid

DESCRIPTION = """\
Look at links. The result is a page for the browser: one HTML file that holds everything it needs, works
without a network and opens by double-click. With --svg it is a picture of one pair, with --text a grid
of letters for the terminal. The links come from a file, or from a model with --model."""
EXAMPLES = """\
  bitweft view en.txt fr.txt links.txt -o page.html
  bitweft view test.en test.fr links.txt --gold test.gold -o page.html
  bitweft view en.txt fr.txt --model enfr.weft -o page.html
  bitweft view en.txt fr.txt links.txt --line 7 --svg -o pair7.svg
  bitweft view en.txt fr.txt links.txt --line 7 --text"""

Item = TypeVar("Item")

_WIDTH = 100  # of a grid that goes to a file


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_text(parser)
    parser.add_argument("links", metavar="LINKS", nargs="?", help="the links of the text")
    add_dialect(parser)
    parser.add_argument("--model", metavar="DIR", help="align the text with this model, instead of LINKS")
    parser.add_argument("--gold", metavar="GOLD", help="gold links to compare with")
    parser.add_argument("--gold-format", choices=tuple(DIALECTS), metavar="FORMAT", help="format of GOLD")
    parser.add_argument(
        "--one-based-gold", action="store_true", default=None, help="indices of GOLD begin at 1"
    )
    parser.add_argument("--line", type=int, metavar="N", help="only the pair on line N")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--svg", action="store_true", help="draw the pair of --line as one SVG picture")
    shape.add_argument("--text", action="store_true", help="draw a grid of letters for each pair")
    parser.add_argument("--title", help="title of the page (default: the files' names)")
    add_output(parser, "the page, the picture or the grids")


def run(args: argparse.Namespace) -> None:
    """Write the page, the picture or the grids."""
    _settle(args)
    text = bitext_of(args)
    with open_output(args.output, force=args.force) as stream:
        write = _write_drawings if args.svg or args.text else _write_page
        drawn = stream if args.line is None or args.text else io.StringIO()  # one pair, or none at all
        count = write(args, text, drawn)
        if args.line is not None and not count:
            raise InputError("the text ends before this line", file=text.names[0], line=args.line)
        if isinstance(drawn, io.StringIO) and drawn is not stream:
            stream.write(drawn.getvalue())
    report_oddities(text)
    if args.output not in (None, "-"):
        sys.stderr.write(f"bitweft: {args.output}: {count:,} sentence pair{'s' * (count != 1)}\n")


def _settle(args: argparse.Namespace) -> None:
    """Find out which argument is which, and refuse what does not go together."""
    if args.links is None and args.model is None:
        args.target, args.links = None, args.target  # a joint file, and links
        if args.links is None or not _is_joint(args):
            raise UsageError("no links: give LINKS, or a model with --model DIR")
    if args.links is not None and args.model is not None:
        raise UsageError("give LINKS or --model DIR, not both")
    if [args.source, args.target, args.links, args.gold].count("-") > 1:
        raise UsageError("standard input can be only one of text, links and gold")
    if args.line is not None and args.line < 1:
        raise UsageError("--line takes numbers from 1 up")
    if args.svg and args.line is None:
        raise UsageError("--svg draws one pair: say which with --line N")
    if args.output in (None, "-") and not (args.svg or args.text) and sys.stdout.isatty():
        raise UsageError("give -o page.html for a page, or --text for grids here")


def _is_joint(args: argparse.Namespace) -> bool:
    """Tell whether SOURCE holds both sides, as far as can be seen without a walk."""
    if args.source == "-" or args.format != "auto" or not os.path.exists(args.source):
        return True
    try:
        next(iter(bitext_of(args)), None)
    except InputError as error:
        return error.line is not None  # a fault in a line of a joint file, not a file of another kind
    return True


class _Linked(NamedTuple):
    pair: SentencePair
    alignment: Alignment
    score: float | None


def _linked(args: argparse.Namespace, text: Bitext) -> Iterator[_Linked]:
    """Read the links of the wanted lines, or make them."""
    if args.model is None:
        for entry in _wanted(args, read_entries(args.links, args.dialect, args.one_based, text=text)):
            if entry.pair is not None:  # it never is: read_entries was given the text
                yield _Linked(entry.pair, entry.alignment, entry.score)
        return
    from bitweft.aligner import Aligner

    pairs = list(_wanted(args, text))
    for pair, alignment in zip(pairs, Aligner.load(args.model).align(pairs), strict=True):
        yield _Linked(pair, alignment, None)


def _golds(args: argparse.Namespace, text: Bitext) -> Iterator[GoldAlignment] | None:
    if args.gold is None:
        return None
    return _wanted(args, read_gold(args.gold, args.gold_format, args.one_based_gold, text=text))


def _wanted(args: argparse.Namespace, items: Iterable[Item]) -> Iterator[Item]:
    return iter(items) if args.line is None else islice(items, args.line - 1, args.line)


def _write_page(args: argparse.Namespace, text: Bitext, stream: TextIO) -> int:
    linked = tee(_linked(args, text), 3)
    origin = f"model {_base(args.model)}" if args.links is None else f"links {_base(args.links)}"
    return page(
        (each.pair for each in linked[0]),
        (each.alignment for each in linked[1]),
        _golds(args, text),
        stream=stream,
        scores=(each.score for each in linked[2]),
        title=" – ".join(map(_base, text.names)) if args.title is None else args.title,
        note=origin if args.gold is None else f"{origin} · gold {_base(args.gold)}",
        first=args.line or 1,
    )


def _base(path: str) -> str:
    return os.path.basename(os.path.normpath(path))


def _write_drawings(args: argparse.Namespace, text: Bitext, stream: TextIO) -> int:
    terminal = stream.isatty()
    color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = shutil.get_terminal_size().columns if terminal else _WIDTH
    golds = _golds(args, text)
    count = 0
    for count, (pair, alignment, _) in enumerate(_linked(args, text), 1):
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
