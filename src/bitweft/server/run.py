"""Run the server: its socket, its patience with slow clients, its end."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from bitweft.aligner import Aligner
from bitweft.edit import GoldStore, Judgment
from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Alignment
from bitweft.recipes.base import Inference
from bitweft.server import problems
from bitweft.server.app import ADDRESSES, HEAD, LOOPBACK, application
from bitweft.server.edit_app import edit_application
from bitweft.server.editing import Names, Session, most_say, suggest
from bitweft.server.limits import Limits
from bitweft.server.problems import Problem
from bitweft.server.service import Service
from bitweft.text.bitext import SentencePair

PATIENCE = 15  # seconds for the head of a request to arrive, and for a next one on the same connection
CONNECTIONS = 512


class Server(uvicorn.Server):
    """Serve until it is told to stop, and then finish the requests that are running."""

    def __init__(self, app: ASGIApp, listener: socket.socket, *, grace: float = 60) -> None:
        config = uvicorn.Config(
            app,
            http=_Connection,
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            h11_max_incomplete_event_size=HEAD,
            timeout_keep_alive=PATIENCE,
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=round(grace),
        )
        super().__init__(config)
        self.listener = listener
        self.ready: Callable[[], None] = lambda: None

    def run_until_stopped(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve; `ready` is called as soon as requests are answered."""
        self.ready = ready
        self.run(sockets=[self.listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self.ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at the first signal, at once at the second; to be stopped is no failure."""
        self.force_exit = self.should_exit
        self.should_exit = True


class _Connection(H11Protocol):
    """Close a connection on which no request's head arrives in time: uvicorn would wait for ever."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def shutdown(self) -> None:
        super().shutdown()
        if self.cycle is not None and self.cycle.more_body:  # a request half sent is not waited for
            self.transport.close()

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(self.config.timeout_keep_alive, self._tire)

    def _tire(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        body = Problem(400, msg).body()
        headers = [
            ("content-type", problems.TYPE),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        response = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def is_loopback(host: str) -> bool:
    """Tell whether only this machine itself can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """Take an address; port 0 is any that is free."""
    if not 0 <= port < 1 << 16:
        raise UsageError(f"port must be from 0 to 65535, got {port}")
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=CONNECTIONS)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"cannot listen on {host} port {port}: {reason}; choose another with --host or --port"
        raise InputError(message) from error


def run(
    directory: str | os.PathLike[str],
    *,
    host: str,
    port: int,
    limits: Limits,
    threads: int | None,
    names: Sequence[str],
    ready: Callable[[str], None],
) -> None:
    """Load a model and serve it until a signal says to stop."""
    with listen(host, port) as listener:
        service = Service(Aligner.load(directory, threads=1), Path(directory), limits)
        service.warm()
        app = application(service, threads=threads or os.cpu_count() or 1, hosts=hosts_of(host, names))
        _serve(app, listener, host, limits, ready)


def run_editing(
    pairs: Sequence[SentencePair],
    gold: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None,
    links: Sequence[Alignment] | None,
    annotators: Sequence[str | os.PathLike[str]],
    by: str,
    title: str,
    tuned: str | os.PathLike[str] | None,
    host: str,
    port: int,
    names: Sequence[str],
    ready: Callable[[str], None],
) -> None:
    """Serve the page for editing until a signal says to stop."""
    limits = Limits()
    with listen(host, port) as listener:
        store = GoldStore(gold, pairs)
        stems = [Path(each).stem for each in annotators]
        called = stems if len(set(stems)) == len(stems) else [os.fspath(each) for each in annotators]
        files = {name: _judged(each, pairs) for name, each in zip(called, annotators, strict=True)}
        load = None if model is None else partial(Aligner.load, model)
        if load is not None:
            suggested = suggest(load(), pairs)
        elif links is not None:
            suggested = [Inference(each) for each in links]
        else:
            suggested = most_say(files, len(pairs))
        titles = Names(title, f"gold {Path(gold).name}", by)
        session = Session(store, titles, suggested, files, load, tuned)
        _serve(edit_application(session, limits, hosts=hosts_of(host, names)), listener, host, limits, ready)


def _judged(path: str | os.PathLike[str], pairs: Sequence[SentencePair]) -> list[Judgment | None]:
    if not os.path.exists(path):
        raise InputError("no such file", file=os.fspath(path))
    store = GoldStore(path, pairs)
    return [store[k] for k in range(len(pairs))]


def hosts_of(host: str, names: Sequence[str] = ()) -> frozenset[str]:
    """Give the names to answer to when listening on an address: never just any (DNS rebinding).

    Where other machines are let in, they come by this machine's number, its own name, or one that was given.
    """
    own = LOOPBACK | {host.lower(), *(name.lower() for name in names)}
    return own if is_loopback(host) else own | {ADDRESSES, socket.gethostname().lower()}


def _serve(
    app: ASGIApp, listener: socket.socket, host: str, limits: Limits, ready: Callable[[str], None]
) -> None:
    name = f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listener.getsockname()[1]}/"
    server = Server(app, listener, grace=limits.timeout + PATIENCE)
    server.run_until_stopped(lambda: ready(address))
