"""Parallel text: every line a pair, files walked twice, faults named by file and line."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft.errors import InputError, MissingExtraError, UsageError
from bitweft.text.bitext import Bitext, Sentence, SentencePair, tokenize
from bitweft.text.tokenize import TOKENIZERS

LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"))
ANY_LINE = st.one_of(LINE, st.text("ab1. '’-_,\t\u00a0\u200b\u200d\u0301👩💻🇫🇷東กำक्ि"))


def texts(bitext: Bitext) -> list[tuple[str, str]]:
    return [(pair.source.text, pair.target.text) for pair in bitext]


def tokens(bitext: Bitext) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(pair.source.tokens, pair.target.tokens) for pair in bitext]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], str]:
    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return str(path)

    return write


Write = Callable[[str, str], str]


@pytest.mark.parametrize("how", TOKENIZERS)
@given(text=ANY_LINE)
def test_spans_cut_the_tokens_out_of_the_text(how: str, text: str) -> None:
    sentence = tokenize(text, how)
    assert tuple(text[start:end] for start, end in sentence.spans) == sentence.tokens
    assert all(sentence.tokens)
    assert len(sentence) == len(sentence.spans)


@given(text=ANY_LINE)
def test_words_and_characters_leave_out_nothing_but_white_space(text: str) -> None:
    bare = re.sub(r"[\s\u200b]", "", text)
    assert "".join(tokenize(text, "unicode").tokens) == bare
    assert "".join(tokenize(text, "char").tokens) == bare


@given(text=st.one_of(st.text(st.characters(max_codepoint=127)), st.text("aB1.,;:'_ -")))
def test_words_of_ascii_are_words_of_unicode(text: str) -> None:
    assert tokenize(text + " é", "unicode").tokens == (*tokenize(text, "unicode").tokens, "é")


@given(text=ANY_LINE)
def test_spaces_and_tabs_alone_part_words(text: str) -> None:
    assert tokenize(text).tokens == tuple(token for token in re.split("[ \t]", text) if token)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop, l’homme!", "Don't|stop|,|l’homme|!"),
        ("an e-mail of 3,5 kg (1.000.000).", "an|e|-|mail|of|3,5|kg|(|1.000.000|)|."),
        ("m² a_b x1 …", "m²|a_b|x1|…"),
        ("e.g. 5. a.1", "e.g|.|5|.|a|.|1"),
        ("हिन्दी में", "हिन्दी|में"),
        ("東京タワー ひと", "東|京|タワー|ひ|と"),
        ("ไทย", "ไ|ท|ย"),
        ("한국어 말", "한국어|말"),
        ("👩‍💻👍🏽🇫🇷🇩🇪 ❤️", "👩‍💻|👍🏽|🇫🇷|🇩🇪|❤️"),
        ("cafe\u0301 na\u00efve co\u00adop", "cafe\u0301|na\u00efve|co\u00adop"),
        ("\u00a0a\u00a0b\u3000", "a|b"),
    ],
)
def test_unicode_words(text: str, expected: str) -> None:
    assert "|".join(tokenize(text, "unicode").tokens) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我 愛你。", "我|愛|你|。"),
        ("e\u0301a", "e\u0301|a"),
        ("दी👩‍💻🇫🇷🇩", "दी|👩‍💻|🇫🇷|🇩"),
        ("\u1112\u1161\u11ab글", "\u1112\u1161\u11ab|글"),
        ("\u0301a", "\u0301|a"),
    ],
)
def test_characters(text: str, expected: str) -> None:
    assert "|".join(tokenize(text, "char").tokens) == expected


def test_sentences_compare_by_what_they_hold() -> None:
    pair = SentencePair(tokenize("a b"), tokenize("c"))
    assert pair.reversed() == SentencePair(tokenize("c"), tokenize("a b"))
    assert hash(tokenize("a b")) == hash(Sentence(["a", "b"], "a b"))
    assert tokenize("a b") != Sentence(["a", "b"], "a  b")
    assert tokenize("a") != "a"
    assert repr(tokenize("a")) == "Sentence(('a',), 'a')"


@given(pairs=st.lists(st.tuples(LINE, LINE), max_size=5))
def test_pairs_in_memory_come_back_as_often_as_wanted(pairs: list[tuple[str, str]]) -> None:
    bitext = Bitext.of(pairs)
    assert texts(bitext) == texts(bitext) == pairs
    assert texts(bitext.reversed()) == [(t, s) for s, t in pairs]
    assert texts(bitext.reversed().reversed()) == pairs


def test_two_files_are_walked_twice_and_at_once(write: Write) -> None:
    bitext = Bitext(write("a", "x y\n\n z\t w\n"), write("b", "1\n2\n\n"))
    expected = [(("x", "y"), ("1",)), ((), ("2",)), (("z", "w"), ())]
    assert tokens(bitext) == tokens(bitext) == expected
    assert [a == b for a, b in zip(bitext, bitext, strict=True)] == [True] * 3
    assert tokens(bitext.reversed()) == [(t, s) for s, t in expected]


def test_the_last_line_needs_no_end(write: Write) -> None:
    assert texts(Bitext(write("a", "x\ny"), write("b", "1\n2\n"))) == [("x", "1"), ("y", "2")]
    assert texts(Bitext(write("c", ""), write("d", ""))) == []


def test_oddities_are_put_right_and_counted(write: Write) -> None:
    bitext = Bitext(write("a", "\ufeffx\r\ny\u00a0z  w\r\nu\u2028v\n"), write("b", "1\n2 \n3\n"))
    assert tokens(bitext) == [(("x",), ("1",)), (("y\u00a0z", "w"), ("2",)), (("u\u2028v",), ("3",))]
    found = bitext.oddities
    assert (found.crlf, found.byte_order_marks, found.odd_spaces, found.repeated_spaces) == (2, 1, 2, 1)
    list(bitext)
    assert bitext.oddities == found
    assert "2 lines ending in CR LF" in str(found)
    clean = Bitext.of([("a", "b")])
    list(clean)
    assert not clean.oddities


@pytest.mark.parametrize(("first", "second"), [(2, 5), (5, 2), (0, 1)])
def test_unequal_line_counts_are_told_with_the_file_that_ended_first(
    write: Write, first: int, second: int
) -> None:
    a, b = write("a", "x\n" * first), write("b", "y\n" * second)
    with pytest.raises(InputError) as caught:
        list(Bitext(a, b))
    shorter = a if first < second else b
    assert f"{a} has {first}, {b} has {second}; {shorter} ended first" in str(caught.value)
    assert caught.value.line == min(first, second) + 1


def test_faulty_options() -> None:
    with pytest.raises(UsageError, match="tokenize must be one of"):
        Bitext("a", "b", tokenize="moses")
    with pytest.raises(UsageError, match="tokenize must be one of"):
        tokenize("a", "moses")
    with pytest.raises(UsageError, match="format must be one of"):
        Bitext("a", format="xml")
    with pytest.raises(UsageError, match="two files were given"):
        Bitext("a", "b", format="tsv")
    with pytest.raises(UsageError, match="cannot be both sides"):
        Bitext("-", "-")
    with pytest.raises(UsageError, match="two different languages"):
        list(Bitext("a", format="jsonl", languages=["en"]))


def test_joint_lines(write: Write) -> None:
    path = write("j", "a b ||| c d\n||| x\ny |||\n|||\na ||| b ||| c\n a  |||  b\nx|||y ||| z\n")
    expected = [
        (("a", "b"), ("c", "d")),
        ((), ("x",)),
        (("y",), ()),
        ((), ()),
        (("a",), ("b", "|||", "c")),
        (("a",), ("b",)),
        (("x|||y",), ("z",)),
    ]
    bitext = Bitext(path)
    assert tokens(bitext) == tokens(bitext) == expected
    assert bitext.format == "joint"


def test_a_joint_line_without_separator(write: Write) -> None:
    with pytest.raises(InputError, match=r"j:2: no `\|\|\|`"):
        list(Bitext(write("j", "a ||| b\na|||b\n"), format="joint"))
    with pytest.raises(InputError, match=r"k:2: no tab"):
        list(Bitext(write("k", "a\tb\nc d\n"), format="tsv"))


def test_a_few_faulty_lines_are_named_though_no_format_is(write: Write) -> None:
    with pytest.raises(InputError, match=r"j:2: no `\|\|\|`"):
        list(Bitext(write("j", "a ||| b\n\nc ||| d\n")))
    with pytest.raises(InputError, match=r"k:3: not JSON"):
        list(Bitext(write("k", '{"src": "a", "tgt": "b"}\n' * 2 + "\n")))


def test_columns(write: Write) -> None:
    assert texts(Bitext(write("t", "a b\tc\n\td\n\t\n"))) == [("a b", "c"), ("", "d"), ("", "")]
    assert texts(Bitext(write("u", "a\tb\t0-0\n"), format="tsv")) == [("a", "b")]


def test_json_lines(write: Write) -> None:
    rows = [{"src": "a b", "tgt": "é"}, {"id": 1, "tgt": "", "src": "x\ny"}]
    bitext = Bitext(write("j", "".join(json.dumps(row) + "\n" for row in rows)))
    assert texts(bitext) == [("a b", "é"), ("x y", "")]
    assert bitext.oddities.line_breaks == 1


def test_json_lines_of_translations(write: Write) -> None:
    two = write("two", '{"translation": {"en": "a", "fr": "b"}}\n')
    assert texts(Bitext(two)) == [("a", "b")]
    assert texts(Bitext(two, languages=("fr", "en"))) == [("b", "a")]
    three = write("three", '{"translation": {"en": "a", "fr": "b", "de": "c"}}\n')
    assert texts(Bitext(three, languages=("de", "en"))) == [("c", "a")]
    with pytest.raises(InputError, match=r"three:1: 3 languages .* --languages"):
        list(Bitext(three))
    with pytest.raises(InputError, match="two:1: no text under 'xx'"):
        list(Bitext(two, languages=("xx", "en")))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[]", "not an object"),
        ('{"src": "a"}', "no text under 'tgt'"),
        ('{"src": "a", "tgt": null}', "no text under 'tgt'"),
        ('{"translation": "a"}', "must be an object of languages"),
        ('{"src": "\\ud800", "tgt": "a"}', "surrogates not allowed"),
    ],
)
def test_faulty_json_lines(write: Write, line: str, message: str) -> None:
    path = write("j", '{"src": "a", "tgt": "b"}\n' + line + "\n")
    with pytest.raises(InputError, match=f"j:2: .*{message}"):
        list(Bitext(path, format="jsonl"))


@given(data=st.binary(max_size=40), format=st.sampled_from(["auto", "joint", "tsv", "jsonl"]))
def test_garbage_is_refused_and_nothing_else(
    data: bytes, format: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "garbage"
    path.write_bytes(data)
    try:
        pairs = list(Bitext(path, format=format))
        assert len(pairs) == len(data.split(b"\n")) - (data.endswith(b"\n") or not data)
    except InputError as error:
        assert str(path) in str(error)
    except MissingExtraError:
        assert data.startswith(b"PAR1")  # Parquet, where its package is not installed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a ||| b\tc\n", "could be joint or tsv"),
        ("a b\n", "is not plainly"),
        ("a\tb\tc\n", "is not plainly"),
        ("a\tb\n" * 5 + "a\tb\tc\n", "is not plainly"),
        ('{"a": 1}\n', "is not plainly"),
    ],
)
def test_a_doubtful_format_must_be_named(write: Write, text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"{message}.*--format"):
        list(Bitext(write("d", text)))


def test_a_pipe_is_read_once_and_walked_twice(tmp_path: Path, write: Write) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("a\nb\n",))
    writer.start()
    bitext = Bitext(pipe, write("t", "1\n2\n"))
    assert texts(bitext) == texts(bitext) == texts(bitext.reversed().reversed()) == [("a", "1"), ("b", "2")]
    writer.join()


@pytest.mark.slow
def test_a_million_pairs_go_by_in_seconds(tmp_path: Path) -> None:
    import time

    line = " ".join(["government", "la", "é", "of", "."] * 4) + "\n"
    for name in "ab":
        (tmp_path / name).write_text(line * 220_000, encoding="utf-8")
    before = time.process_time()
    assert sum(1 for _ in Bitext(tmp_path / "a", tmp_path / "b")) == 220_000
    assert time.process_time() - before < 5


def test_it_streams(write: Write) -> None:
    good = Bitext(write("a", "x\n" * 500_000 + "\xff"), write("b", "y\n" * 500_000))
    assert len(list(islice(good, 3))) == 3  # the fault at the end has not been met
