"""The web application: its addresses, what it refuses, and the headers that keep a browser safe."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping, Sequence

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bitweft.server import problems
from bitweft.server.docs import docs_headers, docs_page
from bitweft.server.lanes import Lanes
from bitweft.server.limits import Limits
from bitweft.server.page import icon, page, page_policy
from bitweft.server.problems import Problem
from bitweft.server.schema import openapi
from bitweft.server.service import Service

NOT_OURS = "this server does not answer to this name; --allow-host adds names"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
ADDRESSES = "any address"  # among the hosts: those that are given by their number
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})  # they change nothing
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


def application(service: Service, *, threads: int, hosts: frozenset[str] = LOOPBACK) -> ASGIApp:
    """Make the application; `hosts` are the names it answers to.

    A page of another site whose name leads to this machine (DNS rebinding) comes with a name of its own.
    """
    endpoints = _Endpoints(service, threads)
    described = openapi(service.limits)
    documents = {
        "/": Response(page(), media_type="text/html", headers={"content-security-policy": page_policy()}),
        "/icon.svg": Response(icon(), media_type="image/svg+xml"),
        "/openapi.json": json_answer(json.dumps(described).encode()),
        "/docs": Response(docs_page(described), media_type="text/html", headers=docs_headers()),
        "/model": json_answer(service.about),
        "/health": json_answer(b'{"status": "ok"}'),
    }
    return guarded([*fixed(documents), Route("/align", endpoints.align, methods=["POST"])], hosts)


def fixed(documents: Mapping[str, Response]) -> list[Route]:
    """Make the routes of documents that never change."""
    return [Route(path, _fixed(answer), methods=["GET"]) for path, answer in documents.items()]


def guarded(routes: Sequence[Route], hosts: frozenset[str]) -> ASGIApp:
    """Make an application of routes: problems are told as such, and the guard stands before it."""
    handlers = {Problem: _refuse, HTTPException: _refuse, Exception: _fail}
    app = Starlette(routes=list(routes), exception_handlers=handlers)
    app.router.redirect_slashes = False
    return _Guard(app, hosts)


class _Endpoints:
    def __init__(self, service: Service, threads: int) -> None:
        self.service = service
        self.lanes = Lanes(service, threads)

    async def align(self, request: Request) -> Response:
        """Align in a thread, so that the loop goes on answering."""
        return json_answer(await self.lanes.answer(request, await json_body(request, self.service.limits)))


async def json_body(request: Request, limits: Limits) -> bytes:
    """Read the body of a request that sends JSON.

    Raises:
        Problem: it is not JSON by its type, too big, too slow, or cut off.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Problem(415, "send JSON, with `Content-Type: application/json`")
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
    """Let in only requests for this host and not from pages of others; send every answer with the headers."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app = app
        self.hosts = hosts

    def _is_own(self, name: str) -> bool:
        if name in self.hosts:
            return True
        return ADDRESSES in self.hosts and is_address(name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                more = ((name.encode(), value.encode()) for name, value in HEADERS.items())
                message["headers"] = [*message["headers"], *(each for each in more if each[0] not in present)]
            await send(message)

        app = self.app
        if sum(len(name) + len(value) for name, value in scope.get("headers", ())) > HEAD:
            app = problem_answer(Problem(431, f"the headers of a request may have {HEAD:,} bytes"))
        elif not self._is_own(_host(scope)):
            app = problem_answer(Problem(421, NOT_OURS))
        elif scope["type"] == "http" and scope["method"] not in SAFE and _is_foreign(scope):
            app = problem_answer(Problem(403, "pages of other sites may not send requests to this server"))
        await app(scope, receive, send_guarded)


def is_address(name: str) -> bool:
    """Tell whether a host is given by its number: no name that leads here (DNS rebinding) is."""
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _is_foreign(scope: Scope) -> bool:
    """Tell whether a browser sends this for a page of another site; other programs name no origin."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    origin = headers.get(b"origin")
    host = headers.get(b"host", b"").strip().lower()
    if origin is not None and origin.strip().lower() not in (b"http://" + host, b"https://" + host):
        return True
    return headers.get(b"sec-fetch-site", b"none").strip().lower() in (b"cross-site", b"same-site")


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


def json_answer(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def problem_answer(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    more = dict(headers or {})
    if problem.status in (408, 413):
        more["connection"] = "close"  # the rest of the request is not wanted
    if problem.status == 503:
        more["retry-after"] = "1"
    return Response(problem.body(), problem.status, media_type=problems.TYPE, headers=more)


async def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return problem_answer(Problem(error.status_code, error.detail), error.headers)
    assert isinstance(error, Problem)
    return problem_answer(error)


async def _fail(request: Request, error: Exception) -> Response:
    return problem_answer(Problem(500, "the server failed; its own messages say how"))
