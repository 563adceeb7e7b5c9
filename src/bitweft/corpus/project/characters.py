"""Spans of characters: onto words, and from words back onto characters."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import TypeAlias

from bitweft.corpus.project.records import Span
from bitweft.text.bitext import Sentence

Place: TypeAlias = tuple[int, int]


def is_sign(text: str) -> bool:
    """Tell whether a text is nothing but punctuation and symbols."""
    return bool(text) and all(unicodedata.category(character)[0] in "PS" for character in text)


def words_of(start: int, end: int, places: Sequence[Place]) -> Place:
    """Find the words that a span of characters touches; a part of a word stands for the whole.

    Returns:
        The first word and the one after the last; the same word twice where none is touched (white space).
    """
    first, after = bisect_right(places, start, key=itemgetter(1)), bisect_left(places, end, key=itemgetter(0))
    return first, max(first, after)


def characters_of(words: Span, sentence: Sentence, pattern: str) -> Place:
    """Find the characters of some words.

    Signs at the edges that hang on to a word (cut at spaces, `Rome,`) are left out, unless `pattern`, the
    source's text, has signs at that edge too.
    """
    places = sentence.spans
    first, last = places[words.start][0], places[words.end - 1][1]
    text = sentence.text
    start, end = first, last
    while start < end and is_sign(text[start]) and not is_sign(pattern[:1]):
        start += 1
    while end > start and is_sign(text[end - 1]) and not is_sign(pattern[-1:]):
        end -= 1
    return (start, end) if start < end else (first, last)
