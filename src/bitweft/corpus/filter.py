"""Which pairs are translations? What a model says of each, a threshold, and what became of them.

Everything about a pair depends on the model and that pair alone. Only percentiles, and a share to keep, look
at the whole text.
"""

from __future__ import annotations

import math
import struct
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bitweft.aligner import Aligner
from bitweft.corpus.language import LanguagePair
from bitweft.links.alignment import Alignment
from bitweft.recipes.base import Decoding, Inference, Offer, require
from bitweft.text.bitext import SentencePair
from bitweft.text.inputs import PairLike

WORST = -100.0  # the quality of a pair without words on a side, or too long to be aligned
# What the quality takes off the score, for each unit of what speaks against a pair. Chosen on the damaged
# Romanian-English, English-French and English-Czech text of benchmarks/filtering.py.
UNLINKED, GAP, LENGTH, LANGUAGE, COPIED, ORDER = 8.0, 12.0, 4.0, 20.0, 8.0, 16.0
COPY = 0.6  # of the words, from which on it is a copy rather than names and numbers
LINKED = 0.2  # from which on both directions together link two words
FEW = 3  # words that a copy has at least
DISORDER = 0.6  # from which on the order of the links rather is that of shuffled words
FEWEST = 4  # linked words that have an order
REASONS = ("empty", "too long", "copy", "language", "length", "unlinked", "order", "score")


class Judgment(NamedTuple):
    """Hold what a model says of a pair. All but `quality` explain it."""

    quality: float  # the higher, the better
    score: float  # the mean log ratio a word: 0 is what unrelated words have
    unlinked: float  # share of words without a link, the mean of both sides
    gap: float  # the longest run of words without a link, as a share of its sentence
    length: float  # log ratio of the lengths in characters, target to source, against the usual one
    language: float  # of the side that is less its own language: below 0 it is rather the other's
    copied: float  # share of the words that stand on both sides
    order: float  # how far linked words jump, as a share of what shuffled ones would: about 1 is no order
    too_long: bool = False

    @property
    def reasons(self) -> tuple[str, ...]:
        """Name what speaks against the pair, the plainest first."""
        if self.quality <= WORST:
            return ("too long",) if self.too_long else ("empty",)
        found = {
            "copy": self.copied > COPY,
            "language": self.language < 0,
            "length": abs(self.length) > math.log(2),
            "unlinked": self.gap > 0.3 or self.unlinked > 0.5,
            "order": self.order > DISORDER,
        }
        return tuple(name for name, holds in found.items() if holds) or ("score",)


class Judge:
    """Judge pairs by a model."""

    def __init__(self, aligner: Aligner) -> None:
        """Take the model.

        Raises:
            UsageError: its recipe gives no scores.
        """
        require(aligner.recipe, Offer.SCORES, "filter")
        self._aligner = aligner
        self._decoding = Decoding(unrefined=LINKED if Offer.STYLE in aligner.recipe.offers else None)
        self._words = source, target = aligner.recipe.word_counts
        self._languages = LanguagePair(source, target)
        lengths = [sum(len(word) * count for word, count in words.items()) for words in (source, target)]
        self._usual = math.log((lengths[1] + 1) / (lengths[0] + 1))

    def judge(self, pairs: Iterable[PairLike], *, longest: int | None = None) -> Iterator[Judgment]:
        """Judge each of some pairs, as they come, in order."""
        decoding = self._decoding if longest is None else replace(self._decoding, longest=longest)
        for pair, inference in self._aligner.stream(pairs, decoding=decoding):
            yield self.judgment(pair, inference)

    def judgment(self, pair: SentencePair, inference: Inference) -> Judgment:
        """Judge one pair of which the model has said its links and score."""
        source, target = pair.source.tokens, pair.target.tokens
        if not source or not target or inference.too_long or inference.score is None:
            return Judgment(WORST, 0, 1, 1, 0, 0, 0, 0, inference.too_long)
        alignment = self._links(pair, inference)
        gaps = [
            _gaps({link[side] for link in alignment.links}, len(words))
            for side, words in enumerate((source, target))
        ]
        unlinked = (gaps[0][0] + gaps[1][0]) / 2
        gap = max(gaps[0][1], gaps[1][1])
        characters = [5 + sum(map(len, words)) for words in (source, target)]
        length = math.log(characters[1] / characters[0]) - self._usual
        language = min(self._languages.sentence(source), -self._languages.sentence(target))
        copied = _copied(source, target)
        quality = inference.score - UNLINKED * unlinked - GAP * gap - LENGTH * abs(length)
        quality += LANGUAGE * min(0.0, language) - COPIED * max(0.0, copied - COPY)
        order = disorder(alignment)
        quality -= ORDER * max(0.0, order - DISORDER)
        explained = (unlinked, gap, length, language, copied, order)
        return Judgment(max(quality, WORST + 1), inference.score, *explained)

    def _links(self, pair: SentencePair, inference: Inference) -> Alignment:
        """Return the links to judge by.

        A style is learned from links of translations, so that words of wrong partners get links in it, too:
        what both directions say tells more. Not so of words that the model has never seen, which they link
        with whatever is left.
        """
        if inference.unrefined is None:
            return inference.alignment
        source, target = (
            [word in counts or word.lower() in counts for word in sentence.tokens]
            for sentence, counts in zip(pair, self._words, strict=True)
        )
        soft = [(s, t) for s, t in inference.unrefined.links if source[s] and target[t]]
        return Alignment.of(
            [*soft, *((s, t) for s, t in inference.alignment.links if not (source[s] and target[t]))]
        )


def disorder(alignment: Alignment) -> float:
    """Return how far words next to each other jump, against the same words in any order; of both sides.

    A jump from one linked word to the next counts by log(1 + its distance from the next place).
    """
    shares = []
    for side in (0, 1):
        linked: dict[int, list[int]] = {}
        for link in alignment.links:
            linked.setdefault(link[side], []).append(link[1 - side])
        places = np.array([sum(linked[at]) / len(linked[at]) for at in sorted(linked)])
        if len(places) >= FEWEST:
            jumps = np.log1p(np.abs(places[None, :] - places[:, None] - 1))  # (from, to)
            shares.append(float(np.diagonal(jumps, 1).mean() / max(jumps.mean(), 1e-9)))
    return sum(shares) / len(shares) if shares else 0.0


def _gaps(linked: set[int], words: int) -> tuple[float, float]:
    """Return the share of words without a link, and that of the longest run of them."""
    longest = run = 0
    for place in range(words):
        run = 0 if place in linked else run + 1
        longest = max(longest, run)
    return 1 - len(linked) / words, longest / words


def _copied(source: Sequence[str], target: Sequence[str]) -> float:
    own, other = (
        {word.lower() for word in words if any(map(str.isalpha, word))} for words in (source, target)
    )
    fewest = min(len(own), len(other))
    return len(own & other) / fewest if fewest >= FEW else 0.0


@dataclass(frozen=True)
class Cut:
    """Say which pairs are kept: those of a quality above, and of those at the limit the first so many."""

    threshold: float
    at_limit: int | None = None  # None: all of them

    def keeps(self, qualities: Iterable[float]) -> Iterator[bool]:
        """Tell of each pair, in order, whether it is kept; the worst never are."""
        left = self.at_limit
        for quality in qualities:
            if quality <= WORST or quality < self.threshold:
                yield False
            elif quality > self.threshold or left is None:
                yield True
            else:
                yield left > 0
                left -= 1


class Judgments:
    """Keep the judgments of a text: on disk, but for 4 bytes a pair."""

    _RECORD = struct.Struct("<8f?")

    def __init__(self) -> None:
        self.qualities = array("f")
        self._file = tempfile.TemporaryFile(prefix="bitweft-")  # noqa: SIM115 - closed with this object
        weakref.finalize(self, self._file.close)

    def add(self, judgment: Judgment) -> None:
        """Keep one more."""
        self.qualities.append(judgment.quality)
        self._file.write(self._RECORD.pack(*judgment))

    def __len__(self) -> int:
        return len(self.qualities)

    def __iter__(self) -> Iterator[Judgment]:
        """Walk the judgments; one walk at a time."""
        self._file.seek(0)
        while record := self._file.read(self._RECORD.size * 4096):
            for values in self._RECORD.iter_unpack(record):
                yield Judgment(*values)

    @property
    def sorted(self) -> npt.NDArray[np.float32]:
        """Give all qualities, lowest first."""
        return np.sort(np.frombuffer(self.qualities, np.float32))

    def best(self, count: int) -> Cut:
        """Keep the best pairs, so many; among equals the first."""
        qualities = self.sorted
        if count <= 0 or not len(qualities):
            return Cut(math.inf)
        threshold = qualities[max(0, len(qualities) - count)]
        above = len(qualities) - int(np.searchsorted(qualities, threshold, "right"))
        return Cut(float(threshold), count - above)
