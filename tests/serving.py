"""A server in a thread, for the tests, and a client that tells all that came back."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("uvicorn", reason="needs the extra serve: pip install 'bitweft[serve]'")

from starlette.types import ASGIApp

from bitweft.server.app import LOOPBACK, application
from bitweft.server.run import Server, listen
from bitweft.server.service import Service

JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Reply:
    """Hold a response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Read the body as JSON."""
        return json.loads(self.body)


@contextmanager
def running(
    service: Service, *, threads: int = 2, hosts: frozenset[str] = LOOPBACK, patience: float = 15
) -> Iterator[str]:
    """Serve in a thread, and give the address."""
    with running_app(application(service, threads=threads, hosts=hosts), patience=patience) as address:
        yield address


@contextmanager
def running_app(app: ASGIApp, *, patience: float = 15) -> Iterator[str]:
    """Run an application in a thread, and give its address."""
    with listen("127.0.0.1", 0) as listener:
        server = Server(app, listener)
        server.config.timeout_keep_alive = patience  # type: ignore[assignment]
        started = threading.Event()
        thread = threading.Thread(target=server.run_until_stopped, args=(started.set,))
        thread.start()
        try:
            assert started.wait(10)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


def ask(
    address: str,
    path: str,
    body: bytes | Iterable[bytes] | None = None,
    *,
    method: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Send one request: POST if it has a body."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    try:
        given = JSON if headers is None and body is not None else headers or {}
        connection.request(method or ("GET" if body is None else "POST"), path, body, dict(given))
        reply = connection.getresponse()
        return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
    finally:
        connection.close()


def align(address: str, **question: Any) -> Reply:
    """Ask for links."""
    return ask(address, "/align", json.dumps(question).encode())
