"""`bitweft filter`: which pairs are translations, by a kept model."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, TextIO

from bitweft.cli.align import warn_of_swapped_sides
from bitweft.cli.learning import add_running, say, tell_preparation
from bitweft.cli.options import add_text, at_least, bitext_of, report_oddities
from bitweft.cli.progress import Meter
from bitweft.errors import UsageError
from bitweft.progress import Progress
from bitweft.storage.output import open_output, refuse_inputs
from bitweft.text.bitext import Bitext

if TYPE_CHECKING:
    from bitweft.corpus.filter import Cut, Judge, Judgment, Judgments

DESCRIPTION = """\
Judge by a kept model which pairs are translations, keep the good ones, and say why the others go. The order
of the lines is kept, and what is read is written as it was: -o and --rejects take a file for each file of
the text.

columns of --scores, a line for each pair:
  quality     what decides, the higher the better: the score, less what speaks against the pair
  percentile  how many of the pairs, in per cent, have a lower quality
  score       the mean log ratio a word of both directions, as `bitweft align --scores`: 0 is what unrelated
              words have
  unlinked    share of the words without a link, the mean of both sides
  gap         the longest run of words without a link, as a share of its sentence
  length      log ratio of the lengths in characters, target to source, against what is usual
  language    below 0, a side is rather in the other side's language
  copied      share of words that stand on both sides
  order       how far linked words jump, as a share of what shuffled ones would
  kept        1 or 0
  reasons     of a rejected pair: empty, too long, copy, language, length, unlinked, order,
              score

All but percentile and --keep depend on the model and the pair alone: parts of a text, filtered by one
--threshold, are the text filtered by it."""
EXAMPLES = """\
  bitweft filter en.txt fr.txt --model enfr.weft > scores.tsv
  bitweft filter en.txt fr.txt --model enfr.weft --keep 90% -o good.en good.fr --rejects bad.en bad.fr
  bitweft filter text.en-fr --model enfr.weft --threshold 0 -o good.en-fr --report report.html
  bitweft filter en.txt fr.txt --model enfr.weft --keep 1000 -o best.en best.fr --scores scores.tsv"""
COLUMNS = (
    "quality",
    "percentile",
    "score",
    "unlinked",
    "gap",
    "length",
    "language",
    "copied",
    "order",
    "kept",
    "reasons",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_text(parser)
    parser.set_defaults(tokenize=None)
    parser.add_argument(
        "--model", metavar="DIR", required=True, help="the model that judges; see `bitweft train`"
    )
    group = parser.add_argument_group("what is kept").add_mutually_exclusive_group()
    group.add_argument("--keep", metavar="N", type=_share, help="the best pairs: 90%%, or so many")
    group.add_argument("--threshold", metavar="Q", type=float, help="pairs of at least this quality")
    parser.add_argument("-o", "--output", nargs="+", metavar="FILE", help="the kept lines")
    parser.add_argument("--rejects", nargs="+", metavar="FILE", help="the other lines")
    parser.add_argument("--scores", metavar="FILE", help="the columns (stdout, if there is no -o)")
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="write the report with its histogram to a file: a page if it ends in .html",
    )
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")
    parser.add_argument(
        "--max-length", type=at_least(1), metavar="N", help="reject longer sentences (5000 words)"
    )
    parser.add_argument(
        "--strict", action="store_true", help="fail at a damaged line instead of rejecting it"
    )
    add_running(parser)


def run(args: argparse.Namespace) -> None:
    """Filter."""
    from bitweft.aligner import Aligner
    from bitweft.corpus.filter import Judge

    check(args)
    aligner = Aligner.load(args.model, threads=args.threads, device=args.device, kernels=args.kernels)
    args.tokenize = args.tokenize or aligner.about.tokenize
    bitext = bitext_of(args, strict=args.strict)
    warn_of_swapped_sides(aligner, bitext)
    with ExitStack() as stack:
        outputs = Outputs(args, stack)
        meter = stack.enter_context(Meter(quiet=args.quiet))
        tell_preparation(aligner.recipe, meter, quiet=args.quiet)
        judgments = judged(Judge(aligner), bitext, args.max_length, meter)
        cut = cut_of(args, judgments)
        write(bitext, judgments, cut, outputs)
        report(args, bitext, judgments, cut, outputs)
    if not args.quiet:
        report_oddities(bitext)


def check(args: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    files = [args.source] if args.target is None else [args.source, args.target]
    for flag, given in (("-o", args.output), ("--rejects", args.rejects)):
        if given is not None and len(given) != len(files):
            raise UsageError(f"{flag} takes a file for each file of the text: {len(files)}, got {len(given)}")
        if given is not None and args.keep is None and args.threshold is None:
            raise UsageError(f"{flag} needs --keep or --threshold")
    outputs = [*(args.output or ()), *(args.rejects or ()), args.scores, args.report]
    named = [path for path in outputs if path is not None]
    for path in named:
        refuse_inputs(path, files)
        if named.count(path) > 1:
            raise UsageError(f"{path} is named twice: each output needs a file of its own")


class Outputs:
    """Open the files to be written; each appears whole or not at all, and none before all is done."""

    def __init__(self, args: argparse.Namespace, stack: ExitStack) -> None:
        def opened(path: str | None) -> TextIO:
            return stack.enter_context(open_output(path, force=args.force))

        self.kept = [opened(path) for path in args.output or ()]
        self.rejects = [opened(path) for path in args.rejects or ()]
        wanted = args.scores is not None or args.output is None
        self.scores = opened(args.scores) if wanted else None
        self.report = None if args.report is None else opened(args.report)


def judged(judge: Judge, bitext: Bitext, longest: int | None, meter: Meter) -> Judgments:
    """Judge the whole text."""
    from bitweft.corpus.filter import Judgments

    judgments = Judgments()
    for number, judgment in enumerate(judge.judge(bitext, longest=longest), 1):
        judgments.add(judgment)
        if not number % 64:
            meter.show(Progress(number, 0, "judging"))
    return judgments


def cut_of(args: argparse.Namespace, judgments: Judgments) -> Cut | None:
    """Turn the options into a limit."""
    from bitweft.corpus.filter import Cut

    if args.threshold is not None:
        return Cut(args.threshold)
    if args.keep is None:
        return None
    amount, is_share = args.keep
    return judgments.best(round(len(judgments) * amount / 100) if is_share else int(amount))


def keeps(judgments: Judgments, cut: Cut | None) -> Iterator[tuple[Judgment, bool]]:
    """Give each judgment with whether its pair is kept."""
    if cut is None:
        yield from ((judgment, True) for judgment in judgments)
        return
    yield from zip(judgments, cut.keeps(judgments.qualities), strict=True)


def write(bitext: Bitext, judgments: Judgments, cut: Cut | None, outputs: Outputs) -> None:
    """Write the lines and the columns."""
    if outputs.scores is not None:
        outputs.scores.write("\t".join(COLUMNS) + "\n")
    ranked = judgments.sorted
    for lines, (judgment, kept) in zip(bitext.raw_lines(), keeps(judgments, cut), strict=True):
        for stream, line in zip(outputs.kept if kept else outputs.rejects, lines, strict=False):
            stream.write(line + "\n")
        if outputs.scores is not None:
            below = int(ranked.searchsorted(judgment.quality, "left"))
            outputs.scores.write(columns(judgment, 100 * below / len(ranked), kept) + "\n")


def columns(judgment: Judgment, percentile: float, kept: bool) -> str:
    """Write what is said of one pair."""
    quality, *values = judgment[:8]
    numbers = [f"{quality:.4f}", f"{percentile:.2f}", *(f"{value:.4f}" for value in values), str(int(kept))]
    return "\t".join([*numbers, "" if kept else ",".join(judgment.reasons)])


def report(
    args: argparse.Namespace, bitext: Bitext, judgments: Judgments, cut: Cut | None, outputs: Outputs
) -> None:
    """Tell what became of the pairs."""
    from bitweft.corpus.filter_report import Report, as_html, as_text

    found = Report.of(bitext.names, judgments.sorted, keeps(judgments, cut), cut)
    if outputs.report is not None:
        outputs.report.write(as_html(found) if args.report.endswith(".html") else as_text(found))
        say(args, found.summary)
    else:
        say(args, as_text(found).rstrip("\n"))


def _share(text: str) -> tuple[float, bool]:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%", text)
    if found is not None and float(found[1]) <= 100:
        return float(found[1]), True
    if not re.fullmatch("[0-9]{1,15}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a share such as 90% nor a number of pairs")
    return float(text), False
