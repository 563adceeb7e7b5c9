"""`bitweft neighbors`: what is close to a source window, in its own language and in the other."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bitweft.cli.options import add_text_options, optional_bitext_of
from bitweft.errors import UsageError

DESCRIPTION = """\
List the source windows of a text that are nearest to the one given, by the Euclidean distance of their
vectors, and the target words that score highest with it. The model must be one of the paper's recipe.
The text is the one that the model was trained on, if its files are where they were, or the one given."""
EXAMPLES = """\
  bitweft neighbors enfr.weft "the voting process"
  bitweft neighbors enfr.weft "in working together" --source train.en --target train.fr --count 20 --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("model", metavar="MODEL", type=Path, help="a model that --recipe paper trained")
    parser.add_argument(
        "window", metavar="WINDOW", help="words of the source language; the middle one counts"
    )
    parser.add_argument("--count", type=int, default=10, metavar="N", help="how many to list (10)")
    parser.add_argument("--json", action="store_true", help="write JSON")
    add_text_options(parser, "where to look for neighbours")


def run(args: argparse.Namespace) -> None:
    """List the neighbours."""
    from bitweft.recipes.paper.neighbors import best_target_words, nearest_windows
    from bitweft.recipes.paper.recipe import PaperRecipe
    from bitweft.text.bitext import Bitext

    if args.count < 1:
        raise UsageError("--count must be at least 1")
    recipe = PaperRecipe.load(args.model)
    bitext = optional_bitext_of(args)
    if bitext is None:
        if not recipe.text or not all(Path(name).is_file() for name in recipe.text):
            raise UsageError("the training text is not where it was: name it with --source and --target")
        bitext = Bitext(*recipe.text)
    window = args.window.split()
    windows = nearest_windows(recipe, window, (pair.source.tokens for pair in bitext), count=args.count)
    words = best_target_words(recipe, window, (pair.target.tokens for pair in bitext), count=args.count)
    if args.json:
        about = {
            "window": args.window,
            "windows": [w._asdict() for w in windows],
            "words": [w._asdict() for w in words],
        }
        sys.stdout.write(json.dumps(about, ensure_ascii=False, indent=2) + "\n")
        return
    width = max([len(found.text) for found in windows] + [len("nearest source windows")])
    sys.stdout.write(f"{'nearest source windows':{width}}  distance  {'target words':20}  score\n")
    for row in range(max(len(windows), len(words))):
        left = (
            f"{windows[row].text:{width}}  {windows[row].value:8.3f}"
            if row < len(windows)
            else " " * (width + 10)
        )
        right = f"  {words[row].text:20}  {words[row].value:5.2f}" if row < len(words) else ""
        sys.stdout.write(f"{left}{right}".rstrip() + "\n")
