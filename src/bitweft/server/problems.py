"""What goes wrong with a request, as a JSON problem (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from http import HTTPStatus

TYPE = "application/problem+json"


class Problem(Exception):
    """Refuse a request, with a status and a reason; `errors` are (JSON pointer, reason)."""

    def __init__(self, status: int, detail: str, errors: Iterable[tuple[str, str]] = ()) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.errors = list(errors)

    def body(self) -> bytes:
        """Write the problem as JSON."""
        value: dict[str, object] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.errors:
            value["errors"] = [{"pointer": pointer, "detail": detail} for pointer, detail in self.errors]
        return json.dumps(value, ensure_ascii=False).encode()
