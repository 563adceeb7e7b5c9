"""Sessions of editing for the tests: a text, suggestions, and a model that can be taught one thing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from bitweft.aligner import Aligner
from bitweft.edit import GoldStore, Judgment
from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.evaluate import evaluate
from bitweft.recipes.base import Decoding, Inference, Offer, Tuning
from bitweft.server.app import LOOPBACK
from bitweft.server.edit_app import edit_application
from bitweft.server.editing import Names, Session
from bitweft.server.limits import Limits
from bitweft.text.bitext import SentencePair, tokenize
from serving import running_app

TEXT = [
    ("the blue house on the hill", "la maison bleue sur la colline"),
    ("she never reads", "elle ne lit jamais"),
    ("yes", "oui"),
    ("the red car", "la voiture rouge"),
]
PAIRS = [SentencePair(tokenize(source), tokenize(target)) for source, target in TEXT]
SUGGESTED = [
    Inference(Alignment.of([(0, 0), (1, 2), (2, 1), (3, 3), (4, 5)], [0.95, 0.9, 0.99, 0.97, 0.6])),
    Inference(Alignment.of([(0, 0), (2, 2)], [0.99, 0.7])),
    Inference(Alignment.of([(0, 0)], [1.0])),
    Inference(Alignment.of([(0, 0), (1, 1), (2, 2)], [0.9, 0.6, 0.6])),
]


class Pupil:
    """Stand in for a model that links words of one position, until gold links teach it which are crossed."""

    recipe = SimpleNamespace(offers=frozenset({Offer.TUNE}), name="pupil")

    def __init__(self) -> None:
        self.crossed = False

    def infer(self, pairs: Sequence[SentencePair], *, decoding: Decoding | None = None) -> list[Inference]:
        return [Inference(self._links(pair)) for pair in pairs]

    def _links(self, pair: SentencePair) -> Alignment:
        size = min(len(pair.source), len(pair.target))
        ends = {1: 2, 2: 1} if self.crossed and size > 2 else {}
        return Alignment.of([(at, ends.get(at, at)) for at in range(size)], [0.8] * size)

    def tune(self, pairs: Sequence[SentencePair], gold: Sequence[GoldAlignment]) -> Tuning:
        before = evaluate([each.alignment for each in self.infer(pairs)], gold)
        self.crossed = any((1, 2) in each.sure for each in gold)
        after = evaluate([each.alignment for each in self.infer(pairs)], gold)
        return Tuning(before, after, "adjectives after nouns" if self.crossed else "nothing")

    def save(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        Path(directory).write_text(str(self.crossed), encoding="utf-8")


@contextmanager
def edited(
    path: Path,
    *,
    pairs: Sequence[SentencePair] = PAIRS,
    suggested: Sequence[Inference] = SUGGESTED,
    annotators: Mapping[str, Sequence[Judgment | None]] | None = None,
    teach: bool = False,
    hosts: frozenset[str] = LOOPBACK,
    **more: Any,
) -> Iterator[str]:
    """Serve a session that writes to `path`, and give its address."""
    load = cast("Any", Pupil) if teach else None
    given = cast("type[Aligner]", Pupil)().infer(pairs) if teach else list(suggested)
    names = Names("Houses", "gold", "anna")
    session = Session(GoldStore(path, pairs), names, given, annotators or {}, load, **more)
    with running_app(edit_application(session, Limits(), hosts=hosts)) as address:
        yield address
