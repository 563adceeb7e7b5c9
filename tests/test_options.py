"""Options that several verbs share."""

from __future__ import annotations

import pytest

from bitweft.cli import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("align a b --threads 0", "argument --threads: must be 1 or greater, got 0"),
        ("train a b -o m --seed -1", "argument --seed: must be 0 or greater, got -1"),
        ("align a b --max-length -3", "argument --max-length: must be 1 or greater, got -3"),
        ("view a b l --line 0", "argument --line: must be 1 or greater, got 0"),
        ("evaluate l g --samples -1", "argument --samples: must be 0 or greater, got -1"),
        ("serve m --threads 0", "argument --threads: must be 1 or greater, got 0"),
        ("lexicon a b l --threshold 1.5", "argument --threshold: must be from 0 to 1, got 1.5"),
        ("check a b --long x", "argument --long: invalid number value: 'x'"),
    ],
)
def test_numbers_out_of_range_are_refused(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments.split()) == 2
    assert message in capsys.readouterr().err
