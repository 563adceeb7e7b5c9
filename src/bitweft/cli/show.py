"""`bitweft show`: what a kept model is."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bitweft.cli.options import add_output
from bitweft.storage.model_directory import About
from bitweft.storage.output import open_output

DESCRIPTION = "Describe a kept model: languages, sizes, recipe, training record, license note."
EXAMPLES = """\
  bitweft show enfr.weft
  bitweft show enfr.weft --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("model", metavar="MODEL", help="the model's directory")
    parser.add_argument(
        "--json", action="store_true", help="write model.json as it is, with the sizes of files"
    )
    add_output(parser, "the description")


def run(args: argparse.Namespace) -> None:
    """Show."""
    from bitweft.aligner import Aligner
    from bitweft.storage.model_directory import read_about

    path = Path(args.model)
    about = read_about(path)
    Aligner.load(path)  # a model that would not load is not described as if it did
    sizes = {file.name: file.stat().st_size for file in sorted(path.iterdir()) if file.is_file()}
    with open_output(args.output, force=args.force) as stream:
        if args.json:
            stream.write(json.dumps({**asdict(about), "files": sizes}, indent=2, ensure_ascii=False) + "\n")
        else:
            stream.writelines(f"{line}\n" for line in describe(args.model, about, sizes))


def describe(name: str, about: About, sizes: dict[str, int]) -> Iterator[str]:
    """Write the description line by line; what a model says of itself cannot steer a terminal."""
    size = f"{sum(sizes.values()) / 1e6:,.1f} MB"
    yield f"{printable(name)}: a model of bitweft {printable(about.bitweft)}, {size}"
    yield f"  languages  {printable(' – '.join(about.languages)) if about.languages else 'not named'}"
    yield f"  recipe     {about.recipe}, seed {about.seed}"
    yield f"  tokenize   {about.tokenize}"
    if about.training is not None:
        words = about.training.words
        yield f"  learned    from {about.training.pairs:,} pairs, {words[0]:,} and {words[1]:,} words"
        yield f"  in         {about.training.seconds:,} s, {about.training.cpu_seconds:,} s of CPU time"
    yield f"  note       {printable(about.note or 'none (--note of `bitweft train` writes one)')}"
    yield "  settings"
    yield from (f"    {key} = {printable(str(value))}" for key, value in _flat(about.config))
    yield "  training"
    for step in about.record:
        facts = ", ".join(f"{key} {_short(value)}" for key, value in step.items() if key != "phase")
        yield printable(f"    {step.get('phase', '')}: {facts}")
    yield "  files"
    yield from (f"    {printable(name):24} {size:>14,} bytes" for name, size in sizes.items())


def printable(text: str) -> str:
    """Write control characters as escapes."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def _flat(config: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in config.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _short(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
