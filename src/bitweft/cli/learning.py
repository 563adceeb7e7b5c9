"""What the verbs that learn share: their options, and learning with a bar."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bitweft.cli.options import add_quiet
from bitweft.cli.progress import Meter
from bitweft.errors import UsageError
from bitweft.text.bitext import Bitext

if TYPE_CHECKING:
    from bitweft.text.tags import TaggedText

NONE = "none"  # a side without tags


def add_learning(parser: argparse.ArgumentParser) -> None:
    """Add the options of learning; `new_aligner` makes an aligner of them."""
    group = parser.add_argument_group("learning")
    group.add_argument(
        "--recipe",
        choices=("default", "paper"),
        help="how to learn: the default, or as Legrand et al. (2016)",
    )
    group.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting of the recipe; `bitweft show` lists those of a model",
    )
    group.add_argument("--seed", type=int, metavar="N", help="seed of all that is drawn by chance (1)")
    group.add_argument(
        "--lowercase",
        action=argparse.BooleanOptionalAction,
        help="take words as equal whatever their case (the default)",
    )
    group.add_argument(
        "--lexicon",
        metavar="FILE",
        help="known word pairs, `source TAB target [TAB weight]` a line, the weight in times seen (10)",
    )
    group.add_argument(
        "--known-links",
        metavar="FILE",
        help="known links of the text, `0-0 1-2` a line; a word that has some gets no others",
    )


def add_tags(parser: argparse.ArgumentParser) -> None:
    """Add the options of tags; `tagged` gives a text its tags."""
    group = parser.add_argument_group("parts of speech, for the paper's recipe")
    group.add_argument(
        "--tagger",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="learn with tags from spacy:MODEL, stanza:LANGUAGE, classes found in the text, or inline "
        "(`word|TAG`) on each side; or none",
    )
    group.add_argument(
        "--tags",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="files beside the text with a tag for each word, a line a sentence; or none",
    )


def tagged(text: Bitext, files: Sequence[str] | None) -> Bitext | TaggedText:
    """Give a text the tags of files beside it, if there are any."""
    if files is None:
        return text
    from bitweft.text.tags import TaggedText

    source, target = (None if file == NONE else file for file in files)
    return TaggedText(text, source=source, target=target)


def _tag_settings(args: argparse.Namespace, recipe: str) -> list[str]:
    """Turn --tagger and --tags into settings."""
    if args.tagger is None and args.tags is None:
        return []
    if recipe != "paper":
        raise UsageError("--tagger and --tags are for --recipe paper")
    kinds = list(args.tagger or (NONE, NONE))
    for side, file in enumerate(args.tags or ()):
        if file != NONE:
            if kinds[side] not in (NONE, "inline"):
                raise UsageError(f"{file} and {kinds[side]} cannot both tag one side")
            kinds[side] = "inline"
    names = ("source", "target")
    return [f"features.{name}.tags={kind}" for name, kind in zip(names, kinds, strict=True) if kind != NONE]


def add_running(parser: argparse.ArgumentParser) -> None:
    """Add --threads, --device and --quiet."""
    parser.add_argument(
        "--threads", type=int, metavar="N", help="threads to use (all cores); the result is the same"
    )
    parser.add_argument("--device", default="cpu", metavar="D", help="where to compute, such as cuda (cpu)")
    add_quiet(parser)


def refuse_learning(args: argparse.Namespace, why: str) -> None:
    """Refuse options of learning where nothing is learned."""
    names = ("recipe", "seed", "lowercase", "lexicon", "tagger")
    given = [f"--{name}" for name in names if getattr(args, name) is not None]
    given += ["--set"] if args.settings else []
    if given:
        raise UsageError(f"{', '.join(given)}: {why}")


def new_aligner(args: argparse.Namespace) -> Any:
    """Make the aligner that the options ask for."""
    from bitweft.aligner import Aligner

    recipe = args.recipe or "default"
    settings = [*_tag_settings(args, recipe), *args.settings]
    if args.lowercase is not None:
        key = "lowercase" if recipe == "default" else "features.lowercase"
        settings.append(f"{key}={args.lowercase}")
    seed = 1 if args.seed is None else args.seed
    return Aligner(recipe, seed=seed, threads=args.threads, device=args.device, settings=settings)


def learn(
    aligner: Any, text: Bitext | TaggedText, args: argparse.Namespace, meter: Meter, **help: Any
) -> None:
    """Learn from a text, showing how far it is."""
    if args.lexicon is not None:
        from bitweft.links.known import read_lexicon

        lexicon, passed_over = read_lexicon(args.lexicon)
        help["lexicon"] = lexicon
        if passed_over and not args.quiet:
            meter.say(f"{args.lexicon}: {passed_over:,} entries of several words passed over")
    if args.known_links is not None:
        from bitweft.corpus.align_files import KnownLinks

        help["known"] = KnownLinks(args.known_links)
    tell_compiling(aligner.about.recipe, meter, args.quiet)
    aligner.fit(text, progress=meter.show, **help)


def tell_compiling(recipe: str, meter: Meter, quiet: bool = False) -> None:
    """Say so if the inner loops must be compiled first: it takes half a minute without a sign of life."""
    if recipe == "default" and not quiet and _needs_compiling():
        meter.say("compiling, once per installation; this takes half a minute")


def _needs_compiling() -> bool:
    """Tell whether the inner loops will be compiled first: once for each installation, and after a change."""
    from bitweft.recipes.default import kernels

    try:
        return not os.path.exists(kernels.posteriors._cache._cache_file._index_path)
    except AttributeError:  # another numba keeps its cache elsewhere
        return False


def say(args: argparse.Namespace, text: str) -> None:
    """Write a message unless asked to be quiet."""
    if not args.quiet:
        sys.stderr.write(f"bitweft: {text}\n")
