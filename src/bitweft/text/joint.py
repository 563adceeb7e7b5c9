"""Files that hold both sides of parallel text: `src ||| tgt`, two columns, JSON lines, or Parquet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from bitweft.errors import InputError, UsageError
from bitweft.text.lines import LineFile, Oddities
from bitweft.text.parquet import is_parquet, read_parquet

Reader: TypeAlias = Callable[[LineFile, Oddities], Iterator[tuple[str, str]]]

PARQUET = "parquet"
FORMATS = ("joint", "tsv", "jsonl", PARQUET)
_BAR = "|||"
_LOOKED_AT = 1000  # lines that must all agree before a format is taken as certain


def detect_format(file: LineFile) -> str:
    """Tell the format of a joint file, where its first lines leave no doubt."""
    if is_parquet(file):
        return PARQUET
    lines = file.head(_LOOKED_AT)
    if not lines:
        return "joint"
    fitting = [name for name, fits in _FITS.items() if all(map(fits, lines))]
    if not fitting and all(line.count("\t") < 2 for line in lines):
        # A few lines at fault: the reader of the only format that fits the others will name the first.
        fitting = [name for name, fits in _FITS.items() if sum(map(fits, lines)) * 2 > len(lines)]
    if len(fitting) == 1:
        return fitting[0]
    why = f"could be {' or '.join(fitting)}" if fitting else "is not plainly `src ||| tgt`, TSV or JSON lines"
    raise InputError(
        f"one file that {why}: give --format {'|'.join(fitting or _FITS)}, or a second file", file=file.name
    )


def _is_bar(line: str) -> bool:
    return _find_bar(line) is not None


def _find_bar(line: str) -> int | None:
    """Find the first `|||` between white space, or the line's ends; each place is looked at once."""
    place = line.find(_BAR)
    while place >= 0:
        end = place + len(_BAR)
        if (place == 0 or line[place - 1] in " \t") and (end == len(line) or line[end] in " \t"):
            return place
        place = line.find(_BAR, place + 1)
    return None


def _is_columns(line: str) -> bool:
    return line.count("\t") == 1


def _is_json(line: str) -> bool:
    try:
        value = loads(line)
    except ValueError:
        return False
    return isinstance(value, dict) and ("translation" in value or {"src", "tgt"} <= value.keys())


_FITS: dict[str, Callable[[str], bool]] = {"joint": _is_bar, "tsv": _is_columns, "jsonl": _is_json}


def joint_reader(format: str, languages: Sequence[str] | None = None) -> Reader:
    """Give the reader of a joint format; `languages` names two columns, or keys of a `translation` object."""
    if languages is not None and (len(languages) != 2 or languages[0] == languages[1]):
        raise UsageError("--languages takes two different languages, source first")
    if format == "joint":
        return lambda file, oddities: _read(file, oddities, _parse_bars)
    if format == "tsv":
        return lambda file, oddities: _read(file, oddities, _parse_columns)
    if format == "jsonl":
        return lambda file, oddities: _read(file, oddities, lambda line: _sides(loads(line), languages))
    if format == PARQUET:
        return lambda file, oddities: read_parquet(file, oddities, languages)
    raise UsageError(f"no joint format {format!r}; there are {', '.join(FORMATS)}")


def _read(
    file: LineFile, oddities: Oddities, parse: Callable[[str], tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Part each line in two; one that cannot be is an error or, unless the file is strict, an empty pair."""
    for number, line in enumerate(file.lines(oddities), 1):
        try:
            sides = parse(line)
        except ValueError as error:
            if file.strict:
                reason = f"not JSON: {error}" if isinstance(error, json.JSONDecodeError) else str(error)
                raise InputError(reason, file=file.name, line=number) from error
            oddities.damaged += 1 if line else 0  # an empty line is not damaged, or is already counted
            sides = ("", "")
        yield sides


def _parse_bars(line: str) -> tuple[str, str]:
    place = _find_bar(line)
    if place is None:
        raise ValueError("no `|||` between spaces; each line must be `source ||| target`")
    return line[:place].rstrip(" \t"), line[place + len(_BAR) :].lstrip(" \t")


def _parse_columns(line: str) -> tuple[str, str]:
    columns = line.split("\t", 2)
    if len(columns) < 2:
        raise ValueError("no tab; each line must be `source TAB target`")
    return columns[0], columns[1]


def loads(line: str) -> Any:
    """Parse one line of JSON, and refuse half a surrogate pair: no file could hold it."""
    try:
        value = json.loads(line)
    except RecursionError:
        raise ValueError("not JSON that can be read: nested too deep") from None
    if "\\ud" in line.lower():
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _sides(value: Any, languages: Sequence[str] | None) -> tuple[str, str]:
    if not isinstance(value, dict):
        raise ValueError('not an object; each line must be {"src": …, "tgt": …} or {"translation": {…}}')
    if "translation" in value:
        value = value["translation"]
        if not isinstance(value, dict):
            raise ValueError('"translation" must be an object of languages')
        keys = tuple(languages or value)
    else:
        keys = ("src", "tgt")
    if len(keys) != 2:
        raise ValueError(f"{len(keys)} languages ({', '.join(keys)}): name two with --languages")
    for key in keys:
        if not isinstance(value.get(key), str):
            raise ValueError(f"no text under {key!r}")
    return value[keys[0]], value[keys[1]]
