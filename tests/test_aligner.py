"""The aligner: one answer for a pair, wherever it stands; models that are kept, and checked."""

from __future__ import annotations

import json
import os
import shutil
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from small import aligner, sample
from weft import Aligner, Bitext, Decoding, InputError, ModelError, NothingToLearnError, UsageError, evaluate
from weft.models import check_free
from weft.posterior import Inference
from weft.sample import generate
from weft.text import SentencePair

# Known words, unknown ones, and all that a line may hold.
WORDS = st.sampled_from(
    [
        "the",
        "cat",
        "le",
        "chat",
        "book",
        "livre",
        ".",
        "zzyzx",
        "Ŋ",
        "👩‍👩‍👧",
        "שלום",
        "e\u0301",
        "\x00",
        "|||",
        "0-0",
    ]
)
SENTENCE = st.one_of(st.lists(WORDS, max_size=12), st.lists(st.text(min_size=1, max_size=5), max_size=5))
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=12)


def test_it_finds_most_links_of_the_sample() -> None:
    text, gold = sample()
    assert evaluate(aligner().align(text), gold).aer < 0.2


@given(PAIRS, st.randoms())
def test_links_depend_on_the_pair_alone(pairs: list[tuple[list[str], list[str]]], random: Any) -> None:
    alone = [aligner().infer([pair], decoding=Decoding(null=True))[0] for pair in pairs]
    order = list(range(len(pairs)))
    random.shuffle(order)
    shuffled = aligner().infer([pairs[n] for n in order], decoding=Decoding(null=True))
    assert shuffled == [alone[n] for n in order]


@given(SENTENCE, SENTENCE)
def test_links_stand_inside_their_pair(source: list[str], target: list[str]) -> None:
    for decoding in (Decoding(null=True), Decoding(heuristic="union"), Decoding(direction="backward")):
        inference = aligner().infer([(source, target)], decoding=decoding)[0]
        links, chances = inference.alignment.links, inference.alignment.probabilities or ()
        assert list(links) == sorted(set(links))
        assert all(0 <= s < len(source) and 0 <= t < len(target) for s, t in links)
        assert len(chances) == len(links) and all(0 <= chance <= 1 for chance in chances)
        assert inference.score is not None and np.isfinite(inference.score)


def test_chunks_threads_and_a_kept_model_change_nothing(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, _ = sample()
    expected = list(aligner().stream(text))
    for threads in (1, 3):
        kept = Aligner.load(model, threads=threads)
        assert list(kept.stream(text)) == expected
        monkeypatch.setattr("weft.aligner.CHUNK", 7)
        assert list(kept.stream(text)) == expected
        monkeypatch.undo()


def test_threads_may_share_an_aligner() -> None:
    pairs = list(sample()[0])[:60]
    expected = aligner().infer(pairs)
    found: list[list[Inference]] = []
    workers = [threading.Thread(target=lambda: found.append(aligner().infer(pairs))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 4


def test_threads_of_learning_change_nothing() -> None:
    pairs = list(sample()[0])[:60]
    links = [list(Aligner(threads=threads).fit(pairs).align(pairs)) for threads in (1, 2)]
    assert links[0] == links[1]


def test_sentences_come_as_strings_lists_and_pairs() -> None:
    pair = next(iter(sample()[0]))
    as_string = aligner().align(pair.source.text, pair.target.text)
    assert as_string == aligner().align(pair.source.tokens, pair.target.tokens)
    assert [as_string] == list(aligner().align([pair]))
    assert [as_string] == list(aligner().align(iter([(pair.source.text, pair.target.text)])))
    assert str(as_string).startswith("0-0 ")


def test_results_come_as_the_pairs_do() -> None:
    taken = 0

    def endless() -> Iterator[tuple[str, str]]:
        nonlocal taken
        while True:
            taken += 1
            yield "the cat", "le chat"

    results = aligner().align(endless())
    first = next(results)
    assert (0, 0) in first.links
    assert taken < 2_000
    results.close()  # type: ignore[attr-defined]


def test_a_fault_in_the_text_comes_after_the_pairs_before_it() -> None:
    def broken() -> Iterator[tuple[str, str]]:
        yield from [("the cat", "le chat")] * 300
        raise InputError("line 301")

    results = aligner().align(broken())
    assert len([next(results) for _ in range(300)]) == 300
    with pytest.raises(InputError, match="line 301"):
        next(results)


def test_the_posterior_matrix_holds_the_probabilities_of_links() -> None:
    pair = next(iter(sample()[0]))
    matrix = aligner().posteriors(pair.source.tokens, pair.target.tokens)
    assert matrix.shape == (len(pair.source), len(pair.target))
    assert matrix.min() >= 0 and matrix.max() <= 1
    alignment = aligner().align(pair.source.tokens, pair.target.tokens)
    assert alignment.probabilities is not None
    for link, chance in zip(alignment.links, alignment.probabilities, strict=True):
        assert matrix[link] == pytest.approx(chance, abs=1e-5)
    assert aligner().posteriors("", "a b").shape == (0, 2)


def test_true_pairs_score_higher_than_others_whatever_their_length() -> None:
    pairs = list(sample()[0])
    true = [aligner().score(pair.source.tokens, pair.target.tokens) for pair in pairs]
    turned = [
        aligner().score(one.source.tokens, other.target.tokens)
        for one, other in zip(pairs, pairs[1:] + pairs[:1], strict=True)
    ]
    assert sum(a > b for a, b in zip(true, turned, strict=True)) > 0.95 * len(pairs)
    words = pairs[0].source.tokens, pairs[0].target.tokens
    assert aligner().score(words[0] * 3, words[1] * 3) == pytest.approx(true[0], abs=1.0)


def test_wishes_of_decoding_go_the_way_they_say() -> None:
    text, gold = sample()

    def score(**wish: Any) -> Any:
        return evaluate(aligner().align(text, decoding=Decoding(**wish)), gold)

    plain, precise, complete = score(), score(threshold=0.9), score(threshold=0.1)
    assert precise.precision > plain.precision > complete.precision
    assert precise.recall < plain.recall < complete.recall
    both, either = score(heuristic="intersection"), score(heuristic="union")
    assert both.links < either.links
    forward, backward = (
        list(aligner().align(text, decoding=Decoding(direction=d))) for d in ("forward", "backward")
    )
    assert all(len({t for _, t in own.links}) == len(own) for own in forward)
    assert all(len({s for s, _ in own.links}) == len(own) for own in backward)
    for ahead, back, own in zip(
        forward, backward, aligner().align(text, decoding=Decoding(heuristic="intersection")), strict=True
    ):
        assert set(own.links) == set(ahead.links) & set(back.links)


@pytest.mark.parametrize(
    "wish",
    [
        {"threshold": 0.0},
        {"threshold": 1.5},
        {"heuristic": "none"},
        {"direction": "up"},
        {"longest": 0},
        {"threshold": 0.5, "heuristic": "union"},
    ],
)
def test_wishes_that_cannot_be_are_refused(wish: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Decoding(**wish)


def test_words_without_a_link_come_with_the_probability_of_none() -> None:
    pair = next(iter(sample()[0]))
    inference = aligner().infer([pair], decoding=Decoding(threshold=0.999, null=True))[0]
    assert inference.unlinked is not None
    for side, own in enumerate(inference.unlinked):
        linked = {link[side] for link in inference.alignment.links}
        assert {place for place, _ in own} == set(range(len(pair[side]))) - linked
        assert all(0 <= chance <= 1 for _, chance in own)


def test_overlong_pairs_get_no_links() -> None:
    words = ["the"] * 11
    found = aligner().infer([(words, ["le"]), (["the"], ["le"])], decoding=Decoding(longest=10))
    assert [inference.too_long for inference in found] == [True, False]
    assert found[0].alignment.links == () and found[1].alignment.links == ((0, 0),)


@pytest.mark.parametrize(
    "pairs", [pytest.param(100, id="1000 words"), pytest.param(450, id="5000 words", marks=pytest.mark.slow)]
)
def test_long_lines_are_aligned(pairs: int) -> None:
    drawn = list(generate(pairs, seed=2))
    source = [word for pair in drawn for word in pair.source]
    target = [word for pair in drawn for word in pair.target]
    found = aligner().infer([(source, target)])[0]
    assert len(found.alignment) > len(source) / 2 and not found.too_long


def test_nothing_to_learn_from_is_said() -> None:
    with pytest.raises(NothingToLearnError, match="no pair"):
        Aligner().fit([("", "a"), ("b", "")])
    with pytest.raises(UsageError, match="learned nothing"):
        Aligner().align("a", "b")


@pytest.mark.parametrize("pairs", [1, 2, 17])
def test_few_pairs_are_enough(pairs: int) -> None:
    learned = Aligner(threads=1).fit([("a b", "c d")] * pairs)
    assert set(learned.align("a b", "c d").links) <= {(0, 0), (0, 1), (1, 0), (1, 1)}


@pytest.mark.parametrize("word", ["a\nb", "\ud800"])
def test_words_that_no_file_can_hold_are_refused(word: str) -> None:
    with pytest.raises(InputError, match="line break or half a surrogate"):
        Aligner().fit([([word], ["x"])])


@pytest.mark.parametrize(
    "options",
    [{"recipe": "best"}, {"seed": -1}, {"threads": 0}, {"device": "cuda"}, {"settings": ["rate=fast"]}],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Aligner(**options)


def test_the_record_of_training_is_kept(model: Path) -> None:
    about = Aligner.load(model).about
    assert (about.recipe, about.languages, about.note) == ("default", ("en", "fr"), "made for tests")
    assert about.training["pairs"] == 300 and about.training["words"][0] > 1000
    assert about.config["dimensions"] > 0 and about.training["record"]


def test_a_model_remembers_how_text_was_cut(tmp_path: Path) -> None:
    text = Bitext.of([("ab c", "x yz"), ("c ab", "yz x")], tokenize="char")
    Aligner(threads=1).fit(text).save(tmp_path / "m")
    assert Aligner.load(tmp_path / "m").posteriors("abc", "xyzz").shape == (3, 4)


def test_saving_overwrites_nothing_unasked(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "m"
    aligner().save(place)
    with pytest.raises(InputError, match="exists already"):
        aligner().save(place)
    aligner().save(place, force=True)
    assert sorted(path.name for path in place.parent.iterdir()) == ["m"]
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    with pytest.raises(InputError, match="no model"):
        check_free(tmp_path / "precious", force=True)


# What is done to a model's files, and what must then be said.
def _edit_json(path: Path, **changes: Any) -> None:
    about = json.loads((path / "model.json").read_text(encoding="utf-8"))
    (path / "model.json").write_text(json.dumps(about | changes), encoding="utf-8")


def _edit_config(path: Path, **changes: Any) -> None:
    about = json.loads((path / "model.json").read_text(encoding="utf-8"))
    _edit_json(path, config=about["config"] | changes)


def _edit_arrays(path: Path, name: str, change: Any) -> None:
    arrays = load_file(path / "weights.safetensors")
    arrays[name] = np.ascontiguousarray(change(arrays[name]))
    save_file(arrays, path / "weights.safetensors")


def _set_first(value: float) -> Any:
    def change(array: Any) -> Any:
        array = array.copy()
        array.flat[0] = value
        return array

    return change


DAMAGES: dict[str, tuple[Any, str]] = {
    "no json": (lambda path: (path / "model.json").unlink(), "no weft model"),
    "half a json": (lambda path: (path / "model.json").write_text('{"format": 1, '), "no weft model"),
    "not utf-8": (lambda path: (path / "model.json").write_bytes(b"\xff\xfe"), "no weft model"),
    "deep json": (lambda path: (path / "model.json").write_text("[" * 100_000), "no weft model"),
    "a list": (lambda path: (path / "model.json").write_text("[]"), "no weft model"),
    "another format": (lambda path: _edit_json(path, format=99), "format 99.*train again"),
    "unknown recipe": (lambda path: _edit_json(path, recipe="../evil"), "no recipe"),
    "unknown tokenization": (lambda path: _edit_json(path, tokenize="x"), "no tokenization"),
    "seed": (lambda path: _edit_json(path, seed="1"), "seed"),
    "training": (lambda path: _edit_json(path, training=None), "training"),
    "languages": (lambda path: _edit_json(path, languages=["en"]), "languages"),
    "unknown setting": (lambda path: _edit_config(path, magic=1), "no setting magic"),
    "wrong setting": (lambda path: _edit_config(path, dimensions="many"), "dimensions"),
    "dimensions": (lambda path: _edit_config(path, dimensions=10**12), "damaged"),
    "null": (lambda path: _edit_config(path, null=7.5), "out of range"),
    "nan": (lambda path: _edit_config(path, strength=float("nan")), "NaN"),
    "no weights": (lambda path: (path / "weights.safetensors").unlink(), "missing"),
    "cut weights": (lambda path: os.truncate(path / "weights.safetensors", 5000), "cannot be read"),
    "hostile header": (
        lambda path: (path / "weights.safetensors").write_bytes(struct.pack("<Q", 2**62) + b"{}"),
        "cannot be read",
    ),
    "no words": (lambda path: (path / "source.words.txt").unlink(), "missing"),
    "cut words": (
        lambda path: (path / "source.words.txt").write_text("the\t5\n", encoding="utf-8"),
        "damaged",
    ),
    "foreign words": (lambda path: (path / "target.words.txt").write_text("a b\n"), "expected a word"),
    "odd digits": (
        lambda path: (path / "target.words.txt").write_text("a\t²\n", encoding="utf-8"),
        "cannot be used",
    ),
    "huge counts": (lambda path: (path / "target.words.txt").write_text(f"a\t{10**30}\n"), "cannot be used"),
    "not finite": (lambda path: _edit_arrays(path, "source", _set_first(np.inf)), "no number"),
    "too large": (lambda path: _edit_arrays(path, "source", _set_first(1e30)), "outside"),
    "other shape": (lambda path: _edit_arrays(path, "target", lambda array: array[1:]), "damaged"),
    "other type": (
        lambda path: _edit_arrays(path, "target", lambda array: array.astype(np.float64)),
        "damaged",
    ),
    "words out of bounds": (lambda path: _edit_arrays(path, "counts.sources", _set_first(10**9)), "outside"),
    "words below zero": (lambda path: _edit_arrays(path, "counts.sources", _set_first(-1)), "outside"),
    "offsets": (lambda path: _edit_arrays(path, "counts.offsets", _set_first(5)), "do not run"),
    "order": (lambda path: _edit_arrays(path, "counts.sources", lambda array: array[::-1]), "out of order"),
    "jumps": (lambda path: _edit_arrays(path, "jumps", lambda array: array[..., 1:]), "columns"),
    "negative jumps": (lambda path: _edit_arrays(path, "jumps", _set_first(-1.0)), "outside"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_and_hostile_models_are_refused(model: Path, tmp_path: Path, damage: str) -> None:
    copy = tmp_path / "m"
    shutil.copytree(model, copy)
    spoil, message = DAMAGES[damage]
    spoil(copy)
    with pytest.raises(ModelError, match=message):
        Aligner.load(copy)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("name", ["model.json", "weights.safetensors", "source.words.txt"])
def test_a_pipe_in_place_of_a_file_does_not_hang(model: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "m"
    shutil.copytree(model, copy)
    (copy / name).unlink()
    os.mkfifo(copy / name)
    with pytest.raises(ModelError):
        Aligner.load(copy)


@given(st.data())
def test_flipped_bytes_never_crash(
    model: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    copy = tmp_path_factory.mktemp("flipped") / "m"
    shutil.copytree(model, copy)
    name = data.draw(st.sampled_from(sorted(path.name for path in model.iterdir())))
    content = bytearray((copy / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, min(len(content), 4000) - 1))] = data.draw(st.integers(0, 255))
    (copy / name).write_bytes(
        content[: data.draw(st.integers(1, len(content)))] if data.draw(st.booleans()) else content
    )
    try:
        damaged = Aligner.load(copy, threads=1)
    except ModelError:
        return
    damaged.infer([("the cat sleeps", "le chat dort"), ("xyz", "xyz")], decoding=Decoding(null=True))


def test_a_missing_model_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such model directory"):
        Aligner.load(tmp_path / "none")


def test_the_papers_recipe_says_what_it_cannot_do() -> None:
    paper = Aligner("paper")
    with pytest.raises(UsageError, match="cannot use lexicon"):
        paper.fit([("a", "b")], lexicon=[])
    with pytest.raises(UsageError, match="no posteriors"):
        paper.posteriors("a", "b")
    with pytest.raises(UsageError, match="no thresholds"):
        paper.infer([SentencePair(*next(iter(sample()[0])))], decoding=Decoding(threshold=0.5))
