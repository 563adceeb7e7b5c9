"""What the server of `bitweft edit` does, and what `bitweft serve` does not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bitweft import Aligner
from bitweft.cli import main
from bitweft.edit import GoldStore, Judgment
from bitweft.edit.judgment import UNTOUCHED
from bitweft.edit.learn import learn
from bitweft.errors import UsageError
from bitweft.links.alignment import GoldAlignment
from bitweft.links.formats.registry import read_gold
from bitweft.recipes.base import Expected
from bitweft.server.run import hosts_of
from editing import PAIRS, Pupil, edited
from serving import JSON, Reply, ask, running

pytest.importorskip("uvicorn", reason="needs the extra serve: pip install 'bitweft[serve]'")


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return tmp_path / "gold.jsonl"


@pytest.fixture
def address(gold: Path) -> Iterator[str]:
    with edited(gold) as found:
        yield found


def save(address: str, pair: int = 0, version: str = UNTOUCHED, **more: Any) -> Reply:
    body = {"pair": pair, "version": version, "sure": [[0, 0]], **more}
    return ask(address, "/edit/save", json.dumps(body).encode())


def test_the_state_holds_text_suggestions_and_judgments(address: str) -> None:
    saved = save(address, possible=[[1, 2]], comment="naïve <b>", done=True).json["record"]
    state = ask(address, "/edit/state").json
    assert [row[0] for row in state["pairs"]] == [pair.source.text for pair in PAIRS]
    assert state["pairs"][1][2:] == [[0, 0, 2, 2], [990, 700]]
    assert state["records"] == {"0": saved} and saved["comment"] == "naïve <b>" and saved["by"] == "anna"
    assert sorted(state["order"]) == [0, 1, 2, 3] and state["about"]["edit"]["learn"] is False


def test_what_is_saved_is_on_disk_before_the_answer(address: str, gold: Path) -> None:
    first = save(address).json["record"]
    assert next(read_gold(gold, text=PAIRS)) == GoldAlignment.of([(0, 0)])
    assert save(address, version=first["version"], sure=[[5, 5]], unlinked={"source": [0]}).status == 200
    kept = GoldStore(gold, PAIRS)[0]
    assert kept is not None and kept.gold.sure == {(5, 5)} and kept.unlinked == (frozenset({0}), frozenset())


def test_suggestions_of_many_pairs_are_taken_in_one_go(address: str, gold: Path) -> None:
    def accept(**body: Any) -> Reply:
        return ask(address, "/edit/accept", json.dumps(body).encode())

    assert save(address, pair=1).status == 200
    assert accept(pairs=[0, 1, 3], threshold=0.9).json["accepted"] == 2
    store = GoldStore(gold, PAIRS)
    assert [gold.sure for gold in store.gold(range(4))] == [
        {(0, 0), (1, 2), (2, 1), (3, 3)},
        {(0, 0)},  # somebody has said so before
        set(),
        {(0, 0)},
    ]
    assert store[2] is None and store.done() == []
    assert accept(pairs=[4], threshold=0.9).status == accept(pairs=[0], threshold=2).status == 422


def test_two_pages_never_mix(address: str) -> None:
    first = save(address).json
    refused = save(address, sure=[[1, 1]])
    assert refused.status == 409 and refused.json["title"] == "Conflict"
    changes = ask(address, "/edit/changes?since=0").json
    assert changes["records"] == {"0": first["record"]} and changes["revision"] == first["revision"]
    assert ask(address, f"/edit/changes?since={changes['revision']}").json["records"] == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sure": [[0, 9]]}, "link 0-9"),
        ({"pair": 4}, "pair 4"),
        ({"pair": -1}, "greater than or equal to 0"),
        ({"sure": [[0, -1]]}, "greater than or equal to 0"),
        ({"sure": [[0]]}, "sure/0/1"),
        ({"by": "mallory"}, "by"),
        ({"comment": "x" * 10_001}, "comment"),
        ({"unlinked": {"source": [0]}}, "has links and is said to have none"),
    ],
)
def test_what_does_not_fit_is_refused(address: str, gold: Path, change: dict[str, Any], message: str) -> None:
    reply = save(address, **change)
    assert reply.status == 422 and message in reply.json["detail"] and not gold.exists()


def test_what_is_done_is_exported(address: str) -> None:
    save(address, possible=[[1, 2]], done=True)
    save(address, pair=1)
    save(address, pair=2, done=True)
    reply = ask(address, "/edit/export/possible")
    assert reply.body == b"0-0 1?2\n0-0\n" and "attachment" in reply.headers["content-disposition"]
    assert ask(address, "/edit/export/naacl").body == b"1 1 1 S\n1 2 3 P\n2 1 1 S\n"
    assert len(ask(address, "/edit/export/jsonl").body.splitlines()) == 2
    assert ask(address, "/edit/export/pharaoh").status == 404


def test_a_server_without_editing_has_none(small_model: Path) -> None:
    from bitweft.server.service import Service

    with running(Service(Aligner.load(small_model, threads=1), small_model)) as plain:
        for path in ("/edit/state", "/edit/changes", "/edit/export/possible"):
            assert ask(plain, path).status == 404
        for path in ("/edit/save", "/edit/learn", "/tune"):
            assert ask(plain, path, b"{}").status == 404
        docs = ask(plain, "/docs")
        assert docs.status == 200 and b"POST" in docs.body and b"/align" in docs.body
        assert b"/edit" not in docs.body and "script-src" not in docs.headers["content-security-policy"]


def test_nothing_is_learned_unless_the_recipe_can(address: str) -> None:
    assert ask(address, "/edit/learn", b"{}").status == 404
    assert b"/edit/learn" not in ask(address, "/docs").body and b"/edit/save" in ask(address, "/docs").body


@pytest.mark.parametrize("path", ["/edit/save", "/edit/learn", "/nowhere"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Host": "evil.example"}, 421),
    ],
)
def test_pages_of_other_sites_are_refused(
    address: str, gold: Path, path: str, headers: dict[str, str], status: int
) -> None:
    body = json.dumps({"pair": 0, "version": UNTOUCHED, "sure": [[0, 0]]}).encode()
    assert ask(address, path, body, headers={**JSON, **headers}).status == status
    assert not gold.exists()


def test_its_own_page_is_let_in(address: str) -> None:
    body = json.dumps({"pair": 0, "version": UNTOUCHED, "sure": [[0, 0]]}).encode()
    own = {"Origin": address.rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    assert ask(address, "/edit/save", body, headers={**JSON, **own}).status == 200
    foreign = ask(address, "/health", headers={"Sec-Fetch-Site": "cross-site"})
    assert foreign.status == 200 and foreign.headers["cross-origin-resource-policy"] == "same-origin"
    assert ask(address, "/edit/save", body, headers={"Content-Type": "text/plain"}).status == 415


GOLD = [
    GoldAlignment.of([(0, 0), (1, 2), (2, 1), (3, 3), (4, 4), (5, 5)]),
    GoldAlignment.of([(0, 0), (1, 1), (2, 2)]),
    GoldAlignment.of([(0, 0)]),
    GoldAlignment.of([(0, 0), (1, 2), (2, 1)]),
]


def test_learning_is_judged_on_what_it_has_not_seen() -> None:
    lesson = learn(Pupil, PAIRS, GOLD, folds=4)  # type: ignore[arg-type]
    # Each sentence is judged by a pupil that saw the other three: crossing is learned from 0 or from 3.
    assert lesson.before == pytest.approx(1 - 2 * 9 / 26)
    assert lesson.after == pytest.approx(1 - 2 * 11 / 26)
    assert lesson.chosen == "adjectives after nouns" and lesson.sentences == 4
    with pytest.raises(UsageError, match="takes 2 sentences"):
        learn(Pupil, PAIRS[:1], GOLD[:1])  # type: ignore[arg-type]


def test_a_recipe_that_cross_validates_by_itself_is_believed() -> None:
    class Careful(Pupil):
        tuned = 0

        def tune(self, pairs: Any, gold: Any) -> Any:
            Careful.tuned += 1
            return replace(super().tune(pairs, gold), expected=Expected(0.25, 0.125, -0.2, 0.0))

    lesson = learn(Careful, PAIRS, GOLD)  # type: ignore[arg-type]
    assert (lesson.before, lesson.after) == (0.25, 0.125) and Careful.tuned == 1


def test_what_was_learned_is_suggested(gold: Path, tmp_path: Path) -> None:
    with edited(gold, teach=True, tuned=tmp_path / "tuned") as address:
        assert ask(address, "/edit/learn", b"{}").json["detail"].startswith("learning takes 2 sentences")
        save(address, pair=0, sure=sorted(GOLD[0].sure), done=True)
        save(address, pair=2, done=True)
        assert ask(address, "/edit/state").json["pairs"][3][2] == [0, 0, 1, 1, 2, 2]
        lesson = ask(address, "/edit/learn", b"{}").json
        assert lesson["sentences"] == 2 and lesson["before"] == pytest.approx(2 / 7)
        assert lesson["pairs"][3][2] == [0, 0, 1, 2, 2, 1]
        assert ask(address, "/edit/state").json["pairs"][3][2] == [0, 0, 1, 2, 2, 1]
        assert (tmp_path / "tuned").read_text(encoding="utf-8") == "True"


def test_disagreements_are_told(gold: Path) -> None:
    anna = Judgment(GoldAlignment.of([(0, 0), (1, 2)]), done=True, by="anna")
    ben = Judgment(GoldAlignment.of([(0, 0)], [(1, 2)]), done=True, by="ben")
    said = {"anna": [anna, None, None, None], "ben": [ben, None, None, None]}
    with edited(gold, annotators=said) as address:
        state = ask(address, "/edit/state").json
    assert state["disputed"] == {"0": [[1, 2, "sure", "possible"]]}
    (found,) = state["agreement"]
    assert found["names"] == ["anna", "ben"] and found["f1"] == 1 and found["sentences"] == 1


@pytest.mark.parametrize(
    ("host", "asked", "let_in"),
    [
        ("127.0.0.1", "127.0.0.1:1", True),
        ("127.0.0.1", "192.168.0.7", False),
        ("127.0.0.1", "evil.example", False),
        ("127.0.0.1", "gold.example", True),  # by --allow-host
        ("0.0.0.0", "192.168.0.7:8765", True),
        ("0.0.0.0", "[fe80::1]:80", True),
        ("0.0.0.0", "gold.example", True),
        ("0.0.0.0", "evil.example", False),
        ("0.0.0.0", "192.168.0.7.evil.example", False),
    ],
)
def test_files_are_changed_only_under_names_of_this_machine(
    gold: Path, host: str, asked: str, let_in: bool
) -> None:
    with edited(gold, hosts=hosts_of(host, ["Gold.example"])) as address:
        reply = ask(address, "/health", headers={"Host": asked})
        assert reply.status == (200 if let_in else 421)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_the_verb_loses_nothing_when_it_is_killed(tmp_path: Path) -> None:
    texts = [("en", "the house\nyes\n"), ("fr", "la maison\noui\n"), ("links", "0-0 1-1\n0-0\n")]
    for name, text in texts:
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [str(tmp_path / name) for name, _ in texts]
    command = [sys.executable, "-m", "bitweft", "view", *files, "--edit", "-o", str(tmp_path / "gold.jsonl")]
    with subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = process.stderr.readline().split()[3]
        assert save(address, sure=[[1, 1]], done=True).status == 200
        process.kill()
    with subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = process.stderr.readline().split()[3]
        (record,) = ask(address, "/edit/state").json["records"].values()
        assert record["sure"] == [[1, 1]] and record["done"]
        process.terminate()
        assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["view", "en", "fr", "links", "--edit"], 2, "give -o GOLD"),
        (["edit", "en", "fr", "-o", "gold"], 2, "no links"),
        (["edit", "en", "fr", "links", "-o", "gold", "--export", "out"], 2, "nothing to export"),
        (["edit", "en", "fr", "--annotators", "nobody.jsonl", "-o", "gold"], 1, "nobody.jsonl: no such file"),
    ],
)
def test_the_verb_says_what_is_wrong(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    for name, text in (("en", "the house\n"), ("fr", "la maison\n"), ("links", "0-0 1-1\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(arguments + (["--port", "0"] if "--annotators" in arguments else [])) == code
    assert message in capsys.readouterr().err
