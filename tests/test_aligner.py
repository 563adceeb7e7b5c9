"""The aligner: one answer for a pair, wherever it stands; models that are kept, and checked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft import Aligner, Decoding, InputError, NothingToLearnError, UsageError, evaluate
from bitweft.recipes.base import Inference
from bitweft.sample import generate
from small import aligner, sample

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
        monkeypatch.setattr("bitweft.recipes.chunks.CHUNK", 7)
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
    with pytest.raises(UsageError, match="not learned anything"):
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
