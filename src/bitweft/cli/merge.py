"""`bitweft merge`: a model on its way, and what all shards have added to it."""

from __future__ import annotations

import argparse

from bitweft.cli.learning import say
from bitweft.cli.options import add_quiet

DESCRIPTION = """\
Merge what `bitweft count` has counted of all shards of a text into the model that they were counted by. The
model is replaced or, with --from, another one written. The text is counted twice by default: the second time
by the model that the first merge gave."""
EXAMPLES = """\
  bitweft merge parts/*.part -o enfr.weft
  bitweft merge 1/*.part --from begun.weft -o first.weft"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("parts", metavar="PART", nargs="+", help="the parts of all shards, or their URLs")
    parser.add_argument("-o", "--output", metavar="MODEL", required=True, help="the model's directory")
    parser.add_argument(
        "--from", dest="start", metavar="DIR", help="the model that the parts were counted by (that of -o)"
    )
    parser.add_argument("--force", action="store_true", help="overwrite the model if it exists")
    add_quiet(parser)


def run(args: argparse.Namespace) -> None:
    """Merge."""
    from bitweft.aligner import Aligner
    from bitweft.cluster.parts import merge_parts
    from bitweft.corpus.align_shards import model_digest
    from bitweft.storage.model_directory import check_free

    start = args.start or args.output
    force = args.force or args.start is None
    check_free(args.output, force=force)
    aligner = Aligner.load(start)
    merge_parts(aligner, model_digest(start), args.parts)
    aligner.save(args.output, force=force)
    left = aligner.recipe.in_parts().passes_left
    todo = f"; count the shards by it {left:,} more times" if left else "; it has learned all"
    say(args, f"{args.output}: {len(args.parts):,} parts merged{todo}")
