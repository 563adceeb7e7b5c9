"""Run bitweft's command line with another refiner than the shipped one, such as one without a language.

    python benchmarks/left_out.py REFINER align en.txt fr.txt

benchmarks/styles.py trains those that leave one language out, and keeps them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bitweft.cli import main as bitweft
from bitweft.recipes.default import recipe
from bitweft.recipes.default.refine.refiner import load_refiner
from corpora import Row
from measuring import python
from refiner import LEARNED
from reporting import CACHE

MODELS = CACHE / "models"


def refiner_file(left_out: str, directory: Path = MODELS) -> Path:
    """Name the file of the refiner that has not seen a text; of none, the one trained on all."""
    return directory / f"refiner-without-{left_out or 'none'}.safetensors"


def command_for(row: Row, *arguments: str) -> list[str]:
    """Give the command that runs bitweft on a text by a refiner that has not seen its language."""
    if row.text not in LEARNED:
        return python("-m", "bitweft", *arguments)
    path = refiner_file(row.text)
    if not path.exists():
        raise SystemExit(f"{path}: no such refiner; python benchmarks/styles.py trains it")
    return python(__file__, str(path), *arguments)


def main(arguments: Sequence[str]) -> int:
    """Run a verb by the refiner of a file."""
    refiner = load_refiner(Path(arguments[0]))
    vars(recipe)["shipped"] = lambda: refiner
    return bitweft(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
