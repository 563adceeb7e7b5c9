"""Counting in parts: the same bits, in whatever parts a text is cut and whoever counts them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from bitweft.links.alignment import Alignment
from bitweft.recipes.default.compiled.types import no_cells
from bitweft.recipes.default.config import DefaultConfig
from bitweft.recipes.default.counts import Counting, Shard, State, added, count, learnable, merge
from bitweft.recipes.default.knowledge import Knowledge
from bitweft.recipes.default.learn import Learning, Text, pair_hashes, sampled
from bitweft.recipes.default.spelling import Reader
from bitweft.sample import bitext, generate
from bitweft.storage import spill

LINKS = {3: Alignment.of([(0, 1), (1, 0)]), 50: Alignment.of([(0, 0)]), 89: Alignment.of([(1, 1)])}
CONFIG = DefaultConfig(longest=12, lse_epochs=1, chain_epochs=1)


@pytest.fixture(scope="module")
def texts() -> list[Text]:
    readers = [Reader(lowercase=True) for _ in range(2)]
    for pair in bitext(generate(90))[0]:
        for reader, sentence in zip(readers, pair, strict=True):
            reader.add(sentence.tokens)
    return [Text(*reader.finish()) for reader in readers]


def learning_of(texts: list[Text], threads: int = 1, config: DefaultConfig = CONFIG) -> Learning:
    return Learning(texts, config, seed=1, threads=threads, knowledge=Knowledge(links=LINKS))


@pytest.fixture(scope="module")
def learned(texts: list[Text]) -> tuple[State, State, Learning]:
    """Give the state before the first pass, the one after it, and a learning that went to the end."""
    first = learning_of(texts)
    for _ in first.descend():
        pass
    state = first.state()
    whole = learning_of(texts)
    for _ in whole.run():
        pass
    return state, merge(state, [count(state, shards_of(texts, 1)[0], links=LINKS)[0]]), whole


def shards_of(texts: list[Text], number: int) -> list[Shard]:
    """Cut a text into shards that have arrays of their own; one of them may be empty."""
    bounds = np.linspace(0, 90, number + 1).astype(int)
    bounds[1:-1] -= bounds[1:-1] % 7 == 0  # not all of one length
    shards = []
    for first, last in pairwise(bounds):
        offsets = [text.offsets[first : last + 1] for text in texts]
        sides = [
            (text.tokens[own[0] : own[-1]], own - own[0]) for text, own in zip(texts, offsets, strict=True)
        ]
        pairs = learnable([own for _, own in sides], CONFIG.longest)
        shards.append(Shard(sides[0], sides[1], pairs, int(first)))
    return shards


def same(found: Any, expected: Any) -> bool:
    """Tell whether arrays in tuples in tuples are the same bits."""
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    return np.array_equal(found, expected) and np.asarray(found).dtype == np.asarray(expected).dtype


@pytest.mark.parametrize("number", [3, 16])
@pytest.mark.parametrize("second", [False, True])
def test_shards_in_any_order_add_up_to_the_whole(
    texts: list[Text], learned: tuple[State, State, Learning], number: int, second: bool
) -> None:
    state, after, _ = learned
    states = (after, state) if second else (state, None)
    expected, _ = count(states[0], shards_of(texts, 1)[0], states[1], links=LINKS)
    assert len(expected.keys) > 100 and expected.unlinked[0][:, 1].sum() > 300
    parts = [count(states[0], shard, states[1], links=LINKS)[0] for shard in shards_of(texts, number)]
    order = np.random.default_rng(number).permutation(number)
    assert same(added(parts[place] for place in order), expected)
    nested = added([added(parts[: number // 2]), added(parts[number // 2 :])])
    assert same(merge(states[0], [nested]), merge(states[0], [expected]))


def test_passes_over_shards_come_to_what_learning_comes_to(
    texts: list[Text], learned: tuple[State, State, Learning]
) -> None:
    state, after, whole = learned
    parts = [count(after, shard, state, links=LINKS)[0] for shard in shards_of(texts, 3)]
    last = merge(after, parts)
    assert same(last, whole.state())
    without = merge(after, [count(after, shard, links=LINKS)[0] for shard in shards_of(texts, 3)])
    assert not same(last.counts, without.counts)  # a pair's own part matters


def test_threads_and_memory_change_nothing(
    texts: list[Text], learned: tuple[State, State, Learning], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bitweft.recipes.default.counts.CHUNK", 4)
    monkeypatch.setattr(spill, "LARGE", 100)
    for threads in (1, 2, 5):
        learning = learning_of(texts, threads)
        for _ in learning.run():
            pass
        assert same(learning.state(), learned[2].state())


def test_many_threads_add_to_one_part(texts: list[Text], learned: tuple[State, State, Learning]) -> None:
    state = learned[0]
    shard = shards_of(texts, 1)[0]
    counting = Counting(state, shard, links=LINKS)
    chunks = [shard.pairs[start : start + 3] for start in range(0, len(shard.pairs), 3)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda own: counting.add(own, no_cells()), chunks[::-1]))
    assert same(counting.part(), count(state, shard, links=LINKS)[0])


def test_no_parts_are_refused(learned: tuple[State, State, Learning]) -> None:
    with pytest.raises(ValueError, match="no parts"):
        merge(learned[0], [])


def test_a_sample_is_chosen_by_hash_and_follows_from_the_numbers_alone() -> None:
    pairs = np.arange(0, 3000, 3)
    chosen = sampled(pairs, 100, seed=1)
    assert len(chosen) == 100 and (np.diff(chosen) > 0).all() and set(chosen) < set(pairs)
    assert abs(chosen.mean() - 1500) < 300
    assert sampled(pairs[::-1], 100, seed=1).tolist() == chosen.tolist()
    assert sampled(pairs, 100, seed=2).tolist() != chosen.tolist()
    assert sampled(pairs, 1000, seed=1) is pairs
    halves = [sampled(half, 100, seed=1) for half in (pairs[:400], pairs[400:])]  # a sample of samples
    assert sampled(np.concatenate(halves), 100, seed=1).tolist() == chosen.tolist()
    hashes = pair_hashes(np.arange(10_000), seed=5)
    assert len(np.unique(hashes)) == 10_000 and hashes.dtype == np.uint64


def test_a_descent_on_a_sample_is_the_descent_on_a_text_of_the_sample(texts: list[Text]) -> None:
    """A machine that holds the sample alone, with the words of the whole text, learns the same vectors."""
    config = DefaultConfig(descent_pairs=40)
    whole = learning_of(texts, config=config)
    assert len(whole.sample) == 40 < len(whole.pairs)
    some = []
    for text in texts:
        lengths = np.diff(text.offsets)[whole.sample]
        at = np.concatenate([np.arange(*text.offsets[pair : pair + 2]) for pair in whole.sample])
        some.append(text._replace(tokens=text.tokens[at], offsets=np.concatenate([[0], np.cumsum(lengths)])))
    alone = learning_of(some, config=config)
    for learning in (whole, alone):
        for _ in learning.descend():
            pass
    assert same(alone.state(), whole.state())
    assert {entry["phase"] for entry in whole.record} == {"lse", "chain"}
