"""`bitweft train`: learn a model from parallel text and keep it."""

from __future__ import annotations

import argparse
from typing import Any

from bitweft.cli.learning import (
    add_learning,
    add_running,
    add_tags,
    learn,
    new_aligner,
    refuse_learning,
    say,
    tagged,
)
from bitweft.cli.options import add_text, bitext_of, report_oddities
from bitweft.cli.progress import Meter, duration
from bitweft.errors import UsageError
from bitweft.storage.output import is_within, refuse_inputs
from bitweft.text.bitext import Bitext

DESCRIPTION = """\
Learn a model from parallel text and keep it as a directory: `bitweft align --model DIR` then gives the links of
any text, those of a pair the same whenever and wherever. Damaged lines are passed over and counted."""
EXAMPLES = """\
  bitweft train en.txt fr.txt -o enfr.weft
  bitweft train text.en-fr.zst -o enfr.weft --seed 7 --languages en fr --note 'CC BY 4.0, from Tatoeba'
  bitweft train more.en more.fr --from enfr.weft -o more.weft
  bitweft train en.txt fr.txt -o enfr.weft --checkpoint-every 600 --resume
  bitweft train en.txt fr.txt -o paper.weft --recipe paper --tags en.pos fr.pos --dev dev.en dev.fr dev.gold \\
      --dev-tags dev.en.pos dev.fr.pos"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_text(parser)
    parser.set_defaults(tokenize=None)
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the model's directory")
    parser.add_argument("--force", action="store_true", help="overwrite the model if it exists")
    parser.add_argument(
        "--note", metavar="TEXT", help="kept with the model: where the text is from, and its licence"
    )
    parser.add_argument("--strict", action="store_true", help="fail at a line that cannot be read")
    parser.add_argument("--from", dest="start", metavar="DIR", help="go on from this model with the new text")
    parser.add_argument(
        "--members", type=int, metavar="N", help="members of the ensemble of the paper's recipe"
    )
    parser.add_argument(
        "--checkpoint-every", type=float, metavar="SECONDS", help="keep the state of learning this often"
    )
    parser.add_argument(
        "--checkpoint", metavar="DIR", help="where to keep it (the model's directory with .checkpoint added)"
    )
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint, if there is one")
    parser.add_argument(
        "--dev",
        nargs=3,
        metavar=("SOURCE", "TARGET", "GOLD"),
        help="text with gold links, by which the paper's recipe chooses α and the heuristic",
    )
    parser.add_argument(
        "--dev-tags", nargs=2, metavar=("SOURCE", "TARGET"), help="the tags of that text, as with --tags"
    )
    add_learning(parser)
    add_tags(parser)
    add_running(parser)


def run(args: argparse.Namespace) -> None:
    """Train."""
    from bitweft.storage.model_directory import check_free

    inputs = [args.source, args.target, args.known_links, args.lexicon, *(args.tags or ()), *(args.dev or ())]
    refuse_inputs(args.output, [*inputs, *(args.dev_tags or ())])
    check_free(args.output, force=args.force)
    aligner = start(args)
    help = checkpoint(args)
    help |= {} if args.start is None else {"go_on": True}
    args.tokenize = args.tokenize or aligner.about.tokenize
    bitext = bitext_of(args, strict=args.strict)
    dev = read_dev(args)
    with Meter(quiet=args.quiet) as meter:
        learn(aligner, tagged(bitext, args.tags), args, meter, **help)
    if dev is not None:
        score = aligner.tune(*dev)
        chosen = aligner.recipe.config.decoding
        say(
            args,
            f"dev: {chosen.heuristic}, α {chosen.alpha:g}: AER {100 * score.aer:.1f} % "
            f"on {score.sentences:,} pairs",
        )
    if not args.quiet:
        report_oddities(bitext)
    languages = None if args.languages is None else tuple(args.languages)
    aligner.save(args.output, force=args.force, languages=languages, note=args.note)
    if "checkpoint" in help:
        help["checkpoint"].remove()
    training = aligner.about.training
    say(
        args,
        f"{args.output}: learned from {training['pairs']:,} pairs in {duration(training['seconds'])} "
        f"({duration(training['cpu_seconds'])} of CPU time)",
    )


def read_dev(args: argparse.Namespace) -> Any:
    """Read the text with gold links before anything is learned, if there is one."""
    if args.dev is None:
        if args.dev_tags is not None:
            raise UsageError("--dev-tags without --dev")
        return None
    if args.recipe != "paper":
        raise UsageError("--dev is for --recipe paper: the default recipe leaves nothing to choose")
    from bitweft.links.formats.registry import read_gold

    source, target, gold = args.dev
    text = Bitext(source, target, tokenize=args.tokenize)
    return list(tagged(text, args.dev_tags)), list(read_gold(gold, text=text))


def start(args: argparse.Namespace) -> Any:
    """Make a new aligner, or load the one to go on from."""
    if args.start is None:
        if args.members is not None:
            if args.recipe != "paper":
                raise UsageError("--members is for --recipe paper")
            args.settings = [*args.settings, f"members={args.members}"]
        return new_aligner(args)
    from bitweft.aligner import Aligner

    lexicon, args.lexicon = args.lexicon, None
    refuse_learning(args, "--from goes on with the model's own settings")
    if args.tags is not None:
        raise UsageError("--tags are for --recipe paper, whose models cannot go on")
    args.lexicon = lexicon
    return Aligner.load(args.start, threads=args.threads, device=args.device)


def checkpoint(args: argparse.Namespace) -> dict[str, Any]:
    """Make the checkpoint that the options ask for, if they do."""
    if args.checkpoint_every is None and args.checkpoint is None and not args.resume:
        return {}
    from bitweft.storage.checkpoint import Checkpoint

    directory = args.checkpoint or f"{args.output.rstrip('/')}.checkpoint"
    if is_within(directory, args.output):
        raise UsageError(f"--checkpoint {directory}: it needs a directory of its own, outside the model's")
    every = 600.0 if args.checkpoint_every is None else args.checkpoint_every
    return {"checkpoint": Checkpoint(directory, every=every, resume=args.resume)}
