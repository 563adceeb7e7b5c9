"""The benchmark of filtering: its measures by hand, and that each damage damages."""

from __future__ import annotations

import pytest

from filtering import DAMAGES, Text, auc, damaged, false_accepts, table


def test_measures_by_hand() -> None:
    assert auc([3, 2], [1, 0]) == 1
    assert auc([3, 1], [2, 0]) == 0.75
    assert auc([1], [1]) == 0.5
    assert false_accepts(list(range(100)), [4, 5, 200]) == pytest.approx(2 / 3)


def test_every_damage_changes_the_pair_and_is_the_same_again() -> None:
    pairs = [([f"s{n}", "a", f"b{n}", "."], [f"t{n}", "c", f"d{n}", "."]) for n in range(60)]
    text = Text(pairs[30:], pairs[:30])
    found = damaged(text)
    assert found == damaged(text)
    for name in DAMAGES:
        changed = sum(bad != good for bad, good in zip(found[name], text.held, strict=True))
        assert changed >= 25, name
        assert all(source and target for source, target in found[name])


def test_a_table_shows_what_was_not_measured() -> None:
    figures = {"bitweft quality": {"cut": {"auc": 0.5, "false_accepts": 0.25}}}
    lines = table({"en-fr": figures}).splitlines()
    assert lines[2] == "| en-fr | cut | 0.5000, 25.0 % |"
    assert lines[3] == "| en-fr | replaced words | – |"
