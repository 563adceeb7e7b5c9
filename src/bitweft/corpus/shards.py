"""Big text in parts: a part of one text, or many files found by patterns, each with the files made of it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from bitweft.errors import InputError, UsageError
from bitweft.storage import places
from bitweft.text.bitext import SentencePair

MANIFEST = ".manifest.json"


def parse_shard(text: str) -> tuple[int, int]:
    """Read `i/n`, counted from 1."""
    found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    part, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= part <= parts:
        raise UsageError(f"{text!r} is no part: write I/N, from 1/N to N/N")
    return part, parts


def shard_of(bitext: Iterable[SentencePair], part: int, parts: int) -> Iterator[SentencePair]:
    """Give the part-th of so many equal runs of the pairs; the text is walked twice."""
    total = sum(1 for _ in bitext)
    yield from islice(bitext, total * (part - 1) // parts, total * part // parts)


@dataclass(frozen=True)
class Shard:
    """Name the files of one shard."""

    inputs: tuple[str, ...]
    output: str
    scores: str | None = None

    @property
    def name(self) -> str:
        """Name the output without its directory, as messages do."""
        return base_name(self.output)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Name the files that are written, but for the manifest."""
        return (self.output,) if self.scores is None else (self.output, self.scores)

    @property
    def manifest(self) -> str:
        """Name the file that says what the output was made of; it is written last."""
        return self.output + MANIFEST


def find_shards(
    patterns: Sequence[str],
    out: str,
    link_format: str,
    *,
    compress: str | None = None,
    scores: str | None = None,
) -> list[Shard]:
    """Find the files of one pattern, or of two whose matches belong together, in the order of their names.

    Two files belong together if the wildcards of their patterns stand for the same. Outputs are compressed as
    asked (`gz`, `zst`, `xz`); `scores` is the directory of the files of scores, if any are wanted.

    Raises:
        InputError: a pattern has no files, a file has no partner, or two would have one output.
    """
    packed = "" if compress is None else f".{compress}"
    ending = (f".{link_format}" if link_format in ("jsonl", "parquet") else ".links") + packed
    shards = []
    for names in find_inputs(patterns):
        stem = _stem(names[0])
        beside = None if scores is None else places.join(scores, f"{stem}.scores{packed}")
        shards.append(Shard(names, places.join(out, stem + ending), beside))
    for output, count in Counter(shard.output for shard in shards).items():
        if count > 1:
            raise InputError(f"two of the shards would be written to {output}: their names differ too little")
    return shards


def find_inputs(patterns: Sequence[str]) -> list[tuple[str, ...]]:
    """Find the files of one pattern, or pairs of files of two, in the order of their names.

    Raises:
        InputError: a pattern has no files, or a file has no partner.
    """
    if len(patterns) > 2:
        raise UsageError("--shards takes one pattern of joint files, or two in quotes, one for each side")
    sides = [_matches(pattern) for pattern in patterns]
    if len(sides) == 2:
        _check_partners(patterns, sides)
        _check_partners(patterns[::-1], sides[::-1])
    return [tuple(side[wild] for side in sides) for wild in sides[0]]


def _matches(pattern: str) -> dict[tuple[str, ...], str]:
    """Find the files of a pattern, by what its wildcards stand for in their names."""
    names = places.find(pattern)
    if not names:
        raise InputError("no file has a name like this", file=pattern)
    wild = re.compile("".join(expression for _, expression in _parts(pattern)), re.DOTALL)
    found = {}
    for name in names:
        match = wild.fullmatch(_with_slashes(name))
        assert match is not None, (pattern, name)
        found[match.groups()] = name
    return found


def _check_partners(patterns: Sequence[str], sides: Sequence[Mapping[tuple[str, ...], str]]) -> None:
    """Refuse files of the first side that have no partner on the second."""
    for wild, name in sides[0].items():
        if wild not in sides[1]:
            wilds = [part for part, expression in _parts(patterns[1]) if expression.startswith("(")]
            if len(wilds) != len(wild):
                raise InputError(f"has not as many wildcards as {patterns[0]}", file=patterns[1])
            values = iter(wild)
            literal = (
                next(values) if expression[0] == "(" else part for part, expression in _parts(patterns[1])
            )
            raise InputError(f"no such file, but {name} needs it as its other side", file="".join(literal))


def _parts(pattern: str) -> list[tuple[str, str]]:
    """Cut a pattern of `glob` into literal parts and wildcards, each with its regular expression.

    Those of wildcards are groups: `**/` any directories or none, `*`, `?`, `[…]`.
    """
    parts = re.findall(
        r"(?:(?<![^/])\*\*(?:/|\Z))|\*+|\?|\[!?\]?[^\]]*\]|[^*?\[]+|\[", _with_slashes(pattern), re.DOTALL
    )
    return [(part, _expression(part)) for part in parts]


def _expression(part: str) -> str:
    if part in ("**/", "**"):
        return "((?:.*/)?)" if part == "**/" else "(.*)"
    if part.startswith("*"):
        return "([^/]*)"
    if part == "?":
        return "([^/])"
    if part.startswith("[") and len(part) > 2:
        inside = re.sub(r"([\\\[\]^&|~])", r"\\\1", part[1:-1].removeprefix("!"))
        return f"([{'^' if part[1] == '!' else ''}{inside}])"
    return re.escape(part)


def _with_slashes(name: str) -> str:
    return name.replace(os.sep, "/")


def base_name(path: str) -> str:
    """Name a file without its directory."""
    return path.rpartition("/")[2] if places.is_remote(path) else os.path.basename(path)


def _stem(path: str) -> str:
    name = base_name(path)
    stem, ending = os.path.splitext(name)
    return stem if ending in (".gz", ".xz", ".zst", ".parquet") else name
