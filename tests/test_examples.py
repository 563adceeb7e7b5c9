"""The examples and the page about Python run as they stand."""

from __future__ import annotations

import doctest
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
EXTRAS = {"hugging_face": "datasets"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(path: Path) -> None:
    extra = EXTRAS.get(path.stem)
    if extra is not None and importlib.util.find_spec(extra) is None:
        pytest.skip(f"the package {extra} is not installed: pip install 'bitweft[{extra}]'")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_there_are_examples() -> None:
    assert {path.stem for path in EXAMPLES} >= {"one_pair", "filter_pairs", "carry_markup", "hugging_face"}


def test_the_page_about_python_is_true() -> None:
    failed, tried = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False)
    assert tried > 20 and failed == 0


def test_the_page_about_projection_is_true() -> None:
    failed, tried = doctest.testfile(str(ROOT / "docs" / "projection.md"), module_relative=False)
    assert tried == 5 and failed == 0
