"""Known word pairs: a dictionary that helps to learn."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from bitweft.errors import InputError
from bitweft.text.lines import LineFile

WEIGHT = 10.0  # how many times a pair counts as seen linked, unless the file says
HEAVIEST = 1e6


class WordPair(NamedTuple):
    """Hold two words that translate each other, and how many times they count as seen linked."""

    source: str
    target: str
    weight: float = WEIGHT


def read_lexicon(path: str) -> tuple[list[WordPair], int]:
    """Read `source TAB target [TAB weight]` lines; entries of several words are passed over and counted."""
    file = LineFile(path)
    pairs: list[WordPair] = []
    passed_over = 0
    for number, line in enumerate(file.lines(), 1):
        if not line.strip():
            continue
        columns = [column.strip(" ") for column in line.split("\t")]
        if len(columns) not in (2, 3) or not columns[0] or not columns[1]:
            raise InputError("not `source TAB target [TAB weight]`", file=path, line=number)
        if " " in columns[0] or " " in columns[1]:
            passed_over += 1
            continue
        pairs.append(WordPair(columns[0], columns[1], *_weights(columns[2:], path, number)))
    return pairs, passed_over


def _weights(columns: Iterable[str], path: str, line: int) -> list[float]:
    try:
        weights = [float(column) for column in columns]
    except ValueError as error:
        raise InputError(f"the weight is no number: {error}", file=path, line=line) from error
    if not all(math.isfinite(weight) and 0 < weight <= HEAVIEST for weight in weights):
        raise InputError("the weight must be above 0 and at most a million", file=path, line=line)
    return weights
