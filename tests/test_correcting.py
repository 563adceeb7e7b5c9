"""The benchmark of corrections: an annotator is played, clicks are counted, the table is written."""

from __future__ import annotations

from typing import Any

import pytest

import correcting
from bitweft.edit.learn import learn
from bitweft.errors import UsageError
from bitweft.links.alignment import Alignment, GoldAlignment
from editing import PAIRS, Pupil

GOLD = [
    GoldAlignment.of([(0, 0), (1, 2), (2, 1), (3, 3), (4, 4), (5, 5)]),
    GoldAlignment.of([(0, 0), (1, 1), (2, 2)], [(1, 3)]),
    GoldAlignment.of([(0, 0)]),
    GoldAlignment.of([(0, 0), (1, 2), (2, 1)]),
]


def test_clicks_are_those_of_the_editor() -> None:
    gold = GoldAlignment.of([(0, 0), (1, 1)], [(2, 2)])
    assert correcting.clicks(Alignment.of([(0, 0), (1, 1)]), gold) == 1  # 2?2, with shift
    assert correcting.clicks(Alignment.of([(0, 0), (1, 1), (2, 2)]), gold) == 1  # sure → possible
    assert correcting.clicks(Alignment.of([(0, 0), (3, 3)]), gold) == 3  # 3-3 away, 1-1, 2?2
    block = [(s, t) for s in (4, 5) for t in (6, 7, 8)]
    assert correcting.clicks(Alignment.of(block[:2]), GoldAlignment.of(block)) == 1  # over links, too
    assert correcting.clicks(Alignment.of(block), GoldAlignment.of([])) == 1
    assert correcting.clicks(Alignment(), GoldAlignment.of(block[:5])) == 2
    assert correcting.clicks(Alignment.of(block[:5]), GoldAlignment.of(block[:1])) == 2
    assert correcting.clicks(Alignment(), GoldAlignment.of([])) == 0


def test_corrections_of_an_annotator_teach() -> None:
    load: Any = Pupil
    found = correcting.play(load, (PAIRS, GOLD), (PAIRS[3:], GOLD[3:]), steps=(1, 2, 9), seeds=2)
    rows = {(row["order"], row["sentences"]): row["runs"] for row in found["rows"]}
    assert list(rows) == [
        ("none", 0),
        ("certainty", 1),
        ("random", 1),
        ("certainty", 2),
        ("random", 2),
        ("certainty", 4),
        ("random", 4),
    ]
    assert rows["none", 0] == [{"aer": pytest.approx(2 / 3), "clicks": 4}]
    assert rows["certainty", 4][0]["aer"] == 0 and rows["certainty", 4][0]["clicks"] == 0
    assert len(rows["random", 2]) == 2 and len(rows["random", 4]) == 1
    lines = correcting.markdown(found).splitlines()
    assert lines[2] == "| 0 | 66.67 | 66.67 | 4.0 | 4.0 |" and lines[-1] == "| 4 | 0.00 | 0.00 | 0.0 | 0.0 |"


def test_too_little_to_learn_from_is_no_end() -> None:
    class Slow(Pupil):
        def tune(self, pairs: Any, gold: Any) -> Any:
            if len(pairs) < 2:
                raise UsageError("2 sentences or more, got 1")
            return super().tune(pairs, gold)

    load: Any = Slow
    found = correcting.play(load, (PAIRS, GOLD), (PAIRS[3:], GOLD[3:]), steps=(1,), seeds=1)
    (first,) = (
        row["runs"][0] for row in found["rows"] if row["order"] == "certainty" and row["sentences"] == 1
    )
    assert first["chosen"] == "nothing: 2 sentences or more, got 1" and first["clicks"] == 4
    with pytest.raises(UsageError, match="2 sentences are too few to learn from some"):
        learn(load, PAIRS[:2], GOLD[:2])


def test_a_recipe_that_cannot_be_tuned_is_named() -> None:
    class Stubborn(Pupil):
        recipe: Any = type("Recipe", (), {"offers": frozenset(), "name": "stubborn"})

    load: Any = Stubborn
    with pytest.raises(UsageError, match=r"correcting.py is not supported by the recipe 'stubborn'"):
        correcting.play(load, (PAIRS, GOLD), (PAIRS, GOLD))
