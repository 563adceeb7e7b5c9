"""`bitweft eflomal-align`: bitweft behind the flags, the input and the output of eflomal-align."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator

from bitweft.cli.options import at_least
from bitweft.errors import InputError, UsageError
from bitweft.storage.output import refuse_inputs
from bitweft.text.bitext import Bitext
from bitweft.text.lines import LineFile

DESCRIPTION = """\
Align as eflomal-align does: learn from the text, and write the links of both directions, `source-target` in
both files, and scores, lower is better. The model is that of `bitweft align`; so both files of scores hold
the same: the mean log ratio a word with its sign changed, 0 for unrelated words.

Of a file of priors, the word pairs (LEX) are used, as links that were seen. Jumps, fertilities and word
pairs of <NULL> have no meaning here: -v says how many there are. No line is ever left out for being long."""
EXAMPLES = """\
  bitweft eflomal-align -s en.txt -t fr.txt -f forward.links -r reverse.links
  bitweft eflomal-align -i text.en-fr -f forward.links -r reverse.links -F forward.scores -R reverse.scores
  bitweft eflomal-makepriors -i text.en-fr -f forward.links -r reverse.links --priors text.priors
  bitweft eflomal-align -i more.en-fr -p text.priors -f more.forward -r more.reverse -m 3 --overwrite"""

# Flags that set up a model which bitweft does not have: names, and how the value is read.
WITHOUT_MEANING: tuple[tuple[tuple[str, ...], type], ...] = (
    (("--null-prior",), float),
    (("-m", "--model"), int),
    (("-M", "--score-model"), int),
    (("-l", "--length"), float),
    (("-1", "--ibm1-iters"), int),
    (("-2", "--hmm-iters"), int),
    (("-3", "--fert-iters"), int),
    (("--n-samplers",), int),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_text(parser)
    outputs = {
        "-f --forward-links": "links of which each target word has one at most",
        "-r --reverse-links": "links of which each source word has one at most",
        "-F --forward-scores": "a score a line, lower is better",
        "-R --reverse-scores": "the same",
    }
    for flags, what in outputs.items():
        parser.add_argument(*flags.split(), metavar="FILE", help=what)
    parser.add_argument("-p", "--priors", metavar="FILE", help="priors to read")
    parser.add_argument("--overwrite", action="store_true", help="overwrite files that exist")
    for side in ("source", "target"):
        for end in ("prefix", "suffix"):
            parser.add_argument(
                f"--{side}-{end}",
                type=at_least(0),
                default=0,
                metavar="N",
                help=f"take N letters of a word: its {end}",
            )
    group = parser.add_argument_group("accepted, but without a meaning here")
    for names, kind in WITHOUT_MEANING:
        group.add_argument(*names, type=kind, metavar="X", help=argparse.SUPPRESS)
    group.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    group.description = ", ".join([*(" ".join(names) for names, _ in WITHOUT_MEANING), "--debug"])
    parser.add_argument("--seed", type=at_least(0), default=1, metavar="N", help="seed (1)")
    parser.add_argument("--threads", type=at_least(1), metavar="N", help="threads to use (all cores)")


def add_text(parser: argparse.ArgumentParser) -> None:
    """Add -s, -t, -i and -v, which both of eflomal's commands have."""
    parser.add_argument("-s", "--source", metavar="FILE", help="the source text")
    parser.add_argument("-t", "--target", metavar="FILE", help="the target text")
    parser.add_argument("-i", "--input", metavar="FILE", help="the text as `source ||| target` lines")
    parser.add_argument("-v", "--verbose", action="store_true", help="say what is done")


def open_text(args: argparse.Namespace) -> Bitext:
    """Open the text that the arguments name."""
    if (args.input is None) == (args.source is None or args.target is None):
        raise UsageError("give the text: either -s and -t, or -i")
    if args.input is not None:
        return Bitext(args.input, format="joint")
    return Bitext(args.source, args.target)


def sides(text: Bitext) -> tuple[Iterator[str], Iterator[str]]:
    """Give the lines of the source, and those of the target."""
    return (pair.source.text for pair in text), (pair.target.text for pair in text)


def log(verbose: bool) -> None:
    """Let what the module logs go to standard error, if asked."""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.ERROR, format="bitweft: %(message)s", force=True
    )


def run(args: argparse.Namespace) -> None:
    """Align."""
    from bitweft.compat.eflomal import Aligner

    log(args.verbose)
    text = open_text(args)
    outputs = [args.forward_links, args.reverse_links, args.forward_scores, args.reverse_scores]
    check_outputs(outputs, [args.input, args.source, args.target, args.priors], overwrite=args.overwrite)
    given = [names[-1] for names, _ in WITHOUT_MEANING if getattr(args, _attribute(names)) is not None]
    if given:
        sys.stderr.write(f"bitweft: {', '.join(given)}: accepted, but without a meaning here\n")
    aligner = Aligner(
        source_prefix_len=args.source_prefix,
        source_suffix_len=args.source_suffix,
        target_prefix_len=args.target_prefix,
        target_suffix_len=args.target_suffix,
        seed=args.seed,
        threads=args.threads,
    )
    priors = None if args.priors is None else Named(args.priors)
    aligner.align(
        *sides(text),
        links_filename_fwd=args.forward_links,
        links_filename_rev=args.reverse_links,
        scores_filename_fwd=args.forward_scores,
        scores_filename_rev=args.reverse_scores,
        priors_input=priors,
        quiet=not args.verbose,
    )


def _attribute(names: tuple[str, ...]) -> str:
    return names[-1].strip("-").replace("-", "_")


def check_outputs(outputs: list[str | None], inputs: list[str | None], *, overwrite: bool) -> None:
    """Refuse, before any work, files that exist, and any output that is an input."""
    import os

    for path in outputs:
        refuse_inputs(path, inputs)
        if path is not None and os.path.exists(path) and not overwrite and not path.startswith("/dev/"):
            raise InputError("exists already; give --overwrite to overwrite it", file=path)


class Named:
    """Give the lines of a file by its name, so that a fault names it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._file = LineFile(name)

    def __iter__(self) -> Iterator[str]:
        return self._file.lines()
