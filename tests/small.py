"""One small model, learned once for all tests that need one."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from bitweft.aligner import Aligner
from bitweft.links.alignment import GoldAlignment
from bitweft.sample import bitext, generate
from bitweft.text.bitext import Bitext

PAIRS = 300


@cache
def sample() -> tuple[Bitext, list[GoldAlignment]]:
    """Give the text and its gold links."""
    return bitext(generate(PAIRS))


@cache
def aligner() -> Aligner:
    """Give the aligner that has learned from the text."""
    return Aligner(threads=1).fit(sample()[0])


def write_text(directory: Path) -> tuple[str, str]:
    """Write the text as two files and name them."""
    text = list(sample()[0])
    paths = directory / "text.en", directory / "text.fr"
    for path, sentences in zip(paths, zip(*text, strict=True), strict=True):
        lines = "".join(f"{sentence.text}\n" for sentence in sentences)
        path.write_text(lines, encoding="utf-8", newline="\n")
    return str(paths[0]), str(paths[1])


def write_joint(directory: Path) -> str:
    """Write the text as one `source ||| target` file and name it."""
    path = directory / "text.joint"
    lines = "".join(f"{pair.source.text} ||| {pair.target.text}\n" for pair in sample()[0])
    path.write_text(lines, encoding="utf-8", newline="\n")
    return str(path)
