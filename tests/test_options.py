"""Arguments that verbs share."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from bitweft.cli import main, parse
from bitweft.cli.options import add_output, add_text, bitext_of, report_oddities


def test_text_is_named_by_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_text(parser)
    add_output(parser)
    rows = tmp_path / "rows"
    rows.write_text('{"translation": {"en": "it\'s  so", "fr": "oui"}}\n', encoding="utf-8")
    options = ["--tokenize", "char", "--keys", "fr", "en", "-o", "out"]
    args = parser.parse_args([str(rows), *options])
    (pair,) = bitext = bitext_of(args)
    assert pair.source.tokens == ("o", "u", "i")
    assert pair.target.tokens == tuple("it'sso")
    assert (args.output, args.force) == ("out", False)
    report_oddities(bitext)
    assert capsys.readouterr().err == f"bitweft: {rows}: 1 lines with repeated spaces (taken as one)\n"


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("align en --model M fr", ("en", "fr")),
        ("align --threads 2 en -q fr --model M", ("en", "fr")),
        ("align --tags a b en --recipe paper fr", ("en", "fr")),
        ("train en -o M fr", ("en", "fr")),
        ("train -o M en --languages de it fr --seed 3", ("en", "fr")),
        ("check en --one-based fr", ("en", "fr")),
    ],
)
def test_options_may_stand_between_files(line: str, files: tuple[str, str]) -> None:
    args = parse(line.split())
    assert (args.source, args.target) == files


def test_an_option_between_files_does_what_it_says(model: Path, tmp_path: Path) -> None:
    for name, text in (("en", "the cat sleeps .\n"), ("fr", "le chat dort .\n")):
        (tmp_path / name).write_text(text)
    en, fr, out = (str(tmp_path / name) for name in ("en", "fr", "out"))
    assert main(["align", en, "--model", str(model), fr, "-q", "-o", out]) == 0
    assert (tmp_path / "out").read_text() == "0-0 1-1 2-2 3-3\n"
