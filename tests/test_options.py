"""Arguments that verbs share."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from bitweft.cli.options import add_output, add_text, bitext_of, report_oddities


def test_text_is_named_by_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_text(parser)
    add_output(parser)
    rows = tmp_path / "rows"
    rows.write_text('{"translation": {"en": "it\'s  so", "fr": "oui"}}\n', encoding="utf-8")
    options = ["--tokenize", "char", "--languages", "fr", "en", "-o", "out"]
    args = parser.parse_args([str(rows), *options])
    (pair,) = bitext = bitext_of(args)
    assert pair.source.tokens == ("o", "u", "i")
    assert pair.target.tokens == tuple("it'sso")
    assert (args.output, args.force) == ("out", False)
    report_oddities(bitext)
    assert capsys.readouterr().err == f"bitweft: {rows}: 1 lines with repeated spaces (taken as one)\n"
