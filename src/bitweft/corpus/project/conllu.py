"""CoNLL-U: tags, features and trees. Columns that are not carried (lemma, XPOS) stay the target's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bitweft.corpus.project.records import Carried, Cut, Format, Item, Record, Weights
from bitweft.corpus.project.rules import Rules
from bitweft.corpus.project.trees import LINKED, Carry, Treebank, Word
from bitweft.errors import InputError
from bitweft.text.bitext import Sentence
from bitweft.text.lines import LineFile

_COLUMNS = 10
_RANGE = re.compile(r"[1-9]\d*-[1-9]\d*")
_EMPTY = re.compile(r"\d+\.[1-9]\d*")


class _Rows(NamedTuple):
    """Hold the lines of a sentence."""

    comments: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # of words and of tokens of several words
    words: tuple[Word, ...]


class Conllu(Format):
    """Carry UPOS, FEATS, HEAD and DEPREL."""

    name = "conllu"
    endings = (".conllu",)
    two_passes = True

    def __init__(self) -> None:
        self._treebank = Treebank()

    def annotated(self, file: LineFile, cut: Cut) -> Iterator[Record]:
        """Read sentences with tags and, unless every HEAD is `_`, trees."""
        for line, comments, rows in _sentences(file):
            of_words = [(number, row) for number, row in rows if row[0].isdecimal()]
            words = tuple(_word(row, number, file.name) for number, row in of_words)
            _check_heads(words, [number for number, _ in of_words], file.name)
            yield _record(line, _Rows(comments, tuple(row for _, row in rows), words))

    def bare(self, file: LineFile, cut: Cut, *, lines: bool) -> Iterator[Record]:
        """Read sentences, annotated or not; empty nodes are left out."""
        if not lines:
            for line, comments, numbered in _sentences(file):
                rows = tuple(row for _, row in numbered)
                words = tuple(Word(row[1], "_") for row in rows if row[0].isdecimal())
                yield _record(line, _Rows(comments, rows, words))
            return
        for number, text in enumerate(file.lines(), 1):
            tokens = cut(text)
            bare = tuple((str(n), token, *"________") for n, token in enumerate(tokens, 1))
            words = tuple(Word(token, "_") for token in tokens)
            yield _record(number, _Rows((f"# text = {text}",), bare, words))

    def observe(self, source: Record, target: Record, weights: Weights) -> None:
        """Count tags and habits, for words whose links leave something open."""
        self._treebank.observe(source.source.words, target.sentence.tokens, weights)

    def carry(self, source: Record, target: Record, weights: Weights, rules: Rules) -> Carried:
        """Write the target's words with tags and heads; MISC says how probable the counterpart is."""
        own: _Rows = target.source
        found = self._treebank.carry(source.source.words, target.sentence.tokens, weights)
        carried = iter(found)
        rows = [_filled(row, next(carried)) if row[0].isdecimal() else row for row in own.rows]
        text = "".join(f"{line}\n" for line in (*own.comments, *map("\t".join, rows))) + "\n"
        words = source.sentence.tokens
        return Carried(text, tuple(_item(each, words) for each in found))


def _filled(row: tuple[str, ...], carry: Carry) -> tuple[str, ...]:
    word = carry.word
    number, form, lemma, _, xpos, *_, misc = row
    head = "_" if word.head is None else str(word.head)
    note = f"Prob={min(carry.probability, 1.0):.4f}"
    misc = note if misc == "_" else f"{misc}|{note}"
    return (number, form, lemma, word.tag, xpos, word.features, head, word.relation, "_", misc)


def _item(carry: Carry, source: tuple[str, ...]) -> Item:
    """A word without a counterpart has its tag and its head from repairs: it was not projected."""
    label = carry.word.tag
    if carry.source is not None:
        return Item(label, source[carry.source], carry.word.form, carry.probability)
    why = "no counterpart" if carry.probability < LINKED else "its counterpart has another tag"
    return Item(label, "", None, carry.probability, f"{why}: {carry.word.form}")


def _record(line: int, rows: _Rows) -> Record:
    tokens = [word.form for word in rows.words]
    return Record(Sentence(tokens, " ".join(tokens)), line, (), rows)


def _sentences(file: LineFile) -> Iterator[tuple[int, tuple[str, ...], list[tuple[int, tuple[str, ...]]]]]:
    """Part the lines at blank ones: number of the first line, comments, numbered rows without empty nodes."""
    comments: list[str] = []
    rows: list[tuple[int, tuple[str, ...]]] = []
    words = 0
    number = 0
    for number, line in enumerate(file.lines(), 1):
        if not line.strip():
            if comments or rows:
                yield number - len(comments) - len(rows), tuple(comments), rows
            comments, rows, words = [], [], 0
        elif line.startswith("#"):
            comments.append(line)
        else:
            row = tuple(line.split("\t"))
            words += _check_row(row, words, file.name, number)
            if not _EMPTY.fullmatch(row[0]):
                rows.append((number, row))
    if comments or rows:
        yield number + 1 - len(comments) - len(rows), tuple(comments), rows


def _check_row(row: tuple[str, ...], words: int, file: str, line: int) -> bool:
    """Refuse a row that is not of the format; tell whether it is a word."""
    if len(row) != _COLUMNS:
        message = f"expected {_COLUMNS} columns parted by tabs, got {len(row)}"
        raise InputError(message, file=file, line=line)
    if row[0] == str(words + 1):
        if not row[1]:
            raise InputError("a word without a form", file=file, line=line)
        return True
    if not _RANGE.fullmatch(row[0]) and not _EMPTY.fullmatch(row[0]):
        raise InputError(f"expected the ID {words + 1}, got {row[0]!r}", file=file, line=line)
    return False


def _word(row: tuple[str, ...], line: int, file: str) -> Word:
    head = row[6]
    if head != "_" and not (head.isascii() and head.isdecimal()):
        raise InputError(f"HEAD must be a number or _, got {head!r}", file=file, line=line)
    return Word(row[1], row[3], row[5], None if head == "_" else int(head), row[7])


def _check_heads(words: Sequence[Word], lines: Sequence[int], file: str) -> None:
    """Refuse heads outside the sentence, and sentences of which only a part is a tree."""
    has_tree = any(word.head is not None for word in words)
    for word, line in zip(words, lines, strict=True):
        if word.head is None and has_tree:
            raise InputError(f"{word.form!r} has no head, but others have", file=file, line=line)
        if word.head is not None and word.head > len(words):
            message = f"{word.form!r} has the head {word.head}, but the sentence has {len(words)} words"
            raise InputError(message, file=file, line=line)
