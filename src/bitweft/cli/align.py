"""`bitweft align`: links for parallel text, by a kept model or one learned from the text itself."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, TextIO

from bitweft.cli.learning import (
    add_learning,
    add_running,
    check_offers,
    learn,
    new_aligner,
    refuse_learning,
    say,
    tagged,
    tell_preparation,
    tuning_line,
)
from bitweft.cli.options import (
    add_languages,
    add_output,
    add_text,
    at_least,
    bitext_of,
    languages_of,
    report_oddities,
    report_unmatched,
)
from bitweft.cli.progress import Meter
from bitweft.cli.sharded import add_shards, align_files, check_ray
from bitweft.errors import NothingToLearnError, UsageError
from bitweft.links.alignment import GoldAlignment
from bitweft.links.formats.registry import LINK_FORMATS, read_gold
from bitweft.links.symmetrize import HEURISTICS
from bitweft.progress import Progress
from bitweft.storage.output import open_output, refuse_inputs, same_place
from bitweft.text.bitext import Bitext, SentencePair

if TYPE_CHECKING:
    from bitweft.aligner import Aligner
    from bitweft.corpus.align_files import LinkOptions, Summary
    from bitweft.corpus.parquet_links import ParquetLinks
    from bitweft.links.convert import Onto
    from bitweft.recipes.base import Decoding
    from bitweft.text.tags import TaggedText

DESCRIPTION = """\
Align the words of parallel text: for each pair of lines, one line of links `source-target`, counted from 0.
Without --model, a model is learned from the text first. With one, text streams through, and the links of a
pair depend on that pair and the model alone.

Every link has a probability (--to scored, --scores, --to jsonl). Every pair has a score: the mean over its
words of log p(word | other sentence) / p(word). Higher is better, 0 is what unrelated sentences have, and
pairs of different lengths can be compared. Pairs that are damaged, too long or have an empty side get an
empty line, and are counted."""
EXAMPLES = """\
  bitweft align en.txt fr.txt > links
  bitweft align text.en-fr.zst --model enfr.weft --to jsonl -o links.jsonl
  bitweft align en.txt fr.txt --model enfr.weft --precision --scores scores.txt -o links
  bitweft align en.raw ja.raw --tokenize unicode --to jsonl --null
  bitweft align en.txt fr.txt --model enfr.weft --onto en.spm fr.spm -o pieces.links
  bitweft align en.zst fr.zst --tokenize unicode --onto-words -o links.zst
  bitweft align --shards 'corpus.*.zst' --out links --model enfr.weft --resume
  bitweft align --shards 'corpus.*.zst' --out links --model enfr.weft --ray auto --resume"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_text(parser, optional=True)
    parser.set_defaults(tokenize=None)
    parser.add_argument("--model", metavar="DIR", help="align by this model instead of learning one")
    parser.add_argument(
        "--to",
        choices=(*LINK_FORMATS, "parquet"),
        default="pharaoh",
        metavar="FORMAT",
        help=f"format to write: {', '.join(LINK_FORMATS)}, or parquet (pharaoh)",
    )
    add_output(parser, "the links")
    parser.add_argument(
        "--scores",
        metavar="FILE",
        help="a line for each pair: its score, a tab, its links' probabilities; with --shards, a directory",
    )
    parser.add_argument(
        "--null",
        action="store_true",
        help="also give the words without a link, with P(NULL); for --to jsonl and scored",
    )
    add_choice(parser)
    add_onto(parser)
    parser.add_argument(
        "--links",
        metavar="STYLE",
        help="links of single words or of whole phrases: words, default, phrases, or a number from 0 to 1",
    )
    parser.add_argument(
        "--dev",
        nargs=3,
        metavar=("SOURCE", "TARGET", "GOLD"),
        help="text with gold links, to learn from which links to give before aligning (see `bitweft tune`)",
    )
    parser.add_argument(
        "--max-length",
        type=at_least(1),
        metavar="N",
        help="give pairs with a sentence of more than N words no links (5000)",
    )
    parser.add_argument(
        "--strict", action="store_true", help="fail at a damaged or overlong pair instead of leaving it empty"
    )
    parser.add_argument("--save-model", metavar="DIR", help="keep the model that was learned")
    add_shards(parser)
    add_learning(parser)
    add_languages(parser)
    add_running(parser)


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Add the ways to choose links."""
    group = parser.add_argument_group("how links are chosen").add_mutually_exclusive_group()
    group.add_argument("--precision", action="store_true", help="fewer links, and surer ones")
    group.add_argument("--recall", action="store_true", help="more links, and less sure ones")
    group.add_argument("--threshold", type=float, metavar="P", help="links of at least this probability")
    group.add_argument(
        "--heuristic",
        choices=HEURISTICS,
        metavar="NAME",
        help=f"combine both directions' own links: {', '.join(HEURISTICS)}",
    )
    group.add_argument(
        "--direction",
        choices=("forward", "backward"),
        help="each target word (forward) or source word (backward) chooses one counterpart, or none",
    )


def add_onto(parser: argparse.ArgumentParser) -> None:
    """Add the ways to write links of other tokens than those that were aligned."""
    group = parser.add_argument_group("links of other tokens").add_mutually_exclusive_group()
    group.add_argument(
        "--onto",
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="write the links of these files: the same text, cut into pieces (SentencePiece, BPE, bytes)",
    )
    group.add_argument(
        "--onto-words",
        action="store_true",
        help="write the links of the words between spaces, whatever --tokenize cuts the text into",
    )


def onto_of(args: argparse.Namespace, bitext: Bitext) -> Onto | None:
    """Open the pieces that links are to be carried over to, if any."""
    from bitweft.links.convert import Onto

    if args.onto is None and not args.onto_words:
        return None
    return Onto(bitext.tokenized("space") if args.onto_words else Bitext(*args.onto), args.strict)


def decoding_of(args: argparse.Namespace) -> Decoding:
    """Turn the options into a decoding."""
    from bitweft.recipes.base import COMPLETE, LONGEST, PRECISE, Decoding, parse_style

    threshold = PRECISE if args.precision else COMPLETE if args.recall else args.threshold
    longest = LONGEST if args.max_length is None else args.max_length
    style = None if args.links is None else parse_style(args.links)
    return Decoding(threshold, args.heuristic, args.direction, args.null, longest, style)


def wanted_of(args: argparse.Namespace) -> LinkOptions:
    """Turn the options into what is to be written of each pair."""
    from bitweft.corpus.align_files import LinkOptions

    return LinkOptions(args.to, decoding_of(args), args.strict)


def run(args: argparse.Namespace) -> None:
    """Align."""
    from bitweft.corpus.parquet_links import open_links

    check(args)
    if args.shards is not None:
        align_files(args, load_model(args), wanted_of(args))
        return
    inputs = [args.source, args.target, args.known_links, args.lexicon]
    inputs += [*(args.tags or ()), *(args.dev or ()), *(args.onto or ())]
    if [args.source, args.target, *(args.onto or ())].count("-") > 1:
        raise UsageError("standard input can be only one of the files")
    for path in (args.output, args.scores):
        refuse_inputs(path, inputs)
    if args.save_model is not None:
        from bitweft.storage.model_directory import check_free

        check_free(args.save_model, force=args.force)
    aligner = None if args.model is None else load_model(args)
    bitext = open_text(args, aligner)
    if aligner is not None:
        warn_of_swapped_sides(aligner, bitext)
    text = tagged(bitext, args.tags)
    dev = None if args.dev is None else read_dev(args)
    onto = onto_of(args, bitext)
    with ExitStack() as stack:
        stream = stack.enter_context(open_links(args.output, args.to, force=args.force))
        scores = stack.enter_context(open_output(args.scores, force=args.force)) if args.scores else None
        meter = stack.enter_context(Meter(quiet=args.quiet))
        if aligner is None:
            aligner = learned(args, text, meter)
        else:
            tell_preparation(aligner.recipe, meter, quiet=args.quiet)
        if dev is not None and aligner is not None:
            line = tuning_line(aligner.tune(*dev))
            if not args.quiet:
                meter.say(line)
        if args.save_model is not None and aligner is not None:
            aligner.save(args.save_model, force=args.force, languages=languages_of(args))
        summary = write(args, aligner, text, (stream, scores), meter, name=bitext.names[0], onto=onto)
    if not args.quiet:
        report_oddities(bitext)
    if onto is not None:
        report_unmatched(onto)
    say(args, str(summary))


def check(args: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    if (args.source is None) == (args.shards is None):
        raise UsageError("give the text: SOURCE [TARGET], or --shards")
    if args.null and args.to not in ("jsonl", "scored"):
        raise UsageError("--null needs a format that holds it: --to jsonl or --to scored")
    if args.model is not None:
        refuse_learning(args, "with --model, nothing is learned")
        if args.languages is not None:
            raise UsageError("--languages are kept with a model that is learned; --model is kept already")
        if args.save_model is not None:
            raise UsageError("--save-model keeps a model that was learned; --model is kept already")
    elif args.shard is not None or args.shards is not None:
        raise UsageError("parts need one model for all: train it first, and give --model")
    if args.dev is not None and args.links is not None:
        raise UsageError("--dev finds the style of links: give --links without it")
    if args.scores is not None and (args.scores == "-" or same_place(args.scores, args.output or "-")):
        raise UsageError("--scores needs a file of its own")
    if (args.shard, args.shards) != (None, None) and (args.onto is not None or args.onto_words):
        raise UsageError("--onto is for a whole text, not for its parts")
    if args.shard is not None and args.known_links is not None:
        raise UsageError("--known-links are of the whole text, not of a part")
    if (args.out is None) != (args.shards is None):
        raise UsageError("--shards and --out go together")
    check_ray(args)
    if args.to == "parquet" and args.compress is not None:
        raise UsageError("--compress is not for --to parquet, which is compressed in itself")
    if args.compress is not None and args.shards is None:
        raise UsageError("--compress is for --shards; -o links.zst says it by the name")
    if args.shards is not None:
        alone = ("output", "known_links", "tags", "dev")
        given = [name.replace("_", "-") for name in alone if getattr(args, name) is not None]
        if given:
            raise UsageError(f"--{given[0]} is for a single text, not for --shards")


def load_model(args: argparse.Namespace) -> Aligner:
    """Load the model that is asked for."""
    from bitweft.aligner import Aligner

    aligner = Aligner.load(args.model, threads=args.threads, device=args.device, kernels=args.kernels)
    known, args.known_links = args.known_links, None  # they need nothing of a model that is not learned
    check_offers(aligner.recipe, args)
    args.known_links = known
    if args.tags is not None and not aligner.recipe.takes_tags:
        raise UsageError("--tags: this model was trained without tags")
    return aligner


def warn_of_swapped_sides(aligner: Aligner, bitext: Bitext) -> None:
    """Tell if the text has its sides the other way round than the model; quiet or not, it is a mistake.

    Pipes are not looked at: they can be read only once.
    """
    from bitweft.corpus.language import are_swapped
    from bitweft.recipes.base import Offer

    if not all(map(os.path.isfile, bitext.names)):
        return
    if Offer.SCORES in aligner.recipe.offers and are_swapped(bitext, aligner.recipe.word_counts):
        names = " and ".join(aligner.about.languages or ("source", "target"))
        sys.stderr.write(
            f"bitweft: {' and '.join(bitext.names)}: the sides look swapped: the model was trained on "
            f"{names}, in this order; swap the files, or the columns\n"
        )


def open_text(args: argparse.Namespace, aligner: Aligner | None) -> Bitext:
    """Open the text, cut as asked or as the model's training text was."""
    if args.tokenize is None:
        args.tokenize = "space" if aligner is None else aligner.about.tokenize
    once = aligner is not None and args.shard is None  # otherwise, the text is walked more than once
    return bitext_of(args, strict=args.strict, streaming=once)


def learned(args: argparse.Namespace, text: Bitext | TaggedText, meter: Meter) -> Aligner | None:
    """Learn a model from the text; one without a word on both sides anywhere needs none."""
    aligner = new_aligner(args)
    aligner.recipe.prepare_aligning()
    try:
        learn(aligner, text, args, meter, hold_text=True)
    except NothingToLearnError as error:
        meter.say(str(error))
        return None
    return aligner


def read_dev(args: argparse.Namespace) -> tuple[list[SentencePair], list[GoldAlignment]]:
    """Read the text with gold links before anything is learned."""
    source, target, gold = args.dev
    text = Bitext(source, target, tokenize=args.tokenize)
    return list(text), list(read_gold(gold, text=text))


def write(
    args: argparse.Namespace,
    aligner: Aligner | None,
    text: Bitext | TaggedText,
    streams: tuple[TextIO | ParquetLinks, TextIO | None],
    meter: Meter,
    *,
    name: str,
    onto: Onto | None,
) -> Summary:
    """Write the links of the text, or of its part, and return the summary."""
    from bitweft.corpus.align_files import Summary, write_links
    from bitweft.links.known import KnownLinks

    wanted = wanted_of(args)
    pairs: Iterable[SentencePair] = text
    total = pairs_ahead(args, aligner)
    if args.shard is not None:
        from bitweft.corpus.shards import parse_shard, shard_of

        pairs = shard_of(text, *parse_shard(args.shard))
    known = None if args.known_links is None else KnownLinks(args.known_links)
    steps: Iterator[Summary] = write_links(
        aligner, pairs, streams[0], wanted, scores=streams[1], known=known, onto=onto, name=name
    )
    summary, shown = Summary(), 0
    for summary in steps:
        if summary.pairs - shown >= 64:
            shown = summary.pairs
            meter.show(Progress(shown, total, "aligning"))
    return summary


def pairs_ahead(args: argparse.Namespace, aligner: Aligner | None) -> int:
    """Tell how many pairs will be aligned, where that is known or quickly found; 0 otherwise."""
    if aligner is None or args.quiet or args.shard is not None:
        return 0
    if args.model is None and aligner.about.training is not None:
        return aligner.about.training.pairs
    if not os.path.isfile(args.source):  # standard input and pipes can be read only once
        return 0
    return bitext_of(args, strict=False).count()
