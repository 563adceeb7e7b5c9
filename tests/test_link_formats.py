"""Formats of links: what is written is what is read, and faults are named by line."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Alignment, Entry, GoldAlignment
from bitweft.links.formats.registry import (
    LINK_FORMATS,
    detect_link_format,
    read_alignments,
    read_entries,
    read_gold,
    write_alignments,
    write_entries,
    write_gold,
)
from bitweft.links.table import LinkTable
from bitweft.text.bitext import Bitext, SentencePair, tokenize
from bitweft.text.lines import LineFile

INDEX = st.integers(0, 40)
LINKS = st.frozensets(st.tuples(INDEX, INDEX), max_size=6)
PROBABILITY = st.floats(0, 1).map(lambda p: round(p, 8))
WORDS = st.lists(st.sampled_from(["a", "({", "})", "NULL", "12", "é", "x\u00a0y"]), max_size=6)


@st.composite
def alignments(draw: st.DrawFn, scored: bool | None = None) -> Alignment:
    links = sorted(draw(LINKS))
    if not (draw(st.booleans()) if scored is None else scored):
        return Alignment.of(links)
    return Alignment.of(links, draw(st.lists(PROBABILITY, min_size=len(links), max_size=len(links))))


@st.composite
def golds(draw: st.DrawFn) -> GoldAlignment:
    return GoldAlignment.of(draw(LINKS), draw(LINKS))


@st.composite
def linked_pairs(draw: st.DrawFn) -> Entry:
    source, target = draw(WORDS), draw(WORDS)
    pair = SentencePair(tokenize(" ".join(source)), tokenize(" ".join(target)))
    places = [(s, t) for s in range(len(source)) for t in range(len(target))]
    links = draw(st.frozensets(st.sampled_from(places))) if places else frozenset()
    return Entry(Alignment.of(links), pair=pair)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("link_formats") / "links"


def put(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8", newline="\n")
    return file


def written(write: Callable[[io.StringIO], int], count: int) -> str:
    stream = io.StringIO()
    assert write(stream) == count
    return stream.getvalue()


@pytest.mark.parametrize("link_format", sorted(set(LINK_FORMATS) - {"giza", "scored", "naacl", "jsonl"}))
@settings(max_examples=30)
@given(expected=st.lists(alignments(scored=False), max_size=4))
def test_links_come_back(file: Path, link_format: str, expected: list[Alignment]) -> None:
    put(file, written(lambda stream: write_alignments(stream, expected, link_format), len(expected)))
    assert list(read_alignments(file, link_format)) == expected


@pytest.mark.parametrize("link_format", ["scored", "naacl", "jsonl"])
@settings(max_examples=30)
@given(expected=st.lists(alignments(), max_size=4))
def test_probabilities_come_back(file: Path, link_format: str, expected: list[Alignment]) -> None:
    put(file, written(lambda stream: write_alignments(stream, expected, link_format), len(expected)))
    assert list(read_alignments(file, link_format, sentences=len(expected))) == expected


@pytest.mark.parametrize(
    "link_format", sorted(name for name in LINK_FORMATS if LINK_FORMATS[name].holds_possible)
)
@settings(max_examples=30)
@given(expected=st.lists(golds(), max_size=4))
def test_gold_comes_back(file: Path, link_format: str, expected: list[GoldAlignment]) -> None:
    put(file, written(lambda stream: write_gold(stream, expected, link_format), len(expected)))
    assert list(read_gold(file, link_format, sentences=len(expected))) == expected


@pytest.mark.parametrize("link_format", ["giza", "jsonl"])
@settings(max_examples=30)
@given(expected=st.lists(linked_pairs(), max_size=4))
def test_words_come_back_with_the_links(file: Path, link_format: str, expected: list[Entry]) -> None:
    put(file, written(lambda stream: write_entries(stream, expected, link_format), len(expected)))
    found = [replace(entry, name=None, score=None) for entry in read_entries(file, link_format)]
    assert found == expected
    assert [entry.name for entry in read_entries(file)] == [str(n + 1) for n in range(len(expected))]


@settings(max_examples=30)
@given(expected=st.lists(golds(), max_size=4))
def test_a_detected_format_is_the_right_one(file: Path, expected: list[GoldAlignment]) -> None:
    certain = GoldAlignment.of([(0, 0)], [(0, 1)])
    for link_format in ("possible", "possible-p", "naacl", "jsonl"):
        stream = io.StringIO()
        write_gold(stream, [certain, *expected], link_format)
        put(file, stream.getvalue())
        assert list(read_gold(file, sentences=len(expected) + 1)) == [certain, *expected]


@pytest.mark.parametrize(
    ("link_format", "text", "sure", "possible"),
    [
        ("pharaoh", "1-2 0-0 0-0\n", {(0, 0), (1, 2)}, set()),
        ("possible", "0-0 1?2 3p4\n", {(0, 0)}, {(1, 2), (3, 4)}),
        ("possible", "1?2 1-2\n", {(1, 2)}, set()),
        ("talp", "1-1 2p3\n", {(0, 0)}, {(1, 2)}),
        ("scored", "0-0:0.5 NULL-3:1 2-NULL:0.2 1-2:0.5:0.25\n", {(0, 0), (1, 2)}, set()),
        ("scored", "0-0 NULL-3\n", {(0, 0)}, set()),
        ("naacl", "0001 1 1 S\n0001 02 3 P\n1 0 4\n1 5 5\n", {(0, 0), (4, 4)}, {(1, 2)}),
        ("naacl", "1 1 1 P\n1 1 1 S 0.5\n", {(0, 0)}, set()),
        (
            "giza",
            "# Sentence pair (1) source length 2 target length 3 alignment score : 5.75958e-25\n"
            "x y z \nNULL ({ 3 }) word1 ({ 1 2 }) word2 ({ }) \n",
            {(0, 0), (0, 1)},
            set(),
        ),
        ("jsonl", '{"links": [[0, 1, 0.5]], "possible": [[2, 2, 0.1]]}\n', {(0, 1)}, {(2, 2)}),
    ],
)
def test_golden_examples(
    file: Path, link_format: str, text: str, sure: set[tuple[int, int]], possible: set[tuple[int, int]]
) -> None:
    assert list(read_gold(put(file, text), link_format)) == [GoldAlignment.of(sure, possible)]


def test_scores_are_kept_to_eight_decimals(file: Path) -> None:
    text = "0-0:0.5 1-2:0.12345679 2-2:1 3-3:0\n"
    found = list(read_alignments(put(file, text), "scored"))
    assert found[0].probabilities == (0.5, 0.12345679, 1.0, 0.0)
    assert written(lambda stream: write_alignments(stream, found, "scored"), 1) == text
    (two,) = read_alignments(put(file, "0-0:0.5:0.25\n"))
    assert two.probabilities == (0.5,)


def test_naacl_keeps_sentences_without_links(file: Path) -> None:
    put(file, "2 1 1\n5 1 1\n5 2 2 P 0.5\n")
    found = list(read_entries(file, sentences=6))
    assert [len(entry.alignment) for entry in found] == [0, 1, 0, 0, 2, 0]
    assert [entry.name for entry in found] == list("123456")
    assert found[4].alignment.probabilities == (1.0, 0.5)
    assert len(list(read_entries(file))) == 5
    text = Bitext.of([("a b", "c d")] * 6)
    assert [len(links) for links in read_alignments(file, text=text)] == [0, 1, 0, 0, 2, 0]


def test_giza_keeps_pairs_that_were_skipped(file: Path) -> None:
    header = "# Sentence pair ({}) source length 1 target length 1 alignment score : 0.5\n"
    put(file, "".join(header.format(n) + "x\nNULL ({ }) a ({ 1 })\n" for n in (2, 3)))
    found = list(read_entries(file, sentences=4))
    assert [str(entry.alignment) for entry in found] == ["", "0-0", "0-0", ""]
    assert [entry.score for entry in found] == [None, 0.5, 0.5, None]


def test_giza_is_written_as_giza_writes_it() -> None:
    pair = SentencePair(tokenize("the house"), tokenize("la maison bleue"))
    text = written(
        lambda stream: write_alignments(stream, [Alignment.of([(0, 0), (1, 1)])], "giza", text=[pair]), 1
    )
    assert text == (
        "# Sentence pair (1) source length 2 target length 3 alignment score : 0\n"
        "la maison bleue\nNULL ({ 3 }) the ({ 1 }) house ({ 2 })\n"
    )


GIZA = "# Sentence pair (1) source length 1 target length 1 alignment score : 1\n"


@pytest.mark.parametrize(
    ("link_format", "text", "message"),
    [
        ("pharaoh", "0-0\n0_1\n", ":2: '0_1' is not a link like 0-0"),
        ("pharaoh", "0-0\n0?1\n", ":2: '0.1' is not a link"),
        ("pharaoh", "0-0:0.5\n", ":1: '0-0:0.5' is not a link"),
        ("pharaoh", "0-\u0661\n", ":1: .* is not a link"),
        ("pharaoh", "-1-0\n", ":1: .* is not a link"),
        ("possible", "0-0:0.5\n", ":1: .* is not a link"),
        ("possible", "NULL-1\n", ":1: .* is not a link"),
        ("talp", "1-1\n1-0\n", ":2: '1-0' has the index 0"),
        ("scored", "0-0:0.5 1-1\n", ":1: some links have a score"),
        ("scored", "0-0:0.5:0.5:0.5\n", ":1: .* is not a link"),
        ("scored", "0-0:e\n", ":1: could not convert"),
        ("naacl", "1 1 1\n1 1\n", ":2: '1 1' is not `sentence"),
        ("naacl", "1 1 x\n", ":1: .* is not `sentence"),
        ("naacl", "1 1 1 Q\n", ":1: 'Q' is neither S"),
        ("naacl", "1 1 1 0.5 S\n", ":1: '0.5' is neither S"),
        ("naacl", "2 1 1\n1 1 1\n", ":2: sentence 1 after 2: sort"),
        ("naacl", "0 1 1\n", ":1: sentence 0"),
        ("naacl", "999999999 1 1\n", ":1: sentence 999999999 after 0"),
        ("giza", "0-0\n", ":1: not `# Sentence pair"),
        ("giza", GIZA + "x\n", ":1: the file ends inside"),
        ("giza", GIZA + "x\nNULL ({ }) a ({ 2 })\n", ":3: position 2 is not in"),
        ("giza", GIZA + "x\nNULL ({ }) a ({ 0 })\n", ":3: position 0 is not in"),
        ("giza", GIZA + "x\nNULL ({ }) a ({ 1\n", r":3: no `}\)` after"),
        ("giza", GIZA + "x\nNULL ({ }) a\n", r":3: no `\({` after"),
        ("giza", GIZA + "x\nNULL ({ y }) a ({ })\n", ":3: 'y' is not a position"),
        ("giza", GIZA + "x\na ({ 1 })\n", ":3: the source words must begin with NULL"),
        ("giza", GIZA + "x y\nNULL ({ }) a ({ })\n", ":3: lengths"),
        ("giza", 2 * (GIZA + "x\nNULL ({ }) a ({ })\n"), ":4: pair 1 after 1"),
        ("jsonl", "{\n", ":1: not JSON"),
        ("jsonl", "[]\n", ":1: not an object with"),
        ("jsonl", '{"links": [[0, -1]]}\n', ":1: .*must hold"),
        ("jsonl", '{"links": [[0, true]]}\n', ":1: .*must hold"),
        ("jsonl", '{"links": 5}\n', ":1: .*must hold"),
        ("jsonl", '{"links": [[0, 0, 1], [1, 1]]}\n', ":1: some links have a probability"),
        ("jsonl", '{"links": [], "score": "x"}\n', ':1: "score" is'),
        ("jsonl", '{"links": [], "src": 1, "tgt": ""}\n', ':1: "src" must be a text'),
        ("jsonl", '{"links": [], "src": "a", "tgt": "", "src_spans": [[0, 2]]}\n', ":1: .*not in order"),
        ("jsonl", '{"links": [], "src": "a", "tgt": "", "src_spans": [0]}\n', r":1: .*must hold \[start"),
    ],
)
def test_faults_are_named_by_line(file: Path, link_format: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_entries(put(file, text), link_format))


GARBAGE = st.lists(
    st.one_of(
        st.sampled_from(
            ["0-0", "1?2", "1 1 1 S", GIZA, "NULL ({ 1 }) a ({ })", "x", '{"links": [[0, 0]]}', "\n", " "]
        ),
        st.sampled_from(
            ["1" * 5000, "[" * 100_000, '{"links": [[0, 0, 1' + "0" * 400 + "]]}", "²", "1-²", '"\\ud800"']
        ),
        st.text(max_size=5),
    ),
    max_size=8,
).map("".join)


@pytest.mark.parametrize("link_format", [None, *LINK_FORMATS])
@settings(max_examples=50)
@given(text=GARBAGE)
def test_garbage_is_refused_and_nothing_else(file: Path, link_format: str | None, text: str) -> None:
    file.write_bytes(text.encode())
    try:
        for entry in read_entries(file, link_format):
            assert entry.unsure <= set(entry.alignment.links)
    except InputError as error:
        assert str(file) in str(error)


def test_links_of_other_spans_are_read_with_their_tokens(file: Path) -> None:
    put(file, '{"links": [], "src": "ab c", "tgt": "d", "src_spans": [[0, 1], [1, 2], [3, 4]]}\n')
    (entry,) = read_entries(file)
    assert entry.pair is not None
    assert entry.pair.source.tokens == ("a", "b", "c")
    assert entry.pair.target.tokens == ("d",)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", "pharaoh"),
        ("\n\n", "pharaoh"),
        ("1-2 3-0\n", "pharaoh"),
        ("\n0-0 1?1\n", "possible"),
        ("0p0\n", "possible"),
        ("0-0:0.5\n", "scored"),
        ("NULL-0\n", "scored"),
        ("1 1 1\n1 2 2 S\n", "naacl"),
        (GIZA, "giza"),
        ('{"links": []}\n', "jsonl"),
    ],
)
def test_what_is_certain_is_detected(file: Path, text: str, name: str) -> None:
    assert detect_link_format(LineFile(put(file, text))) == name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1-1 2-2\n", "no link has the index 0: name the format pharaoh"),
        ("10-1 20-10\n", "no link has the index 0"),
        ("1-1 2p2\n", "no link has the index 0: name the format possible"),
        ("0-0 1-1\n0-0 x\n", ":2: 'x' is of no known format"),
        ("0?0 1-1:0.5\n", "possible links and scores"),
    ],
)
def test_what_is_not_certain_must_be_named(file: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_alignments(put(file, text)))


def test_the_base_of_indices_can_be_named(file: Path) -> None:
    put(file, "1-1 2-2\n")
    assert [str(links) for links in read_alignments(file, one_based=True)] == ["0-0 1-1"]
    assert [str(links) for links in read_alignments(file, one_based=False)] == ["1-1 2-2"]
    assert [str(links) for links in read_alignments(file, "talp")] == ["0-0 1-1"]
    assert [str(links) for links in read_alignments(file, "talp", one_based=False)] == ["1-1 2-2"]
    with pytest.raises(UsageError, match="naacl begin at 1, always"):
        list(read_alignments(file, "naacl", one_based=False))
    with pytest.raises(UsageError, match="format of links must be one of"):
        list(read_alignments(file, "moses"))


def test_links_outside_the_text_are_caught(file: Path) -> None:
    text = Bitext.of([("a b", "c d")] * 2)
    put(file, "0-0\n1-2\n")
    with pytest.raises(
        InputError, match=r"links:2: link 1-2 .* outside a pair of 2 and 2 words; .*one-based"
    ):
        list(read_alignments(file, text=text))
    put(file, "1 1 1\n2 3 1\n")
    with pytest.raises(InputError, match=r"links: pair 2: link 2-0"):
        list(read_alignments(file, text=text))
    put(file, "3 1 1\n")
    with pytest.raises(InputError, match=r"links:1: links of sentence 3, but the text has 2"):
        list(read_alignments(file, text=text))


@pytest.mark.parametrize("count", [1, 4])
def test_there_must_be_as_many_links_as_pairs(file: Path, count: int) -> None:
    with pytest.raises(InputError, match=f"links of {count} pairs, but the text has 2"):
        list(read_alignments(put(file, "0-0\n" * count), text=Bitext.of([("a", "b")] * 2)))


def test_possible_links_are_not_lost_unsaid() -> None:
    with pytest.raises(UsageError, match="pair 1 has possible links"):
        write_gold(io.StringIO(), [GoldAlignment.of([], [(0, 0)])], "pharaoh")
    with pytest.raises(UsageError, match="--source and --target"):
        write_alignments(io.StringIO(), [Alignment()], "giza")


def test_published_counts_of_the_hansards() -> None:
    data = Path(os.environ.get("WEFT_DATA", Path(__file__).parents[2] / "shared" / "data")) / "en-fr"
    if not data.is_dir():
        pytest.skip("no data: set WEFT_DATA")
    text = Bitext(data / "test.en", data / "test.fr")
    gold = list(read_gold(data / "test.gold", text=text))
    assert len(gold) == 447
    assert sum(len(links.sure) for links in gold) == 4038
    assert sum(len(links.possible - links.sure) for links in gold) == 13400


@given(st.lists(alignments()))
def test_tables_of_links_are_written_as_their_alignments(found: list[Alignment]) -> None:
    table = LinkTable.of(found)
    write = LINK_FORMATS["pharaoh"].write_table
    assert write is not None
    assert write(table) == "".join(f"{alignment}\n" for alignment in found)
    assert [own.links for own in table.alignments()] == [own.links for own in found]
    half = len(found) // 2
    assert write(table.first(half)) == "".join(f"{alignment}\n" for alignment in found[:half])


def test_tables_keep_probabilities_and_take_pairs_without_links_in_between() -> None:
    table = LinkTable.of([Alignment.of([(0, 1), (70_000, 2)]), Alignment(), Alignment.of([(3, 3)])])
    scored = table._replace(probabilities=np.array([0.5, 0.25, 1.0], np.float32))
    assert scored.alignments()[0] == Alignment.of([(0, 1), (70_000, 2)], [0.5, 0.25])
    wider = scored.with_empty([True, False, False, True, False])
    assert [str(own) for own in wider.alignments()] == ["", "0-1 70000-2", "", "", "3-3"]
    assert LinkTable.of([]).with_empty([True, True]).offsets.tolist() == [0, 0, 0]
