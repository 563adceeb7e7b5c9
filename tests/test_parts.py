"""Learning in parts: any shards, in any order, however often, give the model of one process."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from bitweft.aligner import Aligner
from bitweft.errors import InputError, MissingExtraError, NothingToLearnError, UsageError
from bitweft.recipes.base import Offer
from bitweft.recipes.parts import Numbered, Part, Survey, Trace
from bitweft.recipes.registry import recipe_named, recipe_names
from bitweft.text.bitext import Bitext, SentencePair
from small import aligner, sample

PAIRS = list(sample()[0])[:90]
SETTINGS = ["descent_pairs=40", "lse_epochs=1", "chain_epochs=1"]  # a sample, and quick


def cut(pairs: list[SentencePair], parts: int) -> list[list[SentencePair]]:
    return [pairs[len(pairs) * n // parts : len(pairs) * (n + 1) // parts] for n in range(parts)]


def sent(value: Any) -> Any:
    """Send something to another process, as it were."""
    return pickle.loads(pickle.dumps(value))


def in_parts(shards: list[list[SentencePair]], settings: Iterable[str], *, seed: int = 1) -> Aligner:
    """Learn from shards: in any order, some twice, and with the model saved between the steps."""
    draw = random.Random(len(shards))
    found = Aligner(threads=1, settings=settings, seed=seed)
    training = found.recipe.in_parts()
    survey = Survey()
    numbered = [Numbered.of(sent(training.numberer())(shard).arrays()) for shard in shards]
    for shard in draw.sample(numbered, len(shards)):
        survey.add(sent(training.surveyor())(shard))
    firsts = [sum(map(len, shards[:number])) for number in range(len(shards))]
    choose = sent(training.chooser(survey))
    samples = [choose(shard, first) for shard, first in zip(numbered, firsts, strict=True)]
    for _ in training.descend(survey, samples):
        pass
    traces: dict[int, Trace] = {}
    while training.passes_left:
        count = training.counter()
        parts: list[Part] = []
        for number in draw.sample(range(len(shards)), len(shards)):
            kept = traces.pop(number, None) if draw.random() < 0.5 else None  # without it, it is found again
            part, traces[number] = count(numbered[number], kept)
            parts.append(part)
        training.merge(parts)
    assert not any(traces.values())
    return found


def weights(found: Aligner, directory: Path) -> bytes:
    directory.mkdir()
    found.recipe.save(directory)
    assert sorted(path.name for path in directory.iterdir()) == [
        "source.affixes.txt",
        "source.words.txt",
        "target.affixes.txt",
        "target.words.txt",
        "weights.safetensors",
    ]
    return b"".join(path.read_bytes() for path in sorted(directory.iterdir()))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Learn by one process."""
    found = Aligner(threads=1, settings=SETTINGS).fit(PAIRS)
    return weights(found, tmp_path_factory.mktemp("whole") / "model")


@pytest.mark.parametrize("shards", [1, 3, 16])
def test_any_shards_give_the_model_of_the_whole(whole: bytes, tmp_path: Path, shards: int) -> None:
    assert weights(in_parts(cut(PAIRS, shards), SETTINGS), tmp_path / "model") == whole


def test_odd_shards_too(whole: bytes, tmp_path: Path) -> None:
    assert weights(in_parts([PAIRS[:1], [], PAIRS[1:7], PAIRS[7:]], SETTINGS), tmp_path / "model") == whole


def test_pairs_that_are_not_learned_from_keep_their_numbers(tmp_path: Path) -> None:
    odd = list(Bitext.of([("", "x"), ("the cat", ""), ("long " * 500, "the cat")]))
    pairs = PAIRS[:30] + odd + PAIRS[30:60] + odd
    expected = weights(Aligner(threads=1, settings=SETTINGS, seed=5).fit(pairs), tmp_path / "whole")
    assert weights(in_parts(cut(pairs, 5), SETTINGS, seed=5), tmp_path / "parts") == expected


def test_a_single_pass(tmp_path: Path) -> None:
    settings = [*SETTINGS, "count_passes=1"]
    expected = weights(Aligner(threads=1, settings=settings).fit(PAIRS), tmp_path / "whole")
    assert weights(in_parts(cut(PAIRS, 2), settings), tmp_path / "parts") == expected


def test_more_passes_than_can_be_found_again_are_refused() -> None:
    with pytest.raises(UsageError, match="count_passes must be at most 2 to learn in parts, got 3"):
        Aligner(settings=["count_passes=3"]).recipe.in_parts()


def test_a_model_on_its_way_can_be_kept(whole: bytes, tmp_path: Path) -> None:
    """Save and load between all steps, as verbs do."""
    found = Aligner(threads=1, settings=SETTINGS)
    training = found.recipe.in_parts()
    numbered = training.numberer()(PAIRS)
    survey = training.surveyor()(numbered)
    for _ in training.descend(survey, [training.chooser(survey)(numbered, 0)]):
        pass
    found.has_learned(survey.pairs, (1, 1), (0.0, 0.0))
    for step in range(3):
        found.save(tmp_path / f"{step}.weft")
        found = Aligner.load(tmp_path / f"{step}.weft", threads=1)
        training = found.recipe.in_parts()
        if training.passes_left:
            number, count = training.numberer(), training.counter()
            training.merge([count(number(shard), None)[0] for shard in cut(PAIRS, 2)])
    assert not training.passes_left
    assert weights(found, tmp_path / "model") == whole


def test_what_was_not_surveyed_is_refused() -> None:
    training = aligner().recipe.in_parts()
    with pytest.raises(InputError, match="'zyxw' is not in the text that the model was begun with"):
        training.counter()(training.numberer()(Bitext.of([("zyxw", "chat")])), None)
    with pytest.raises(NothingToLearnError):
        Aligner().recipe.in_parts().chooser(Survey())
    training = Aligner(settings=["longest=1"]).recipe.in_parts()
    survey = training.surveyor()(training.numberer()(Bitext.of([("a b", "c d e")])))
    with pytest.raises(InputError, match="every pair has a sentence of more than 1 words"):
        training.chooser(survey)


@pytest.mark.parametrize("name", recipe_names())
def test_recipes_say_whether_they_learn_in_parts(name: str) -> None:
    try:
        kind = recipe_named(name)
    except MissingExtraError as error:
        pytest.skip(str(error))
    assert (Offer.PARTS in kind.offers) == (kind.in_parts.__qualname__ != "Recipe.in_parts")
