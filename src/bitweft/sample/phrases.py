"""The material of the grammar: phrases in both languages, whose words link where they express the same."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Generic, TypeVar

from bitweft.sample.french import Word

T = TypeVar("T")


@dataclass(slots=True)
class Phrase:
    """Hold the words of a phrase in English and in French.

    Words that share a number are linked; only possibly if it is negative in one of them.
    """

    en: list[Word]
    fr: list[Word]

    def then(self, *others: Phrase) -> Phrase:
        """Join phrases whose order is the same in both languages."""
        joined = Phrase(list(self.en), list(self.fr))
        for other in others:
            joined.en += other.en
            joined.fr += other.fr
        return joined


EMPTY = Phrase([], [])


@dataclass(slots=True)
class Nominal(Phrase):
    """Hold a phrase that can be a subject or an object, with what agrees with it."""

    person: int = 3
    plural: bool = False
    feminine: bool = False
    pronoun: bool = False
    proper: bool = False

    @property
    def six(self) -> int:
        """Give its place among je, tu, il, nous, vous, ils."""
        return self.person - 1 + 3 * self.plural


class Ranked(Generic[T]):
    """Hold items of which the first come up most often, as words do in a text (Zipf's law)."""

    def __init__(self, items: Sequence[T]) -> None:
        self.items = tuple(items)
        self._bounds = list(accumulate(1 / (rank + 3) for rank in range(len(self.items))))

    def pick(self, random: float) -> T:
        """Give the item that a number between 0 and 1 falls on."""
        last = len(self.items) - 1
        return self.items[min(last, bisect_right(self._bounds, random * self._bounds[-1]))]


@dataclass(frozen=True, slots=True)
class Template:
    """Hold a fixed phrase and its links, written `last|1 year|2`, `l' année|2 dernière|1`; 1? is possible."""

    en: tuple[Word, ...]
    fr: tuple[Word, ...]

    @classmethod
    def parse(cls, en: str, fr: str) -> Template:
        """Read the two sides."""
        return cls(_parse(en), _parse(fr))


def _parse(side: str) -> tuple[Word, ...]:
    words = []
    for item in side.split():
        form, _, numbers = item.partition("|")
        ids = [-int(n[:-1]) if n.endswith("?") else int(n) for n in numbers.split(",") if n]
        words.append((form, tuple(ids)))
    return tuple(words)


class Draw:
    """Draw from a seeded stream, by `random()` alone, which is the same in every Python."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed).random
        self.last = 0

    def link(self) -> int:
        """Give a new number for words that express the same."""
        self.last += 1
        return self.last

    def chance(self, probability: float) -> bool:
        """Say yes with a probability."""
        return self.random() < probability

    def choose(self, items: Sequence[T]) -> T:
        """Take one of several, all equally likely."""
        return items[int(self.random() * len(items))]

    def between(self, low: int, high: int) -> int:
        """Draw a whole number, both ends included."""
        return low + int(self.random() * (high - low + 1))

    def ranked(self, items: Ranked[T]) -> T:
        """Take one of several, the first most often."""
        return items.pick(self.random())

    def pair(self, en: str, fr: str) -> Phrase:
        """Link every word of one side surely with every word of the other."""
        ids = (self.link(),)
        return Phrase([(word, ids) for word in en.split()], [(word, ids) for word in fr.split()])

    def maybe(self, en: str, fr: str) -> Phrase:
        """Link every word of one side possibly with every word of the other."""
        ids = (-self.link(),)
        return Phrase([(word, ids) for word in en.split()], [(word, ids) for word in fr.split()])

    def use(self, template: Template) -> Phrase:
        """Make a phrase of a template, with numbers of its own."""
        base = self.last
        self.last += 20

        def own(words: tuple[Word, ...]) -> list[Word]:
            return [(form, tuple(n + base if n > 0 else n - base for n in ids)) for form, ids in words]

        return Phrase(own(template.en), own(template.fr))
