"""What MkDocs asks while it builds the site: what is made from the code, and links that leave the site."""

from __future__ import annotations

import os
import posixpath
import re
from functools import cache
from importlib.metadata import metadata
from typing import Any

MARK = "<!-- verbs -->"
LINK = re.compile(r"\]\((\.\./[^)\s]+)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put the help of every verb in the place of the mark; link files that are no pages to the repository."""
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))
    text = LINK.sub(lambda link: f"]({in_repository(folder, link[1])})", markdown)
    return text.replace(MARK, verbs()) if MARK in text else text


def in_repository(folder: str, target: str) -> str:
    """Return the address of what a link leads to, if that lies outside of docs; else the link as it is."""
    path = posixpath.normpath(posixpath.join(folder, target))
    return target if path.startswith("docs/") else f"{repository()}/blob/HEAD/{path}"


@cache
def repository() -> str:
    """Return the address of the repository, as pyproject.toml names it."""
    urls = dict(url.split(", ", 1) for url in metadata("bitweft").get_all("Project-URL", []))
    return str(urls["Repository"])


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
