"""What is known before learning: word pairs of a dictionary, and links of the text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bitweft.errors import InputError
from bitweft.links.alignment import Alignment, outside
from bitweft.links.formats.pharaoh import read_lines
from bitweft.text.bitext import SentencePair
from bitweft.text.lines import LineFile

WEIGHT = 10.0  # how many times a word pair counts as seen linked, unless the file says
HEAVIEST = 1e6


class WordPair(NamedTuple):
    """Hold two words that translate each other, and how many times they count as seen linked."""

    source: str
    target: str
    weight: float = WEIGHT


def read_lexicon(path: str) -> tuple[list[WordPair], int]:
    """Read `source TAB target [TAB weight]` lines.

    Returns:
        The word pairs, and how many entries of several words were left out.
    """
    file = LineFile(path)
    pairs: list[WordPair] = []
    left_out = 0
    for number, line in enumerate(file.lines(), 1):
        if not line.strip():
            continue
        columns = [column.strip(" ") for column in line.split("\t")]
        if len(columns) not in (2, 3) or not columns[0] or not columns[1]:
            raise InputError("expected `source TAB target [TAB weight]`", file=path, line=number)
        if " " in columns[0] or " " in columns[1]:
            left_out += 1
            continue
        pairs.append(WordPair(columns[0], columns[1], *_weights(columns[2:], path, number)))
    return pairs, left_out


def _weights(columns: Iterable[str], path: str, line: int) -> list[float]:
    try:
        weights = [float(column) for column in columns]
    except ValueError as error:
        raise InputError(f"the weight must be a number: {error}", file=path, line=line) from error
    if not all(math.isfinite(weight) and 0 < weight <= HEAVIEST for weight in weights):
        raise InputError("the weight must be greater than 0 and at most a million", file=path, line=line)
    return weights


class KnownLinks:
    """Walk a file of known links, `0-0 1-2` a line, beside its text, as often as wanted.

    A word that has known links has no others.
    """

    def __init__(self, path: str) -> None:
        self._file = LineFile(path)

    def beside(self, pairs: Iterable[SentencePair]) -> Iterator[tuple[SentencePair, Alignment]]:
        """Give each pair with its known links, and fail where file and text do not fit."""
        links = read_lines(self._file, "pharaoh", False)
        number = 0
        for number, pair in enumerate(pairs, 1):
            entry = next(links, None)
            if entry is None:
                raise self._fault("the file ends here, but the text goes on", number)
            fault = outside(entry.alignment.links, len(pair.source), len(pair.target))
            if fault is not None:
                raise self._fault(fault, number)
            yield pair, entry.alignment
        if next(links, None) is not None:
            raise self._fault("the text has ended before", number + 1)

    def _fault(self, what: str, line: int) -> InputError:
        return InputError(what, file=self._file.name, line=line)


def with_known(alignment: Alignment, known: Alignment) -> Alignment:
    """Put known links in: they are certain, and a word that has some gets no other."""
    if not known.links:
        return alignment
    sources, targets = ({link[side] for link in known.links} for side in (0, 1))
    chances = alignment.probabilities or (1.0,) * len(alignment)
    kept = [
        (link, chance)
        for link, chance in zip(alignment.links, chances, strict=True)
        if link[0] not in sources and link[1] not in targets
    ]
    kept += ((link, 1.0) for link in known.links)
    return Alignment.of([link for link, _ in kept], [chance for _, chance in kept])
