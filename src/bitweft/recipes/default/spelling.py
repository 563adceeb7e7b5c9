"""The words of one side, and the beginnings and endings that they share: the rows behind their vectors."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bitweft.errors import InputError
from bitweft.recipes.default.forms import KnownForms
from bitweft.storage import spill as storage
from bitweft.storage.spill import ArrayBuilder, counted
from bitweft.text.vocabulary import RESERVED, Vocabulary

PREFIXES, SUFFIXES = (2, 3, 4, 5), (2, 3)
# Where words are of few signs, as in Chinese, each sign says more.
FEW = 3.5
SHORT_PREFIXES, SHORT_SUFFIXES = (1, 2, 3), (1,)


def affixes(word: str, *, short: bool = False) -> Iterator[str]:
    """Name the beginnings (`abc-`) and endings (`-bc`) of a word; a short word is its own beginning."""
    for length in SHORT_PREFIXES if short else PREFIXES:
        if len(word) >= length:
            yield word[:length] + "-"
    for length in SHORT_SUFFIXES if short else SUFFIXES:
        if len(word) > length:
            yield "-" + word[-length:]


def are_signs(words: Sequence[str]) -> npt.NDArray[np.float32]:
    """Tell of each word whether it has neither letter nor digit: 1, or 0."""
    return np.array([not (word.isalnum() or any(map(str.isalnum, word))) for word in words], np.float32)


def _short(words: Collection[str]) -> bool:
    return sum(map(len, words)) < FEW * len(words)


class Spelling:
    """Number the words of one side, and know the rows of the look-up table that make up each word's vector.

    The first rows are the words' own, the others belong to the affixes that at least two words share.
    """

    def __init__(self, words: Vocabulary, affixes: Vocabulary) -> None:
        self.words = words
        self.affixes = affixes
        self.short = _short(words.entries)
        self._forms: _Forms | None = None
        self._known: KnownForms | None = None

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Spelling:
        """Learn the words and affixes of one side from its words' counts."""
        short = _short(counts)
        shared = Counter(affix for word in counts for affix in affixes(word, short=short))
        kept = {affix: count for affix, count in shared.items() if count > 1}
        return cls(Vocabulary.of(counts, len(counts)), Vocabulary.of(kept, len(kept)))

    @property
    def size(self) -> int:
        """Return the number of rows."""
        return len(self.words) + len(self.affixes)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Return how often each word occurs, by its number."""
        return np.array([0] * RESERVED + list(self.words.counts.values()), np.int64)

    def signs(self) -> npt.NDArray[np.float32]:
        """Return `are_signs` of each word by its number; those without a spelling are letters for it."""
        return are_signs(["x"] * RESERVED + list(self.words.entries))

    def rows(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the rows of all words, one after the other, and where each word's begin."""
        spelt: list[list[int]] = [[] for _ in range(RESERVED)]
        spelt += (
            [number, *self._affix_rows(word)] for number, word in enumerate(self.words.entries, RESERVED)
        )
        return _flat(spelt)

    def unseen_rows(self, words: Iterable[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the rows of words that have none of their own."""
        return _flat([list(self._affix_rows(word)) for word in words])

    def _affix_rows(self, word: str) -> Iterator[int]:
        known = self.affixes.known
        first = len(self.words)
        return (first + known[affix] for affix in affixes(word, short=self.short) if affix in known)

    def encode(
        self, sentences: Iterable[Sequence[str]], *, lowercase: bool = False
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], list[str]]:
        """Return the tokens' numbers, where each sentence begins, and the unseen words, numbered last."""
        if self._forms is None or self._forms.lowercase != lowercase:
            self._forms = _Forms(self.words.known, lowercase)
        sentences = list(sentences)
        offsets = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum([len(sentence) for sentence in sentences], out=offsets[1:])
        words = list(chain.from_iterable(sentences))
        numbers = np.fromiter(map(self._forms.__getitem__, words), np.int32, len(words))
        unseen: dict[str, int] = {}
        for place in np.flatnonzero(numbers < 0).tolist():
            word = words[place].lower() if lowercase else words[place]
            numbers[place] = unseen.setdefault(word, len(self.words) + len(unseen))
        return numbers, offsets, list(unseen)

    def encode_lines(
        self, lines: bytes, *, lowercase: bool = False
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], list[str]]:
        """Return the same of lines of UTF-8, whose words stand between spaces or tabs."""
        if self._known is None or self._known.lowercase != lowercase:
            self._known = KnownForms(self.words.known, lowercase)
        return self._known.encode(lines, len(self.words))

    def save(self, directory: Path, name: str) -> None:
        """Write words and affixes as text, a line each, with their counts."""
        self.words.save(directory / f"{name}.words.txt")
        self.affixes.save(directory / f"{name}.affixes.txt")

    @classmethod
    def load(cls, directory: Path, name: str) -> Spelling:
        """Read what `save` wrote."""
        return cls(
            Vocabulary.load(directory / f"{name}.words.txt"),
            Vocabulary.load(directory / f"{name}.affixes.txt"),
        )


def _array(numbers: array[int]) -> npt.NDArray[np.int32]:
    return np.frombuffer(numbers, np.int32) if numbers else np.empty(0, np.int32)


def _flat(lists: Sequence[Sequence[int]]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(each) for each in lists], out=offsets[1:])
    return np.array([item for each in lists for item in each], np.int32), offsets


class Reader:
    """Number the words of one side in the order in which they come; `finish` renumbers them by frequency."""

    def __init__(self, lowercase: bool) -> None:
        self._numbers = _Numbers(lowercase)
        self._tokens = ArrayBuilder(np.int32)
        self._latest = array("i")
        self._offsets = array("q", [0])

    def add(self, sentence: Sequence[str]) -> None:
        """Take the next sentence."""
        self._latest.extend(map(self._numbers.__getitem__, sentence))
        self._offsets.append(self._offsets[-1] + len(sentence))
        if len(self._latest) > storage.BLOCK:
            self._put_away()

    def _put_away(self) -> None:
        self._tokens.extend(_array(self._latest))
        self._latest = array("i")

    def finish(
        self, more: Mapping[str, int] | None = None
    ) -> tuple[Spelling, npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the spelling, the numbers of all tokens, and where each sentence begins.

        `more` words, with how often they count, are part of the spelling too.
        """
        return by_frequency(*self.in_order(), more)

    def in_order(self) -> tuple[list[str], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the words as they came, the numbers of all tokens, and where each sentence begins."""
        self._put_away()
        return list(self._numbers.words), self._tokens.finish(), np.frombuffer(self._offsets, np.int64)


def by_frequency(
    words: Sequence[str],
    tokens: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    more: Mapping[str, int] | None = None,
) -> tuple[Spelling, npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Renumber tokens, in place: give the spelling of all words, and of `more`, that the numbers are of."""
    seen = Counter(dict(zip(words, counted(tokens, len(words)).tolist(), strict=True)))
    seen.update(more or {})
    spelling = Spelling.of(seen)
    renumber(tokens, np.array([spelling.words.known[word] for word in words], np.int32))
    return spelling, tokens, offsets


def renumber(tokens: npt.NDArray[np.int32], numbers: npt.NDArray[np.int32]) -> None:
    """Put other numbers in the place of tokens that may outgrow memory."""
    for start in range(0, len(tokens), storage.BLOCK):
        tokens[start : start + storage.BLOCK] = numbers[tokens[start : start + storage.BLOCK]]


class _Forms(dict[str, int]):
    """Number known words as they are written, each form lower-cased once; what is not known is −1."""

    def __init__(self, known: Mapping[str, int], lowercase: bool) -> None:
        super().__init__()
        self.known = known
        self.lowercase = lowercase

    def __missing__(self, form: str) -> int:
        number = self.known.get(form.lower() if self.lowercase else form, -1)
        if number >= 0:
            self[form] = number
        return number


class _Numbers(dict[str, int]):
    """Number words on sight. Each spelling is lower-cased once, not at each occurrence."""

    def __init__(self, lowercase: bool) -> None:
        super().__init__()
        self.lowercase = lowercase
        self.words: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        form = word.lower() if self.lowercase else word
        check_word(form)
        number = self[word] = self.words.setdefault(form, len(self.words))
        return number


def check_word(word: str) -> None:
    """Refuse what a vocabulary file cannot hold; words of text files are never of this kind."""
    if "\n" in word or any("\ud800" <= letter <= "\udfff" for letter in word):
        raise InputError(f"the word {word!r} has a line break or half a surrogate pair in it")
