"""The examples and the page about Python run as they stand."""

from __future__ import annotations

import doctest
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bitweft.aligner import Aligner
from bitweft.sample import bitext, generate

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NEEDS = {"hugging_face": "datasets", "ray_cluster": "ray", "spark": "pyspark"}
SLOW = {"ray_cluster", "spark"}  # they start processes of their own


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow if path.stem in SLOW else ()) for path in EXAMPLES],
    ids=[path.stem for path in EXAMPLES],
)
def test_the_example_runs(path: Path) -> None:
    package = NEEDS.get(path.stem)
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"the package {package} is not installed")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a script for a POSIX shell")
def test_the_steps_of_slurm_run_without_it(tmp_path: Path) -> None:
    text = list(bitext(generate(60))[0])
    for number in range(2):
        lines = (f"{pair.source.text}\t{pair.target.text}\n" for pair in text[30 * number : 30 * number + 30])
        (tmp_path / f"{number}.tsv").write_text("".join(lines), encoding="utf-8")
    command = ["sh", str(ROOT / "examples" / "slurm.sh"), f"{tmp_path}/*.tsv", str(tmp_path / "work")]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stderr
    links = sorted((tmp_path / "work" / "links").glob("*.links"))
    assert [len(path.read_text().splitlines()) for path in links] == [30, 30]
    aligner = Aligner.load(tmp_path / "work" / "model.weft")
    assert not aligner.recipe.in_parts().passes_left


def test_there_are_examples() -> None:
    named = {"one_pair", "filter_pairs", "carry_markup", "hugging_face", "ray_cluster", "spark"}
    assert {path.stem for path in EXAMPLES} >= named


def test_the_page_about_python_is_true() -> None:
    failed, tried = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False)
    assert tried > 20 and failed == 0


def test_the_page_about_projection_is_true() -> None:
    failed, tried = doctest.testfile(str(ROOT / "docs" / "projection.md"), module_relative=False)
    assert tried == 5 and failed == 0
