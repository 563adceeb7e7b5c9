"""The benchmark of projection: its measures by hand, and its table."""

from __future__ import annotations

import numpy as np

from bitweft.corpus.project.records import Record, Span
from bitweft.text.bitext import tokenize
from projection import Measured, ceilings, figures, markdown


def measured() -> Measured:
    """Give two sentences; the second's name has another label on the target side."""
    people, places = Span(0, 1, "PER"), Span(0, 1, "LOC")
    source = [Record(tokenize("Anna sleeps"), 1, (people,)), Record(tokenize("Rome"), 2, (places,))]
    moved, other = Span(1, 2, "PER"), Span(0, 1, "ORG")
    target = [Record(tokenize("dort Anna"), 1, (moved,)), Record(tokenize("Roma"), 2, (other,))]
    return Measured(source, target)


def test_names_and_their_ceiling() -> None:
    assert ceilings(measured()) == (50.0, 100 * 2 / 3)
    right, nothing = ([matrix, np.eye(1)] for matrix in (np.eye(2)[::-1], np.zeros((2, 2))))
    links = {"bitweft": {"posteriors": right}, "eflomal": {"a": nothing, "b": right}}
    found = figures("ner", measured(), links)
    assert found["names en→it, F1"] == {
        "bitweft": 50.0,
        "eflomal": 50.0,  # the best of its heuristics
        "ceiling": 50.0,
        "ceiling, given up": 100 * 2 / 3,
    }


def test_a_table_shows_what_was_not_run() -> None:
    lines = markdown({"UAS en→fr": {"bitweft": 67.94}}).splitlines()
    assert lines[2] == "| UAS en→fr | 67.9 | – | – |"
