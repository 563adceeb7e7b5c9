"""`bitweft train`: learn a model from parallel text and keep it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bitweft.cli.learning import (
    add_learning,
    add_running,
    check_offers,
    learn,
    new_aligner,
    refuse_learning,
    say,
    tagged,
    tuning_line,
)
from bitweft.cli.options import add_languages, add_text, bitext_of, languages_of, report_oddities
from bitweft.cli.progress import Meter, duration
from bitweft.cli.sharded import add_ray, check_shards, train_shards
from bitweft.errors import UsageError
from bitweft.links.alignment import GoldAlignment
from bitweft.links.formats.registry import read_gold
from bitweft.storage.output import clear_leftovers, is_within, refuse_inputs
from bitweft.text.bitext import Bitext, SentencePair

if TYPE_CHECKING:
    from bitweft.aligner import Aligner
    from bitweft.recipes.base import Recipe
    from bitweft.storage.checkpoint import Checkpoint

DESCRIPTION = """\
Learn a model from parallel text and keep it as a directory: `bitweft align --model DIR` then gives the links
of any text, those of a pair the same whenever and wherever. Lines that cannot be read are left out, and
counted."""
EXAMPLES = """\
  bitweft train en.txt fr.txt -o enfr.weft
  bitweft train text.en-fr.zst -o enfr.weft --seed 7 --languages en fr --note 'CC BY 4.0, from Tatoeba'
  bitweft train more.en more.fr --from enfr.weft -o more.weft
  bitweft train en.txt fr.txt -o enfr.weft --checkpoint-every 600 --resume
  bitweft train --shards 'corpus/*.zst' -o enfr.weft --ray auto
  bitweft train en.txt fr.txt -o paper.weft --recipe paper --tags en.pos fr.pos \\
      --dev dev.en dev.fr dev.gold --dev-tags dev.en.pos dev.fr.pos"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_text(parser, optional=True)
    parser.set_defaults(tokenize=None)
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the model's directory")
    parser.add_argument("--force", action="store_true", help="overwrite the model if it exists")
    parser.add_argument(
        "--note", metavar="TEXT", help="kept with the model: where the text is from, and its license"
    )
    parser.add_argument("--strict", action="store_true", help="fail at a line that cannot be read")
    parser.add_argument(
        "--from", dest="start", metavar="DIR", help="learn on from this model, with the new text"
    )
    parser.add_argument(
        "--checkpoint-every",
        type=float,
        metavar="SECONDS",
        help="keep the state of learning this often (600); the paper's recipe, at the end of an epoch",
    )
    parser.add_argument(
        "--checkpoint", metavar="DIR", help="where to keep it (the model's directory with .checkpoint added)"
    )
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint, if there is one")
    parser.add_argument(
        "--dev",
        nargs=3,
        metavar=("SOURCE", "TARGET", "GOLD"),
        help="text with gold links, from which the recipe learns which links to give (paper: alpha and the "
        "heuristic)",
    )
    parser.add_argument(
        "--dev-tags", nargs=2, metavar=("SOURCE", "TARGET"), help="the tags of that text, as with --tags"
    )
    group = parser.add_argument_group("training in parts, on any number of machines")
    group.add_argument(
        "--shards",
        nargs="+",
        metavar="GLOB",
        help="the text: one pattern of joint files, or one for each side; the model is that of all of them, "
        "one after the other",
    )
    group.add_argument(
        "--begin",
        action="store_true",
        help="stop before --shards are counted: `bitweft count` and `bitweft merge` do that",
    )
    group.add_argument(
        "--parts", metavar="DIR", help="where counts are kept on the way, for all workers; a directory or URL"
    )
    add_ray(group)
    add_learning(parser)
    add_languages(parser)
    add_running(parser)


def run(args: argparse.Namespace) -> None:
    """Train."""
    from bitweft.storage.model_directory import check_free, digest

    check_shards(args)
    if args.shards is not None:
        train_shards(args, new_aligner(args), save)
        return
    inputs = [args.source, args.target, args.known_links, args.lexicon, *(args.tags or ()), *(args.dev or ())]
    refuse_inputs(args.output, [*inputs, *(args.dev_tags or ())])
    if finished(args):
        say(args, f"{args.output}: learned and saved before the stop")
        return
    check_free(args.output, force=args.force)
    aligner = start(args)
    checkpoint = checkpoint_of(args, aligner.recipe)
    args.tokenize = args.tokenize or aligner.about.tokenize
    bitext = bitext_of(args, strict=args.strict)
    dev = read_dev(args)
    with Meter(quiet=args.quiet) as meter:
        continuing = args.start is not None
        text = tagged(bitext, args.tags)
        learn(aligner, text, args, meter, checkpoint=checkpoint, continue_training=continuing)
    if dev is not None:
        say(args, tuning_line(aligner.tune(*dev)))
    if not args.quiet:
        report_oddities(bitext)
    if checkpoint is not None:
        checkpoint.finish(digest(aligner.about))
    save(args, aligner)
    if checkpoint is not None:
        checkpoint.remove()


def save(args: argparse.Namespace, aligner: Aligner) -> None:
    """Save the model, and say what it took."""
    aligner.save(args.output, force=args.force, languages=languages_of(args), note=args.note)
    training = aligner.about.training
    assert training is not None
    say(
        args,
        f"{args.output}: learned from {training.pairs:,} pairs in {duration(training.seconds)} "
        f"({duration(training.cpu_seconds)} of CPU time)",
    )


def read_dev(args: argparse.Namespace) -> tuple[list[SentencePair], list[GoldAlignment]] | None:
    """Read the text with gold links before anything is learned, if there is one."""
    if args.dev is None:
        if args.dev_tags is not None:
            raise UsageError("--dev-tags needs --dev")
        return None
    source, target, gold = args.dev
    text = Bitext(source, target, tokenize=args.tokenize)
    return list(tagged(text, args.dev_tags)), list(read_gold(gold, text=text))


def start(args: argparse.Namespace) -> Aligner:
    """Make a new aligner, or load the one to learn on from."""
    if args.start is None:
        return new_aligner(args)
    from bitweft.aligner import Aligner

    refuse_learning(args, "--from goes on with the model's own settings", but=("lexicon",))
    aligner = Aligner.load(args.start, threads=args.threads, device=args.device, kernels=args.kernels)
    check_offers(aligner.recipe, args)
    return aligner


def checkpoint_directory(args: argparse.Namespace) -> str:
    """Name the directory of the checkpoint."""
    return args.checkpoint or f"{args.output.rstrip('/')}.checkpoint"


def finished(args: argparse.Namespace) -> bool:
    """Tell whether --resume comes after a stop behind the saving of the model; if so, clear up."""
    from bitweft.storage.checkpoint import Checkpoint
    from bitweft.storage.model_directory import digest, read_about

    output, directory = Path(args.output), Path(checkpoint_directory(args))
    if not args.resume or args.force or not output.is_dir() or not directory.is_dir():
        return False
    checkpoint = Checkpoint(directory, resume=True)
    if checkpoint.result is None or checkpoint.result != digest(read_about(output)):
        return False
    clear_leftovers(output)
    checkpoint.remove()
    return True


def checkpoint_of(args: argparse.Namespace, recipe: Recipe) -> Checkpoint | None:
    """Make the checkpoint that the options ask for, if they do."""
    if args.checkpoint_every is None and args.checkpoint is None and not args.resume:
        return None
    from bitweft.recipes.base import Offer, require
    from bitweft.storage.checkpoint import Checkpoint

    if args.resume:
        require(recipe, Offer.CHECKPOINT, "--resume")
    directory = checkpoint_directory(args)
    if is_within(directory, args.output):
        raise UsageError(f"--checkpoint {directory}: it needs a directory of its own, outside the model's")
    every = 600.0 if args.checkpoint_every is None else args.checkpoint_every
    return Checkpoint(directory, every=every, resume=args.resume)
