"""Words of lines of UTF-8 as numbers: Python looks at each distinct form once, and then its bytes are known.

Where words are lower-cased, their ASCII letters are in the compiled loop already: there are fewer forms then,
and `str.lower` comes to the same of what is left.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from bitweft.recipes.default.compiled.tokens import FREE, PARTS, Bytes, Forms, Numbered, Shorts, number_words
from bitweft.recipes.default.compiled.types import Ints, Longs

SLOTS = 1 << 15  # of a new table
_WORD = re.compile(rb"[^ \t\n]+")


class FormTable:
    """Number distinct forms in the order in which they come first."""

    def __init__(self) -> None:
        self._forms = _empty(SLOTS, 0)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, lines: bytes, *, lowercase: bool) -> tuple[Ints, Longs]:
        """Return the forms of all words of some lines, and how many there are up to the end of each line.

        Without `lowercase`, forms are taken as they are written; with it, ASCII letters are lower-cased.
        """
        text, numbered = _numbered(lines, self._count)
        self._make_room(len(lines) + 1)
        while not number_words(text, _letters(lowercase), self._forms, numbered, True):
            self._count = int(numbered.done[3])
            self._grow()
        self._count = int(numbered.done[3])
        return numbered.tokens[: numbered.done[1]].copy(), numbered.ends

    def find(self, lines: bytes, *, lowercase: bool) -> tuple[Ints, Longs]:
        """Return the same, for any thread; of a word that was not added, −1 − the place of its first byte."""
        text, numbered = _numbered(lines, self._count)
        number_words(text, _letters(lowercase), self._forms, numbered, False)
        return numbered.tokens[: numbered.done[1]], numbered.ends

    def texts(self) -> list[str]:
        """List the forms by number."""
        _, starts, letters = self._forms
        return letters[: starts[self._count]].tobytes().decode().split("\n")[:-1]

    def _make_room(self, size: int) -> None:
        """Make room for so many more letters."""
        slots, starts, letters = self._forms
        used = int(starts[self._count])
        if len(letters) < used + size:
            more = np.empty(2 * used + size, np.uint8)
            more[:used] = letters[:used]
            self._forms = Forms(slots, starts, more)

    def _grow(self) -> None:
        """Number the forms themselves, which gives them the same numbers, in a table of more slots."""
        slots, starts, letters = self._forms
        larger = _empty(2 * len(slots), len(letters))
        text, numbered = _numbered(letters[: starts[self._count]].tobytes(), 0)
        number_words(text, _letters(False), larger, numbered, True)
        self._forms = larger


class KnownForms:
    """Number the words of lines by a vocabulary; any number of threads may."""

    def __init__(self, known: Mapping[str, int], lowercase: bool) -> None:
        """Take words; their numbers follow each other."""
        self._known = known
        self.lowercase = lowercase
        self._first = next(iter(known.values()), 0)
        self._table = FormTable()
        self._table.add(_as_lines(list(known), lowercase), lowercase=False)

    def encode(self, lines: bytes, size: int) -> tuple[Ints, Longs, list[str]]:
        """Return the tokens' numbers, where each line begins, and the unseen words, numbered from `size`."""
        numbers, ends = self._table.find(lines, lowercase=self.lowercase)
        places = np.flatnonzero(numbers < 0)
        forms = [_form(lines, place) for place in (-1 - numbers[places]).tolist()]
        words = {form: form.decode().lower() if self.lowercase else form.decode() for form in forms}
        unseen: dict[str, int] = {}
        for word in words.values():
            if word not in self._known:
                unseen.setdefault(word, size + len(unseen))
        found = {form: self._known.get(word, unseen.get(word, -1)) for form, word in words.items()}
        numbers += self._first
        numbers[places] = [found[form] for form in forms]
        return numbers, np.concatenate([[0], ends]), list(unseen)


def _form(lines: bytes, place: int) -> bytes:
    """Return the word that begins at a place."""
    word = _WORD.match(lines, place)
    assert word is not None
    return word[0]


def _numbered(lines: bytes, count: int) -> tuple[Bytes, Numbered]:
    """Make room for the numbers of some lines."""
    tokens = np.empty(len(lines) // 2 + 1, np.int32)
    ends = np.empty(lines.count(b"\n"), np.int64)
    done = np.array([0, 0, 0, count], np.int64)
    return np.frombuffer(lines, np.uint8), Numbered(tokens, ends, done, np.empty(len(lines) + 1, np.uint8))


@cache
def _letters(lowercase: bool) -> Shorts:
    """Say what each byte is written as: white space parts words."""
    letters = np.arange(256, dtype=np.int16)
    letters[list(b" \t\n")] = PARTS
    if lowercase:
        letters[ord("A") : ord("Z") + 1] += ord("a") - ord("A")
    return letters


def _empty(slots: int, letters: int) -> Forms:
    starts = np.zeros(slots // 2 + 1, np.int64)
    return Forms(np.full(slots, FREE, np.int64), starts, np.empty(letters, np.uint8))


def _as_lines(words: Sequence[str], lowercase: bool) -> bytes:
    """Write a line for each word; one that no text can have is put as a form that none has."""
    text = "".join(f"{word}\n" for word in words)
    lines = text.encode(errors="surrogatepass")
    if (
        " " in text
        or "\t" in text
        or len(lines.split()) != len(words)
        or (lowercase and text.lower() != text)
    ):
        able = (word.lower() == word or not lowercase for word in words)
        forms = (_WORD.fullmatch(word.encode(errors="surrogatepass")) for word in words)
        lines = b"".join(
            form[0] + b"\n" if form and own else b"\xff%d\n" % number
            for number, (form, own) in enumerate(zip(forms, able, strict=True))
        )
    return lines
