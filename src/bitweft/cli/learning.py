"""What the verbs that learn share: their options, what a recipe offers of them, and learning with a bar."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bitweft.cli.options import add_quiet, at_least
from bitweft.cli.progress import Meter
from bitweft.errors import UsageError
from bitweft.recipes.registry import DEFAULT, recipe_names, recipe_options
from bitweft.text.bitext import Bitext, SentencePair
from bitweft.text.tags import TaggedText

if TYPE_CHECKING:
    from bitweft.aligner import Aligner
    from bitweft.recipes.base import Recipe, Tuning
    from bitweft.storage.checkpoint import Checkpoint

NONE = "none"  # a side without tags


def add_learning(parser: argparse.ArgumentParser) -> None:
    """Add the options of learning; `new_aligner` makes an aligner of them."""
    group = parser.add_argument_group("learning")
    group.add_argument(
        "--recipe",
        metavar="NAME",
        help=f"how to learn: {', '.join(recipe_names())} ({DEFAULT}); paper is that of Legrand et al. (2016)",
    )
    group.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting of the recipe; `bitweft show` lists those of a model",
    )
    group.add_argument("--seed", type=at_least(0), metavar="N", help="seed of the random numbers (1)")
    group.add_argument(
        "--lowercase",
        action=argparse.BooleanOptionalAction,
        help="ignore the case of letters (the default)",
    )
    group.add_argument(
        "--lexicon",
        metavar="FILE",
        help="known word pairs, `source TAB target [TAB weight]` a line; a pair counts as seen linked WEIGHT "
        "times (10)",
    )
    group.add_argument(
        "--known-links",
        metavar="FILE",
        help="known links of the text, `0-0 1-2` a line; a word that has known links gets no others",
    )
    for options in recipe_options().values():
        options.add_options(parser)


def add_running(parser: argparse.ArgumentParser) -> None:
    """Add --threads, --device, --kernels and --quiet."""
    parser.add_argument(
        "--threads", type=at_least(1), metavar="N", help="threads to use (all cores); the result is the same"
    )
    parser.add_argument("--device", default="cpu", metavar="D", help="where to compute, such as cuda (cpu)")
    parser.add_argument(
        "--kernels",
        default="auto",
        metavar="KIND",
        help="inner loops of the default recipe: compiled, torch, or auto (compiled on the CPU)",
    )
    add_quiet(parser)


def tagged(text: Bitext, files: Sequence[str] | None) -> Bitext | TaggedText:
    """Give a text the tags of files beside it, if there are any."""
    if files is None:
        return text
    source, target = (None if file == NONE else file for file in files)
    return TaggedText(text, source=source, target=target)


def refuse_learning(args: argparse.Namespace, why: str, *, but: Sequence[str] = ()) -> None:
    """Refuse options of learning where nothing is learned; --tags are of the text, not of learning."""
    names = {name: f"--{name}" for name in ("recipe", "seed", "lowercase", "lexicon")}
    for options in recipe_options().values():
        names |= {name: flag for name, flag in options.FLAGS.items() if name != "tags"}
    given = [flag for name, flag in names.items() if getattr(args, name) is not None and name not in but]
    given += ["--set"] if args.settings else []
    if given:
        raise UsageError(f"{', '.join(given)}: {why}")


def check_offers(recipe: Recipe | type[Recipe], args: argparse.Namespace) -> None:
    """Refuse the options that this recipe does not offer, by their names."""
    from bitweft.recipes.base import Offer, require

    offers = {
        "lexicon": (Offer.LEXICON, "--lexicon"),
        "known_links": (Offer.KNOWN_LINKS, "--known-links"),
        "start": (Offer.CONTINUE, "--from"),
        "checkpoint": (Offer.CHECKPOINT, "--checkpoint"),
        "checkpoint_every": (Offer.CHECKPOINT_EVERY, "--checkpoint-every"),
        "tags": (Offer.TAGS, "--tags"),
        "dev": (Offer.TUNE, "--dev"),
        "precision": (Offer.THRESHOLD, "--precision"),
        "recall": (Offer.THRESHOLD, "--recall"),
        "threshold": (Offer.THRESHOLD, "--threshold"),
        "null": (Offer.NULL, "--null"),
        "links": (Offer.STYLE, "--links"),
    }
    for name, (offer, flag) in offers.items():
        if getattr(args, name, None) not in (None, False):
            require(recipe, offer, flag)
    for name, options in recipe_options().items():
        for argument, flag in options.FLAGS.items():
            if name != recipe.name and getattr(args, argument, None) is not None:
                raise UsageError(f"{flag} is not supported by the recipe {recipe.name!r}")


def new_aligner(args: argparse.Namespace) -> Aligner:
    """Make the aligner that the options ask for."""
    from bitweft.aligner import Aligner
    from bitweft.recipes.registry import recipe_named

    name = args.recipe or DEFAULT
    check_offers(recipe_named(name), args)
    options = recipe_options().get(name)
    if options is None and args.lowercase is not None:
        raise UsageError(f"--lowercase is not supported by the recipe {name!r}")
    settings = [*(options.settings_of(args) if options is not None else ()), *args.settings]
    seed = 1 if args.seed is None else args.seed
    running = {"threads": args.threads, "device": args.device, "kernels": args.kernels}
    return Aligner(name, seed=seed, settings=settings, **running)


def learn(
    aligner: Aligner,
    text: Bitext | TaggedText | Iterable[SentencePair],
    args: argparse.Namespace,
    meter: Meter,
    *,
    checkpoint: Checkpoint | None = None,
    continue_training: bool = False,
    hold_text: bool = False,
) -> None:
    """Learn from a text, showing how far it is."""
    from bitweft.links.known import KnownLinks, read_lexicon

    lexicon, left_out = ([], 0) if args.lexicon is None else read_lexicon(args.lexicon)
    if left_out and not args.quiet:
        meter.say(f"{args.lexicon}: {left_out:,} entries of several words left out")
    tell_preparation(aligner.recipe, meter, quiet=args.quiet, learning=True)
    aligner.fit(
        text,
        progress=meter.show,
        lexicon=lexicon,
        known_links=None if args.known_links is None else KnownLinks(args.known_links),
        checkpoint=checkpoint,
        continue_training=continue_training,
        hold_text=hold_text,
    )


def tell_preparation(recipe: Recipe, meter: Meter, *, quiet: bool = False, learning: bool = False) -> None:
    """Say what takes long before the first use on this machine, if anything does."""
    preparation = recipe.preparation(learning=learning)
    if preparation is not None and not quiet:
        meter.say(preparation)


def tuning_line(tuning: Tuning) -> str:
    """Say what tuning came to."""
    expected = tuning.expected
    if expected is None:
        return (
            f"dev: {tuning.chosen}: AER {100 * tuning.after.aer:.1f} % (before: "
            f"{100 * tuning.before.aer:.1f} %) on {tuning.after.sentences:,} pairs"
        )
    return (
        f"dev: {tuning.chosen}: AER {100 * expected.after:.1f} % expected (before: "
        f"{100 * expected.before:.1f} %; 95 % interval of the change {100 * expected.low:+.1f} to "
        f"{100 * expected.high:+.1f}), cross-validated on {tuning.after.sentences:,} pairs"
    )


def say(args: argparse.Namespace, text: str) -> None:
    """Write a message unless asked to be quiet."""
    if not args.quiet:
        sys.stderr.write(f"bitweft: {text}\n")
