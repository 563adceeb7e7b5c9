"""Results of a benchmark that are kept one by one, so that it goes on where it was stopped."""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from corpora import ROOT

CACHE = ROOT / "benchmarks" / "cache"
RESULTS = ROOT / "benchmarks" / "results"
PACKAGE = ROOT / "src" / "bitweft"

Job = TypeVar("Job")


@cache
def imported(code: str) -> frozenset[Path]:
    """Find the files of the package that some code imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    parts = (name.split(".")[1:] for name in names if name.startswith("bitweft."))
    found = (PACKAGE.joinpath(*own).with_suffix(".py") for own in parts if own)
    return frozenset(file for file in found if file.exists())


def source_hash(recipe: str = "default") -> str:
    """Give a hash of the code that a recipe's links and speed depend on."""
    code: dict[Path, str] = {}
    fresh = {PACKAGE / f"{recipe}.py"}
    while fresh:
        code |= {file: file.read_text(encoding="utf-8") for file in fresh}
        fresh = set().union(*map(imported, code.values())) - set(code)
    return hashlib.sha256("".join(code[file] for file in sorted(code)).encode()).hexdigest()[:16]


def bitweft_key() -> dict[str, Any]:
    """Give what the default recipe is: its settings, and a hash of its code."""
    from bitweft.recipes.default.config import DefaultConfig
    from bitweft.settings import to_mapping

    return {"config": to_mapping(DefaultConfig()), "source": source_hash(), "version": version("bitweft")}


class Unchanged:
    """Hold runs to the code that they began with: figures of two recipes must not mix."""

    def __init__(self) -> None:
        self.source = source_hash()

    def check(self) -> None:
        """Stop if the code has changed since."""
        if source_hash() != self.source:
            raise SystemExit("bitweft's code changed while it ran: this run is not kept; start again")


class Cells:
    """Keep each result of a benchmark under a key of all that went into it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, key: Mapping[str, Any]) -> Path:
        """Give the file of a result."""
        text = json.dumps(key, sort_keys=True, default=str)
        return self.directory / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"

    def __contains__(self, key: Mapping[str, Any]) -> bool:
        return self.path(key).exists()

    def get(self, key: Mapping[str, Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Give the result that is kept, or make it and keep it."""
        path = self.path(key)
        if not path.exists():
            write_json(path, {**key, **make(), "date": time.strftime("%Y-%m-%d")})
        return dict(json.loads(path.read_text(encoding="utf-8")))


def add_places(parser: argparse.ArgumentParser, *, cache: Path | None, page: str) -> None:
    """Add the options that every benchmark has: where results are written to and, if so, kept; the docs."""
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="DIR", help="benchmarks/results")
    if cache is not None:
        parser.add_argument(
            "--cache", type=Path, default=cache, metavar="DIR", help=f"{cache.relative_to(ROOT)}"
        )
    parser.add_argument("--docs", action="store_true", help=f"also fill docs/{page}, draw the figures")
    parser.add_argument("--publish", action="store_true", help="no runs: tables and figures from the JSON")


def write_json(path: Path, value: Any) -> None:
    """Write a file of JSON, whole or not at all."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8", newline="\n")
    partial.replace(path)


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
    """Return the version of a package; a figure may be drawn where its peers are not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


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


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
