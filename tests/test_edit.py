"""Gold links made by hand: saved whole, never mixed, ordered, compared, learned from."""

from __future__ import annotations

import json
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitweft.cli import main
from bitweft.edit import (
    ConflictError,
    GoldStore,
    Judgment,
    agreement,
    disputed,
    majority,
    teaching_order,
    uncertainty,
)
from bitweft.edit.judgment import UNTOUCHED
from bitweft.errors import InputError
from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.evaluate import evaluate
from bitweft.links.formats.registry import read_gold
from bitweft.recipes.base import Inference
from bitweft.text.bitext import SentencePair, tokenize

PAIRS = [
    SentencePair(tokenize(source), tokenize(target))
    for source, target in (("the blue house", "la maison bleue"), ("yes", "oui"), ("", "rien"))
]


def said(sure: list[tuple[int, int]], possible: list[tuple[int, int]] = [], **more: object) -> Judgment:  # noqa: B006
    return Judgment(GoldAlignment.of(sure, possible), **{"by": "anna", **more})  # type: ignore[arg-type]


@st.composite
def judgments(draw: st.DrawFn) -> tuple[int, Judgment]:
    k = draw(st.sampled_from([0, 1]))
    sizes = (len(PAIRS[k].source), len(PAIRS[k].target))
    links = st.tuples(st.integers(0, sizes[0] - 1), st.integers(0, sizes[1] - 1))
    gold = GoldAlignment.of(draw(st.sets(links)), draw(st.sets(links)))
    unlinked = tuple(
        frozenset(draw(st.sets(st.integers(0, size - 1)))) - {link[side] for link in gold.possible}
        for side, size in enumerate(sizes)
    )
    comment = draw(st.text(st.characters(exclude_categories=["Cs"])))
    return k, Judgment(gold, (unlinked[0], unlinked[1]), comment, draw(st.booleans()), "anna")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(judgments(), min_size=1, max_size=6))
def test_what_is_saved_is_read_back(tmp_path: Path, made: list[tuple[int, Judgment]]) -> None:
    path = tmp_path / "gold.jsonl"
    path.unlink(missing_ok=True)
    store = GoldStore(path, PAIRS)
    last: dict[int, Judgment] = {}
    for k, judgment in made:
        current = store[k]
        last[k] = store.save(k, judgment, current.version if current else UNTOUCHED)
        assert last[k].gold == judgment.gold and last[k].comment == judgment.comment
        again = GoldStore(path, PAIRS)
        assert [again[at] for at in range(len(PAIRS))] == [last.get(at) for at in range(len(PAIRS))]
        found = again[k]
        assert found is not None and found.version == last[k].version
        gold = list(read_gold(path, text=PAIRS))  # as `bitweft evaluate` reads it
        assert gold == store.gold(range(len(PAIRS)))
        assert again.done() == [at for at, each in sorted(last.items()) if each.done]


def test_only_the_version_that_was_seen_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    store = GoldStore(path, PAIRS)
    first = store.save(0, said([(0, 0)]), UNTOUCHED)
    before = path.read_bytes()
    with pytest.raises(ConflictError) as conflict:
        store.save(0, said([(1, 1)]), UNTOUCHED)
    assert conflict.value.current == first and path.read_bytes() == before
    second = store.save(0, said([(1, 1)]), first.version)
    with pytest.raises(ConflictError):
        store.save(0, said([(2, 2)]), first.version)
    assert store[0] == second and store.save(1, said([(0, 0)]), UNTOUCHED).done is False


def test_two_processes_never_mix(tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    one, other = GoldStore(path, PAIRS), GoldStore(path, PAIRS)
    first = one.save(0, said([(0, 0)]), UNTOUCHED)
    with pytest.raises(ConflictError):
        other.save(0, said([(1, 1)]), UNTOUCHED)
    other.save(1, said([(0, 0)], by="ben"), UNTOUCHED)  # another pair: both are kept
    seen = one.revision
    assert {k: each.by for k, each in one.changed_since(seen).items() if each} == {1: "ben"}
    assert one[0] == first and other[0] == first


def test_many_threads_lose_nothing(tmp_path: Path) -> None:
    pairs = PAIRS[:1] * 24
    stores = [GoldStore(tmp_path / "gold.jsonl", pairs) for _ in range(2)]
    threads = [
        threading.Thread(target=stores[k % 2].save, args=(k, said([(0, 0)], comment=str(k)), UNTOUCHED))
        for k in range(len(pairs))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = GoldStore(tmp_path / "gold.jsonl", pairs)
    assert [each.comment for k in range(len(pairs)) if (each := kept[k])] == [
        str(k) for k in range(len(pairs))
    ]


def test_a_crash_while_writing_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "gold.jsonl"
    store = GoldStore(path, PAIRS)
    first = store.save(0, said([(0, 0)]), UNTOUCHED)
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", fail)
        with pytest.raises(OSError):
            store.save(0, said([(1, 1)]), first.version)
    assert path.read_bytes() == before and sorted(tmp_path.iterdir()) == [path]
    assert store[0] == first
    store.save(0, said([(1, 1)]), first.version)


def test_a_lock_that_stays_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitweft.edit.store.PATIENCE", 0.05)
    (tmp_path / ".gold.jsonl.lock").touch()
    with pytest.raises(InputError, match=r"another process .* remove .*gold.jsonl.lock"):
        GoldStore(tmp_path / "gold.jsonl", PAIRS).save(0, said([(0, 0)]), UNTOUCHED)


@pytest.mark.parametrize(
    ("judgment", "message"),
    [
        (said([(0, 3)]), "link 0-3"),
        (said([], unlinked=(frozenset({3}), frozenset())), "source word 3"),
        (said([(0, 1)], unlinked=(frozenset(), frozenset({1}))), "target word 1 .* has links"),
    ],
)
def test_what_does_not_fit_the_pair_is_refused(tmp_path: Path, judgment: Judgment, message: str) -> None:
    with pytest.raises(InputError, match=message):
        GoldStore(tmp_path / "gold.jsonl", PAIRS).save(0, judgment, UNTOUCHED)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("line", "change", "message"),
    [
        (0, {"src": "another"}, "gold.jsonl:1: this is another sentence pair"),
        (0, {"done": 1}, 'gold.jsonl:1: "done" must be true or false'),
        (0, {"tgt_unlinked": ["x"]}, 'gold.jsonl:1: "tgt_unlinked" must hold positions'),
        (1, None, "2 pairs, but the text has 3"),
    ],
)
def test_a_file_of_another_text_is_refused(
    tmp_path: Path, line: int, change: dict[str, object] | None, message: str
) -> None:
    path = tmp_path / "gold.jsonl"
    GoldStore(path, PAIRS).save(0, said([(0, 0)]), UNTOUCHED)
    lines = path.read_text(encoding="utf-8").splitlines()
    if change is None:
        del lines[-1]
    else:
        value = json.loads(lines[line]) | change
        if "src" in change:
            del value["src_spans"]
        lines[line] = json.dumps(value)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        GoldStore(path, PAIRS)


def test_who_and_when_are_kept(tmp_path: Path) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    times = iter([moment, moment + timedelta(hours=1)])
    store = GoldStore(tmp_path / "gold.jsonl", PAIRS, now=lambda: next(times))
    first = store.save(0, said([(0, 0)], [(1, 2)], comment="un\ndeux", done=True), UNTOUCHED)
    store.save(0, said([(0, 0)]), first.version)
    assert first.at == "2026-01-02T03:04:05.000+00:00"
    found = store[0]
    assert found is not None and found.at == "2026-01-02T04:04:05.000+00:00" and found.by == "anna"


def inference(*chances: float) -> Inference:
    return Inference(Alignment.of([(k, 0) for k in range(len(chances))], list(chances)))


def test_the_less_certain_pair_is_the_more_uncertain() -> None:
    pair = PAIRS[0]
    assert uncertainty(pair, inference(0.5, 0.5)) == pytest.approx(2 / 6**0.5)
    assert uncertainty(pair, inference(1.0, 0.0)) == 0
    with_null = Inference(Alignment(), unlinked=(((0, 0.5),), ()))
    assert uncertainty(pair, with_null) == pytest.approx(1 / 6**0.5)
    assert uncertainty(SentencePair(tokenize(""), tokenize("")), Inference(Alignment())) == 0


@given(st.lists(st.tuples(st.text("ab ", max_size=8), st.floats(0, 1)), max_size=12))
def test_the_order_is_the_greedy_one(items: list[tuple[str, float]]) -> None:
    pairs = [SentencePair(tokenize(text), tokenize(text)) for text, _ in items]
    unsure = [value for _, value in items]
    order = teaching_order(pairs, unsure)
    assert sorted(order) == list(range(len(pairs)))
    seen: dict[str, int] = {}
    left = [k for k, pair in enumerate(pairs) if pair.source.tokens]
    for k in order[: len(left)]:
        values = {}
        for at in left:
            words = set(pairs[at].source.tokens)
            values[at] = unsure[at] * sum(0.5 ** seen.get(word, 0) for word in words) / len(words)
        assert values[k] == pytest.approx(max(values.values()))
        left.remove(k)
        for word in set(pairs[k].source.tokens):
            seen[word] = seen.get(word, 0) + 1


def test_alike_sentences_are_not_asked_for_in_a_row() -> None:
    texts = ["a b c", "a b c", "d e f"]
    pairs = [SentencePair(tokenize(text), tokenize(text)) for text in texts]
    assert teaching_order(pairs, [0.9, 0.8, 0.5]) == [0, 2, 1]


def test_annotators_are_compared_on_what_both_have_done() -> None:
    anna = [said([(0, 0), (1, 2)], [(2, 1)], done=True), said([(0, 0)], done=True), None]
    ben = [said([(0, 0), (2, 1)], done=True, by="ben"), said([], by="ben"), None]
    found = agreement(anna, ben)
    assert found.sentences == 1 and found.f1 == pytest.approx(2 * 2 / 5) and found.disputed == 2
    ways = [
        evaluate([Alignment.of(a.gold.possible)], [b.gold])
        for a, b in ((anna[0], ben[0]), (ben[0], anna[0]))
        if a and b
    ]
    total = ways[0].counts + ways[1].counts
    assert found.aer == pytest.approx(total.aer)
    assert agreement(anna, anna).f1 == 1 and agreement(anna, anna).disputed == 0
    assert agreement([None], [None]).sentences == 0


def test_disagreements_are_listed_with_what_each_says() -> None:
    three = [said([(0, 0), (1, 1)]), said([(0, 0)], [(1, 1)]), None]
    assert disputed(three) == {(1, 1): ("sure", "possible", "")}
    assert majority([*three[:2], said([(0, 0), (2, 2)])]) == GoldAlignment.of([(0, 0)], [(1, 1)])


def test_what_is_done_is_exported_as_evaluate_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "en").write_text("the blue house\nyes\nno\n", encoding="utf-8")
    (tmp_path / "fr").write_text("la maison bleue\noui\nnon\n", encoding="utf-8")
    text = [str(tmp_path / name) for name in ("en", "fr")]
    pairs = [*PAIRS[:2], SentencePair(tokenize("no"), tokenize("non"))]
    gold = tmp_path / "gold.jsonl"
    store = GoldStore(gold, pairs)
    store.save(0, said([(0, 0)], [(1, 2)], done=True), UNTOUCHED)
    store.save(2, said([(0, 0)], done=True), UNTOUCHED)
    (tmp_path / "links").write_text("0-0 1-2\n0-0\n0-0\n", encoding="utf-8")
    out = tmp_path / "out"
    assert main(["edit", *text, str(tmp_path / "links"), "-o", str(gold), "--export", str(out)]) == 0
    assert {path.name: path.read_text(encoding="utf-8") for path in out.iterdir()} == {
        "source.txt": "the blue house\nno\n",
        "target.txt": "la maison bleue\nnon\n",
        "gold.txt": "0-0 1?2\n0-0\n",
        "lines.txt": "1\n3\n",
    }
    (tmp_path / "hypothesis").write_text("0-0 1-2\n0-0\n", encoding="utf-8")
    assert main(["evaluate", str(tmp_path / "hypothesis"), str(out / "gold.txt"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["aer"] == 0
