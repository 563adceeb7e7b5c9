"""`bitweft neighbors`: what is close to a source window, in its own language and in the other."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bitweft.cli.learning import tagged
from bitweft.cli.options import add_text_options, at_least, optional_bitext_of
from bitweft.errors import UsageError
from bitweft.storage.model_directory import About
from bitweft.storage.output import open_output
from bitweft.text.bitext import Bitext
from bitweft.text.tags import TaggedText

if TYPE_CHECKING:
    from bitweft.recipes.base import Neighbor

DESCRIPTION = """\
List the source windows of a text that are nearest to the one given, by the Euclidean distance of their
vectors, and the target words that score highest with it. The model must be one of the paper's recipe. Case
counts only if it counts for the model; tags that WINDOW is written without are looked up in the text.
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
    parser.add_argument("--count", type=at_least(1), default=10, metavar="N", help="how many to list (10)")
    parser.add_argument("--json", action="store_true", help="write JSON")
    add_text_options(parser, "where to look for neighbors")
    parser.add_argument(
        "--tags",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="files with the tags of that text, for a model trained with tags (WINDOW may be `word|TAG`s)",
    )


def text_of(args: argparse.Namespace, about: About) -> Bitext | TaggedText:
    """Return the text that was named, or the one that the model was trained on."""
    bitext = optional_bitext_of(args)
    if bitext is not None:
        return tagged(bitext, args.tags)
    files, tags = ((), ()) if about.training is None else (about.training.files, about.training.tags)
    missing = [name for name in (*files, *filter(None, tags)) if not Path(name).is_file()]
    if missing or not files:
        where = f": {missing[0]} is not there" if missing else " is not known"
        raise UsageError(f"the text of training{where}; name a text with --source and --target")
    text = Bitext(*files, tokenize=about.tokenize)
    return TaggedText(text, source=tags[0], target=tags[1]) if tags else text


def run(args: argparse.Namespace) -> None:
    """List the neighbors."""
    from bitweft.aligner import Aligner
    from bitweft.recipes.base import Offer, require

    aligner = Aligner.load(args.model)
    require(aligner.recipe, Offer.NEIGHBORS, "bitweft neighbors")
    text = text_of(args, aligner.about)
    windows, words, note = aligner.recipe.neighbors(args.window.split(), text, args.count)
    if note:
        sys.stderr.write(f"bitweft: {note}\n")
    if args.json:
        about = {
            "window": args.window,
            "windows": [w._asdict() for w in windows],
            "words": [w._asdict() for w in words],
            "note": note,
        }
        lines = [json.dumps(about, ensure_ascii=False, indent=2)]
    else:
        lines = list(_table(windows, words))
    with open_output(None) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _table(windows: Sequence[Neighbor], words: Sequence[Neighbor]) -> Iterator[str]:
    """Write windows and words side by side."""
    width = max([len(found.text) for found in windows] + [len("nearest source windows")])
    yield f"{'nearest source windows':{width}}  distance  {'target words':20}  score"
    for row in range(max(len(windows), len(words))):
        left = (
            f"{windows[row].text:{width}}  {windows[row].value:8.3f}"
            if row < len(windows)
            else " " * (width + 10)
        )
        right = f"  {words[row].text:20}  {words[row].value:5.2f}" if row < len(words) else ""
        yield f"{left}{right}".rstrip()
