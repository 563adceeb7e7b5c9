"""The page that describes the API: made of its OpenAPI description, without a script."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from string import Template
from typing import Any

from bitweft.server.page import own
from bitweft.viewer.page import asset, policy

_REF = "#/components/schemas/"


def docs_page(described: Mapping[str, Any]) -> str:
    """Write the description as HTML; everything in it is escaped."""
    info = described["info"]
    parts = {
        "title": _text(f"{info['title']} {info['version']}"),
        "about": _text(info["description"]),
        "paths": "\n".join(_operations(described)),
        "schemas": "\n".join(
            _schema(name, each) for name, each in described["components"]["schemas"].items()
        ),
        "style": _style(),
    }
    return Template(own("docs.html")).substitute(parts)


def docs_headers() -> dict[str, str]:
    """Return the page's own Content-Security-Policy: its style, and nothing that runs."""
    allowed = policy(_style(), "").split("; ")
    kept = [each for each in allowed if not each.startswith(("script-src", "require-"))]
    return {"content-security-policy": "; ".join([*kept, "img-src 'self'", "frame-ancestors 'none'"])}


def _style() -> str:
    return f"{asset('draw.css')}\n{own('docs.css')}"


def _operations(described: Mapping[str, Any]) -> Iterator[str]:
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield (
                f"<section><h2><b>{_text(method.upper())}</b> <code>{_text(path)}</code></h2>"
                f"<p>{_text(operation['summary'])}</p>"
                f"{_sent(operation.get('requestBody'))}<dl>{''.join(_responses(operation))}</dl></section>"
            )


def _sent(body: Mapping[str, Any] | None) -> str:
    return "" if body is None else f"<p>Send {_content(body)}.</p>"


def _responses(operation: Mapping[str, Any]) -> Iterator[str]:
    for status, response in operation["responses"].items():
        of = _content(response)
        yield f"<dt>{_text(status)}</dt><dd>{_text(response['description'])}{f': {of}' if of else ''}</dd>"


def _content(holder: Mapping[str, Any]) -> str:
    """Name what a body may hold."""
    found = []
    for kind, content in holder.get("content", {}).items():
        schema = content.get("schema", {})
        found += [_kind(each) for each in schema.get("oneOf", [schema] if schema else [])] or [_text(kind)]
    return " or ".join(found)


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    needed = set(schema.get("required", ()))
    rows = "".join(_row(key, each, key in needed) for key, each in schema.get("properties", {}).items())
    return (
        f"<section id='{_text(name)}'><h3>{_text(name)}</h3><p>{_text(schema.get('description', ''))}</p>"
        f"<div class='wide'><table>{rows}</table></div></section>"
    )


def _row(key: str, schema: Mapping[str, Any], needed: bool) -> str:
    kind = _kind(schema) + ("" if needed else ", optional")
    about = _text(schema.get("description", ""))
    return f"<tr><th scope='row'><code>{_text(key)}</code></th><td>{kind}</td><td>{about}</td></tr>"


def _kind(schema: Mapping[str, Any]) -> str:
    """Name the type of a value, with links to the types that are described."""
    if "$ref" in schema:
        name = _text(schema["$ref"].removeprefix(_REF))
        return f"<a href='#{name}'>{name}</a>"
    several = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if several:
        return " or ".join(map(_kind, several))
    if schema.get("type") == "array":
        items = schema.get("items", {})
        inside = [items] if items else schema.get("prefixItems", [])
        return f"[{', '.join(map(_kind, inside))}{', …' if items else ''}]"
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join(f"<code>{_text(json.dumps(value))}</code>" for value in values)
    return _text(schema.get("type", "any value"))


def _text(text: object) -> str:
    return html.escape(str(text))
