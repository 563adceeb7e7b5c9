"""The page on which one types two sentences: the viewer's drawing, with fields above it."""

from __future__ import annotations

from importlib import resources
from string import Template

from bitweft.viewer.page import DRAWING, asset, policy

_STYLES = ("draw.css", "view.css")


def page() -> str:
    """Return the page; nothing of a user or a model is in it."""
    return Template(_own("serve.html")).substitute(style=_style(), script=_script())


def page_policy() -> str:
    """Return the page's Content-Security-Policy: its own style and script, and requests to its server."""
    return f"{policy(_style(), _script())}; connect-src 'self'; img-src 'self'; frame-ancestors 'none'"


def icon() -> str:
    """Return the page's icon."""
    return _own("icon.svg")


def _style() -> str:
    return f"{asset(*_STYLES)}\n{_own('serve.css')}"


def _script() -> str:
    return f"{asset(*DRAWING)}\n{_own('serve.js')}"


def _own(name: str) -> str:
    return (resources.files("bitweft.server") / "assets" / name).read_text(encoding="utf-8")
