"""Words and the affixes that they share."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from bitweft.errors import InputError
from bitweft.recipes.default.spelling import Reader, Spelling, affixes

WORD = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=8)
TEXT = st.lists(st.lists(WORD, max_size=6), min_size=1, max_size=6)


def test_affixes_are_beginnings_and_endings() -> None:
    found = list(affixes("walking"))
    assert all("walking".startswith(affix[:-1]) for affix in found if affix.endswith("-"))
    assert "-ng" in found and "-ing" in found and "wal-" in found
    assert "walking" not in found


@given(TEXT)
def test_words_are_numbered_by_frequency_and_encoded_alike(text: list[list[str]]) -> None:
    reader = Reader(lowercase=False)
    for sentence in text:
        reader.add(sentence)
    spelling, tokens, offsets = reader.finish()
    counts = Counter(word for sentence in text for word in sentence)
    assert spelling.words.counts == dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    numbers, bounds, unseen = spelling.encode(text)
    assert_array_equal(numbers, tokens)
    assert_array_equal(bounds, offsets)
    assert unseen == []
    assert spelling.counts.sum() == len(tokens)


@given(TEXT, TEXT)
def test_unseen_words_come_after_all_others(text: list[list[str]], other: list[list[str]]) -> None:
    reader = Reader(lowercase=False)
    for sentence in text:
        reader.add(sentence)
    spelling, _, _ = reader.finish()
    numbers, _, unseen = spelling.encode(other)
    words = [word for sentence in other for word in sentence]
    for word, number in zip(words, numbers.tolist(), strict=True):
        known = spelling.words.known.get(word)
        assert number == (len(spelling.words) + unseen.index(word) if known is None else known)
    rows, offsets = spelling.unseen_rows(unseen)
    assert len(offsets) == len(unseen) + 1
    assert all(len(spelling.words) <= row < spelling.size for row in rows)


@given(TEXT)
def test_rows_stay_inside_the_table(text: list[list[str]]) -> None:
    reader = Reader(lowercase=True)
    for sentence in text:
        reader.add(sentence)
    spelling, _, _ = reader.finish()
    rows, offsets = spelling.rows()
    assert len(offsets) == len(spelling.words) + 1 and offsets[-1] == len(rows)
    assert all(0 <= row < spelling.size for row in rows)
    for number in spelling.words.known.values():
        assert rows[offsets[number]] == number


@given(TEXT)
def test_a_kept_spelling_is_the_same(tmp_path_factory: pytest.TempPathFactory, text: list[list[str]]) -> None:
    reader = Reader(lowercase=False)
    for sentence in text:
        reader.add(sentence)
    spelling, _, _ = reader.finish()
    directory: Path = tmp_path_factory.mktemp("spelling")
    spelling.save(directory, "source")
    again = Spelling.load(directory, "source")
    assert again.words.counts == spelling.words.counts
    assert again.affixes.counts == spelling.affixes.counts
    for one, other in zip(again.rows(), spelling.rows(), strict=True):
        assert_array_equal(one, other)


def test_case_is_dropped_where_asked() -> None:
    reader = Reader(lowercase=True)
    reader.add(["The", "THE", "the", "İ"])
    spelling, tokens, _ = reader.finish({"the": 2, "extra": 5})
    assert spelling.words.counts == {"extra": 5, "the": 5, "i̇": 1}
    assert len(tokens) == 4


def test_nothing_read_is_nothing() -> None:
    spelling, tokens, offsets = Reader(lowercase=True).finish()
    assert (len(tokens), offsets.tolist(), spelling.words.counts) == (0, [0], {})
    assert spelling.encode([[], []])[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize("word", ["a\nb", "\udfff"])
def test_what_no_file_can_hold_is_refused(word: str) -> None:
    with pytest.raises(InputError):
        Reader(lowercase=True).add([word])
