"""The public surface: these names, and no others, without loading what they do not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bitweft

NAMES = {
    "Aligner",
    "Alignment",
    "Bitext",
    "Decoding",
    "GoldAlignment",
    "Inference",
    "InputError",
    "MissingExtraError",
    "ModelError",
    "NothingToLearnError",
    "Progress",
    "Score",
    "Sentence",
    "SentencePair",
    "UsageError",
    "BitweftError",
    "__version__",
    "evaluate",
    "project",
    "symmetrize",
}


def test_the_names_are_these() -> None:
    assert set(bitweft.__all__) == NAMES == set(dir(bitweft))
    for name in NAMES:
        assert getattr(bitweft, name).__doc__


def test_other_names_are_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = bitweft.magic


def test_importing_weft_loads_nothing_heavy() -> None:
    code = "import sys, bitweft; bitweft.Bitext, bitweft.InputError; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "numba", "numpy", "bitweft.aligner"} & set(eval(done.stdout))


def test_every_error_can_be_caught_as_one() -> None:
    for name in NAMES:
        if name.endswith("Error"):
            assert issubclass(getattr(bitweft, name), bitweft.BitweftError)
            assert getattr(bitweft, name).exit_code in (1, 2)
