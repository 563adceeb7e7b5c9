"""`bitweft fast-align`: bitweft behind the flags, the input and the output of fast_align."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, TextIO

from bitweft.cli.learning import tell_preparation
from bitweft.cli.options import at_least, report_oddities
from bitweft.cli.progress import Meter
from bitweft.errors import NothingToLearnError, UsageError
from bitweft.links.alignment import Alignment
from bitweft.progress import Progress
from bitweft.storage.output import open_output
from bitweft.text.bitext import Bitext, SentencePair

if TYPE_CHECKING:
    from bitweft.aligner import Aligner

DESCRIPTION = """\
Align as fast_align does: `source ||| target` lines in, `i-j` links out, each target word linked to one source
word or none; with -r, each source word to one target word, still written source-target. Lines, their number
and their order are those of fast_align, so `bitweft symmetrize` and atools take them. The model is that of
`bitweft align`.

-p writes a model directory, not a table, and -f reads one. The score that -s and -f add is that of `bitweft
align --scores`: the higher, the better."""
EXAMPLES = """\
  bitweft fast-align -i text.en-fr -d -o -v > forward.links
  bitweft fast-align -i text.en-fr -dovr > backward.links
  bitweft fast-align -i text.en-fr -dov -p model > forward.links
  bitweft fast-align -i other.en-fr -f model > forced"""

# Flags that set up a model which bitweft does not have: short name, long name, whether it takes a value.
WITHOUT_MEANING = (
    ("d", "favor_diagonal", False),
    ("o", "optimize_tension", False),
    ("v", "variational_bayes", False),
    ("N", "no_null_word", False),
    ("I", "iterations", True),
    ("q", "prob_align_null", True),
    ("a", "alpha", True),
    ("T", "diagonal_tension", True),
    ("m", "mean_srclen_multiplier", True),
    ("t", "beam_threshold", True),
    ("b", "thread_buffer_size", True),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("-i", "--input", required=True, metavar="FILE", help="the text; `-` is stdin")
    parser.add_argument("-r", "--reverse", action="store_true", help="source words choose target words")
    parser.add_argument("-s", "--print_scores", action="store_true", help="add ` ||| score` to each line")
    parser.add_argument("-p", "--conditional_probabilities", metavar="DIR", help="keep the model in DIR")
    parser.add_argument("-f", "--force_align", metavar="DIR", help="align by the model in DIR; learn nothing")
    group = parser.add_argument_group("accepted, but without a meaning here")
    for short, long, valued in WITHOUT_MEANING:
        if valued:
            group.add_argument(f"-{short}", f"--{long}", metavar="X", type=float, help=argparse.SUPPRESS)
        else:
            group.add_argument(f"-{short}", f"--{long}", action="store_true", help=argparse.SUPPRESS)
    group.description = ", ".join(f"-{short} --{long}" for short, long, _ in WITHOUT_MEANING)
    parser.add_argument("--seed", type=at_least(0), default=1, metavar="N", help="seed (1)")
    parser.add_argument("--threads", type=at_least(1), metavar="N", help="threads to use (all cores)")


def run(args: argparse.Namespace) -> None:
    """Align."""
    if args.force_align is not None and args.conditional_probabilities is not None:
        raise UsageError("-p keeps what was learned, but with -f nothing is")
    ignored = [f"-{short}" for short, long, _ in WITHOUT_MEANING if getattr(args, long)]
    if ignored:
        sys.stderr.write(f"bitweft: {', '.join(ignored)}: accepted, but without a meaning here\n")
    if args.conditional_probabilities is not None:
        from bitweft.storage.model_directory import check_free

        check_free(args.conditional_probabilities)
    text = Bitext(args.input, strict=False, streaming=args.force_align is not None)
    with ExitStack() as stack:
        stream = stack.enter_context(open_output(None))
        meter = stack.enter_context(Meter())
        aligner = made(args, text, meter)
        write(args, aligner, text, stream, meter)
    report_oddities(text)


def made(args: argparse.Namespace, text: Bitext, meter: Meter) -> Aligner | None:
    """Load the model, or learn one; None where there is nothing to learn from."""
    from bitweft.aligner import Aligner
    from bitweft.recipes.base import Offer, require

    if args.force_align is not None:
        aligner = Aligner.load(args.force_align, threads=args.threads)
        require(aligner.recipe, Offer.SCORES, "-f")  # every line has a score
        return aligner
    aligner = Aligner(seed=args.seed, threads=args.threads)
    tell_preparation(aligner.recipe, meter)
    try:
        aligner.fit(text, progress=meter.show)
    except NothingToLearnError as error:
        meter.say(str(error))
        return None
    if args.conditional_probabilities is not None:
        aligner.save(args.conditional_probabilities)
    return aligner


def write(
    args: argparse.Namespace, aligner: Aligner | None, text: Bitext, stream: TextIO, meter: Meter
) -> None:
    """Write a line for each pair."""
    from bitweft.recipes.base import Decoding, Inference

    decoding = Decoding(direction="backward" if args.reverse else "forward")
    results: Iterator[tuple[SentencePair, Inference]]
    if aligner is None:
        results = ((pair, Inference(Alignment(), 0.0)) for pair in text)
    else:
        results = aligner.stream(text, decoding=decoding)
    for number, (pair, inference) in enumerate(results, 1):
        fields = [links_line(inference.alignment, reverse=args.reverse)]
        if args.force_align is not None:
            fields = [" ".join(pair.source.tokens), " ".join(pair.target.tokens), *fields]
        if args.print_scores or args.force_align is not None:
            fields.append(f"{inference.score or 0.0:g}")
        stream.write(" ||| ".join(fields) + "\n")
        if text.idle():
            stream.flush()
        if not number % 64:
            meter.show(Progress(number, 0, "aligning"))


def links_line(alignment: Alignment, *, reverse: bool) -> str:
    """Write links in the order of the words that chose: target words or, in reverse, source words."""
    links = alignment.links if reverse else sorted(alignment.links, key=lambda link: (link[1], link[0]))
    return " ".join(f"{s}-{t}" for s, t in links)
