"""GIZA++'s A3.final: a header, the target sentence, and the source words each with its target positions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Alignment, Entry, Link
from bitweft.links.formats.naacl import check_gap
from bitweft.links.formats.pharaoh import finite
from bitweft.text.bitext import Sentence, SentencePair
from bitweft.text.lines import LineFile
from bitweft.text.tokenize import by_space

_HEADER = re.compile(
    r"# Sentence pair \((\d+)\) source length (\d+) target length (\d+) alignment score : (\S+)\s*"
)


def read_giza(file: LineFile, sentences: int | None = None) -> Iterator[Entry]:
    """Read three lines a pair; a pair number left out is a pair without links, as GIZA++ skips some."""
    done = 0
    lines = enumerate(file.lines(), 1)
    for (number, header), second, third in zip_longest(lines, lines, lines):
        try:
            found = _HEADER.fullmatch(header)
            if found is None:
                raise ValueError(
                    "not `# Sentence pair (1) source length … target length … alignment score : …`"
                )
            if third is None:
                raise ValueError("the file ends inside this pair")
            pair = int(found[1])
            if pair <= done:
                raise ValueError(f"pair {pair} after {done}: merge the parts of MGIZA by number first")
        except ValueError as error:
            raise InputError(str(error), file=file.name, line=number) from error
        check_gap(done, pair, file.name, number)
        yield from (Entry(Alignment(), name=str(missing)) for missing in range(done + 1, pair))
        try:
            yield _entry(found, second[1], third[1])
        except ValueError as error:
            raise InputError(str(error), file=file.name, line=number + 2) from error
        done = pair
    yield from (Entry(Alignment(), name=str(missing)) for missing in range(done + 1, (sentences or 0) + 1))


def _entry(header: re.Match[str], second: str, third: str) -> Entry:
    target = by_space(second)
    words, links = _parse(by_space(third))
    lengths = (int(header[2]), int(header[3]))
    if lengths != (len(words), len(target)):
        raise ValueError(f"lengths {lengths} in the header, but {(len(words), len(target))} words")
    for _, t in links:
        if not 0 <= t < len(target):
            raise ValueError(f"position {t + 1} is not in the target sentence of {len(target)} words")
    pair = SentencePair(Sentence(words, " ".join(words)), Sentence(target, second))
    return Entry(Alignment.of(links), score=finite(header[4]), name=header[1], pair=pair)


def _parse(tokens: Sequence[str]) -> tuple[list[str], list[Link]]:
    # A word may itself be `({` or `})`: only its place tells.
    words: list[str] = []
    links: list[Link] = []
    place = 0
    while place < len(tokens):
        word = tokens[place]
        if list(tokens[place + 1 : place + 2]) != ["({"]:
            raise ValueError(f"no `({{` after the word {word!r}")
        place += 2
        while place < len(tokens) and tokens[place] != "})":
            if not tokens[place].isdigit():
                raise ValueError(f"{tokens[place]!r} is not a position")
            links.append((len(words) - 1, int(tokens[place]) - 1))
            place += 1
        if place == len(tokens):
            raise ValueError(f"no `}})` after the positions of {word!r}")
        place += 1
        words.append(word)
    if words[:1] != ["NULL"]:
        raise ValueError("the source words must begin with NULL ({ … })")
    return words[1:], [(s, t) for s, t in links if s >= 0]


def format_giza(entry: Entry, number: int) -> str:
    """Write the three lines of one pair, joined; unlinked target words are linked to NULL."""
    if entry.pair is None:
        raise UsageError("GIZA's format holds the words too: give --source and --target")
    source, target = entry.pair
    positions: list[list[int]] = [[] for _ in range(len(source) + 1)]
    for s, t in entry.alignment.links:
        positions[s + 1].append(t + 1)
    linked = {t for _, t in entry.alignment.links}
    positions[0] = [t + 1 for t in range(len(target)) if t not in linked]
    words = [
        f"{word} ({{ {''.join(f'{t} ' for t in targets)}}})"
        for word, targets in zip(("NULL", *source.tokens), positions, strict=True)
    ]
    lengths = f"source length {len(source)} target length {len(target)}"
    header = f"# Sentence pair ({number}) {lengths} alignment score : {entry.score or 0:g}"
    return "\n".join([header, " ".join(target.tokens), " ".join(words)])
