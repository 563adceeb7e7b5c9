"""Look through text and links for what would break a tool, and for what would surprise one."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Link, outside
from bitweft.links.formats.pharaoh import Items
from bitweft.links.formats.registry import detect_link_format, index_base, link_format_named
from bitweft.text.lines import ODD_SPACE, LineFile
from bitweft.text.tokenize import TOKENIZERS

SHOWN = 5  # first offending lines to remember
LONG = 1024  # from here on eflomal passes a sentence over

# kind -> (whether it breaks a tool, what it is and does)
KINDS = {
    "line-count": (True, "the files have different numbers of lines"),
    "encoding": (True, "lines that are not UTF-8"),
    "line-separator": (True, "lines with a character that some tools take for a line end"),
    "control": (True, "lines with control characters"),
    "tab": (True, "lines with a tab, which fast_align and TSV take for a separator"),
    "bars": (True, "lines with the word |||, which fast_align and Moses take for a separator"),
    "empty": (False, "empty lines, which GIZA++ and fast_align skip"),
    "long": (False, "very long lines, which eflomal skips"),
    "carriage-return": (False, "lines ending in CR LF: many tools make the CR a part of the last word"),
    "byte-order-mark": (False, "byte order mark: many tools make it a part of the first word"),
    "odd-space": (
        False,
        "lines with no-break or other odd spaces: tools disagree on how many words these are",
    ),
    "repeated-space": (False, "lines with repeated, leading or trailing spaces: tools disagree on the words"),
    "link-syntax": (True, "lines of links that cannot be read"),
    "out-of-range": (True, "lines with links outside their pair: Marian crashes on one"),
    "duplicate-link": (False, "lines with a link given twice"),
    "no-links": (False, "pairs of words without any link"),
}
# What str.splitlines and its like in other languages end a line at.
_LINE_SEPARATOR = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029\r]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f]")
_BARS = re.compile(r"(?:^|[ \t])\|\|\|(?:[ \t]|$)")


@dataclass
class Finding:
    """Tell of one kind of fault in one file: how often, and where first."""

    kind: str
    file: str
    count: int = 0
    lines: list[int] = field(default_factory=list)
    detail: str | None = None

    @property
    def breaks(self) -> bool:
        """Tell whether this would break a downstream tool."""
        return KINDS[self.kind][0]

    def add(self, line: int, detail: str | None = None) -> None:
        """Count one more offending line."""
        self.count += 1
        if len(self.lines) < SHOWN:
            self.lines.append(line)
        self.detail = self.detail or detail

    def __str__(self) -> str:
        lines = ", ".join(map(str, self.lines)) + (", …" if self.count > len(self.lines) else "")
        detail = f"; {self.detail}" if self.detail else ""
        count = "" if self.kind in ("line-count", "byte-order-mark") else f": {self.count:,}"
        where = "at line" if self.count == 1 else "at lines"
        return f"{self.file}: {KINDS[self.kind][1]}{count} ({where} {lines}{detail})"


class Report:
    """Hold all that a check found."""

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}
        self.findings: dict[tuple[str, str], Finding] = {}

    def add(self, kind: str, file: str, line: int, detail: str | None = None) -> None:
        """Note one offending line."""
        self.findings.setdefault((file, kind), Finding(kind, file)).add(line, detail)

    @property
    def breaks(self) -> bool:
        """Tell whether anything would break a downstream tool."""
        return any(finding.breaks for finding in self.findings.values())

    def sorted(self) -> list[Finding]:
        """Give the findings, the breaking ones first."""
        order = list(KINDS)
        return sorted(self.findings.values(), key=lambda f: (not f.breaks, f.file, order.index(f.kind)))

    def as_json(self) -> dict[str, Any]:
        """Give everything as one JSON object."""
        findings = [
            {
                "kind": f.kind,
                "file": f.file,
                "breaks": f.breaks,
                "count": f.count,
                "lines": f.lines,
                "detail": f.detail,
            }
            for f in self.sorted()
        ]
        return {"ok": not self.breaks, "lines": self.lines, "findings": findings}

    def __str__(self) -> str:
        counts = ", ".join(f"{name}: {count:,} lines" for name, count in self.lines.items())
        rows = [f"{'BREAKS' if f.breaks else 'note':<7} {f}" for f in self.sorted()]
        breaking = sum(f.breaks for f in self.findings.values())
        notes = len(self.findings) - breaking
        verdict = f"{breaking} errors, {notes} warnings" if self.findings else "no problems found"
        return "\n".join([counts, *rows, verdict])


def check(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    links: str | os.PathLike[str] | None = None,
    *,
    link_format: str | None = None,
    one_based: bool | None = None,
    tokenize: str = "space",
    long: int = LONG,
) -> Report:
    """Check two files of text, and links between them, to the end, whatever is found on the way."""
    if [os.fspath(path) for path in (source, target, links or "")].count("-") > 1:
        raise UsageError("standard input can be only one of the files")
    report = Report()
    files = LineFile(source), LineFile(target)
    for file in files:
        _check_text(file, report, tokenize, long)
    counts = [report.lines[file.name] for file in files]
    if counts[0] != counts[1]:
        _unequal(report, files[0].name, files[1].name, counts[0], counts[1])
    if links is not None:
        _check_links(LineFile(links), files, report, _Reading(link_format, one_based, tokenize))
    return report


def _unequal(report: Report, one: str, other: str, count: int, other_count: int) -> None:
    first = one if count < other_count else other
    detail = f"{one} has {count:,}, {other} has {other_count:,}"
    report.add("line-count", first, min(count, other_count) + 1, detail)


def _check_text(file: LineFile, report: Report, tokenize: str, long: int) -> None:
    cut = TOKENIZERS[tokenize]
    number = 0
    for number, raw in enumerate(file.raw_lines(), 1):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            report.add("encoding", file.name, number, f"byte {error.start + 1}, 0x{raw[error.start]:02x}")
            continue
        if text.endswith("\r"):
            report.add("carriage-return", file.name, number)
            text = text[:-1]
        if number == 1 and text.startswith("\ufeff"):
            report.add("byte-order-mark", file.name, number)
            text = text[1:]
        for kind in _faults(text):
            report.add(kind, file.name, number)
        length = len(cut(text))
        if length == 0:
            report.add("empty", file.name, number)
        elif length >= long:
            report.add("long", file.name, number, f"{length:,} words")
    report.lines[file.name] = number


def _faults(text: str) -> Iterator[str]:
    if "  " in text or text[:1] == " " or text[-1:] == " ":
        yield "repeated-space"
    if "\t" in text:
        yield "tab"
    if "|||" in text and _BARS.search(text):
        yield "bars"
    if text.isprintable():  # then there is no white space but the plain one, and no control character
        return
    if _LINE_SEPARATOR.search(text):
        yield "line-separator"
    elif ODD_SPACE.search(text):
        yield "odd-space"
    if _CONTROL.search(text):
        yield "control"


@dataclass(frozen=True)
class _Reading:
    link_format: str | None
    one_based: bool | None
    tokenize: str


def _lengths(file: LineFile, tokenize: str) -> Iterator[int]:
    # A line that is not UTF-8 still has words: its faults were told before.
    cut = TOKENIZERS[tokenize]
    for number, raw in enumerate(file.raw_lines()):
        text = raw.removesuffix(b"\r").decode("utf-8", errors="replace")
        yield len(cut(text.removeprefix("\ufeff") if number == 0 else text))


def _check_links(
    links: LineFile, files: tuple[LineFile, LineFile], report: Report, reading: _Reading
) -> None:
    lengths = zip(*(_lengths(file, reading.tokenize) for file in files), strict=False)
    try:
        link_format = link_format_named(reading.link_format or detect_link_format(links, reading.one_based))
        base = index_base(link_format, reading.one_based)
        if link_format.base_is_fixed:
            entries = link_format.read(links, base, min(report.lines.values()))
            lists: Iterator[list[Link]] = ([*entry.alignment.links] for entry in entries)
        else:
            lists = _parsed_lines(links, Items(link_format.name, base), report)
        _compare(links, lists, lengths, report)
    except InputError as error:
        report.add("link-syntax", links.name, error.line or 1, str(error))


def _parsed_lines(file: LineFile, items: Items, report: Report) -> Iterator[list[Link]]:
    for number, line in enumerate(file.lines(), 1):
        found = []
        faults = []
        for word in line.split():
            try:
                link, _, _ = items[word]
            except ValueError as error:
                faults.append(str(error))
                continue
            if link is not None:
                found.append(link)
        if faults:
            report.add("link-syntax", file.name, number, faults[0])
        yield found


def _compare(
    file: LineFile, lists: Iterator[list[Link]], lengths: Iterator[tuple[int, ...]], report: Report
) -> None:
    number = pairs = 0
    for number, (links, pair) in enumerate(zip_longest(lists, lengths), 1):
        if pair is None or links is None:
            pairs = number - 1 if pair is None else number + sum(1 for _ in lengths)
            number = number + sum(1 for _ in lists) if pair is None else number - 1
            _unequal(report, file.name, "the text", number, pairs)
            break
        rows, columns = pair
        fault = outside(links, rows, columns)
        if fault is not None:
            report.add("out-of-range", file.name, number, fault)
        if len(set(links)) < len(links):
            (s, t), _ = Counter(links).most_common(1)[0]
            report.add("duplicate-link", file.name, number, f"{s}-{t}")
        if not links and rows and columns:
            report.add("no-links", file.name, number)
    report.lines[file.name] = number
