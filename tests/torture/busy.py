"""A busy server: small questions beside the largest ones, and clients that do nothing but hang on it."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from bitweft import Aligner
from bitweft.sample import bitext, generate
from soak import GROWTH, Exchange, Report, exchanges, resident, served, soak
from torture.common import Part, Place

SLOW, BUSY, BIG = 200, 50, 2  # clients of each kind
CALM = 0.1  # of the time, the busy ones are alone: what the others cost is told by the difference
WARM = 60  # seconds after which memory must not grow any more
JSON = {"Content-Type": "application/json"}
HALF = b"POST /align HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HALF += b"Content-Length: 999\r\n\r\n{"


def server(place: Place, part: Part, end: float) -> None:
    """Ask a server for as long as there is time, 5 seconds at least."""
    model = str(place.models["default"])
    aligner = Aligner.load(model, threads=1)
    questions = exchanges(aligner, list(bitext(generate(60, seed=2))[0]))
    big = _largest(aligner)
    seconds = max(5.0, end - time.monotonic())
    with served(model) as (address, process):
        calm = soak(address, questions, clients=BUSY, seconds=CALM * seconds)
        with _company(address, big, part):
            report = soak(
                address,
                questions,
                clients=BUSY,
                seconds=(1 - CALM) * seconds,
                memory=lambda: resident(process.pid),
            )
    for name, found in (("alone", calm), ("beside them", report)):
        part.tried += found.requests
        part.faults += found.errors
        _times(part, name, found)
    part.most("MiB", max(report.memory, default=0) >> 10)
    growth = report.growth or 1
    part.most("% of growth in the second half", round(100 * (growth - 1)))
    if growth > GROWTH and seconds > WARM:
        part.faults.append(f"the server's memory has grown by {100 * (growth - 1):.0f} %")
    _cut_off(model, big, part)


def _largest(aligner: Aligner) -> Exchange:
    """Make a request of the largest size that is allowed."""
    pair = {"source": "the " * 1000, "target": "la " * 1000}
    links = str(aligner.align(pair["source"], pair["target"]))
    return Exchange(json.dumps({"pairs": [pair] * 16}).encode(), [links] * 16)


def _times(part: Part, name: str, report: Report) -> None:
    times = sorted(report.seconds)
    part.counts[f"above 1 s, {name}"] += sum(1 for each in times if each > 1)
    part.most(f"ms in the middle, {name}", round(1000 * times[len(times) // 2]))
    part.most(f"ms, one in a hundred, {name}", round(1000 * times[len(times) * 99 // 100]))


@contextlib.contextmanager
def _company(address: str, big: Exchange, part: Part) -> Iterator[None]:
    """Let others hang on a server meanwhile: clients that send the largest requests, and slow ones."""
    done = threading.Event()
    events: list[str] = []  # what they have seen
    faults: list[str] = []

    def ask_big() -> None:
        while not done.is_set():
            status, body = _asked(address, big.body)
            events.append(f"of the largest size: {status}")
            if status == 200 and [each["pharaoh"] for each in json.loads(body)["pairs"]] != big.pharaoh:
                faults.append("other links for the largest request")
            if status not in (200, 503):
                faults.append(f"the largest request: {status} {body[:200]!r}")

    hogs = [threading.Thread(target=ask_big) for _ in range(BIG)]
    hangers = threading.Thread(target=_hang_on, args=(address, done.is_set, events.append))
    for each in (*hogs, hangers):
        each.start()
    try:
        yield
    finally:
        done.set()
        for each in (*hogs, hangers):
            each.join()
        part.counts.update(events)
        part.faults += faults


def _asked(address: str, body: bytes) -> tuple[int, bytes]:
    """Send a request on a connection of its own; a status of 0 is one that was not answered."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)
    try:
        connection.request("POST", "/align", body, JSON)
        reply = connection.getresponse()
        return reply.status, reply.read()
    except (OSError, http.client.HTTPException) as error:
        return 0, repr(error).encode()
    finally:
        connection.close()


def _hang_on(address: str, is_over: Callable[[], bool], tell: Callable[[str], None]) -> None:
    """Keep slow clients connected: half say nothing, half never end; who is sent away comes back."""
    where = urlsplit(address)
    slow: dict[int, socket.socket] = {}
    while not is_over():
        for number in range(SLOW):
            if number in slow and _drips(slow[number], number):
                continue
            if number in slow:
                slow.pop(number).close()
                tell("slow clients sent away")
            with contextlib.suppress(OSError):
                slow[number] = socket.create_connection((where.hostname or "", where.port or 80), timeout=10)
                slow[number].sendall(HALF if number % 2 else b"")
                slow[number].setblocking(False)
        time.sleep(1)
    for connection in slow.values():
        connection.close()


def _drips(connection: socket.socket, number: int) -> bool:
    """Send a byte, if it is one of those clients; tell whether the other end is still there."""
    try:
        if number % 2:
            connection.send(b" ")
        return connection.recv(1 << 16) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def _cut_off(model: str, big: Exchange, part: Part) -> None:
    """Give the largest request too little time: it is cut off by a message."""
    with served(model, "--timeout", "0.5") as (address, _):
        status, body = _asked(address, big.body)
    part.tried += 1
    part.counts[f"cut off: {status}"] += 1
    if status != 503 or not any(words in body for words in (b"took longer than", b"too busy")):
        part.faults.append(f"a request that takes too long: {status} {body[:200]!r}")
