"""`bitweft symmetrize`: the links of two directions made one."""

from __future__ import annotations

import argparse

from bitweft.cli.options import add_link_format, add_output
from bitweft.links.formats.registry import read_alignments, write_alignments
from bitweft.links.symmetrize import HEURISTICS, ORDERS, symmetrize_all
from bitweft.storage.output import open_output

DESCRIPTION = """\
Combine the links of two directions, line by line. Both files give links as source-target, as fast_align,
eflomal and bitweft write them; turn others round with `bitweft convert --inverse`.

heuristics: all but the union start from the links of both directions, and add links that one of them has
  intersection            nothing is added
  union                   everything is
  grow                    neighbors beside, above and below, where either word is unaligned
  grow-diag               diagonal neighbors too
  grow-diag-final         then every link where either word is unaligned, forward before backward
  grow-diag-final-and     then every link where both words are unaligned, forward before backward
  strict-grow-diag        neighbors where both words are unaligned
  strict-grow-diag-final  then every link where both words are unaligned

The strict ones are those of github.com/lilt/alignment-scripts (grow-diagonal, grow-diagonal-final), by which
many published figures were made; the others are those of Moses.

Where two candidate links compete for a word, the one tried first wins; --order says which that is."""
EXAMPLES = """\
  bitweft symmetrize forward.links backward.links --heuristic grow-diag-final-and -o both.links
  bitweft symmetrize forward.links backward.links --heuristic grow-diag --order atools
  bitweft symmetrize forward.scored backward.scored --heuristic intersection --to scored"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("forward", metavar="FORWARD", help="links in which each target word chose its source")
    parser.add_argument("backward", metavar="BACKWARD", help="links of the other direction")
    parser.add_argument(
        "--heuristic",
        choices=HEURISTICS,
        default="grow-diag-final-and",
        metavar="NAME",
        help="how to combine them, see above (grow-diag-final-and)",
    )
    parser.add_argument(
        "--order",
        choices=ORDERS,
        default="moses",
        help="order in which links are tried: that of Moses' symal, or of fast_align's atools (moses)",
    )
    add_link_format(parser, what="both files")
    parser.add_argument(
        "--to",
        choices=("pharaoh", "scored", "talp"),
        default="pharaoh",
        help="format to write (pharaoh); scored keeps the scores where both files have them",
    )
    add_output(parser, "the links")


def run(args: argparse.Namespace) -> None:
    """Symmetrize."""
    forward, backward = (
        read_alignments(path, args.link_format, args.one_based) for path in (args.forward, args.backward)
    )
    names = (args.forward, args.backward)
    combined = symmetrize_all(forward, backward, args.heuristic, order=args.order, names=names)
    with open_output(args.output, force=args.force) as stream:
        write_alignments(stream, combined, args.to)
