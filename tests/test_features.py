"""Words, tags and characters as numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft.errors import InputError, ModelError, UsageError
from bitweft.recipes.paper.features import FeatureConfig, Inventory, SideConfig
from bitweft.text.vocabulary import PAD, UNKNOWN, Vocabulary

CONFIG = FeatureConfig(longest_word=3)


def test_the_most_common_words_are_kept_and_others_are_unknown() -> None:
    vocabulary = Vocabulary.of({"b": 2, "a": 2, "c": 5, "d": 1}, 3)
    assert vocabulary.entries == ("c", "a", "b")
    assert vocabulary.numbers(["c", "a", "b", "d"]) == [2, 3, 4, UNKNOWN]
    assert [vocabulary.entry(number) for number in (0, 1, 2)] == ["<padding>", "<unknown>", "c"]


@given(st.dictionaries(st.text(st.characters(exclude_characters="\n"), min_size=1), st.integers(1, 99)))
def test_a_vocabulary_survives_its_file(counts: dict[str, int]) -> None:
    import tempfile

    vocabulary = Vocabulary.of(counts, 10)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "words.txt"
        try:
            vocabulary.save(path)
        except UnicodeEncodeError:  # lone surrogates are no text
            return
        assert Vocabulary.load(path).counts == vocabulary.counts


def test_a_damaged_vocabulary_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("the\t5\nbroken\n", encoding="utf-8")
    with pytest.raises(ModelError, match=r"words.txt:2"):
        Vocabulary.load(path)


def test_encoding_lowers_and_marks_sentences() -> None:
    inventory = Inventory.of([("A", "b"), (), ("a",)], CONFIG, SideConfig())
    text = inventory.encode([("b", "a", "new"), (), ("A",)])
    assert text.offsets.tolist() == [0, 3, 3, 4]
    assert text.lengths.tolist() == [3, 0, 1]
    assert text.words.tolist() == [3, 2, UNKNOWN, 2]
    assert text.tags is None and text.forms is None


def test_characters_have_a_row_for_each_letter_and_place() -> None:
    inventory = Inventory.of([("ab", "ba")], CONFIG, SideConfig(characters=True))
    assert inventory.characters is not None
    size = len(inventory.characters)
    spelled = inventory.spell(["a", "aa", "abab"])
    a, b = inventory.characters.numbers("ab")
    assert spelled.tolist() == [
        [1 + a, PAD, PAD],
        [1 + a, 1 + size + a, PAD],
        [1 + a, 1 + size + b, 1 + 2 * size + a],
    ]
    assert spelled.max() < inventory.character_rows == 1 + 3 * size


def test_unknown_words_keep_their_characters() -> None:
    inventory = Inventory.of([("ab", "ab", "ba")], CONFIG, SideConfig(words=1, characters=True))
    text = inventory.encode([("ba", "bb")])
    assert text.words.tolist() == [UNKNOWN, UNKNOWN]
    assert text.forms is not None and text.spelling is not None
    assert text.spelling[text.forms[0]].tolist() != text.spelling[text.forms[1]].tolist()


def test_inline_tags_are_cut_off_at_the_last_bar() -> None:
    side = SideConfig(tags="inline")
    inventory = Inventory.of([("a|DET", "x|y|NOUN")], CONFIG, side)
    assert inventory.words.entries == ("a", "x|y")
    text = inventory.encode([("a|NOUN", "b|VERB")])
    assert inventory.tags is not None and text.tags is not None
    assert text.tags.tolist() == [inventory.tags.number("NOUN"), UNKNOWN]
    with pytest.raises(InputError, match="has no tag"):
        inventory.encode([("bare",)])


def test_classes_put_words_of_like_neighbors_together() -> None:
    random = np.random.default_rng(1)
    nouns, verbs = ["cat", "dog", "cow", "pig"], ["runs", "eats", "sits", "naps"]
    sentences = [("the", str(random.choice(nouns)), str(random.choice(verbs)), ".") for _ in range(400)]
    inventory = Inventory.of(sentences, FeatureConfig(classes=4), SideConfig(tags="classes"))
    assert inventory.classes is not None
    assert len({inventory.classes[noun] for noun in nouns}) == 1
    assert len({inventory.classes[verb] for verb in verbs}) == 1
    assert inventory.classes["cat"] != inventory.classes["runs"]


def test_an_inventory_survives_its_files(tmp_path: Path) -> None:
    side = SideConfig(tags="classes", characters=True)
    sentences = [("a", "b", "c"), ("b", "ö\u2028x")]
    inventory = Inventory.of(sentences, CONFIG, side)
    inventory.save(tmp_path, "source")
    again = Inventory.load(tmp_path, "source", CONFIG, side)
    one, two = inventory.encode(sentences), again.encode(sentences)
    for name in ("offsets", "words", "tags", "forms", "spelling"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


def test_a_tagger_must_give_one_tag_a_word() -> None:
    side = SideConfig(tags="spacy:any")
    with pytest.raises(InputError, match="one tag for each word"):
        Inventory.of(
            [("a", "b")], CONFIG, side, tagger=lambda sentences: [["X", "Y"] for _ in sentences]
        ).encode([("a", "b")], tagger=lambda sentences: [["X"] for _ in sentences])
    with pytest.raises(UsageError, match="needs the tagger"):
        Inventory.of([("a", "b")], CONFIG, side)


@pytest.mark.parametrize("tags", ["spacy", "udpipe:en", ""])
def test_unknown_kinds_of_tags_fail(tags: str) -> None:
    with pytest.raises(UsageError, match="tags must be one of none, inline, classes"):
        SideConfig(tags=tags)
