"""`bitweft lexicon`: a dictionary of words from text and links."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TextIO, TypedDict

from bitweft.cli.linked import LinkFile, add_text_and_links, text_and_links
from bitweft.cli.options import add_output, add_quiet, at_least, report_oddities, share
from bitweft.cli.progress import Meter
from bitweft.corpus.concordance import Query, concordance, write_hits
from bitweft.corpus.lexicon import (
    Lexicon,
    Pruning,
    Units,
    examples,
    linked_words,
    write_json,
    write_table,
    write_tsv,
)
from bitweft.corpus.phrases.entries import linked_phrases
from bitweft.errors import UsageError
from bitweft.storage.output import gzip_text, open_binary, open_output
from bitweft.text.bitext import Bitext
from bitweft.text.tags import TaggedText

DESCRIPTION = """\
Count which words are linked to which: counts, p(target|source), p(source|target), and examples.
Words without a link count as linked to NULL.

formats:
  tsv        a header, then: source, target, count, count of each word, p(target|source),
             p(source|target), and examples: line number, source words, target words of each
  json       the same as JSON, one object a line
  moses      `target source p(target|source)` in PREFIX.f2e, `source target p(source|target)` in
             PREFIX.e2f, as Moses' training writes them
  marian     the same columns in PREFIX.s2t and PREFIX.t2s, as extract_lex writes them:
             PREFIX.s2t is what Marian's --shortlist reads
  bicleaner  the same columns in PREFIX.s2t.gz and PREFIX.t2s.gz, lower-cased, without NULL, and
             without translations ten times less probable than the best (--threshold 0.1)
"""
EXAMPLES = """\
  bitweft lexicon en.txt fr.txt links.txt --min-count 2 --top 5 > dictionary.tsv
  bitweft lexicon en.txt fr.txt links.txt --phrases 3 --examples 3 --min-count 2 > terms.tsv
  bitweft lexicon en.txt fr.txt links.txt --lemmas en.lemmas fr.lemmas > lemmas.tsv
  bitweft lexicon en.txt fr.txt links.txt --query house
  bitweft lexicon en.txt fr.txt links.txt --query 'house ||| maison' -o places.tsv
  bitweft lexicon en.txt fr.txt links.txt --to marian -o lex
  bitweft lexicon en.txt fr.txt links.txt --to bicleaner -o dict-en-fr
"""
_ENDINGS = {
    "moses": (".f2e", ".e2f"),
    "marian": (".s2t", ".t2s"),
    "bicleaner": (".s2t.gz", ".t2s.gz"),
}
_WRITERS = {"tsv": write_tsv, "json": write_json}


class _Counting(TypedDict):
    """Hold what the count and the search for examples must have in common."""

    lower: bool
    units: Units


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_text_and_links(parser)
    parser.add_argument(
        "--to",
        choices=(*_WRITERS, *_ENDINGS),
        default="tsv",
        metavar="FORMAT",
        help="format to write, see above (tsv)",
    )
    add_output(parser, "the lexicon")
    parser.add_argument("--null", action="store_true", help="list words without a link too (tsv, json)")
    parser.add_argument(
        "--min-count", metavar="N", type=at_least(1), default=1, help="links an entry needs (1)"
    )
    parser.add_argument(
        "--top", metavar="N", type=at_least(1), help="translations kept for each source word (all)"
    )
    parser.add_argument(
        "--threshold",
        metavar="R",
        type=share,
        help="drop translations less than R times as probable as the word's best (0; bicleaner: 0.1)",
    )
    parser.add_argument(
        "--examples", metavar="N", type=at_least(1), default=1, help="examples of an entry (1; tsv, json)"
    )
    parser.add_argument(
        "--phrases",
        metavar="N",
        type=at_least(1),
        help="count phrases of up to N words that are linked as a whole, instead of links (tsv, json)",
    )
    parser.add_argument(
        "--lemmas",
        metavar=("SOURCE", "TARGET"),
        nargs=2,
        help="files with a lemma (or a tag) for each word, counted (and looked for) in its place; "
        "`-` for a side without",
    )
    parser.add_argument(
        "--query",
        metavar="WORDS",
        help="write no dictionary, but the lines that have these words, what they are linked to in brackets: "
        "`house`, `white house`, `house ||| maison`, `||| maison`",
    )
    add_quiet(parser)


def run(args: argparse.Namespace) -> None:
    """Write the lexicon."""
    if args.query is not None:
        _write_concordance(args)
        return
    if args.to in _ENDINGS and args.output in (None, "-"):
        raise UsageError(f"--to {args.to} makes two files: give -o PREFIX")
    if args.to in _ENDINGS and args.phrases is not None:
        raise UsageError(f"--to {args.to} has single words only: leave out --phrases, or use --to tsv")
    text, links = text_and_links(args)
    keyed = _keyed(text, args)
    units = linked_words if args.phrases is None else linked_phrases(args.phrases)
    counting: _Counting = {"lower": args.lower or args.to == "bicleaner", "units": units}
    with Meter(quiet=args.quiet) as meter:
        pairs, names = meter.watch(keyed, "counting links"), (text.names[0], links.name)
        lexicon = Lexicon.count(pairs, links, examples=args.examples, names=names, **counting)
    pruning = _pruning(args)
    if args.to in _WRITERS:
        _write_examples(args, lexicon, pruning, (keyed, links), counting)
    else:
        _write_tables(args, lexicon, pruning)
    report_oddities(text)


def _keyed(text: Bitext, args: argparse.Namespace) -> Bitext | TaggedText:
    """Put the keys beside the words, if there are any."""
    if args.lemmas is None:
        return text
    source, target = (None if path == "-" else path for path in args.lemmas)
    return TaggedText(text, source=source, target=target)


def _write_concordance(args: argparse.Namespace) -> None:
    query = Query.parse(args.query)
    text, links = text_and_links(args)
    with open_output(args.output, force=args.force) as stream:
        hits = concordance(_keyed(text, args), links, query, names=(text.names[0], links.name))
        count = write_hits(hits, stream)
    if not args.quiet:
        sys.stderr.write(f"bitweft: {count:,} places\n")


def _pruning(args: argparse.Namespace) -> Pruning:
    threshold = args.threshold
    if threshold is None:
        threshold = 0.1 if args.to == "bicleaner" else 0.0
    null = args.null if args.to in _WRITERS else args.to != "bicleaner"
    return Pruning(min_count=args.min_count, top=args.top, threshold=threshold, null=null)


def _write_examples(
    args: argparse.Namespace,
    lexicon: Lexicon,
    pruning: Pruning,
    linked: tuple[Bitext | TaggedText, LinkFile],
    counting: _Counting,
) -> None:
    with Meter(quiet=args.quiet) as meter:
        pairs = meter.watch(linked[0], "finding examples")
        found = examples(lexicon.by_source(pruning), pairs, linked[1], **counting)
    with open_output(args.output, force=args.force) as stream:
        entries, write = lexicon.by_source(pruning), _WRITERS[args.to]
        write(entries, lambda entry: found[entry.source, entry.target], stream, most=args.examples)


def _write_tables(args: argparse.Namespace, lexicon: Lexicon, pruning: Pruning) -> None:
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(_open(args.output + ending, args.force)) for ending in _ENDINGS[args.to]
        )
        unwritable = write_table(lexicon.by_source(pruning), first)
        write_table((entry.inverse() for entry in lexicon.by_target(pruning)), second)
    if unwritable:
        sys.stderr.write(f"bitweft: {unwritable:,} entries left out: their words hold white space\n")


@contextmanager
def _open(path: str, force: bool) -> Iterator[TextIO]:
    if not path.endswith(".gz"):
        with open_output(path, force=force) as stream:
            yield stream
        return
    with open_binary(path, force=force) as raw, gzip_text(raw) as stream:
        yield stream
