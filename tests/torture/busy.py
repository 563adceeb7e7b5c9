"""A busy server: small questions beside the largest ones, and clients that do nothing but hang on it."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from urllib.parse import urlsplit

from bitweft import Aligner
from bitweft.sample import bitext, generate
from soak import exchanges, resident, served, soak
from torture.common import Part, Place

SLOW, BUSY, BIG = 200, 50, 2  # clients of each kind


def server(place: Place, part: Part, end: float) -> None:
    """Ask a server for as long as there is time, 5 seconds at least."""
    model = str(place.models["default"])
    questions = exchanges(Aligner.load(model, threads=1), list(bitext(generate(60, seed=2))[0]))
    big = json.dumps({"pairs": [{"source": "the " * 1000, "target": "la " * 1000}] * 16}).encode()
    stop = time.monotonic() + max(5.0, end - time.monotonic())
    with served(model) as (address, process):
        where = urlsplit(address)
        slow = [socket.create_connection((where.hostname or "", where.port or 80)) for _ in range(SLOW)]
        for number, connection in enumerate(slow):
            if number % 2:  # half say nothing at all, half never end
                connection.sendall(b"POST /align HTTP/1.1\r\nContent-Length: 100\r\n\r\n{")

        def ask_big() -> None:
            while time.monotonic() < stop:
                connection = http.client.HTTPConnection(where.netloc, timeout=60)
                with contextlib.suppress(OSError, http.client.HTTPException):
                    connection.request("POST", "/align", big, {"Content-Type": "application/json"})
                    part.counts[f"of the largest size: {connection.getresponse().status}"] += 1
                connection.close()

        hogs = [threading.Thread(target=ask_big) for _ in range(BIG)]
        for hog in hogs:
            hog.start()
        report = soak(
            address,
            questions,
            clients=BUSY,
            seconds=stop - time.monotonic(),
            memory=lambda: resident(process.pid),
        )
        for hog in hogs:
            hog.join()
        for connection in slow:
            connection.close()
    times = sorted(report.seconds)
    part.tried += report.requests
    part.counts["above 1 s"] += sum(1 for each in times if each > 1)
    part.most("ms, one in a hundred", round(1000 * times[len(times) * 99 // 100]))
    part.most("MiB", max(report.memory, default=0) >> 10)
    part.most("% of growth in the second half", round(100 * ((report.growth or 1) - 1)))
    part.faults += report.errors
