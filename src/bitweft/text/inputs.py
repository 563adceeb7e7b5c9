"""What people hold in their hands: lists, tuples, dictionaries, data frames, datasets, spaCy documents.

Each either is taken as what it plainly means, or is refused with a word on what to give instead. No library
is imported: things are known by what they offer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from bitweft.errors import UsageError
from bitweft.text.bitext import Bitext, Lines, Sentence, SentencePair, tokenize
from bitweft.text.tags import TaggedText

if TYPE_CHECKING:
    from bitweft.text.parallel import Most

PairLike: TypeAlias = (
    SentencePair | tuple[str | Sequence[str], str | Sequence[str]] | Mapping[str, Any]  # a row of a dataset
)


class Pairs:
    """Walk pairs of sentences, from anything that plainly holds some."""

    def __init__(self, data: object, how: str = "space") -> None:
        """Take the data; strings are cut as `how` says.

        Raises:
            UsageError: it does not hold pairs, or not plainly.
        """
        self._data: object = data._data if isinstance(data, Pairs) else data
        self._how = how
        self._walked = False
        self._items = _walker(self._data)

    def blocks(self, most: Most | None = None) -> Iterator[Lines] | None:
        """Walk the pairs many at a time, where that is possible: see `Bitext.blocks`."""
        return self._data.blocks(most) if isinstance(self._data, Bitext) else None

    def __iter__(self) -> Iterator[SentencePair]:
        if self._walked and isinstance(self._data, Iterator):
            raise UsageError("the pairs are needed again, but an iterator gives them only once: give a list")
        self._walked = True
        if isinstance(self._data, Bitext | TaggedText):
            yield from self._data
            return
        for number, item in enumerate(self._items(), 1):
            try:
                yield pair_of(item, self._how)
            except UsageError as error:
                raise UsageError(f"pair {number:,}: {error}") from error


def _walker(data: object) -> Any:
    """Return what gives the rows of the data, again and again."""
    if isinstance(data, str | bytes):
        kind = "a path or a sentence" if isinstance(data, str) else "bytes"
        raise UsageError(f"got {kind}, not pairs: give Bitext(SOURCE, TARGET) for files, or a list of pairs")
    if hasattr(data, "columns") and (hasattr(data, "itertuples") or hasattr(data, "iter_rows")):
        return _frame_rows(data)
    if isinstance(data, Mapping):
        return _columns(data)
    if _is_column(data):
        raise UsageError("got one column of a table: give both, as zip(table[SOURCE], table[TARGET])")
    if (
        isinstance(data, tuple)
        and len(data) == 2
        and all(isinstance(side, list) and _is_list_of_texts(side) for side in data)
    ):
        raise UsageError("got two lists: give pairs, as list(zip(SOURCE, TARGET))")
    if not isinstance(data, Iterable):
        raise UsageError(f"got {_named(data)}, not pairs of sentences")
    return lambda: data


def _frame_rows(frame: Any) -> Any:
    names = list(frame.columns)
    if len(names) != 2:
        shown = ", ".join(map(str, names[:8]))
        raise UsageError(
            f"the table has {len(names)} columns ({shown}): choose two, as table[[SOURCE, TARGET]]"
        )
    if hasattr(frame, "iter_rows"):  # polars
        return frame.iter_rows
    return lambda: frame.itertuples(index=False, name=None)


def _columns(data: Mapping[Any, Any]) -> Any:
    """Take a dictionary of two columns, as a batch of a dataset is."""
    values = list(data.values())
    if all(hasattr(value, "column_names") for value in values) and values:
        raise UsageError(f"got several datasets: choose one, such as data[{next(iter(data))!r}]")
    if len(values) != 2 or not all(_is_list_of_texts(value) or _is_column(value) for value in values):
        raise UsageError("a dictionary must have two columns, lists of sentences, source first")
    if len(values[0]) != len(values[1]):
        raise UsageError(f"the columns have {len(values[0]):,} and {len(values[1]):,} sentences")
    return lambda: zip(values[0], values[1], strict=True)


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def _is_column(value: object) -> bool:
    """Tell whether this is a column of pandas, polars or Arrow."""
    names = ("to_list", "to_pylist")
    return any(hasattr(value, name) for name in names) and not hasattr(value, "column_names")


def _named(value: object) -> str:
    shown = repr(value)
    return f"{shown if len(shown) < 60 else shown[:57] + '…'} ({type(value).__name__})"


def pair_of(item: object, how: str = "space") -> SentencePair:
    """Make a pair of a pair, of two sentences, or of a row that holds two.

    Raises:
        UsageError: it is none of these.
    """
    if isinstance(item, SentencePair):
        return item
    if isinstance(item, Mapping):
        item = _row(item)
    if isinstance(item, str | bytes) or not isinstance(item, Sequence) or len(item) != 2:
        raise UsageError(f"a pair is (source, target), got {_named(item)}")
    source, target = item
    return SentencePair(sentence_of(source, how, "source"), sentence_of(target, how, "target"))


def _row(row: Mapping[Any, Any]) -> tuple[Any, Any]:
    """Take the two texts of a row: `translation`, `src` and `tgt`, or the only two there are."""
    inner = row.get("translation", row)
    if isinstance(inner, Mapping):
        if {"src", "tgt"} <= inner.keys():
            return inner["src"], inner["tgt"]
        if len(inner) == 2:
            source, target = inner.values()
            return source, target
    names = ", ".join(map(str, inner)) if isinstance(inner, Mapping) else "translation"
    raise UsageError(f"a row must hold two texts, source first; this one has {names}: choose two columns")


def sentence_of(words: object, how: str = "space", side: str = "sentence") -> Sentence:
    """Make a sentence of a string, of a list of words, or of a spaCy document.

    Raises:
        UsageError: it is none of these.
    """
    if isinstance(words, str):
        return tokenize(words, how)
    if isinstance(words, Sentence):
        return words
    if hasattr(words, "text") and hasattr(words, "__iter__"):  # spaCy's Doc and Span: every token, spaces too
        return Sentence([token.text for token in words], words.text)
    items = _of_words(words, side)
    tokens = [item for item in items if isinstance(item, str)]
    if len(tokens) != len(items):
        other = next(item for item in items if not isinstance(item, str))
        raise UsageError(f"the words of the {side} must be text, got {_named(other)}")
    return Sentence(tokens, " ".join(tokens))


def refuse_sentences(words: object, side: str) -> None:
    """Refuse a list of which most items are sentences, not words, where one sentence is asked for.

    Raises:
        UsageError: it is such a list.
    """
    if not isinstance(words, list | tuple) or _is_column(words):
        return
    phrases = [word for word in words if isinstance(word, str) and " " in word.strip()]
    if 2 * len(phrases) > len(words):
        raise UsageError(
            f"a word of the {side} is {_named(phrases[0])}: a sentence is a string or a list of words; for "
            "many pairs, give zip(SOURCES, TARGETS)"
        )


def _of_words(words: object, side: str) -> Sequence[object]:
    """Take words from a sequence or an array, and refuse whole columns."""
    if isinstance(words, Sequence) and not isinstance(words, bytes) and not _is_column(words):
        return words
    if type(words).__module__.partition(".")[0] == "numpy" and getattr(words, "ndim", 0) == 1:
        return words.tolist()  # type: ignore[attr-defined, no-any-return]
    if _is_column(words):
        raise UsageError(f"the {side} is a column of a table: for many pairs, give zip(SOURCES, TARGETS)")
    raise UsageError(f"the {side} must be a string or a list of words, got {_named(words)}")
