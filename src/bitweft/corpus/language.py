"""Which of two languages is it? A model of two, from the words that an aligner has seen on either side."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from bitweft.text.bitext import SentencePair

SMOOTHING = 0.5  # added to the count of every run of characters
SUREST = 8.0  # a word's log ratio at most: one odd word does not make a language
PRIOR = 2.0  # how often a word would have been seen if its characters told its language
DOUBT = 1.0  # words without a language that are added to each sentence

COMMON = 5_000  # words of a language that suffice to tell whether sides are swapped
LOOKED_AT = 200  # pairs


class LanguagePair:
    """Tell two languages apart by their words and, of rare ones, by runs of three characters."""

    def __init__(self, source: Mapping[str, int], target: Mapping[str, int]) -> None:
        """Learn from the counts of each language's words."""
        counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        for own, words in zip(counts, (source, target), strict=True):
            for word, count in words.items():
                for run in _runs(word.lower()):
                    own[run] += count
        kinds = len(counts[0].keys() | counts[1].keys())
        totals = [sum(own.values()) + SMOOTHING * kinds for own in counts]
        self._unseen = math.log(totals[1]) - math.log(totals[0]) if kinds else 0.0
        self._ratios = {
            run: math.log((counts[0][run] + SMOOTHING) / (counts[1][run] + SMOOTHING)) + self._unseen
            for run in counts[0].keys() | counts[1].keys()
        }
        self._counts = [_lowered(words) for words in (source, target)]
        sizes = [sum(words.values()) for words in self._counts]
        self._scale = sizes[0] / sizes[1] if all(sizes) else 1.0
        self._words: dict[str, float] = {}

    def word(self, word: str) -> float:
        """Return the log ratio of a word: above 0 it is rather source language, below target."""
        known = self._words.get(word)
        if known is None:
            known = self._ratio(word.lower()) if any(map(str.isalpha, word)) else 0.0
            if len(self._words) < 1 << 20:
                self._words[word] = known
        return known

    def _ratio(self, word: str) -> float:
        """Count a word, after a prior opinion from its characters: names are in both languages alike."""
        spelt = sum(self._ratios.get(run, self._unseen) for run in _runs(word))
        prior = 1 / (1 + math.exp(-max(-SUREST, min(SUREST, spelt))))
        source = self._counts[0].get(word, 0) + PRIOR * prior
        target = self._scale * self._counts[1].get(word, 0) + PRIOR * (1 - prior)
        return max(-SUREST, min(SUREST, math.log(source / target)))

    def sentence(self, words: Sequence[str]) -> float:
        """Return the mean log ratio of a sentence's words; 0 where nothing tells."""
        return sum(map(self.word, words)) / (len(words) + DOUBT)


def are_swapped(pairs: Iterable[SentencePair], counts: tuple[Mapping[str, int], Mapping[str, int]]) -> bool:
    """Tell whether the first pairs have their sides the other way round than a model's counted words."""
    source, target = (dict(islice(words.items(), COMMON)) for words in counts)
    languages = LanguagePair(source, target)
    first = [
        (languages.sentence(pair.source.tokens), languages.sentence(pair.target.tokens))
        for pair in islice(pairs, LOOKED_AT)
    ]
    swapped = sum(s < -1 and t > 1 for s, t in first)
    return 2 * swapped > len(first)


def _lowered(words: Mapping[str, int]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for word, count in words.items():
        counts[word.lower()] += count
    return counts


def _runs(word: str) -> Iterator[str]:
    marked = f"^{word}$"
    for start in range(max(1, len(marked) - 2)):
        yield marked[start : start + 3]
