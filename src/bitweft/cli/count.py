"""`bitweft count`: what one shard adds to a model on its way."""

from __future__ import annotations

import argparse

from bitweft.cli.learning import say
from bitweft.cli.options import add_quiet, add_text
from bitweft.storage.output import refuse_inputs

DESCRIPTION = """\
Count the expected links of one shard of a text by a model that `bitweft train --shards … --begin` has begun.
`bitweft merge` takes the parts of all shards. A part that is there already, of the same model and shard, is
kept. Shards may be counted anywhere, in any order, and again: the model comes to the same bits."""
EXAMPLES = """\
  bitweft train --shards 'corpus/*.zst' --begin -o enfr.weft
  bitweft count enfr.weft corpus/07.zst -o parts/07.part
  bitweft merge parts/*.part -o enfr.weft"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("model", metavar="MODEL", help="the directory of the model on its way, or its URL")
    add_text(parser)
    parser.add_argument(
        "-o", "--output", metavar="PART", required=True, help="the file of the part, or its URL"
    )
    parser.add_argument("--strict", action="store_true", help="fail at a line that cannot be read")
    add_quiet(parser)


def run(args: argparse.Namespace) -> None:
    """Count."""
    from bitweft.aligner import Aligner
    from bitweft.cluster.parts import count_shard
    from bitweft.corpus.align_shards import model_digest

    inputs = [name for name in (args.source, args.target) if name is not None]
    refuse_inputs(args.output, inputs)
    aligner = Aligner.load(args.model, threads=1)
    tokenize = aligner.about.tokenize
    reading = {"tokenize": tokenize, "format": args.format, "languages": args.keys, "strict": args.strict}
    pairs = count_shard(aligner, model_digest(args.model), inputs, reading, args.output)
    say(args, f"{args.output}: {pairs:,} pairs counted")
