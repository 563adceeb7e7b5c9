"""`bitweft eflomal-makepriors`: a file of eflomal's priors from text and links."""

from __future__ import annotations

import argparse

from bitweft.cli.eflomal_align import Named, add_text, log, open_text, sides
from bitweft.storage.output import open_output, refuse_inputs

DESCRIPTION = """\
Make a file of priors as eflomal-makepriors does, from text and the links of both directions: how often words
are linked (LEX), how far links jump (HMMF, HMMR), how many links words have (FERF, FERR). eflomal reads it,
and so does `bitweft eflomal-align -p`."""
EXAMPLES = """\
  bitweft eflomal-align -s en.txt -t fr.txt -f forward.links -r reverse.links
  bitweft eflomal-makepriors -s en.txt -t fr.txt -f forward.links -r reverse.links --priors text.priors"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_text(parser)
    parser.add_argument("-f", "--forward-alignments", metavar="FILE", required=True, help="forward links")
    parser.add_argument("-r", "--reverse-alignments", metavar="FILE", required=True, help="reverse links")
    parser.add_argument("-p", "--priors", metavar="FILE", default="-", help="file to write (stdout)")
    parser.add_argument("--reverse-priors", metavar="FILE", help="file for the priors of target to source")


def run(args: argparse.Namespace) -> None:
    """Make priors; an existing file is overwritten, as eflomal does."""
    from bitweft.compat.eflomal import calculate_priors, write_priors

    log(args.verbose)
    text = open_text(args)
    links = [Named(args.forward_alignments), Named(args.reverse_alignments)]
    inputs = [args.input, args.source, args.target, args.forward_alignments, args.reverse_alignments]
    for path, reverse in ((args.priors, False), (args.reverse_priors, True)):
        if path is None:
            continue
        refuse_inputs(path, inputs)
        counts = calculate_priors(*sides(text), links[0], links[1], reverse=reverse)
        with open_output(path, force=True) as stream:
            write_priors(stream, *counts)
