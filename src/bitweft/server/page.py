"""The pages: the viewer's drawing with fields to type into, and with tools to edit links."""

from __future__ import annotations

import re
from importlib import resources
from string import Template

from bitweft.viewer.page import DRAWING, SCRIPTS, asset, frame, policy

_STYLES = ("draw.css", "view.css")
_EDITING = ("records.js", "hand.js", "settle.js", "edit.js")


def page() -> str:
    """Return the page; nothing of a user or a model is in it."""
    return Template(own("serve.html")).substitute(style=_style(), script=_script())


def page_policy() -> str:
    """Return the page's Content-Security-Policy: its own style and script, and requests to its server."""
    return f"{policy(_style(), _script())}; connect-src 'self'; img-src 'self'; frame-ancestors 'none'"


def edit_page() -> str:
    """Return the page for editing; the text comes in its requests."""
    parts = dict(re.findall(r"<!--(\w+)-->\n(.*?)(?=<!--|\Z)", own("edit.html"), re.DOTALL))
    return frame(_edit_style(), _edit_script(), _edit_allowed(), {"title": "bitweft edit", **parts})


def edit_policy() -> str:
    """Return the Content-Security-Policy of the page for editing."""
    return f"{_edit_allowed()}; frame-ancestors 'none'"


def icon() -> str:
    """Return the page's icon."""
    return own("icon.svg")


def _style() -> str:
    return f"{asset(*_STYLES)}\n{own('serve.css')}"


def _edit_allowed() -> str:
    return f"{policy(_edit_style(), _edit_script())}; connect-src 'self'; img-src 'self'"


def _edit_style() -> str:
    return f"{asset(*_STYLES)}\n{own('edit.css')}"


def _edit_script() -> str:
    return "\n".join([asset(*SCRIPTS), *map(own, _EDITING)])


def _script() -> str:
    return f"{asset(*DRAWING)}\n{own('serve.js')}"


def own(name: str) -> str:
    """Read a file of the server's own pages."""
    return (resources.files("bitweft.server") / "assets" / name).read_text(encoding="utf-8")
