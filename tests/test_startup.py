"""What is imported: nothing slow for what does not need it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from battery import SMALL

HEAVY = {"torch", "numba", "scipy", "scipy.linalg", "threadpoolctl", "bitweft.recipes.default.recipe"}


def loaded(code: str, *arguments: str) -> set[str]:
    """Run some code in a new Python and tell which slow packages it imported."""
    tell = 'import sys; sys.stderr.write("\\n" + " ".join(sys.modules))'
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{tell}", *arguments], capture_output=True, text=True, check=True
    )
    return HEAVY & set(done.stderr.splitlines()[-1].split())


def of_verb(*arguments: str) -> set[str]:
    code = (
        "import sys\nfrom bitweft.cli import main\n"
        "try:\n    code = main(sys.argv[1:])\nexcept SystemExit as done:\n    code = done.code\n"
        "assert code in (0, None), code"
    )
    return loaded(code, *arguments)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    contents = {"links": "0-0 1-1\n", "text": "a b\n", "joint": "the cat ||| le chat\n"}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    return {name: str(tmp_path / name) for name in contents}


def test_importing_bitweft() -> None:
    assert loaded("import bitweft; bitweft.Bitext, bitweft.evaluate, bitweft.Decoding") == set()


@pytest.mark.parametrize("arguments", ["--help", "--version", "align --help", "train --help", "serve --help"])
def test_asking_for_help(arguments: str) -> None:
    assert of_verb(*arguments.split()) == set()


@pytest.mark.parametrize(
    "arguments", ["evaluate links links", "symmetrize links links", "convert links", "check text text"]
)
def test_verbs_without_a_model(files: dict[str, str], arguments: str) -> None:
    assert of_verb(*(files.get(word, word) for word in arguments.split())) == set()


def test_aligning_by_the_default_recipe_needs_neither_torch_nor_products(
    files: dict[str, str], model: Path
) -> None:
    align = ("align", files["joint"], "--model", str(model), "-q")
    of_verb(*align)  # compiles
    assert of_verb(*align).isdisjoint({"torch", "scipy.linalg", "threadpoolctl"})
    assert "torch" not in of_verb("show", str(model))


def test_learning_by_the_default_recipe_needs_no_more_of_scipy_than_its_products(
    files: dict[str, str], tmp_path: Path
) -> None:
    align = ("align", files["joint"], "-o", str(tmp_path / "out"), "--force", "-q")
    of_verb(*align)  # compiles
    assert "scipy.linalg" not in of_verb(*align)


def test_a_model_of_another_recipe_needs_nothing_of_the_default_one(
    files: dict[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="needs the extra paper: pip install 'bitweft[paper]'")
    train = ["train", files["joint"], "-o", str(tmp_path / "m"), "--recipe", "paper", "-q", "--threads", "1"]
    settings = [word for setting in SMALL["paper"] for word in ("--set", setting)]
    assert "bitweft.recipes.default.recipe" not in of_verb(*train, *settings)
