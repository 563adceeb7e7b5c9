"""`bitweft project`: carry annotation from one side of parallel text to the other."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from bitweft.cli.learning import (
    add_learning,
    add_running,
    new_aligner,
    refuse_learning,
    say,
    tell_preparation,
)
from bitweft.cli.options import add_link_format, add_output, at_least
from bitweft.cli.progress import Meter
from bitweft.errors import UsageError
from bitweft.progress import Progress
from bitweft.storage.output import open_output, refuse_inputs
from bitweft.text.lines import LineFile
from bitweft.text.tokenize import TOKENIZERS

if TYPE_CHECKING:
    from bitweft.aligner import Aligner
    from bitweft.corpus.project.job import Files, Links, Sentences
    from bitweft.corpus.project.records import Weights
    from bitweft.text.bitext import SentencePair

DESCRIPTION = """\
Carry annotation onto a translation: SOURCE is annotated, TARGET is its translation, sentence by sentence, in
the same format or as plain text with a sentence a line. The result is TARGET with the annotation of SOURCE.
The links come from a model (--model) or a file of any tool's (--links); without either, a model is learned
from the two files first.

formats:
  conll    CoNLL-2002/2003: a word a line, names in the last column (IOB1, IOB2, BILOU, BIOES)
  conllu   CoNLL-U: UPOS, FEATS, HEAD, DEPREL
  jsonl    JSON lines: {"text": …, "spans": [{"start": 0, "end": 4, "label": "LOC"}]}
  brat     SOURCE is doc.ann, with doc.txt beside it; the result is the .ann of TARGET
  markup   lines with tags and placeholders: <b>…</b>, <br/>, {0}

Every span has a probability. What could not be projected is counted, and listed by --report."""
EXAMPLES = """\
  bitweft project names.conll it.txt --model enit.weft -o it.conll --report report.jsonl
  bitweft project en.conllu fr.conllu --links links.txt -o projected.conllu
  bitweft project pages.html it.txt --model enit.weft > it.html
  bitweft project it.jsonl en.txt --model enit.weft --inverse > en.jsonl"""
FORMATS = ("conll", "conllu", "jsonl", "brat", "markup")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("source", metavar="SOURCE", help="the annotated file; `-` is standard input")
    parser.add_argument("target", metavar="TARGET", help="its translation; `-` is standard input")
    parser.add_argument(
        "--format", choices=FORMATS, help="format of SOURCE and of the result (told by SOURCE's ending)"
    )
    parser.add_argument(
        "--target-text",
        action=argparse.BooleanOptionalAction,
        help="TARGET is plain text, a sentence a line (default: unless its ending is that of the format)",
    )
    parser.add_argument(
        "--scheme", metavar="NAME", help="tags to write: iob1, iob2, bilou, bioes (as in SOURCE)"
    )
    parser.add_argument(
        "--tokenize",
        choices=tuple(TOKENIZERS),
        help="how text that is not in words is cut (unicode; with --links, or for words: space)",
    )
    add_output(parser, "the annotated target")
    parser.add_argument("--report", metavar="FILE", help="a JSON line for each annotation: what became of it")
    links = parser.add_argument_group("links")
    links.add_argument("--model", metavar="DIR", help="use this model instead of learning one")
    links.add_argument("--links", metavar="FILE", help="use these links, of SOURCE's and TARGET's words")
    links.add_argument(
        "--inverse",
        action="store_true",
        help="TARGET is the source of the model or the links, SOURCE the target",
    )
    add_link_format(parser, "--links-format")
    rules = parser.add_argument_group("rules")
    rules.add_argument(
        "--gap", type=at_least(0), metavar="N", help="words in a row, inside a span, without a link (5)"
    )
    rules.add_argument("--min-probability", type=float, metavar="P", help="give up less probable spans (0.3)")
    add_learning(parser)
    add_running(parser)


def run(args: argparse.Namespace) -> None:
    """Project."""
    from bitweft.corpus.project.job import Sentences, Summary, write_projection
    from bitweft.corpus.project.rules import Rules

    check(args)
    given = {"gap": args.gap, "minimum": args.min_probability}
    rules = Rules(**{name: value for name, value in given.items() if value is not None})
    aligner = None if args.model is None else load(args)
    files = open_files(args, aligner)
    sentences = Sentences(files, args.inverse)
    summary = Summary()
    with ExitStack() as stack:
        stream = stack.enter_context(open_output(args.output, force=args.force))
        report = stack.enter_context(open_output(args.report, force=args.force)) if args.report else None
        meter = stack.enter_context(Meter(quiet=args.quiet))
        if aligner is None and args.links is None:
            aligner = learned(args, sentences, meter)
        elif aligner is not None:
            tell_preparation(aligner.recipe, meter, quiet=args.quiet)
        links = links_of(args, aligner, sentences)
        for summary in write_projection(files, links, rules, stream, report):
            if not summary.sentences % 64:
                meter.show(Progress(summary.sentences, 0, "projecting"))
    say(args, str(summary))


def check(args: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    if [args.source, args.target, args.links].count("-") > 1:
        raise UsageError("standard input can be only one of SOURCE, TARGET and --links")
    if args.model is not None and args.links is not None:
        raise UsageError("give --model or --links, not both")
    if args.model is not None or args.links is not None:
        why = "with --model, nothing is learned" if args.links is None else "with --links, nothing is learned"
        refuse_learning(args, why)
    if args.links is None and (args.link_format is not None or args.one_based):
        raise UsageError("--links-format and --one-based are for --links")
    if args.known_links is not None or getattr(args, "tags", None) is not None:
        raise UsageError("--known-links and --tags are for `bitweft train`: train a model, and give --model")
    if args.report is not None and (args.report == "-" or args.report == args.output):
        raise UsageError("--report needs a file of its own")
    for path in (args.output, args.report):
        refuse_inputs(path, [args.source, args.target, args.links])


def load(args: argparse.Namespace) -> Aligner:
    """Load the model that is asked for."""
    from bitweft.aligner import Aligner

    return Aligner.load(args.model, threads=args.threads, device=args.device, kernels=args.kernels)


def open_files(args: argparse.Namespace, aligner: Aligner | None) -> Files:
    """Find the format, and how raw text is cut: as the model's was, or by words if that came in words."""
    from bitweft.corpus.project.formats import format_of, new_format
    from bitweft.corpus.project.job import Files

    name = args.format or format_of(args.source)
    if name is None:
        raise UsageError(
            f"the ending of {args.source} tells no format: give --format, one of {', '.join(FORMATS)}"
        )
    format = new_format(name, scheme=args.scheme)
    cut = args.tokenize
    if cut is None:
        trained = "space" if aligner is None else aligner.about.tokenize
        by_words = trained if trained != "space" else "unicode"
        cut = by_words if format.raw and args.links is None else "space"
    lines = format_of(args.target) != name if args.target_text is None else args.target_text
    return Files(format, LineFile(args.source), LineFile(args.target), TOKENIZERS[cut], lines)


def learned(args: argparse.Namespace, sentences: Sentences, meter: Meter) -> Aligner:
    """Learn a model from the two files."""
    from bitweft.cli.learning import learn

    aligner = new_aligner(args)
    learn(aligner, sentences, args, meter)
    return aligner


def links_of(args: argparse.Namespace, aligner: Aligner | None, sentences: Sentences) -> Links:
    """Give a walk over the weights of all pairs."""
    from bitweft.corpus.project.job import matrix_of, weights_by
    from bitweft.links.formats.registry import read_entries

    file = None if args.links is None else LineFile(args.links)

    def weights(pair: SentencePair) -> Weights:
        assert aligner is not None
        return weights_by(aligner, pair)

    def walk() -> Iterator[Weights]:
        if file is None:
            found: Iterator[Weights] = map(weights, sentences)
        else:
            entries = read_entries(file, args.link_format, args.one_based, text=sentences)
            found = (matrix_of(entry.alignment, entry.pair) for entry in entries if entry.pair is not None)
        return (each.T for each in found) if args.inverse else found

    return walk
