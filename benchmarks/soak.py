"""Many clients at once for a while: is every answer right, and does the server's memory stay flat?

python benchmarks/soak.py enfr.weft en.txt fr.txt --clients 50 --seconds 60
"""

from __future__ import annotations

import http.client
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bitweft import Aligner, Bitext, SentencePair
from reporting import new_parser

GROWTH = 1.05  # of memory between the first half and the end: what is still flat


class Exchange(NamedTuple):
    """Hold what is sent to /align, and the lines of links that must come back."""

    body: bytes
    pharaoh: list[str]


@dataclass
class Report:
    """Hold what happened."""

    requests: int = 0
    pairs: int = 0
    errors: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)  # each request's
    memory: list[int] = field(default_factory=list)  # the server's, in KiB, now and then

    @property
    def growth(self) -> float | None:
        """Compare the server's memory at the end with the most it had in the first half."""
        half = self.memory[: len(self.memory) // 2]
        return max(self.memory[len(half) :]) / max(half) if half else None

    @property
    def good(self) -> bool:
        """Tell whether all went well."""
        return self.requests > 0 and not self.errors and (self.growth or 1) <= GROWTH

    def __str__(self) -> str:
        times = sorted(self.seconds)
        lines = [f"{self.requests:,} requests, {self.pairs:,} pairs, {len(self.errors)} errors"]
        if times:
            middle, late = times[len(times) // 2], times[len(times) * 99 // 100]
            lines.append(f"{1000 * middle:.0f} ms in the middle, {1000 * late:.0f} ms for one in a hundred")
        if self.growth is not None:
            most, change = max(self.memory) / 1024, 100 * (self.growth - 1)
            lines.append(f"{most:.0f} MiB at most, {change:+.1f} % in the second half")
        return "\n".join([*lines, *self.errors[:5]])


def exchanges(aligner: Aligner, pairs: Sequence[SentencePair], *, seed: int = 1) -> list[Exchange]:
    """Make requests of one pair and of several, with the answers that the library gives."""
    chance = random.Random(seed)
    links = [str(alignment) for alignment in aligner.align(pairs)]
    made = []
    for number, pair in enumerate(pairs):
        one = {"source": pair.source.text, "target": pair.target.text}
        made.append(Exchange(json.dumps(one | {"alternatives": number % 2 * 5}).encode(), [links[number]]))
        some = chance.sample(range(len(pairs)), min(len(pairs), chance.randint(1, 20)))
        many = [{"source": pairs[k].source.text, "target": pairs[k].target.text} for k in some]
        made.append(Exchange(json.dumps({"pairs": many}).encode(), [links[k] for k in some]))
    return made


def soak(
    address: str,
    questions: Sequence[Exchange],
    *,
    clients: int,
    seconds: float,
    memory: Callable[[], int | None] = lambda: None,
) -> Report:
    """Let clients ask, each on its own connection, until the time is up."""
    report = Report()
    lock = threading.Lock()
    end = time.monotonic() + seconds

    def ask(number: int) -> None:
        chance = random.Random(number)
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
        while time.monotonic() < end:
            question = chance.choice(questions)
            begun = time.monotonic()
            try:
                fault = _fault(connection, question)
            except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
                fault = f"{type(error).__name__}: {error}"
                connection.close()
            with lock:
                report.requests += 1
                report.pairs += len(question.pharaoh)
                report.seconds.append(time.monotonic() - begun)
                report.errors += [] if fault is None else [fault]
        connection.close()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        now = memory()
        report.memory += [] if now is None else [now]
        time.sleep(min(1.0, seconds / 20))
    for thread in threads:
        thread.join()
    return report


def _fault(connection: http.client.HTTPConnection, question: Exchange) -> str | None:
    connection.request("POST", "/align", question.body, {"Content-Type": "application/json"})
    reply = connection.getresponse()
    body = reply.read()
    if reply.status != 200:
        return f"status {reply.status}: {body[:200]!r}"
    answer: dict[str, Any] = json.loads(body)
    found = [each["pharaoh"] for each in answer.get("pairs", [answer])]
    return None if found == question.pharaoh else f"{found} is not {question.pharaoh}"


def resident(process: int) -> int | None:
    """Ask how much memory a process holds, in KiB; None where `ps` is missing."""
    try:
        done = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True)
    except OSError:
        return None
    return int(done.stdout) if done.stdout.strip() else None


@contextmanager
def served(model: str, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `bitweft serve` on a free port, and give its address and process."""
    command = [sys.executable, "-m", "bitweft", "serve", model, "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = ""
            for line in process.stderr:
                said += line
                if "serving at " in line:
                    break
            else:
                raise RuntimeError(f"the server did not start: {said}")
            yield line.split("serving at ")[1].split()[0], process
        finally:
            process.terminate()


def main() -> int:
    """Serve a model, ask it, and report."""
    parser = new_parser(__doc__)
    parser.add_argument("model", metavar="MODEL", help="directory of a model")
    parser.add_argument("source", metavar="SOURCE", help="text to ask about, one sentence per line")
    parser.add_argument("target", metavar="TARGET", help="its translation, line by line")
    parser.add_argument("--clients", type=int, default=50, metavar="N", help="clients at once (50)")
    parser.add_argument("--seconds", type=float, default=60, metavar="N", help="how long they ask (60)")
    parser.add_argument("--pairs", type=int, default=200, metavar="N", help="pairs of the text to use (200)")
    args = parser.parse_args()
    pairs = list(islice(Bitext(args.source, args.target), args.pairs))
    questions = exchanges(Aligner.load(args.model), pairs)
    with served(args.model) as (address, process):
        report = soak(
            address,
            questions,
            clients=args.clients,
            seconds=args.seconds,
            memory=lambda: resident(process.pid),
        )
    print(report)
    return 0 if report.good and process.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
