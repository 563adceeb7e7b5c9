"""The web application: its addresses, what it refuses, and the headers that keep a browser safe."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bitweft.server import problems
from bitweft.server.lanes import Lanes
from bitweft.server.page import icon, page, page_policy
from bitweft.server.problems import Problem
from bitweft.server.schema import openapi
from bitweft.server.service import Service

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
HEAD = 16 << 10  # bytes of a request's line and headers
PATIENCE = 16  # times the biggest body is read, and dropped: who is cut off while sending sees no answer
HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


def application(service: Service, *, threads: int, hosts: frozenset[str] | None = LOOPBACK) -> ASGIApp:
    """Make the application; `hosts` are the names it answers to, None for any.

    A page of another site whose name leads to this machine (DNS rebinding) comes with a name of its own.
    """
    endpoints = _Endpoints(service, threads)
    documents = {
        "/": Response(page(), media_type="text/html", headers={"content-security-policy": page_policy()}),
        "/icon.svg": Response(icon(), media_type="image/svg+xml"),
        "/openapi.json": _json(json.dumps(openapi(service.limits)).encode()),
        "/model": _json(service.about),
        "/health": _json(b'{"status": "ok"}'),
    }
    routes = [Route(path, _fixed(answer), methods=["GET"]) for path, answer in documents.items()]
    handlers = {Problem: _refuse, HTTPException: _refuse, Exception: _fail}
    app = Starlette(
        routes=[*routes, Route("/align", endpoints.align, methods=["POST"])], exception_handlers=handlers
    )
    app.router.redirect_slashes = False
    return _Guard(app, hosts)


class _Endpoints:
    def __init__(self, service: Service, threads: int) -> None:
        self.service = service
        self.lanes = Lanes(service, threads)

    async def align(self, request: Request) -> Response:
        """Align in a thread, so that the loop goes on answering."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Problem(415, "send JSON, with `Content-Type: application/json`")
        return _json(await self.lanes.answer(request, await self._body(request)))

    async def _body(self, request: Request) -> bytes:
        limits = self.service.limits
        body = bytearray()
        size = 0
        try:
            with anyio.fail_after(limits.timeout):
                async for part in request.stream():
                    size += len(part)
                    if size <= limits.body:
                        body += part
                    elif size > PATIENCE * limits.body:
                        break
        except TimeoutError:
            raise Problem(408, f"the request did not arrive within {limits.timeout:g} seconds") from None
        except ClientDisconnect:
            raise Problem(400, "the request was not finished") from None
        if size > limits.body:
            raise Problem(413, f"a request may have {limits.body:,} bytes; send less at a time")
        return bytes(body)


class _Guard:
    """Let in only requests for this host, and send every answer with the headers."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                more = ((name.encode(), value.encode()) for name, value in HEADERS.items())
                message["headers"] = [*message["headers"], *(each for each in more if each[0] not in present)]
            await send(message)

        app = self.app
        if sum(len(name) + len(value) for name, value in scope.get("headers", ())) > HEAD:
            app = _problem(Problem(431, f"the headers of a request may have {HEAD:,} bytes"))
        elif self.hosts is not None and _host(scope) not in self.hosts:
            app = _problem(Problem(421, "this server answers only to the names of this machine itself"))
        await app(scope, receive, send_guarded)


def _host(scope: Scope) -> str:
    """Find the name a request was sent to, without its port."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    given = headers.get(b"host", b"").decode("latin-1").strip().lower()
    found = re.fullmatch(r"(\[[^\]]*\]|[^:]*)(:[0-9]*)?", given)
    return found[1] if found else given


def _fixed(answer: Response) -> ASGIApp:
    class Fixed:  # a class, not a function, is taken for an application that checks no methods itself
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            await answer(scope, receive, send)

    return Fixed()


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def _problem(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    more = dict(headers or {})
    if problem.status in (408, 413):
        more["connection"] = "close"  # the rest of the request is not wanted
    if problem.status == 503:
        more["retry-after"] = "1"
    return Response(problem.body(), problem.status, media_type=problems.TYPE, headers=more)


async def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return _problem(Problem(error.status_code, error.detail), error.headers)
    assert isinstance(error, Problem)
    return _problem(error)


async def _fail(request: Request, error: Exception) -> Response:
    return _problem(Problem(500, "the server failed; its own messages say how"))
