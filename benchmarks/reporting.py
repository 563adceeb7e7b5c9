"""What all benchmarks share around their figures: options, progress, surroundings, tables, pages, files."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from bitweft.storage.output import open_output
from corpora import ROOT

CACHE = ROOT / "benchmarks" / "cache"  # not committed
RESULTS = ROOT / "benchmarks" / "results"
NOT_INSTALLED = "not installed"
INSTALL = "Run pip install -e '.[bench]'; --systems, where a script has it, leaves them out"

Job = TypeVar("Job")


def new_parser(text: str | None) -> argparse.ArgumentParser:
    """Make the parser of a script from the text that stands at its head."""
    return argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )


def parse(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None, *, page: str, cache: Path | None = None
) -> argparse.Namespace:
    """Add the options that every benchmark has, and read the command line.

    Committed results are written only where that is asked for, by --docs, --publish or --output.
    """
    add = parser.add_argument
    places = "benchmarks/results with --docs or --publish, otherwise benchmarks/cache/results"
    add("--output", type=Path, metavar="DIR", help=f"directory of the results ({places})")
    if cache is not None:
        own = cache.relative_to(ROOT)
        add("--cache", type=Path, default=cache, metavar="DIR", help=f"directory of unfinished work ({own})")
    add("--docs", action="store_true", help=f"also fill the tables of {page}, and draw its figures")
    add("--publish", action="store_true", help="run nothing: make tables and figures from kept results")
    args = parser.parse_args(argv)
    args.page = ROOT / page if args.docs else None
    if args.output is None:
        args.output = RESULTS if args.docs or args.publish else CACHE / "results"
    return args


def read_results(path: Path) -> dict[str, Any]:
    """Read the results that a benchmark has written."""
    if not path.exists():
        raise SystemExit(f"{path}: no such results; leave out --publish to measure them")
    return dict(json.loads(path.read_text(encoding="utf-8")))


def write_json(path: Path, value: Any) -> None:
    """Write a file of JSON, whole or not at all."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_output(path, force=True) as stream:
        stream.write(text)


def say(text: str) -> None:
    """Tell on standard error what goes on."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def with_progress(jobs: Sequence[Job], weights: Sequence[float]) -> Iterator[Job]:
    """Give the jobs one by one, telling which it is and how long the rest may take.

    The weight of a job is a guess of its seconds; one that is kept already weighs nothing.
    """
    began = time.monotonic()
    for number, job in enumerate(jobs):
        done, left = sum(weights[:number]), sum(weights[number:])
        seconds = (time.monotonic() - began) / done * left if done else left
        say(f"{number + 1} of {len(jobs)}: {job}, about {seconds / 60:.1f} minutes left")
        yield job


def installed_version(package: str) -> str:
    """Return the version of a package; tables may be made where peers are not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return NOT_INSTALLED


def surroundings(*packages: str) -> dict[str, Any]:
    """Tell on what figures stand: versions, those of further packages too, and how busy the machine was."""
    names = ("bitweft", "numpy", "numba", "scipy", "eflomal", *packages)
    return {
        "python": platform.python_version(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "load": [round(load, 1) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "versions": {name: installed_version(name) for name in names},
        "date": time.strftime("%Y-%m-%d"),
    }


def span(dates: Iterable[str]) -> str:
    """Write the first and the last of some dates, or the only one."""
    inorder = sorted(set(dates))
    return " to ".join(dict.fromkeys((inorder[0], inorder[-1])))


def standing(results: Mapping[str, Any]) -> str:
    """Write in a sentence what `surroundings` told."""
    about = results["about"]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    threads = "one thread" if results["threads"] == 1 else f"{results['threads']} threads"
    load = "" if about["load"] is None else f", load {about['load'][0]} when it ended"
    return (
        f"Measured {about['date']}, {threads} each, Python {about['python']} on {about['architecture']}, "
        f"{about['cores']} cores{load}; {versions}."
    )


def fill_block(path: Path, name: str, text: str) -> None:
    """Put text between the marks `<!-- name -->` and `<!-- /name -->` of a Markdown file."""
    whole = path.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if whole.count(begin) != 1 or whole.count(end) != 1:
        raise ValueError(f"{path}: the marks {begin} and {end} must be there, once each")
    before, rest = whole.split(begin)
    after = rest.split(end)[1]
    write_text(path, f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}")


def publish(results: Path, text: str, page: Path | None, *, figure: str = "") -> None:
    """Write tables beside their results, to standard output and, with a figure, into a page if it is given.

    The block of the page has the name of the results.
    """
    write_text(results.with_suffix(".md"), text.rstrip("\n") + "\n")
    print(text)
    if page is not None:
        fill_block(page, results.stem, f"{figure}\n\n{text}")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def wrapped(text: str) -> str:
    """Break a paragraph into lines as the documents have them; words and options stay whole."""
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)
