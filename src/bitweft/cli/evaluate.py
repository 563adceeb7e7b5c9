"""`bitweft evaluate`: links scored against gold links."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from bitweft.cli.options import add_text_options, at_least, optional_bitext_of, report_oddities
from bitweft.errors import UsageError
from bitweft.links.alignment import Alignment
from bitweft.links.evaluate import Score, WordErrors, WordPair, evaluate, word_errors
from bitweft.links.formats.registry import LINK_FORMATS, read_alignments, read_gold
from bitweft.links.significance import MEASURES, Comparison, Interval, compare, confidence_intervals
from bitweft.storage.output import open_output
from bitweft.text.bitext import Bitext

DESCRIPTION = """\
Score links against gold links: precision on the possible ones, recall on the sure ones, F1, and the
alignment error rate. Counts are summed over all sentences first. Where there is nothing to divide by
(no links at all), precision, recall and F1 are 0. The intervals hold 95 % of the scores of bootstrap
samples of the sentences; with --compare, p is the chance that two equally good systems differ as much
(paired bootstrap)."""
EXAMPLES = """\
  bitweft evaluate links.txt test.gold
  bitweft evaluate links.txt test.gold --source test.en --target test.fr
  bitweft evaluate links.txt test.wa --gold-format naacl --json
  bitweft evaluate links.txt test.gold --compare other-links.txt"""

_TITLES = {"precision": "precision", "recall": "recall", "f1": "F1", "aer": "AER"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument("links", metavar="LINKS", help="the links to score; `-` is standard input")
    parser.add_argument("gold", metavar="GOLD", help="the gold links, sure and possible")
    parser.add_argument("--compare", metavar="OTHER", help="links of another system, to compare LINKS with")
    _add_link_format(parser, "links", "LINKS")
    _add_link_format(parser, "gold", "GOLD")
    _add_link_format(parser, "compare", "OTHER")
    add_text_options(
        parser, "links outside it are an error, and the most frequent wrong and missed words are shown"
    )
    parser.add_argument(
        "--top", type=at_least(0), default=10, metavar="N", help="how many of these to show (10)"
    )
    parser.add_argument(
        "--samples", type=at_least(0), default=1000, metavar="N", help="bootstrap samples; 0 for none (1000)"
    )
    parser.add_argument("--seed", type=at_least(0), default=1, metavar="N", help="seed of the samples (1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _add_link_format(parser: argparse.ArgumentParser, name: str, what: str) -> None:
    parser.add_argument(
        f"--{name}-format",
        choices=tuple(LINK_FORMATS),
        metavar="FORMAT",
        help=f"format of {what}, one of {', '.join(LINK_FORMATS)}; told by content where that is certain"
        if name == "links"
        else f"format of {what}" + " (default: that of LINKS)" * (name == "compare"),
    )
    parser.add_argument(
        f"--one-based-{name}", action="store_true", default=None, help=f"indices of {what} begin at 1"
    )


def run(args: argparse.Namespace) -> None:
    """Evaluate, and print a report or a JSON object."""
    if args.compare is not None and not args.samples:
        raise UsageError("--compare tests by bootstrap samples: give --samples 1 or more")
    text = optional_bitext_of(args)
    links = list(read_alignments(args.links, args.links_format, args.one_based_links, text=text))
    golds = list(
        read_gold(
            args.gold,
            args.gold_format,
            args.one_based_gold,
            text=text,
            sentences=None if text is not None else len(links),
        )
    )
    score = evaluate(links, golds, names=(args.links, args.gold))
    report = _Report(args, score)
    if args.compare is not None:
        other = evaluate(_compared(args, text, len(links)), golds, names=(args.compare, args.gold))
        report.compare_with(other)
    if text is not None:
        report.errors = word_errors(links, golds, text)
        report_oddities(text)
    lines = [json.dumps(report.as_json(), ensure_ascii=False)] if args.json else report.lines()
    with open_output(None) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _compared(args: argparse.Namespace, text: Bitext | None, sentences: int) -> Iterable[Alignment]:
    """Read OTHER, as LINKS is read unless its own options say otherwise."""
    link_format, one_based = args.compare_format, args.one_based_compare
    if link_format is None and one_based is None:
        link_format, one_based = args.links_format, args.one_based_links
    return read_alignments(
        args.compare, link_format, one_based, text=text, sentences=None if text is not None else sentences
    )


class _Report:
    """All that was found, to be printed for people or for programs."""

    def __init__(self, args: argparse.Namespace, score: Score) -> None:
        self.args = args
        self.score = score
        self.other: Score | None = None
        self.errors: WordErrors | None = None
        self.comparisons: dict[str, Comparison] = {}
        self.intervals: dict[str, Interval] = {}
        self.sampling = {"samples": args.samples, "seed": args.seed}
        if args.samples and score.sentences:
            self.intervals = confidence_intervals(score.per_sentence, **self.sampling)

    def compare_with(self, other: Score) -> None:
        self.other = other
        if other.sentences:
            self.comparisons = compare(other.per_sentence, self.score.per_sentence, **self.sampling)

    def as_json(self) -> dict[str, Any]:
        result = _fields(self.score)
        if self.intervals:
            result["intervals"] = self.intervals
            result.update(self.sampling)
        if self.other is not None:
            result["other"] = _fields(self.other)
            result["comparison"] = {name: each._asdict() for name, each in self.comparisons.items()}
        if self.errors is not None:
            result["wrong"] = self._frequent(self.errors.wrong)
            result["missed"] = self._frequent(self.errors.missed)
        return result

    def _frequent(self, pairs: Counter[WordPair]) -> list[dict[str, Any]]:
        return [
            {"source": s, "target": t, "count": count} for (s, t), count in pairs.most_common(self.args.top)
        ]

    def lines(self) -> list[str]:
        score = self.score
        lines = [f"{self.args.links} against {self.args.gold}", "", *self._measures(), ""]
        lines += [
            f"{score.sentences:,} sentences, {score.links:,} links; "
            f"gold: {score.sure:,} sure and {score.possible - score.sure:,} only possible"
        ]
        if self.other is not None:
            lines += ["", *self._comparison()]
        if self.errors is not None and self.args.top:
            lines += ["", *self._words("wrong: linked, but not possible", self.errors.wrong)]
            lines += ["", *self._words("missed: sure, but not linked", self.errors.missed)]
        return [*lines, "", f"signature  {score.signature}"]

    def _measures(self) -> list[str]:
        rows = [["", "%", "95 % interval" if self.intervals else ""]]
        for name in MEASURES:
            interval = _range(self.intervals[name]) if self.intervals else ""
            rows.append([_TITLES[name], _percent(getattr(self.score, name)), interval])
        return _table(rows)

    def _comparison(self) -> list[str]:
        rows = [["", "other", "difference", "95 % interval", "p"]]
        for name, each in self.comparisons.items():
            difference = f"{100 * each.difference:+.2f}"
            other = _percent(getattr(self.other, name))
            rows.append([_TITLES[name], other, difference, _range(each.interval), f"{each.p:.3f}"])
        return [f"compared with {self.args.compare}, links minus other", "", *_table(rows)]

    def _words(self, title: str, pairs: Counter[WordPair]) -> list[str]:
        rows = [[f"{count:,}", f"{s}  {t}"] for (s, t), count in pairs.most_common(self.args.top)]
        width = max((len(count) for count, _ in rows), default=0)
        total = f"{sum(pairs.values()):,} in all"
        return [f"{title} ({total})", *(f"  {count:>{width}}  {words}" for count, words in rows)]


def _fields(score: Score) -> dict[str, Any]:
    names = (*MEASURES, "links", "sure", "possible", "sentences", "signature")
    return {name: getattr(score, name) for name in names}


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2f}"


def _range(interval: Interval) -> str:
    return f"[{_percent(interval.low)}, {_percent(interval.high)}]"


def _table(rows: list[list[str]]) -> list[str]:
    """Align columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [
                f"  {row[0]:<{widths[0]}}",
                *(f"{cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for row in rows
    ]
