"""Arguments that several verbs share, so that they are spelt and explained once."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from bitweft.errors import UsageError
from bitweft.links.formats.registry import LINK_FORMATS
from bitweft.text.bitext import Bitext
from bitweft.text.joint import FORMATS
from bitweft.text.tokenize import TOKENIZERS

if TYPE_CHECKING:
    from bitweft.links.convert import Onto

NAMED = 5  # pairs that are named one by one


def at_least(least: int) -> Callable[[str], int]:
    """Return the `type` of an option that takes whole numbers from `least` on."""

    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be {least} or greater, got {value}")
        return value

    return number


def share(text: str) -> float:
    """Read the number of an option that takes a share or a probability."""
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be from 0 to 1, got {text}")
    return value


def wants_color(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal whose user has not asked for plain text."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def add_allowed_hosts(parser: argparse.ArgumentParser) -> None:
    """Add --allow-host, the names that a server answers to besides those it knows."""
    parser.add_argument(
        "--allow-host",
        nargs="+",
        default=(),
        metavar="NAME",
        help="names that requests may be sent to, besides this machine's own name and addresses",
    )


def add_text(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add SOURCE and TARGET as arguments, and how to read them; `bitext_of` makes a bitext of them."""
    parser.add_argument(
        "source",
        metavar="SOURCE",
        nargs="?" if optional else None,
        help="the source text, or a joint file; `-` is standard input",
    )
    parser.add_argument("target", metavar="TARGET", nargs="?", help="the target text; none for a joint file")
    add_reading(parser)


def add_text_options(parser: argparse.ArgumentParser, why: str) -> None:
    """Add --source and --target, and how to read them; `optional_bitext_of` makes a bitext of them."""
    parser.add_argument("--source", metavar="FILE", help=f"the source text, or a joint file: {why}")
    parser.add_argument("--target", metavar="FILE", help="the target text")
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how text is read: --tokenize, --format, --keys."""
    parser.add_argument(
        "--tokenize",
        choices=tuple(TOKENIZERS),
        default="space",
        help="cut lines at spaces (the default), at Unicode word boundaries, or into characters",
    )
    parser.add_argument(
        "--format",
        choices=("auto", *FORMATS),
        default="auto",
        help="format of a joint file: `src ||| tgt`, columns 1 and 2, JSON lines, Parquet (default: told by "
        "content)",
    )
    parser.add_argument(
        "--keys",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="the two languages to take from JSON lines with `translation` objects, or the two columns of "
        "Parquet, such as en fr",
    )


def bitext_of(args: argparse.Namespace, *, strict: bool = True, streaming: bool = False) -> Bitext:
    """Make the bitext that the arguments of `add_text` or `add_text_options` name."""
    return Bitext(
        args.source,
        args.target,
        tokenize=args.tokenize,
        format=args.format,
        languages=args.keys,
        strict=strict,
        streaming=streaming,
    )


def optional_bitext_of(args: argparse.Namespace) -> Bitext | None:
    """Make the bitext that the arguments of `add_text_options` name, if they do."""
    if args.source is None and args.target is not None:
        raise UsageError("--target without --source")
    return None if args.source is None else bitext_of(args)


def report_oddities(bitext: Bitext) -> None:
    """Tell on standard error what the last walk put right, if anything."""
    if bitext.oddities:
        sys.stderr.write(f"bitweft: {' and '.join(bitext.names)}: {bitext.oddities}\n")


def report_unmatched(onto: Onto) -> None:
    """Tell on standard error which pairs could not be carried over to pieces, the first few by name."""
    for message in onto.unmatched[:NAMED]:
        sys.stderr.write(f"bitweft: {message}\n")
    if onto.unmatched:
        more = ", the first of them above" if len(onto.unmatched) > NAMED else ""
        sys.stderr.write(
            f"bitweft: {len(onto.unmatched):,} pairs left empty: the pieces are not of the same text{more}\n"
        )


def add_link_format(parser: argparse.ArgumentParser, option: str = "--from", what: str = "the links") -> None:
    """Add the option that names a format of links, and --one-based."""
    parser.add_argument(
        option,
        dest="link_format",
        choices=tuple(LINK_FORMATS),
        metavar="FORMAT",
        help=f"format of {what}: {', '.join(LINK_FORMATS)} (default: told by content, where that is certain)",
    )
    parser.add_argument(
        "--one-based",
        action="store_true",
        default=None,
        help=f"indices of {what} begin at 1 (those of talp, naacl and giza do anyway)",
    )


def add_languages(parser: argparse.ArgumentParser) -> None:
    """Add --languages: what a model is told of its text."""
    parser.add_argument(
        "--languages",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="names of the two languages, kept with the model, such as en fr",
    )


def languages_of(args: argparse.Namespace) -> tuple[str, str] | None:
    """Return the languages that were named, if they were."""
    return None if args.languages is None else (args.languages[0], args.languages[1])


def add_output(parser: argparse.ArgumentParser, what: str = "the result") -> None:
    """Add -o/--output and --force."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=f"write {what} to FILE, whole or not at all (default: stdout)"
    )
    parser.add_argument("--force", action="store_true", help="overwrite FILE if it exists")


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add -q/--quiet."""
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no summary")
