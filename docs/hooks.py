"""What MkDocs asks while it builds the site: the page of the command line is made from the code."""

from __future__ import annotations

import os
from typing import Any

MARK = "<!-- verbs -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the help of every verb in the place of the mark."""
    return markdown.replace(MARK, verbs()) if MARK in markdown else markdown


def verbs() -> str:
    """Write the help of every verb as Markdown."""
    from bitweft.cli import VERBS, verb_parser

    os.environ["COLUMNS"] = "100"
    parts = []
    for verb, summary in VERBS.items():
        help_text = verb_parser(verb).format_help().rstrip()
        title = f"## bitweft {verb}\n\n{summary[0].upper()}{summary[1:]}."
        parts.append(f"{title}\n\n```text\n{help_text}\n```\n")
    return "\n".join(parts)
