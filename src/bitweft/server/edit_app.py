"""The web application of `bitweft edit`: the page, and what it asks for. `bitweft serve` has none of this."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from bitweft.edit import ConflictError
from bitweft.errors import InputError, UsageError
from bitweft.server.app import LOOPBACK, fixed, guarded, json_answer, json_body
from bitweft.server.docs import docs_headers, docs_page
from bitweft.server.edit_schema import ACCEPTED, SAVED, edit_openapi
from bitweft.server.editing import EXPORTS, Session, judgment_of
from bitweft.server.limits import Limits
from bitweft.server.page import edit_page, edit_policy, icon
from bitweft.server.problems import Problem

Asked = TypeVar("Asked")


def edit_application(session: Session, limits: Limits, *, hosts: frozenset[str] = LOOPBACK) -> ASGIApp:
    """Make the application; `hosts` are the names it answers to."""
    endpoints = _Endpoints(session, limits)
    described = edit_openapi(session.can_learn)
    documents = {
        "/": Response(
            edit_page(), media_type="text/html", headers={"content-security-policy": edit_policy()}
        ),
        "/icon.svg": Response(icon(), media_type="image/svg+xml"),
        "/openapi.json": json_answer(json.dumps(described).encode()),
        "/docs": Response(docs_page(described), media_type="text/html", headers=docs_headers()),
        "/health": json_answer(b'{"status": "ok"}'),
    }
    routes = [
        *fixed(documents),
        Route("/edit/state", endpoints.state, methods=["GET"]),
        Route("/edit/changes", endpoints.changes, methods=["GET"]),
        Route("/edit/export/{link_format}", endpoints.export, methods=["GET"]),
        Route("/edit/save", endpoints.save, methods=["POST"]),
        Route("/edit/accept", endpoints.accept, methods=["POST"]),
    ]
    if session.can_learn:
        routes.append(Route("/edit/learn", endpoints.learn, methods=["POST"]))
    return guarded(routes, hosts)


class _Endpoints:
    def __init__(self, session: Session, limits: Limits) -> None:
        self.session = session
        self.limits = limits
        self.threads = CapacityLimiter(4)

    async def state(self, request: Request) -> Response:
        """Give everything to a page that was opened."""
        return await self._answer(self.session.state)

    async def changes(self, request: Request) -> Response:
        """Give what has changed since a revision."""
        since = request.query_params.get("since", "0")
        if not (since.isascii() and since.isdigit() and len(since) < 16):
            raise Problem(422, "since must be a revision, 0 or greater")
        return await self._answer(lambda: self.session.changes(int(since)))

    async def export(self, request: Request) -> Response:
        """Give the gold links of what is done as a file."""
        link_format = request.path_params["link_format"]
        if link_format not in EXPORTS:
            raise Problem(404, f"no such format; there are {', '.join(EXPORTS)}")
        text = await to_thread.run_sync(self.session.export, link_format, limiter=self.threads)
        name = "gold.jsonl" if link_format == "jsonl" else f"gold.{link_format}.txt"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(text, media_type="text/plain", headers=headers)

    async def save(self, request: Request) -> Response:
        """Save what is said of one pair, unless it was changed elsewhere."""
        asked = await self._asked(request, SAVED)
        self._check_pair(asked.pair)
        unlinked = (asked.unlinked.source, asked.unlinked.target)
        judgment = judgment_of(
            asked.sure,
            asked.possible,
            unlinked,
            comment=asked.comment,
            done=asked.done,
            by=self.session.names.by,
        )
        return await self._answer(lambda: self.session.save(asked.pair, judgment, asked.version))

    async def accept(self, request: Request) -> Response:
        """Take the suggestions for many pairs at once."""
        asked = await self._asked(request, ACCEPTED)
        self._check_pair(max(asked.pairs, default=0))
        return await self._answer(lambda: self.session.accept(asked.pairs, asked.threshold))

    async def _asked(self, request: Request, described: TypeAdapter[Asked]) -> Asked:
        """Read what a request asks for."""
        body = await json_body(request, self.limits)
        try:
            return described.validate_json(body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = "/".join(map(str, first["loc"]))
            raise Problem(
                422, f"the request is not as the API describes it: {where}: {first['msg']}"
            ) from None

    def _check_pair(self, k: int) -> None:
        if k >= len(self.session.pairs):
            raise Problem(422, f"pair {k} (zero-based) is beyond {len(self.session.pairs):,} pairs")

    async def learn(self, request: Request) -> Response:
        """Learn from what is done."""
        await json_body(request, self.limits)
        return await self._answer(self.session.learn)

    async def _answer(self, work: Callable[[], dict[str, Any]]) -> Response:
        try:
            found = await to_thread.run_sync(work, limiter=self.threads)
        except ConflictError as conflict:
            raise Problem(409, str(conflict)) from None
        except (InputError, UsageError) as error:
            raise Problem(422, str(error)) from None
        return json_answer(json.dumps(found, allow_nan=False).encode())
