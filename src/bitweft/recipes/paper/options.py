"""The paper's recipe's own command-line options: tags, and members of an ensemble."""

from __future__ import annotations

import argparse

from bitweft.errors import UsageError
from bitweft.recipes.paper.presets import PRESETS, preset

NONE = "none"  # a side without tags
FLAGS = {"preset": "--preset", "tagger": "--tagger", "tags": "--tags", "members": "--members"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to a verb that learns."""
    group = parser.add_argument_group("the paper's recipe")
    group.add_argument(
        "--preset",
        choices=tuple(PRESETS),
        help="settings to begin from: published is how the paper trains, bitweft what does best (bitweft)",
    )
    group.add_argument("--members", type=int, metavar="N", help="train an ensemble of N members (1)")
    group.add_argument(
        "--tagger",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="learn with part-of-speech tags, for each side from spacy:MODEL, stanza:LANGUAGE, classes "
        "(found in the text) or inline (`word|TAG`); or none",
    )
    group.add_argument(
        "--tags",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="files beside the text with a tag for each word, a line for each sentence; or none",
    )


def settings_of(args: argparse.Namespace) -> list[str]:
    """Turn the options that were given into settings."""
    settings = list(preset(args.preset or "bitweft"))
    settings += [] if args.lowercase is None else [f"features.lowercase={args.lowercase}"]
    if args.members is not None:
        settings.append(f"members={args.members}")
    kinds = list(args.tagger or (NONE, NONE))
    for side, file in enumerate(args.tags or ()):
        if file != NONE:
            if kinds[side] not in (NONE, "inline"):
                raise UsageError(f"--tags {file} and --tagger {kinds[side]} cannot both tag one side")
            kinds[side] = "inline"
    names = ("source", "target")
    tags = [f"features.{name}.tags={kind}" for name, kind in zip(names, kinds, strict=True) if kind != NONE]
    return [*settings, *tags]
