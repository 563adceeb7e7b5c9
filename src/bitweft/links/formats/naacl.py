"""The `.wa` format of the shared tasks of 2003 and 2005: `sentence source target [S|P] [confidence]`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from bitweft.errors import InputError
from bitweft.links.alignment import Entry
from bitweft.links.formats.pharaoh import Item, decimal, entry_of, finite
from bitweft.text.lines import LineFile

WIDEST_GAP = 1_000_000


def read_naacl(file: LineFile, sentences: int | None = None) -> Iterator[Entry]:
    """Read one entry a sentence number, from 1; a number that has no line is a sentence without links.

    The file cannot tell how many sentences without links stand at its end: `sentences` does. Position 0 is
    NULL: such a line says that a word has no link, and gives none.
    """
    done = 0
    for sentence, group in groupby(_parse(file), key=itemgetter(0)):
        lines = list(group)
        if sentences is not None and sentence > sentences:
            message = f"links of sentence {sentence}, but the text has {sentences}"
            raise InputError(message, file=file.name, line=lines[0][1])
        check_gap(done, sentence, file.name, lines[0][1])
        for missing in range(done + 1, sentence):
            yield entry_of_sentence(missing, [])
        yield entry_of_sentence(sentence, [item for _, _, item in lines])
        done = sentence
    for missing in range(done + 1, (sentences or 0) + 1):
        yield entry_of_sentence(missing, [])


def check_gap(done: int, sentence: int, file: str, line: int) -> None:
    """Refuse a leap in the numbers so wide that it must be a mistake."""
    if sentence - done > WIDEST_GAP:
        raise InputError(f"sentence {sentence} after {done}: no links in between", file=file, line=line)


def entry_of_sentence(number: int, items: list[Item]) -> Entry:
    """Make an entry of a sentence's links; a link without confidence beside others that have one gets 1."""
    if any(confidence is not None for _, _, confidence in items):
        items = [(link, sure, 1.0 if p is None else p) for link, sure, p in items]
    entry = entry_of(items)
    return Entry(entry.alignment, entry.unsure, name=str(number))


def _parse(file: LineFile) -> Iterator[tuple[int, int, Item]]:
    last = 0
    for number, line in enumerate(file.lines(), 1):
        try:
            sentence, item = parse_line(line)
            if sentence < last:
                raise ValueError(f"sentence {sentence} after {last}: sort the file first (sort -s -n -k1,1)")
        except ValueError as error:
            raise InputError(str(error), file=file.name, line=number) from error
        last = sentence
        yield sentence, number, item


def parse_line(line: str) -> tuple[int, Item]:
    """Parse `sentence source target [S|P] [confidence]`, one-based."""
    words = line.split()
    if not 3 <= len(words) <= 5 or not all(word.isascii() and word.isdigit() for word in words[:3]):
        raise ValueError(f"{line!r} is not `sentence source target [S|P] [confidence]`")
    sentence, s, t = map(int, words[:3])
    if sentence == 0:
        raise ValueError("sentence 0: sentences are numbered from 1")
    rest = words[3:]
    sure = not (rest and rest[0] == "P")
    if rest and rest[0] in ("S", "P"):
        rest = rest[1:]
    if len(rest) > 1:
        raise ValueError(f"{words[3]!r} is neither S (sure) nor P (possible)")
    try:
        confidence = finite(rest[0]) if rest else None
    except ValueError:
        raise ValueError(f"{rest[0]!r} is neither S (sure) nor P (possible) nor a confidence") from None
    return sentence, ((s - 1, t - 1) if s and t else None, sure, confidence)


def format_naacl(entry: Entry, number: int) -> str:
    """Write the lines of one sentence, joined; none at all for a sentence without links."""
    confidences = entry.alignment.probabilities
    lines = []
    for place, (s, t) in enumerate(entry.alignment.links):
        label = "P" if (s, t) in entry.unsure else "S"
        confidence = "" if confidences is None else f" {decimal(confidences[place])}"
        lines.append(f"{number} {s + 1} {t + 1} {label}{confidence}")
    return "\n".join(lines)
