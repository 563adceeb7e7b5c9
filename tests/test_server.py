"""The server's API: right answers, limits, refusals, and what schemathesis makes of its description."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from bitweft import Aligner, sample
from bitweft.server import Limits
from bitweft.server.page import page
from bitweft.server.run import hosts_of
from bitweft.server.schema import ManyAnswer, ModelAnswer, PairAnswer, ProblemAnswer
from bitweft.server.service import Service
from bitweft.text.bitext import SentencePair
from serving import align, ask, running

SOURCE, TARGET = "The big house is near the river .", "La grande maison est près de la rivière ."


@pytest.fixture(scope="module")
def aligner(small_model: Path) -> Aligner:
    return Aligner.load(small_model, threads=1)


@pytest.fixture(scope="module")
def service(aligner: Aligner, small_model: Path) -> Service:
    return Service(aligner, small_model, Limits(body=20_000, pairs=50, words=100, partners=3000))


@pytest.fixture(scope="module")
def address(service: Service) -> Iterator[str]:
    service.warm()
    with running(service) as found:
        yield found


@pytest.fixture(scope="module")
def pairs() -> list[SentencePair]:
    return list(sample.bitext(sample.generate(60, seed=2))[0])


def test_one_pair_is_answered_as_the_library_does(address: str, aligner: Aligner) -> None:
    reply = align(address, source=SOURCE, target=TARGET)
    assert reply.status == 200 and reply.headers["content-type"] == "application/json"
    answer = reply.json
    PairAnswer.model_validate(answer)
    expected = aligner.align(SOURCE, TARGET)
    assert len(expected) > 3
    assert answer["pharaoh"] == str(expected)
    assert answer["links"] == [
        [*link, p] for link, p in zip(expected.links, expected.probabilities or (), strict=True)
    ]
    assert answer["score"] == aligner.score(SOURCE, TARGET)
    for side, text, at in (("source", SOURCE, 0), ("target", TARGET, 1)):
        told = answer[side]
        assert told["text"] == text and told["tokens"] == text.split()
        assert [text[a:b] for a, b in told["spans"]] == told["tokens"]
        linked = {link[at] for link in expected.links}
        assert told["unaligned"] == [k for k in range(len(text.split())) if k not in linked]
    assert "alternatives" not in answer


def test_many_pairs_are_answered_in_order(address: str, aligner: Aligner, pairs: list[SentencePair]) -> None:
    texts = [{"source": pair.source.text, "target": pair.target.text} for pair in pairs[:40]]
    answer = align(address, pairs=texts).json
    ManyAnswer.model_validate(answer)
    assert [each["pharaoh"] for each in answer["pairs"]] == [str(each) for each in aligner.align(pairs[:40])]
    assert align(address, pairs=[]).json == {"pairs": []}


@pytest.mark.parametrize(("source", "target"), [("", ""), ("a", ""), ("", "b"), (" \t ", "\n")])
def test_empty_sentences_have_no_links(address: str, source: str, target: str) -> None:
    answer = align(address, source=source, target=target, alternatives=3).json
    assert answer["links"] == [] and answer["pharaoh"] == ""
    assert len(answer["alternatives"]["source"]) == len(answer["source"]["tokens"])
    if source == "a":
        assert answer["alternatives"]["source"] == [{"null": 1.0, "partners": []}]


def test_text_is_cut_as_asked(address: str) -> None:
    text = "Don't 🙂 我喜欢"
    cut = {how: align(address, source=text, target="x", tokenize=how).json["source"] for how in HOWS}
    assert cut["space"]["tokens"] == ["Don't", "🙂", "我喜欢"]
    assert cut["unicode"]["tokens"] == ["Don't", "🙂", "我", "喜", "欢"]
    assert cut["char"]["tokens"] == list("Don't🙂我喜欢")
    for side in cut.values():  # offsets count code points, not UTF-16 units
        assert [text[a:b] for a, b in side["spans"]] == side["tokens"]
    assert align(address, source="a\nb\r\nc", target="x").json["source"]["text"] == "a b  c"


HOWS = ("space", "unicode", "char")


def test_alternatives_are_the_models_own_probabilities(address: str, aligner: Aligner) -> None:
    answer = align(address, source=SOURCE, target=TARGET, alternatives=3).json
    PairAnswer.model_validate(answer)
    links = aligner.posteriors(SOURCE, TARGET)
    recipe: Any = aligner.recipe
    (pair,) = [pair for pair, _ in aligner.stream([(SOURCE, TARGET)])]
    nulls = recipe.posteriors(pair)[1:]
    for side, rows, none in (("source", links, nulls[0]), ("target", links.T, nulls[1])):
        told = answer["alternatives"][side]
        assert len(told) == len(rows)
        for row, word, null in zip(rows, told, none, strict=True):
            chances = [p for _, p in word["partners"]]
            assert chances == sorted(row, reverse=True)[:3] == [row[at] for at, _ in word["partners"]]
            assert word["null"] == null
    for s, t, p in answer["links"]:
        assert np.isclose(dict(answer["alternatives"]["source"][s]["partners"])[t], p, atol=1e-5)


REFUSED: list[tuple[bytes, int, str | None]] = [
    (b"", 400, None),
    (b"{", 400, None),
    (b"\xff\xfe", 400, None),
    (b"[" * 5000, 400, None),
    (b'{"source": "\\ud800", "target": ""}', 400, None),
    (b"3", 422, ""),
    (b"[]", 422, ""),
    (b"{}", 422, "/source"),
    (b'{"source": 1, "target": ""}', 422, "/source"),
    (b'{"source": "", "target": null}', 422, "/target"),
    (b'{"source": "", "target": "", "tokenize": "../../etc/passwd"}', 422, "/tokenize"),
    (b'{"source": "", "target": "", "alternatives": -1}', 422, "/alternatives"),
    (b'{"source": "", "target": "", "alternatives": 1e9}', 422, "/alternatives"),
    (b'{"source": "", "target": "", "alternatives": true}', 422, "/alternatives"),
    (b'{"source": "", "target": "", "a/b~c": 1}', 422, "/a~1b~0c"),
    (b'{"pairs": {}}', 422, "/pairs"),
    (b'{"pairs": [{"source": ""}]}', 422, "/pairs/0/target"),
    (b'{"pairs": [["a", "b"]]}', 422, "/pairs/0"),
    (b'{"pairs": [], "source": "a"}', 422, "/source"),
    (json.dumps({"pairs": [{"source": "", "target": ""}] * 51}).encode(), 422, "/pairs"),
    (json.dumps({"source": "", "target": "a " * 101}).encode(), 422, "/target"),
    (json.dumps({"pairs": [{"source": "a " * 101, "target": ""}]}).encode(), 422, "/pairs/0/source"),
    (
        json.dumps({"pairs": [{"source": "a " * 60, "target": "b"}] * 3, "alternatives": 20}).encode(),
        422,
        "/alternatives",
    ),
    (json.dumps({"source": "a" * 20_000, "target": ""}).encode(), 413, None),
]


@pytest.mark.parametrize(("body", "status", "pointer"), REFUSED)
def test_what_is_wrong_is_told_by_a_problem(
    address: str, body: bytes, status: int, pointer: str | None
) -> None:
    reply = ask(address, "/align", body)
    assert reply.status == status and reply.headers["content-type"] == "application/problem+json"
    problem = reply.json
    ProblemAnswer.model_validate(problem)
    assert problem["status"] == status and problem["detail"]
    if pointer is not None:
        assert pointer in [fault["pointer"] for fault in problem["errors"]]
    assert align(address, source="a", target="b").status == 200  # it is there as before


def test_the_limit_is_the_last_that_is_let_in(address: str) -> None:
    assert align(address, source="a " * 100, target="b").status == 200
    assert align(address, pairs=[{"source": "a", "target": "b"}] * 50).status == 200
    body = json.dumps({"source": "a", "target": "b"}).encode()
    assert ask(address, "/align", body + b" " * (20_000 - len(body))).status == 200
    for size in (20_001, 300_000):
        assert ask(address, "/align", body + b" " * (size - len(body))).status == 413
    parts = (b" " * 1000 for _ in range(100))  # chunked: no length is told beforehand
    assert ask(address, "/align", parts).status == 413


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonx"]
)
def test_only_json_is_taken(address: str, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    assert ask(address, "/align", b"{}", headers=headers).status == 415
    body = b'{"source": "a", "target": "b"}'
    assert (
        ask(address, "/align", body, headers={"Content-Type": "Application/JSON; charset=utf-8"}).status
        == 200
    )


PATHS = [
    "/nope",
    "/align/",
    "/../model",
    "/%2e%2e/model",
    "/assets/serve.js",
    "//etc/passwd",
    "/model%00",
    "/%ff",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_address_is_taken_for_a_file(address: str, path: str) -> None:
    reply = ask(address, path)
    assert reply.status == 404 and reply.json["status"] == 404


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("GET", "/align", "POST"), ("POST", "/model", "GET"), ("OPTIONS", "/align", "POST")],
)
def test_other_methods_are_refused(address: str, method: str, path: str, allowed: str) -> None:
    reply = ask(address, path, method=method)
    assert reply.status == 405 and allowed in reply.headers["allow"]
    reply = ask(address, path, method=method, headers={"Origin": "http://evil.example"})
    assert reply.status == (403 if method == "POST" else 405)
    assert not [name for name in reply.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/", "/model", "/health", "/openapi.json", "/icon.svg", "/nope"])
def test_every_answer_is_guarded(address: str, path: str) -> None:
    headers = ask(address, path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers and "access-control-allow-origin" not in headers
    assert ask(address, path, method="HEAD").body == b""


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:1", 200),
        ("LOCALHOST", 200),
        ("[::1]:8765", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example:80", 421),
        ("localhost@evil.example", 421),
        ("[::1].evil.example", 421),
        ("[::1]:80:evil", 421),
        ("", 421),
    ],
)
def test_only_this_machines_names_are_answered_to(address: str, host: str, status: int) -> None:
    for path in ("/health", "/", "/nope"):
        reply = ask(address, path, headers={"Host": host})
        assert reply.status == (status if path != "/nope" or status == 421 else 404)
        assert "content-security-policy" in reply.headers


@pytest.mark.parametrize(
    ("host", "status"),
    [("bitweft.example:80", 200), ("192.168.0.7", 200), (socket.gethostname(), 200), ("evil.example", 421)],
)
def test_beyond_loopback_names_are_those_that_are_allowed(service: Service, host: str, status: int) -> None:
    with running(service, hosts=hosts_of("0.0.0.0", ["Bitweft.example"])) as address:
        assert ask(address, "/health", headers={"Host": host}).status == status


def test_the_model_is_described(address: str, service: Service, small_model: Path, aligner: Aligner) -> None:
    told = ask(address, "/model").json
    ModelAnswer.model_validate(told)
    assert told["name"] == "small.weft" and told["recipe"] == "default"
    assert told["languages"] == ["English", "French"] and told["training"]["pairs"] == 300
    assert told["sizes"]["source_words"] > 100 and told["alternatives"] is True
    assert told["sizes"]["bytes"] == sum(file.stat().st_size for file in small_model.iterdir())
    assert told["limits"]["pairs"] == 50 and told["config"]["dimensions"] > 0


@pytest.mark.slow
def test_a_model_without_posteriors_is_served_without_alternatives(
    tmp_path: Path, pairs: list[SentencePair]
) -> None:
    paper = Aligner("paper", seed=1, threads=1, settings=["training.epochs=1", "training.word_epochs=0"])
    paper.fit(pairs[:20]).save(tmp_path / "paper.weft")
    service = Service(paper, tmp_path / "paper.weft")
    told = json.loads(service.about)
    ModelAnswer.model_validate(told)
    assert told["recipe"] == "paper" and told["alternatives"] is False
    question = {"source": pairs[0].source.text, "target": pairs[0].target.text, "alternatives": 2}
    answer = json.loads(service.answer(json.dumps(question).encode()))
    PairAnswer.model_validate(answer)
    expected = paper.infer(pairs[:1])[0]
    assert [link[:2] for link in answer["links"]] == [list(link) for link in expected.alignment.links]
    assert answer["score"] == expected.score and "alternatives" not in answer


def test_nothing_of_a_model_gets_into_the_page(aligner: Aligner, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    aligner.save(tmp_path / "evil<script>.weft", languages=(evil, evil), note=evil)
    service = Service(Aligner.load(tmp_path / "evil<script>.weft"), tmp_path / "evil<script>.weft")
    assert json.loads(service.about)["note"] == evil
    with running(service) as address:
        assert ask(address, "/").body.decode() == page()


def _check(case: Any) -> None:
    case.call_and_validate()


def test_the_api_is_as_it_is_described(address: str) -> None:
    schemathesis: Any = pytest.importorskip("schemathesis", reason="needs schemathesis")
    schema = schemathesis.openapi.from_url(f"{address}openapi.json")
    tried = set()
    for result in schema.get_all_operations():
        operation = result.ok()
        tried.add(operation.label)
        for mode in schemathesis.GenerationMode if operation.body else [schemathesis.GenerationMode.POSITIVE]:
            wrap: Any = given(operation.as_strategy(generation_mode=mode))
            bounded: Any = settings(
                max_examples=40,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
                derandomize=True,
                database=None,
            )
            bounded(wrap(_check))()
    assert tried == {"POST /align", "GET /model", "GET /health"}
