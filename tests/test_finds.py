"""Inputs that once made a fault, and runs of every separator, through every reader of files."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from bitweft.errors import BitweftError
from torture.inputs import KEPT, mutate
from torture.readers import READERS

RUNS = (
    b" ",
    b"\t",
    b"||| ",
    b"-",
    b"0-0 ",
    b"({ ",
    b"<b>",
    b"{",
    b"[",
    b'"',
    b":",
    b"\\",
    b"\r",
    b"\xc2\xa0",
)


def refused(name: str, files: list[Path]) -> bool:
    """Read three files; tell whether that was refused. Any other error is the test's."""
    try:
        READERS[name][1]([str(file) for file in files])
    except BitweftError:
        return True
    return False


@pytest.mark.parametrize("name", READERS)
def test_what_was_found_once_is_read_or_refused(name: str, tmp_path: Path) -> None:
    files = [tmp_path / str(number) for number in range(3)]
    kept = sorted(KEPT.iterdir())
    for number in range(len(kept)):
        for file, find in zip(files, kept[number:] + kept[:number], strict=False):
            file.write_bytes(find.read_bytes())
        refused(name, files)


@pytest.mark.parametrize("name", READERS)
def test_a_run_of_any_separator_takes_no_more_than_its_length(name: str, tmp_path: Path) -> None:
    # What looks at each place of a run from each other would need minutes for one of these.
    files = [tmp_path / str(number) for number in range(3)]
    for separator in RUNS:
        for file in files:
            file.write_bytes(b"a ||| b" + separator * 20_000 + b"c\n")
        refused(name, files)


def test_a_seed_gives_the_same_inputs() -> None:
    inputs = [mutate(b"0-0 1-1\n", [b"a b\n"], random.Random(7)) for _ in range(2)]
    assert inputs[0] == inputs[1] != mutate(b"0-0 1-1\n", [b"a b\n"], random.Random(8))
