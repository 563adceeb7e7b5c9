"""Results of a benchmark, kept one by one, so that it goes on where it was stopped.

Each is kept under a key of all that went into it. For bitweft that is the revision of the recipe, a number
that is raised by hand when its results change (tests/test_revision.py notices), so that files may be moved
and code rewritten while figures stay. What is timed depends on the code itself: see `code_digest`.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from corpora import ROOT
from reporting import write_json

RECIPES = ROOT / "src" / "bitweft" / "recipes"


def digest(key: Mapping[str, Any]) -> str:
    """Name a key by a hash of its JSON."""
    return hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()[:16]


def recipe_key(recipe: str = "default") -> dict[str, Any]:
    """Say which results of a recipe, with its default settings, a figure stands for."""
    from bitweft.aligner import Aligner

    return {"recipe": recipe, "revision": Aligner(recipe).recipe.revision}


def code_digest(recipe: str = "default") -> str:
    """Name the code of a recipe by a hash of its folder: what it costs may change where results do not."""
    files = sorted((RECIPES / recipe).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


class Unchanged:
    """Hold timed runs to the code that they began with: figures of two versions must not mix."""

    def __init__(self) -> None:
        self.code = code_digest()

    def check(self) -> None:
        """Stop if the code has changed since."""
        if code_digest() != self.code:
            raise SystemExit("the default recipe's code changed during this run: it is not kept; start again")


class Cells:
    """Keep each result of a benchmark in a file that is named by its key, and holds it."""

    def __init__(self, directory: Path, *others: Path) -> None:
        """Keep results in a directory; what is kept in the others is read, and nothing is written there."""
        self.directories = (directory, *others)

    def path(self, key: Mapping[str, Any]) -> Path:
        """Give the file of a result: where it is, or where it would be written."""
        paths = [directory / f"{digest(key)}.json" for directory in self.directories]
        return next((path for path in paths if path.exists()), paths[0])

    def __contains__(self, key: Mapping[str, Any]) -> bool:
        return self.path(key).exists()

    def get(self, key: Mapping[str, Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Give the result that is kept, or make it and keep it: its key, its figures and its date."""
        path = self.path(key)
        if not path.exists():
            write_json(path, {"key": key, "result": make(), "date": time.strftime("%Y-%m-%d")})
        cell = json.loads(path.read_text(encoding="utf-8"))
        return {**cell["key"], **cell["result"], "date": cell["date"]}
