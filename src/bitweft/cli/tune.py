"""`bitweft tune`: a model that learns from gold links which links their guidelines ask for."""

from __future__ import annotations

import argparse

from bitweft.cli.learning import add_running, say, tell_preparation, tuning_line
from bitweft.cli.progress import Meter
from bitweft.errors import UsageError
from bitweft.links.formats.registry import LINK_FORMATS, read_gold
from bitweft.text.bitext import Bitext

DESCRIPTION = """\
Let a model learn from text with gold links, sure and possible, which links these guidelines ask for: a style
between single words and whole phrases, a threshold, and what its own numbers say of links. Twenty sentences
are enough to begin with; some hundred are worth a quarter to a half of all errors where links are phrases.

What to expect is said by cross-validation: the alignment error rate before and after, on sentences that
were not learned from, and the 95 % interval of the change. What is not surely better is not taken: the model
then stays as it is."""
EXAMPLES = """\
  bitweft tune enro.weft dev.en dev.ro dev.gold
  bitweft tune enro.weft dev.en dev.ro dev.wa --gold-format naacl -o tuned.weft"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("model", metavar="MODEL", help="the model's directory")
    parser.add_argument("source", metavar="SOURCE", help="text with gold links, source language")
    parser.add_argument("target", metavar="TARGET", help="its translation")
    parser.add_argument("gold", metavar="GOLD", help="the gold links, sure and possible")
    parser.add_argument(
        "--gold-format",
        choices=tuple(LINK_FORMATS),
        metavar="FORMAT",
        help="of GOLD; told by content if certain",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="where to write the tuned model (over MODEL)")
    parser.add_argument("--force", action="store_true", help="overwrite a model at --output")
    add_running(parser)


def run(args: argparse.Namespace) -> None:
    """Tune."""
    from bitweft.aligner import Aligner
    from bitweft.recipes.base import Offer, require
    from bitweft.storage.model_directory import check_free

    if args.output is not None:
        check_free(args.output, force=args.force)
    elif args.force:
        raise UsageError("--force needs --output: without it, the model itself is tuned")
    aligner = Aligner.load(args.model, threads=args.threads, device=args.device, kernels=args.kernels)
    require(aligner.recipe, Offer.TUNE, "tune")
    text = Bitext(args.source, args.target, tokenize=aligner.about.tokenize)
    gold = list(read_gold(args.gold, args.gold_format, text=text))
    with Meter(quiet=args.quiet) as meter:
        tell_preparation(aligner.recipe, meter, quiet=args.quiet)
        tuning = aligner.tune(text, gold)
    aligner.save(args.output or args.model, force=True)
    say(args, tuning_line(tuning))
