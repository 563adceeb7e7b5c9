"""Tags from files, and how the taggers are called."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from bitweft.errors import InputError, MissingExtraError, UsageError
from bitweft.recipes.paper.taggers import load_tagger
from bitweft.text.bitext import Bitext
from bitweft.text.tags import TaggedText

TEXT = Bitext.of([("the cat", "le chat"), ("", "non")])


def test_tags_come_with_the_words(tmp_path: Path) -> None:
    tags = tmp_path / "en.pos"
    tags.write_text("DET NOUN\n\n", encoding="utf-8")
    tagged = TaggedText(TEXT, source=tags)
    for _ in range(2):  # it can be walked twice
        pairs = list(tagged)
        assert [pair.source.tags for pair in pairs] == [["DET", "NOUN"], []]
        assert [pair.target.tags for pair in pairs] == [None, None]
        assert pairs == list(TEXT)


@pytest.mark.parametrize(
    ("lines", "place"), [("DET\n\n", r"pos:1: 1 tags for 2 words"), ("DET NOUN\n", r"pos:2")]
)
def test_tags_that_do_not_fit_name_the_line(tmp_path: Path, lines: str, place: str) -> None:
    tags = tmp_path / "en.pos"
    tags.write_text(lines, encoding="utf-8")
    with pytest.raises(InputError, match=place):
        list(TaggedText(TEXT, source=tags))


def test_spacy_gets_the_words_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    class Doc(list[Any]):
        def __init__(self, vocab: str, words: list[str]) -> None:
            assert vocab == "the vocabulary"
            super().__init__(SimpleNamespace(text=word, pos_=word.upper()) for word in words)

    spacy, tokens = ModuleType("spacy"), ModuleType("spacy.tokens")
    asked = []

    def load(name: str, disable: list[str]) -> Any:
        if name != "en_small":
            raise OSError("no such model")
        asked.append((name, disable))
        return SimpleNamespace(vocab="the vocabulary", pipe=lambda documents: list(documents))

    spacy.load, tokens.Doc = load, Doc  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    monkeypatch.setitem(sys.modules, "spacy.tokens", tokens)
    tagger = load_tagger("spacy:en_small")
    assert tagger is not None
    assert tagger([("don't", "go"), ()]) == [["DON'T", "GO"], []]
    assert asked == [("en_small", ["parser", "ner", "lemmatizer"])]
    with pytest.raises(UsageError, match="spacy download other"):
        load_tagger("spacy:other")


def test_stanza_gets_the_words_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def pipeline(language: str, **options: Any) -> Any:
        assert language == "cs" and options["tokenize_pretokenized"] is True

        def run(sentences: list[list[str]]) -> Any:
            words = [[SimpleNamespace(upos=word.upper()) for word in sentence] for sentence in sentences]
            assert all(words)
            return SimpleNamespace(sentences=[SimpleNamespace(words=own) for own in words])

        return run

    stanza = ModuleType("stanza")
    stanza.Pipeline = pipeline  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "stanza", stanza)
    tagger = load_tagger("stanza:cs")
    assert tagger is not None
    assert tagger([("a",), (), ("b", "c")]) == [["A"], [], ["B", "C"]]
    assert tagger([()]) == [[]]


@pytest.mark.parametrize("package", ["spacy", "stanza"])
def test_missing_taggers_are_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"bitweft\[{package}\]"):
        load_tagger(f"{package}:en")


def test_other_kinds_of_tags_need_no_tagger() -> None:
    assert load_tagger("inline") is load_tagger("classes") is load_tagger("none") is None
