"""Links measured against gold links: counts that add up, and the ratios that they give.

With A the links, S the sure and P the possible gold links (S ⊆ P), summed over all sentences:

    precision = |A ∩ P| / |A|
    recall    = |A ∩ S| / |S|
    F1        = 2 · precision · recall / (precision + recall)
    AER       = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

Nothing over nothing is 0: no links, no precision. AER alone is then 0 by its definition as an error rate:
no links where no sure ones are is no error.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.storage.lockstep import lockstep
from bitweft.text.bitext import SentencePair

WordPair: TypeAlias = tuple[str, str]


class Counts(NamedTuple):
    """Count the links of one sentence or of many, and those that the gold links bear out."""

    sentences: int = 0
    links: int = 0
    sure: int = 0
    possible: int = 0  # the sure ones included
    links_sure: int = 0
    links_possible: int = 0

    @classmethod
    def of(cls, alignment: Alignment, gold: GoldAlignment) -> Counts:
        """Count one sentence."""
        links = set(alignment.links)
        return cls(
            sentences=1,
            links=len(links),
            sure=len(gold.sure),
            possible=len(gold.possible),
            links_sure=len(links & gold.sure),
            links_possible=len(links & gold.possible),
        )

    def __add__(self, other: Counts) -> Counts:  # type: ignore[override]
        return Counts(*(mine + yours for mine, yours in zip(self, other, strict=True)))

    @property
    def precision(self) -> float:
        """Give the part of the links that are possible."""
        return self.links_possible / self.links if self.links else 0.0

    @property
    def recall(self) -> float:
        """Give the part of the sure links that were found."""
        return self.links_sure / self.sure if self.sure else 0.0

    @property
    def f1(self) -> float:
        """Give the harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def aer(self) -> float:
        """Give the alignment error rate."""
        under = self.links + self.sure
        return 1 - (self.links_sure + self.links_possible) / under if under else 0.0


@dataclass(frozen=True)
class Score:
    """Tell how good links are, on how much, and against what."""

    precision: float
    recall: float
    f1: float
    aer: float
    links: int
    sure: int
    possible: int
    sentences: int
    signature: str
    per_sentence: tuple[Counts, ...] = field(repr=False)

    @property
    def counts(self) -> Counts:
        """Sum the sentences' counts."""
        return add_up(self.per_sentence)


def add_up(counts: Iterable[Counts]) -> Counts:
    """Sum counts."""
    return Counts(*map(sum, zip(*counts, strict=True))) if (counts := tuple(counts)) else Counts()


def evaluate(
    hypotheses: Iterable[Alignment],
    golds: Iterable[GoldAlignment],
    *,
    names: tuple[str, str] = ("links", "gold"),
) -> Score:
    """Score links against gold links, sentence by sentence; `names` are the files', for error messages."""
    per_sentence = []
    digest = hashlib.sha256()
    for alignment, gold in lockstep(hypotheses, golds, names=names):
        per_sentence.append(Counts.of(alignment, gold))
        digest.update(f"{sorted(gold.sure)} {sorted(gold.possible)}\n".encode())
    total = add_up(per_sentence)
    return Score(
        precision=total.precision,
        recall=total.recall,
        f1=total.f1,
        aer=total.aer,
        links=total.links,
        sure=total.sure,
        possible=total.possible,
        sentences=total.sentences,
        signature=_signature(total, digest.hexdigest()[:8]),
        per_sentence=tuple(per_sentence),
    )


def _signature(total: Counts, digest: str) -> str:
    """Say what a score stands on: scores of one signature were computed alike, on the same gold links."""
    from bitweft import __version__

    parts = {
        "gold": digest,
        "sentences": total.sentences,
        "sure": total.sure,
        "possible": total.possible,
        "precision": "possible",
        "recall": "sure",
        "average": "micro",
        "bitweft": __version__,
    }
    return "|".join(["AER", *(f"{name}:{value}" for name, value in parts.items())])


class WordErrors(NamedTuple):
    """Count the word pairs linked though not possible, and those sure but not linked."""

    wrong: Counter[WordPair]
    missed: Counter[WordPair]


def word_errors(
    hypotheses: Iterable[Alignment], golds: Iterable[GoldAlignment], pairs: Iterable[SentencePair]
) -> WordErrors:
    """Count wrong and missed links by their words; the links must lie inside their sentences."""
    errors = WordErrors(Counter(), Counter())
    for alignment, gold, (source, target) in zip(hypotheses, golds, pairs, strict=True):
        links = set(alignment.links)
        for found, counter in ((links - gold.possible, errors.wrong), (gold.sure - links, errors.missed)):
            counter.update((source.tokens[s], target.tokens[t]) for s, t in sorted(found))
    return errors
