"""The server as it runs: slow and many clients, a busy time, signals, what keeps it from starting."""

from __future__ import annotations

import argparse
import json
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bitweft import Aligner, sample
from bitweft.cli import main
from bitweft.cli import serve as verb
from bitweft.errors import InputError, MissingExtraError, UsageError
from bitweft.server import Limits, serve
from bitweft.server.problems import Problem
from bitweft.server.run import is_loopback, listen
from bitweft.server.service import Service, Task
from bitweft.text.bitext import SentencePair
from serving import align, ask, running
from soak import exchanges, resident, served, soak

POST = "POST /align HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def aligner(small_model: Path) -> Aligner:
    return Aligner.load(small_model, threads=1)


@pytest.fixture(scope="module")
def address(aligner: Aligner, small_model: Path) -> Iterator[str]:
    service = Service(aligner, small_model)
    service.warm()
    with running(service) as found:
        yield found


@pytest.fixture(scope="module")
def pairs() -> list[SentencePair]:
    return list(sample.bitext(sample.generate(60, seed=2))[0])


def raw(address: str, *parts: bytes, pause: float = 0.0) -> bytes:
    """Send bytes as they are, and read until the other end closes."""
    place = urlsplit(address)
    assert place.hostname is not None
    with socket.create_connection((place.hostname, place.port or 80), timeout=10) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        received = b""
        while more := connection.recv(65536):
            received += more
    return received


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /" + b"a" * 20_000,
        b"POST /align HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_http_is_refused(address: str, sent: bytes) -> None:
    head, _, body = raw(address, sent).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400") and b"application/problem+json" in head
    assert json.loads(body)["status"] == 400
    assert ask(address, "/health").status == 200


def test_slow_clients_are_not_waited_for(aligner: Aligner, small_model: Path) -> None:
    service = Service(aligner, small_model, Limits(timeout=0.3))
    head = b"POST /align HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with running(service, patience=0.4) as address:
        assert raw(address) == b""  # says nothing
        drops = (bytes([byte]) for byte in b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with pytest.raises((ConnectionError, EOFError)):
            if raw(address, *drops, pause=0.1) == b"":  # a letter now and then
                raise EOFError
        assert raw(address, head + b'Content-Length: 50\r\n\r\n{"sour').startswith(b"HTTP/1.1 408")
        late = raw(address, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")  # and then nothing more
        assert late.startswith(b"HTTP/1.1 200")
        assert ask(address, "/health").status == 200


def test_an_answer_that_takes_too_long_is_given_up(aligner: Aligner, small_model: Path) -> None:
    service = Service(aligner, small_model, Limits(timeout=1e-6))
    with pytest.raises(Problem, match="longer than") as caught:
        service.answer(b'{"source": "a", "target": "b"}')
    assert caught.value.status == 503


def test_a_busy_server_says_so_and_stays_awake(
    aligner: Aligner, small_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(aligner, small_model, Limits(waiting=2, timeout=1))
    go = threading.Event()
    whole = service.compute
    monkeypatch.setattr(service, "compute", lambda task, gone: (go.wait(20), whole(task))[1])
    replies: list[int] = []
    with running(service, threads=1) as address:
        clients = [
            threading.Thread(target=lambda: replies.append(align(address, source="a", target="b").status))
            for _ in range(2)
        ]
        for client in clients:
            client.start()
            time.sleep(0.2)
        third = align(address, source="a", target="b")  # one is aligned, one waits, and a third is too many
        assert third.status == 503 and third.headers["retry-after"] == "1"
        assert ask(address, "/health").status == 200
        time.sleep(1)  # the second has waited for too long
        go.set()
        for client in clients:
            client.join()
        assert sorted(replies) == [200, 503]
        assert align(address, source="a", target="b").status == 200


@pytest.mark.parametrize("threads", [1, 2])
def test_small_requests_pass_big_ones_and_who_has_gone_is_not_served(
    threads: int, aligner: Aligner, small_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(aligner, small_model, Limits(all_cells=3 << 16))
    big = {"pairs": [{"source": "the " * 300, "target": "la " * 300}]}
    begun: list[int] = []
    aligned: list[int] = []
    go = threading.Event()
    whole = service.compute

    def compute(task: Task, gone: threading.Event) -> bytes:
        begun.append(task.cells)
        if len(task.pairs[0].source) == 300:
            while not go.wait(0.01) and not gone.is_set():
                pass
        answer = whole(task, gone)
        aligned.append(task.cells)
        return answer

    monkeypatch.setattr(service, "compute", compute)
    replies: list[int] = []
    with running(service, threads=threads) as address:
        place = urlsplit(address)
        body = json.dumps(big).encode()
        head = f"{POST}Content-Length: {len(body)}"
        with socket.create_connection((place.hostname or "", place.port or 80), timeout=10) as impatient:
            impatient.sendall(head.encode() + b"\r\n\r\n" + body)
            time.sleep(0.3)
            waiting = threading.Thread(target=lambda: replies.append(align(address, **big).status))
            waiting.start()
            time.sleep(0.3)
            assert align(address, source="a b", target="c").status == 200  # past the two
            assert begun == [90_000, 2]  # a second thread is not given to the second of them
            third = align(address, **big)  # more than all together may have
            assert third.status == 503 and third.headers["retry-after"]
        time.sleep(0.3)  # the first has gone: its thread is free for the second
        go.set()
        waiting.join(20)
    assert replies == [200] and aligned == [2, 90_000]


def test_too_many_word_pairs_are_refused_before_they_are_aligned(aligner: Aligner, small_model: Path) -> None:
    service = Service(aligner, small_model, Limits(cells=1000))
    side = "word " * 20
    question = {"pairs": [{"source": side, "target": side}] * 2}
    assert len(json.loads(service.answer(json.dumps(question).encode()))["pairs"]) == 2
    question["pairs"] *= 2
    with pytest.raises(Problem, match="1,600 word pairs; at most 1,000") as caught:
        service.answer(json.dumps(question).encode())
    assert caught.value.status == 422


def test_headers_have_one_limit_however_they_come(address: str) -> None:
    lines = b"Host: localhost\r\nConnection: close\r\nX: "
    head = b"GET /health HTTP/1.1\r\n" + lines + b"a" * 17_000 + b"\r\n\r\n"
    assert raw(address, head).split(b" ")[1] in (b"400", b"431")
    assert raw(address, head[:9000], head[9000:], pause=0.2).split(b" ")[1] in (b"400", b"431")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without a signal")
def test_a_half_sent_body_and_a_second_signal_end_it_at_once(small_model: Path) -> None:
    half = f"{POST}Content-Length: 99\r\n\r\n".encode() + b"{"
    with served(str(small_model)) as (address, process):
        place = urlsplit(address)
        with socket.create_connection((place.hostname or "", place.port or 80), timeout=10) as slow:
            slow.sendall(half)
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            assert process.wait(15) == 0  # the timeout of a request is 30
    long = {"source": "the house " * 450, "target": "la maison " * 450}
    body = json.dumps({"pairs": [long] * 20}).encode()
    head = f"{POST}Content-Length: {len(body)}"
    with served(str(small_model), "--threads", "1") as (address, process):
        place = urlsplit(address)
        with socket.create_connection((place.hostname or "", place.port or 80), timeout=10) as client:
            client.sendall(head.encode() + b"\r\n\r\n" + body)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0


def test_many_clients_do_not_mix_up(address: str, aligner: Aligner, pairs: list[SentencePair]) -> None:
    report = soak(address, exchanges(aligner, pairs), clients=50, seconds=2.5)
    assert report.good, report
    assert report.requests >= 50


@pytest.mark.slow
def test_a_minute_of_fifty_clients(small_model: Path, aligner: Aligner, pairs: list[SentencePair]) -> None:
    with served(str(small_model)) as (address, process):
        questions = exchanges(aligner, pairs)
        report = soak(address, questions, clients=50, seconds=60, memory=lambda: resident(process.pid))
    assert report.good and report.growth is not None, report
    assert process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without a signal")
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_lets_running_requests_finish(small_model: Path, number: signal.Signals) -> None:
    long = {"source": "the house " * 250, "target": "la maison " * 250}
    body = json.dumps({"pairs": [long] * 20}).encode()
    statuses: list[int] = []
    with served(str(small_model), "--threads", "1") as (address, process):
        client = threading.Thread(target=lambda: statuses.append(ask(address, "/align", body).status))
        client.start()
        time.sleep(0.15)
        assert not statuses  # it is still running
        process.send_signal(number)
        client.join(60)
        assert process.wait(30) == 0
    assert statuses == [200]
    with pytest.raises(OSError):
        ask(address, "/health")


def test_what_keeps_it_from_starting_is_told(
    small_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", str(small_model), "--port", port]) == 1
        assert f"port {port}" in capsys.readouterr().err
    assert main(["serve", str(tmp_path / "none"), "--port", "0"]) == 1
    assert main(["serve", str(small_model), "--port", "99999"]) == 2
    assert main(["serve", str(small_model), "--threads", "0"]) == 2
    assert main(["serve", str(small_model), "--max-words", "0"]) == 2
    with pytest.raises(UsageError):
        Limits(timeout=float("nan"))
    with pytest.raises(InputError):
        listen("no such host.invalid", 0)


def test_a_missing_extra_is_named(small_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("bitweft.server.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match=r"'uvicorn'.*bitweft\[serve\]"):
        serve(small_model)


def test_other_machines_are_let_in_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert is_loopback("127.0.0.9") and is_loopback("::1") and is_loopback("localhost")
    assert not is_loopback("0.0.0.0") and not is_loopback("example.org")
    parser = argparse.ArgumentParser()
    verb.configure(parser)
    for host, warned in (("127.0.0.1", False), ("0.0.0.0", True)):
        monkeypatch.setattr(verb, "serve", lambda model, *, ready, **options: ready("http://here/"))
        verb.run(parser.parse_args(["DIR", "--host", host]))
        said = capsys.readouterr().err
        assert "serving at http://here/" in said and ("other machines" in said) == warned
