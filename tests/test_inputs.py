"""What people hold in their hands is taken as meant, or refused with a word on what to give instead."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Alignment
from bitweft.text.bitext import Bitext, tokenize
from bitweft.text.inputs import Pairs, pair_of, sentence_of
from small import aligner

SOURCE = ["the cat sleeps .", "the dog"]
TARGET = ["le chat dort .", "le chien"]
PAIRS = list(zip(SOURCE, TARGET, strict=True))


class Frame:
    """Behave as a table of pandas does, as far as that matters."""

    def __init__(self, columns: dict[str, list[str]]) -> None:
        self.columns = list(columns)
        self._values = columns

    def __iter__(self) -> Any:
        return iter(self.columns)

    def itertuples(self, index: bool, name: None) -> Any:
        assert not index
        return zip(*self._values.values(), strict=True)


class Column(list[str]):
    """Behave as a column of pandas or polars does."""

    def to_list(self) -> list[str]:
        return list(self)


def texts(data: object) -> list[tuple[str, str]]:
    return [(pair.source.text, pair.target.text) for pair in Pairs(data)]


TRANSLATIONS = [{"translation": {"en": s, "fr": t}} for s, t in PAIRS]


@pytest.mark.parametrize(
    "data",
    [
        PAIRS,
        tuple(PAIRS),
        [list(pair) for pair in PAIRS],
        [(s.split(), t.split()) for s, t in PAIRS],
        zip(SOURCE, TARGET, strict=True),
        {"en": SOURCE, "fr": TARGET},
        {"en": Column(SOURCE), "fr": Column(TARGET)},
        [{"src": s, "tgt": t} for s, t in PAIRS],
        [{"id": 1, "src": s, "tgt": t} for s, t in PAIRS],
        [{"en": s, "fr": t} for s, t in PAIRS],
        TRANSLATIONS,
        Frame({"en": SOURCE, "fr": TARGET}),
        Bitext.of(PAIRS),
        [(np.array(s.split()), t) for s, t in PAIRS],
    ],
    ids=lambda data: type(data).__name__,
)
def test_what_holds_pairs(data: object) -> None:
    assert texts(data) == PAIRS


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("text.en", "a path or a sentence"),
        (b"text", "got bytes"),
        (Column(SOURCE), "one column of a table"),
        (Frame({"id": ["1", "2"], "en": SOURCE, "fr": TARGET}), "has 3 columns .id, en, fr.: choose two"),
        ((SOURCE, TARGET), "two lists: give pairs, as list.zip"),
        (
            {"train": SimpleNamespace(column_names=[])},
            r"several datasets: choose one, such as data\['train'\]",
        ),
        ({"en": SOURCE, "fr": TARGET[:1]}, "2 and 1 sentences"),
        ({"en": SOURCE}, "two columns"),
        (7, r"got 7 \(int\)"),
        (SOURCE, r"pair 1: a pair is \(source, target\), got 'the cat sleeps .'"),
        ([("a", "b"), ("a", None)], r"pair 2: the target must be a string or a list of words, got None"),
        ([("a", float("nan"))], "got nan"),
        ([("a", "b", "c")], "pair 1: a pair is"),
        ([{"a": "x", "b": "y", "c": "z"}], "pair 1: a row must hold two texts.*this one has a, b, c"),
        ([(["a", 3], "b")], "the words of the source must be text, got 3"),
    ],
)
def test_what_does_not(data: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        texts(data)


def test_an_iterator_is_walked_once() -> None:
    pairs = Pairs(iter(PAIRS))
    assert len(list(pairs)) == 2
    with pytest.raises(UsageError, match="an iterator gives them only once"):
        list(pairs)


def test_a_document_of_spacy_keeps_its_places() -> None:
    words = [SimpleNamespace(text=word) for word in ("the", "cat", "\n", "sleeps")]

    class Doc:
        text = "the cat \n sleeps"

        def __iter__(self) -> Any:
            return iter(words)

    sentence = sentence_of(Doc())
    assert sentence.tokens == ("the", "cat", "\n", "sleeps")
    assert sentence.spans[3] == (10, 16)


def test_aligning_what_is_no_pair() -> None:
    own = aligner()
    with pytest.raises(UsageError, match="got one sentence: give source and target"):
        own.align("a b")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a column of a table: for many pairs, give zip"):
        own.align(Column(SOURCE), Column(TARGET))
    with pytest.raises(UsageError, match=r"a word of the source is 'the cat sleeps \.'"):
        own.align(SOURCE, TARGET)
    with pytest.raises(UsageError, match="has 3 columns"):
        own.align(Frame({"a": [], "b": [], "c": []}))
    assert len(list(own.align({"en": SOURCE, "fr": TARGET}))) == 2
    assert own.align(SOURCE[0].split(), tuple(TARGET[0].split())) == own.align(SOURCE[0], TARGET[0])


def test_pairs_are_cut_as_the_model_was() -> None:
    assert pair_of(("a-b", ["c"]), "unicode").source == tokenize("a-b", "unicode")


def test_links_in_the_hand() -> None:
    alignment = Alignment.parse("1-2 0-0")
    assert list(alignment) == [(0, 0), (1, 2)]
    assert (1, 2) in alignment
    assert Alignment.parse("0-0:0.5 1-1:0.25") == Alignment(((0, 0), (1, 1)), (0.5, 0.25))
    assert Alignment.parse("") == Alignment()
    assert alignment.word_pairs("a b", ["x", "y", "z"]) == [("a", "x"), ("b", "z")]
    assert alignment.to_matrix(2, 3).tolist() == [[1, 0, 0], [0, 0, 1]]
    with pytest.raises(UsageError, match=r"link 1-2 .zero-based. is outside a pair of 2 and 2 words"):
        alignment.to_matrix(2, 2)
    for bad in ("0-0 1_2", "0-0:x", "a", "0-0 1-1:0.5"):
        with pytest.raises(InputError):
            Alignment.parse(bad)


def test_links_in_a_notebook() -> None:
    page = Alignment.parse("0-0:0.5 1-2:1")._repr_html_()
    assert page.count("<td") == 6 and page.count("rgba") == 2 and 'title="1-2 1.00"' in page
    assert Alignment()._repr_html_() == "<i>no links</i>"
    assert Alignment.parse("99-0")._repr_html_() == "<code>99-0</code>"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_real_tables(library: str) -> None:
    module = pytest.importorskip(library)
    table = module.DataFrame({"en": SOURCE, "fr": TARGET})
    assert texts(table) == PAIRS
    assert texts(table[["en", "fr"]]) == PAIRS
    with pytest.raises(UsageError, match="one column"):
        texts(table["en"])
    with pytest.raises(UsageError, match="a column of a table"):
        aligner().align(table["en"], table["fr"])


def test_a_real_table_of_links() -> None:
    pytest.importorskip("pandas")
    table = Alignment.parse("0-0:0.5 1-2:1").to_frame("a b", "x y z")
    assert list(table.columns) == ["source", "target", "source_word", "target_word", "probability"]
    assert table.target_word.tolist() == ["x", "z"]


def test_a_real_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    data = datasets.Dataset.from_list(TRANSLATIONS)
    assert texts(data) == PAIRS
    with pytest.raises(UsageError, match="several datasets"):
        texts(datasets.DatasetDict({"train": data}))


def test_a_real_document() -> None:
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    doc = nlp("The cat  sleeps.")
    assert sentence_of(doc).tokens == tuple(token.text for token in doc)
    assert sentence_of(doc[1:3]).tokens == tuple(token.text for token in doc[1:3])


def test_no_table_library_is_imported() -> None:
    source = Path(str(importlib.import_module("bitweft.text.inputs").__file__)).read_text(encoding="utf-8")
    assert "import pandas" not in source
