"""The public surface: these names, and no others, without loading what they do not need."""

from __future__ import annotations

import subprocess
import sys

import pytest

import weft

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
    "WeftError",
    "__version__",
    "evaluate",
    "symmetrize",
}


def test_the_names_are_these() -> None:
    assert set(weft.__all__) == NAMES == set(dir(weft))
    for name in NAMES:
        assert getattr(weft, name).__doc__


def test_other_names_are_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = weft.magic


def test_importing_weft_loads_nothing_heavy() -> None:
    code = "import sys, weft; weft.Bitext, weft.InputError; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "numba", "numpy", "weft.aligner"} & set(eval(done.stdout))


def test_every_error_can_be_caught_as_one() -> None:
    for name in NAMES:
        if name.endswith("Error"):
            assert issubclass(getattr(weft, name), weft.WeftError)
            assert getattr(weft, name).exit_code in (1, 2)
