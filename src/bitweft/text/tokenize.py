"""Cut text into tokens: at spaces, at Unicode word boundaries, or into characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

Tokenizer: TypeAlias = Callable[[str], Sequence[str]]

_SPACE_OR_TAB = re.compile("[ \t]+")


def by_space(text: str) -> Sequence[str]:
    """Split at runs of ASCII space and tab, as Marian, fast_align and Moses do."""
    if not text:
        return ()
    if "\t" in text or "  " in text or text[0] == " " or text[-1] == " ":
        return [token for token in _SPACE_OR_TAB.split(text) if token]
    return text.split(" ")


def count_by_space(lines: bytes) -> int:
    """Count the words of lines of UTF-8 that `by_space` would cut; the last one has its line feed."""
    import numpy as np

    data = np.frombuffer(lines, np.uint8)
    between = (data == ord(" ")) | (data == ord("\t")) | (data == ord("\n"))
    return int(np.count_nonzero(between[1:] & ~between[:-1]))


def by_word(text: str) -> Sequence[str]:
    """Split at the word boundaries of UAX #29; white space is left out.

    Scripts written without spaces (Han, Hiragana, Thai, Lao, Khmer, Burmese) give one token a character.
    """
    return _ASCII_WORD.findall(text) if text.isascii() else _patterns()[0].findall(text)


def by_character(text: str) -> Sequence[str]:
    """Split into characters as readers see them: a base with its marks; white space is left out."""
    return _patterns()[1].findall(text)


TOKENIZERS: dict[str, Tokenizer] = {"space": by_space, "unicode": by_word, "char": by_character}

_UNSPACED = (
    "\u0e01-\u0e33\u0e40-\u0e46\u0e81-\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf\u1000-\u102a\u103f\u1050-\u1055\u1780-\u17b3"
    "\u3005-\u3007\u3021-\u3029\u3041-\u3096\u309d-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_COMMON = (
    "A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\u02af\u0391-\u03a1\u03a3-\u03ce\u0400-\u0481\u048a-\u052f\uac00-\ud7a3"
)
_MID_LETTER = ".:'’‘·\u0387\u055f\u05f4\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a"
_MID_NUMBER = (
    ".,;'’‘\u037e\u0589\u060c\u060d\u066c\u07f8\u2024\u2044"
    "\ufe10\ufe14\ufe50\ufe52\ufe54\uff07\uff0c\uff0e\uff1b"
)
_PICTURE = "[\xa9\xae\u203c-\u27bf\u2900-\u2bff\U0001f000-\U0001faff]"
# What the pattern of words comes to where there is nothing but ASCII.
_ASCII_WORD = re.compile(
    r"(?:[A-Za-z]+(?:[.:'][A-Za-z]+)*|[0-9]+(?:[.,;'][0-9]+)*|_)+|\S",
)
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the patterns of words and characters (the scan for marks takes a while, so only when asked)."""
    # `re` looks a character up at once in a set of the first plane alone, and one by one in any other.
    plane, beyond = (
        _extending(range(0x300, 0x10000)),
        _extending((*range(0x10000, 0x20000), *range(0xE0000, 0xE1000))),
    )
    extend = f"(?:[\xad{plane}]|(?=[\U00010000-\U0010ffff])[{beyond}])*"
    picture = f"{_PICTURE}{extend}(?:(?<=\u200d){_PICTURE}{extend})*"
    jamo = "[\u1100-\u115f]+[\u1160-\u11a7]*[\u11a8-\u11ff]*" + extend
    other = rf"[^\s\u200b]{extend}"
    # Runs of the common letters and digits go by at once; the second half of each is the whole rule.
    some_letters = rf"(?:[{_COMMON}]+{extend}|(?![{_UNSPACED}])[^\W\d_]{extend})+"
    some_digits = rf"(?:[0-9]+{extend}|\d{extend})+"
    letters = f"{some_letters}(?:[{_MID_LETTER}]{extend}{some_letters})*"
    number = f"{some_digits}(?:[{_MID_NUMBER}]{extend}{some_digits})*"
    word = f"(?:{letters}|{number}|_{extend})+"
    flag = _FLAG + extend
    return (
        re.compile("|".join([word, flag, picture, other])),
        re.compile("|".join([flag, picture, jamo, other])),
    )


def _extending(codes: Iterable[int]) -> str:
    """List, as ranges, the characters that belong to the one before: marks, joiners and their like."""
    ranges: list[list[int]] = []
    for code in codes:
        character = chr(code)
        if not (unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf") or 0x1F3FB <= code <= 0x1F3FF):
            continue
        if code == 0x200B:  # the zero-width space parts words
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)
