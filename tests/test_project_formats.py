"""Formats of annotation: what is read is written again, and any markup stays well-formed."""

from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft.corpus.project.conll import SCHEMES, scheme_of, spans_of, tags_of
from bitweft.corpus.project.formats import format_of, new_format
from bitweft.corpus.project.inline import parse
from bitweft.corpus.project.job import Files, Summary, write_projection
from bitweft.corpus.project.markup import Markup, cut_words
from bitweft.corpus.project.records import Record, Span, Weights
from bitweft.corpus.project.rules import Rules
from bitweft.errors import InputError, UsageError
from bitweft.text.bitext import Sentence
from bitweft.text.lines import LineFile
from bitweft.text.tokenize import by_space, by_word


def carry(
    directory: Path, name: str, source: str, target: str | None, links: str = "", *, lines: bool = False
) -> tuple[str, list[dict[str, object]], Summary]:
    """Project a text of a format; `links` of each sentence are parted by `;`, the diagonal by default."""
    format = new_format(name)
    (directory / "in").write_text(source, encoding="utf-8")
    (directory / "to").write_text(source if target is None else target, encoding="utf-8")
    cut = by_word if format.raw else by_space
    files = Files(format, LineFile(directory / "in"), LineFile(directory / "to"), cut, lines)
    given = links.split(";") if links else None

    def weights() -> Iterator[Weights]:
        for number, (s, t) in enumerate(files):
            matrix = np.eye(len(s.sentence), len(t.sentence))
            if given is not None:
                matrix[:] = 0
                for link in given[number].split():
                    matrix[tuple(map(int, link.split("-")))] = 1
            yield matrix

    stream, report = io.StringIO(), io.StringIO()
    *_, summary = write_projection(files, weights, Rules(), stream, report)
    return stream.getvalue(), [json.loads(line) for line in report.getvalue().splitlines()], summary


labels = st.sampled_from(["PER", "LOC", "a-b"])


@st.composite
def spans(draw: st.DrawFn) -> tuple[list[Span], int]:
    length = draw(st.integers(0, 12))
    cuts = sorted(draw(st.sets(st.integers(0, length), max_size=8)))
    found = [Span(a, b, draw(labels)) for a, b in itertools.pairwise(cuts) if draw(st.booleans())]
    return found, length


@given(spans(), st.sampled_from(SCHEMES))
def test_tags_of_every_scheme_are_read_again(drawn: tuple[list[Span], int], scheme: str) -> None:
    found, length = drawn
    tags = tags_of(found, length, scheme)
    assert len(tags) == length
    assert list(spans_of(tags)) == found


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        ("I-A I-A B-A O", "iob1"),
        ("B-A I-A B-A O", "iob2"),
        ("B-A L-A U-A O", "bilou"),
        ("B-A E-A S-A O", "bioes"),
    ],
)
def test_the_scheme_is_told_and_means_the_same(tags: str, scheme: str) -> None:
    words = tags.split()
    assert scheme_of([words]) == scheme
    assert spans_of(words) == (Span(0, 2, "A"), Span(2, 3, "A"))
    assert tags_of(spans_of(words), 4, scheme) == words


CONLL = "-DOCSTART- -X- O\n\nRome NNP B-LOC\nis VBZ O\n\nNew NNP B-LOC\nYork NNP I-LOC\n\n"
JSONL = (
    '{"id": 7, "text": "Rome  is old.", "spans": [{"start": 0, "end": 4, "label": "LOC", "by": "hand"}]}\n'
)
CONLLU = """\
# sent_id = 1
1-2	della	_	_	_	_	_	_	_	_
1	di	di	ADP	E	_	3	case	_	_
2	la	il	DET	RD	Definite=Def	3	det	_	_
3	casa	casa	NOUN	S	Gender=Fem	0	root	_	SpaceAfter=No

"""


def test_conll_is_written_as_it_was_read(tmp_path: Path) -> None:
    text, _, summary = carry(tmp_path, "conll", CONLL, None)
    assert text == CONLL
    assert (summary.sentences, summary.projected, summary.lost) == (2, 2, 0)


def test_conll_goes_onto_plain_text(tmp_path: Path) -> None:
    source = "in O\nNew B-LOC\nYork I-LOC\n\nMax B-PER\n"
    text, report, summary = carry(tmp_path, "conll", source, "a Nuova York\n\n", "0-0 1-1 2-2;", lines=True)
    assert text == "a O\nNuova B-LOC\nYork I-LOC\n\n\n"
    assert (summary.sentences, summary.projected, summary.lost) == (2, 1, 1)
    assert report[1] == {
        "sentence": 2,
        "label": "PER",
        "source": "Max",
        "target": None,
        "probability": 0.0,
        "reason": "no counterpart",
    }


def test_jsonl_keeps_what_it_was_given(tmp_path: Path) -> None:
    text, _, _ = carry(tmp_path, "jsonl", JSONL, None)
    found = json.loads(text)
    assert found["spans"] == [{"start": 0, "end": 4, "label": "LOC", "by": "hand", "probability": 1.0}]
    assert (found["text"], found["id"]) == ("Rome  is old.", 7)


def test_jsonl_with_lists_has_lists(tmp_path: Path) -> None:
    source = '{"text": "the old Rome", "label": [[4, 12, "LOC"]]}\n'
    text, _, _ = carry(tmp_path, "jsonl", source, "  l’antica  Roma\n", "1-0 2-1", lines=True)
    assert json.loads(text) == {
        "text": "  l’antica  Roma",
        "label": [[2, 16, "LOC"]],
        "probabilities": [1.0],
    }


def test_conllu_is_written_as_it_was_read(tmp_path: Path) -> None:
    text, _, summary = carry(tmp_path, "conllu", CONLLU, None)
    assert re.sub(r"\|?Prob=1\.0000", "", text).replace("\t\n", "\t_\n") == CONLLU
    assert (summary.projected, summary.lost) == (3, 0)


def test_a_word_without_a_counterpart_gets_a_place_in_the_tree(tmp_path: Path) -> None:
    text, report, _ = carry(tmp_path, "conllu", CONLLU, "di la casa nuova\n", "0-0 1-1 2-2", lines=True)
    rows = [line.split("\t") for line in text.splitlines() if line[:1].isdecimal()]
    assert [row[6] for row in rows[:3]] == ["3", "3", "0"]
    assert 1 <= int(rows[3][6]) <= 3
    assert report[3]["target"] is None and report[3]["reason"] == "no counterpart: nuova"


BRAT = "T1\tLOC 0 4\tRome\nT2\tPER 12 15\tMax\nT3\tORG 16 18;22 24\tOf at\nR1\tIn Arg1:T2 Arg2:T1\n"


def brat(directory: Path, text: str, annotation: str) -> Files:
    (directory / "doc.txt").write_text(text, encoding="utf-8")
    (directory / "doc.ann").write_text(annotation, encoding="utf-8")
    files = LineFile(directory / "doc.ann"), LineFile(directory / "doc.txt")
    return Files(new_format("brat"), *files, by_word, True)


def test_brat_is_written_as_it_was_read(tmp_path: Path) -> None:
    files = brat(tmp_path, "Rome is old\nMax Of an at\n", BRAT)
    stream = io.StringIO()
    list(write_projection(files, lambda: (np.eye(len(s.sentence)) for s, _ in files), Rules(), stream))
    assert stream.getvalue() == BRAT


def test_brat_says_which_relation_lost_its_names(tmp_path: Path) -> None:
    files = brat(tmp_path, "Rome is old\nMax Of an at\n", BRAT)
    stream, report = io.StringIO(), io.StringIO()
    *_, summary = write_projection(
        files, lambda: (np.eye(len(s.sentence)) * (s.line == 1) for s, _ in files), Rules(), stream, report
    )
    assert stream.getvalue() == "T1\tLOC 0 4\tRome\n"
    assert (summary.projected, summary.lost) == (1, 4)
    assert "refers to what was not projected" in report.getvalue().splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("conll", "a O\nb\n", 2, "expected a word and a tag"),
        ("conll", "a O\n\nb X-LOC\n", 3, "is no tag"),
        ("conllu", "1\ta\n", 1, "expected 10 columns"),
        ("conllu", CONLLU.replace("3\tcasa", "4\tcasa"), 5, "expected the ID 3, got '4'"),
        ("conllu", CONLLU.replace("3\tdet", "9\tdet"), 4, "has the head 9, but the sentence has 3 words"),
        ("conllu", CONLLU.replace("3\tdet", "x\tdet"), 4, "HEAD must be a number"),
        ("jsonl", '{"text": "a"}\n{"text": 1}\n', 2, 'expected an object with a "text"'),
        ("jsonl", '{"text": "a", "spans": [[0, 2, "X"]]}\n', 1, "outside the text of 1 characters"),
        ("jsonl", '{"text": "a", "spans": [[0, 1]]}\n', 1, "expected a span"),
        ("jsonl", '{"text": "a", "spans": [[true, 1, "X"]]}\n', 1, "two integers and a label"),
        ("jsonl", "{\n", 1, "not JSON"),
        ("markup", "a\n<b>a\n", 2, "<b> is never closed"),
        ("markup", "a</i>\n", 1, "</i> closes nothing that is open"),
        ("markup", "<b>" * 200 + "\n", 1, "more than 100 elements"),
    ],
)
def test_a_fault_is_told_with_its_line(tmp_path: Path, name: str, text: str, line: int, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as fault:
        carry(tmp_path, name, text, None)
    assert (fault.value.file, fault.value.line) == (str(tmp_path / "in"), line)


@pytest.mark.parametrize(
    ("annotation", "line", "message"),
    [
        ("T1\tLOC 0 4\tRoma\n", 1, "says 'Roma', but the text has 'Rome'"),
        ("T1\tLOC 0 4\tRome\nT1\tLOC 0 4\tRome\n", 2, "T1 is there twice"),
        ("R1\tIn Arg1:T2 Arg2:T1\n", 1, "T2 is not in the file"),
        ("T1\tLOC 8 15\told\nMax\n", 1, "must not go beyond one sentence"),
        ("nonsense\n", 1, "not a line of brat's"),
    ],
)
def test_a_fault_of_brat_is_told(tmp_path: Path, annotation: str, line: int, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as fault:
        list(brat(tmp_path, "Rome is old\nMax\n", annotation))
    assert fault.value.line == line


def test_endings_tell_formats() -> None:
    assert [format_of(name) for name in ("a.conllu", "b.JSONL", "c.conll.gz", "d.txt", "-")] == [
        "conllu",
        "jsonl",
        "conll",
        None,
        None,
    ]
    with pytest.raises(UsageError, match="--scheme is for the format conll"):
        new_format("brat", scheme="iob1")


# Markup


def tagged(source: str, target: str, links: str) -> str:
    text, root = parse(source)
    sentence, other = Sentence(cut_words(text, root, by_word), text), Sentence(by_word(target), target)
    weights = np.zeros((len(sentence), len(other)))
    for link in links.split():
        weights[tuple(map(int, link.split("-")))] = 1
    records = Record(sentence, 1, (), root), Record(other, 1)
    return Markup().carry(*records, weights, Rules()).text.removesuffix("\n")


@pytest.mark.parametrize(
    ("source", "target", "links", "result"),
    [
        ("the <b>white house</b>", "la casa bianca", "0-0 1-2 2-1", "la <b>casa bianca</b>"),
        ("the <b>white <i>house</i></b>", "la casa bianca", "0-0 1-2 2-1", "la <b><i>casa</i> bianca</b>"),
        ("<p>all of it.</p>", "Tutto .", "0-0", "<p>Tutto .</p>"),
        ("one<br/>two", "uno due", "0-0 1-1", "uno<br/> due"),
        ("Hello {0} !", "Ciao !", "0-0 4-1", "Ciao {0} !"),
        ("<b>{0}</b> files", "file: {0}", "", "file: <b>{0}</b>"),
        ("a <b>b</b> c", "x  z", "0-0 2-1", "x <b></b> z"),
        ("<b>a <i>b</b> c</i>", "x y z", "0-0 1-1 2-2", "<b>x <i>y</i></b><i> z</i>"),
        ("a &amp; <img src='x>y'> b", "x &amp; y", "0-0 1-1 2-2 3-3 4-4", "x &amp; <img src='x>y'>y"),
        ("1 < 2", "1 < 2", "", "1 < 2"),
    ],
)
def test_tags_go_where_their_words_went(source: str, target: str, links: str, result: str) -> None:
    assert tagged(source, target, links) == result


def test_tags_between_all_words_take_no_time() -> None:
    many = 2000  # each tag looked at the links of all words
    links = " ".join(f"{n}-{n}" for n in range(many + 1))
    assert tagged("a" + "<br/>a" * many, "x" + " x" * many, links) == "x" + "<br/> x" * many


def test_what_is_written_for_many_pairs_of_one_word_can_be_read_again() -> None:
    result = tagged("<b>a</b>" * 150, "x", "0-0")
    assert parse(result)[0] == "x" and result.count("<b>") == 150 and is_well_formed(result)


pieces = st.sampled_from(
    ["a", "bb ", " c", "  ", ".", "<b>", "</b>", "<i x='>'>", "</i>", "<br/>", "{0}", "%s "]
)
texts = st.lists(st.sampled_from(["x", "yy ", " z", "  ", ".", "{0}"]), max_size=8).map("".join)


def is_well_formed(line: str) -> bool:
    """Check nesting by a stack, without the parser under test."""
    open_tags: list[str] = []
    for end, name, rest in re.findall(r"<(/?)(\w+)((?:[^<>']|'[^']*')*)>", line):
        if end:
            if not open_tags or open_tags.pop() != name:
                return False
        elif not rest.endswith("/"):
            open_tags.append(name)
    return not open_tags


@given(st.lists(pieces, max_size=12).map("".join), texts, st.data())
def test_any_markup_comes_out_well_formed_and_whole(source: str, target: str, data: st.DataObject) -> None:
    try:
        text, root = parse(source)
    except InputError:
        return
    words, others = len(cut_words(text, root, by_word)), len(by_word(target))
    number = st.integers(0, max(words, others))
    links = data.draw(st.lists(st.tuples(number, number), max_size=8))
    kept = " ".join(f"{s}-{t}" for s, t in links if s < words and t < others)
    result = tagged(source, target, kept)
    assert is_well_formed(result)
    bare, _ = parse(result)
    missing = [mark for mark in ("{0}", "%s ") if source.count(mark) > target.count(mark)]
    if not missing:
        assert bare == target, "words or spaces changed"
    for tag in ("<b>", "</b>", "<i x='>'>", "</i>", "<br/>"):
        assert result.count(tag) >= source.count(tag)  # more where elements cross
    assert result.count("<br/>") == source.count("<br/>")
    for mark in ("{0}", "%s "):
        mark = mark.strip()
        assert result.count(mark) == max(source.count(mark), target.count(mark))


@given(st.lists(pieces, max_size=12).map("".join))
def test_markup_on_its_own_text_has_every_word_in_place(source: str) -> None:
    try:
        text, root = parse(source)
    except InputError:
        return
    words = len(cut_words(text, root, by_word))
    if by_word(text) == cut_words(text, root, by_word):
        result = tagged(source, text, " ".join(f"{n}-{n}" for n in range(words)))
        assert parse(result)[0] == text


def test_a_pair_too_long_for_a_matrix_is_refused_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"in:2: sentences of 60,000 and 60,000 words: split them"):
        carry(tmp_path, "markup", "a\n" + "b " * 60_000 + "\n", None, lines=True)
