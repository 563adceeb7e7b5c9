"""Text taken in blocks of lines: in all the same as pair by pair, whatever the bytes are."""

from __future__ import annotations

import gzip
import lzma
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from bitweft.aligner import Aligner, _Counted
from bitweft.errors import InputError
from bitweft.links.known import WordPair
from bitweft.recipes.base import Decoding
from bitweft.recipes.default import forms
from bitweft.recipes.default.forms import FormTable
from bitweft.recipes.default.reading import LineReader, Read, _pair_by_pair, read, read_at_once
from bitweft.recipes.default.recipe import DefaultRecipe
from bitweft.recipes.default.spelling import Reader, Spelling
from bitweft.text import lines
from bitweft.text.bitext import Bitext, Lines, SentencePair
from bitweft.text.lines import ODD_SPACES, LineFile, Oddities
from bitweft.text.parallel import Most
from bitweft.text.tokenize import count_by_space
from small import aligner, sample, write_text

PACK: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
WORDS = ["the", "The", "THE", "chat", "École", "école", "İ", "i̇", "ẞ", "ß", "ΣΑΣ", "σας", "日本", "a\ufeff"]
ODD = [*ODD_SPACES, "\0", "\r", "\u2003x", "  ", "\t", " \t ", "x" * 300]
DAMAGED = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xe9t\xe9", b"\xc0\x80"]
PIECE = st.one_of(
    st.sampled_from([word.encode() for word in (*WORDS, *ODD)]),
    st.just(b" "),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=5).map(str.encode),
)
LINE = st.one_of(
    st.lists(PIECE, max_size=8).map(b"".join),
    st.lists(st.sampled_from(WORDS), max_size=8).map(lambda words: " ".join(words).encode()),
)
ANY_LINE = st.one_of(LINE, LINE, LINE, st.sampled_from(DAMAGED), st.binary(max_size=6))
PAIRS = st.lists(st.tuples(ANY_LINE, ANY_LINE), max_size=12)
END = st.sampled_from([b"\n", b"", b"\r\n", b"\r"])


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Let blocks end within a few lines, and tables be full after a few words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK", 32)
        patch.setattr(forms, "SLOTS", 4)
        yield


@contextmanager
def written(*contents: bytes, directory: Path) -> Iterator[list[str]]:
    paths = [directory / f"side{number}" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    yield list(map(str, paths))


def drained(reading: Iterator[object]) -> Read:
    while True:
        try:
            next(reading)
        except StopIteration as done:
            assert isinstance(done.value, Read)
            return done.value


def outcome(text: Bitext, by: Callable[[_Counted], Read]) -> object:
    """Say all that comes of reading a text, or what is said to be wrong with it."""
    counted = _Counted(text)
    try:
        found = by(counted)
    except InputError as error:
        return str(error)
    sides = []
    for reader in (found.source, found.target):
        words, tokens, offsets = reader.in_order()
        assert tokens.dtype == np.int32 and offsets.dtype == np.int64
        sides.append((words, tokens.tolist(), offsets.tolist()))
    return sides, counted.pairs, counted.words, text.oddities


def slowly(lowercase: bool) -> Callable[[_Counted], Read]:
    return lambda text: drained(_pair_by_pair(text, lowercase, None))


def quickly(lowercase: bool, threads: int) -> Callable[[_Counted], Read]:
    def by(text: _Counted) -> Read:
        found = drained(read(text, lowercase=lowercase, threads=threads))
        assert isinstance(found.source, LineReader)
        return found

    return by


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("text")


@example(pairs=[("École école ΣΑΣ σας".encode(), b"a A")], ends=(b"", b"\n"), lowercase=True, strict=True)
@example(pairs=[(b"\xef\xbb\xbfa \xc2\xa0 b", b"c\r\r")] * 3, ends=(b"\r", b""), lowercase=True, strict=False)
@given(pairs=PAIRS, ends=st.tuples(END, END), lowercase=st.booleans(), strict=st.booleans())
def test_blocks_are_read_as_pairs_are(
    pairs: list[tuple[bytes, bytes]], ends: tuple[bytes, bytes], lowercase: bool, strict: bool, place: Path
) -> None:
    sides = [b"\n".join(pair[side] for pair in pairs) + ends[side] for side in (0, 1)]
    with written(*sides, directory=place) as paths:
        known = outcome(Bitext(*paths, strict=strict), slowly(lowercase))
        for threads in (1, 2):
            assert outcome(Bitext(*paths, strict=strict), quickly(lowercase, threads)) == known


@given(line_pairs=PAIRS, lowercase=st.booleans(), format=st.sampled_from(["tsv", "joint"]))
def test_joint_files_are_read_as_pairs_are(
    line_pairs: list[tuple[bytes, bytes]], lowercase: bool, format: str, place: Path
) -> None:
    between = b"\t" if format == "tsv" else b" ||| "
    content = b"".join(s + between + t + b"\n" for s, t in line_pairs)
    with written(content, directory=place) as paths:
        known = outcome(Bitext(*paths, format=format, strict=False), slowly(lowercase))
        assert outcome(Bitext(*paths, format=format, strict=False), quickly(lowercase, 1)) == known


@given(lines_of=st.lists(ANY_LINE, max_size=12), end=END)
def test_lines_are_put_right_one_by_one(lines_of: list[bytes], end: bytes, place: Path) -> None:
    content = b"\n".join(lines_of) + end
    with written(content, directory=place) as (path,):
        found = Oddities()
        try:
            given_lines = list(LineFile(path, strict=False).lines(found))
        except InputError:  # in another encoding as a whole
            return
    raw = content.split(b"\n")
    expected, counts = [], Oddities()
    for number, line in enumerate(raw[:-1] if raw[-1] == b"" else raw):
        try:
            text = line.decode()
        except UnicodeDecodeError:
            counts.damaged += 1
            text = ""
        if number == 0 and text.startswith("\ufeff"):
            counts.byte_order_marks += 1
            text = text[1:]
        counts.crlf += text.endswith("\r")
        text = text.removesuffix("\r")
        counts.odd_spaces += any(space in text for space in ODD_SPACES)
        counts.repeated_spaces += "  " in text
        expected.append(text)
    assert (given_lines, found) == (expected, counts)


@given(lines_of=st.lists(LINE, max_size=8))
def test_words_are_counted_as_they_are_cut(lines_of: list[bytes]) -> None:
    side = b"".join(line.replace(b"\n", b"") + b"\n" for line in lines_of)
    pairs = Lines(side, side)
    assert count_by_space(side) == sum(len(pair.source) for pair in pairs)
    assert len(pairs) == len(list(pairs)) == len(lines_of)


def tables(model: Aligner, text: Bitext | list[SentencePair], decoding: Decoding | None = None) -> object:
    """Say all that comes of aligning, or what is said to be wrong with the text."""
    found: list[object] = []
    try:
        for sizes, table in model.stream_tables(text, decoding=decoding):
            links = [(own.links, own.probabilities or ()) for own in table.alignments()]
            found += zip(sizes.tolist(), links, strict=True)
    except InputError as error:
        found.append(str(error))
    return found


@given(pairs=PAIRS, extra=st.integers(0, 2), longest=st.sampled_from([3, 5000]))
def test_links_of_blocks_are_those_of_pairs(
    pairs: list[tuple[bytes, bytes]], extra: int, longest: int, place: Path
) -> None:
    model, decoding = aligner(), Decoding(longest=longest)
    more = b"\n".join([b"", b"one more"][:extra])
    sides = b"".join(s + b"\n" for s, _ in pairs) + more, b"".join(t + b"\n" for _, t in pairs)
    with written(*sides, directory=place) as paths:
        bitext = Bitext(*paths, strict=False)
        quick = tables(model, bitext, decoding)
        slow = tables(model, _Slow(paths), decoding)  # type: ignore[arg-type]
    assert quick == slow


class _Slow:
    """Walk the pairs of files, and offer nothing else."""

    def __init__(self, paths: list[str]) -> None:
        self.text = Bitext(*paths, strict=False)

    def __iter__(self) -> Iterator[SentencePair]:
        return iter(self.text)


@pytest.mark.parametrize("words", [["akvia", "fyoef"], [f"{number:x}" for number in range(200)]])
def test_forms_are_found_again_even_where_their_hashes_are_alike(words: list[str]) -> None:
    table = FormTable()
    text = "".join(f"{word} {word}\n" for word in words).encode()
    expected = [number for number in range(len(words)) for _ in range(2)]
    assert table.add(text, lowercase=True)[0].tolist() == expected
    assert table.texts() == words and len(table) == len(words)
    assert table.add(text.upper(), lowercase=True)[0].tolist() == expected
    tokens, ends = table.find(b"- " + text + b"--\n", lowercase=False)
    assert tokens.tolist() == [-1, *expected, -3 - len(text)]
    assert ends.tolist() == [*range(3, 2 * len(words) + 2, 2), 2 * len(words) + 2]


@pytest.mark.parametrize("lowercase", [False, True])
def test_a_vocabulary_that_no_text_could_have(lowercase: bool) -> None:
    words = {"New York": 5, "": 4, "a\tb": 3, "the": 3, "École": 2, "école": 2, "THE": 1, "\ud800": 1}
    spelling = Spelling.of(words)
    text = "the THE The École école York New a b new\n\n \nthe b\n"
    sentences = [line.split() for line in text.split("\n")[:-1]]
    numbers, offsets, unseen = spelling.encode(sentences, lowercase=lowercase)
    found = spelling.encode_lines(text.encode(), lowercase=lowercase)
    assert (found[0].tolist(), found[1].tolist(), found[2]) == (numbers.tolist(), offsets.tolist(), unseen)
    assert found[0].dtype == np.int32 and found[1].dtype == np.int64


@pytest.mark.parametrize("kind", PACK)
def test_a_model_of_files_is_that_of_their_pairs(kind: str, tmp_path: Path) -> None:
    paths = write_text(tmp_path)
    for path in paths:
        Path(path).write_bytes(PACK[kind](Path(path).read_bytes()))
    models = [Aligner(threads=threads).fit(Bitext(*paths)) for threads in (1, 2)]
    expected = aligner()
    for model in models:
        for own, known in zip(_arrays(model), _arrays(expected), strict=True):
            np.testing.assert_array_equal(own, known)
        assert model.about.training is not None and expected.about.training is not None
        assert model.about.training.words == expected.about.training.words
        assert model.about.training.pairs == expected.about.training.pairs
    assert tables(models[0], Bitext(*paths)) == tables(models[1], list(sample()[0]))


def _arrays(model: Aligner) -> list[np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    recipe = model.recipe
    assert isinstance(recipe, DefaultRecipe) and recipe.counts is not None
    return [*recipe.tables, *recipe.nulls, recipe.counts.values, recipe.counts.sources]


@pytest.mark.parametrize(("short", "long"), [(0, 3), (40, 41), (41, 90)])
@pytest.mark.parametrize("swapped", [False, True])
def test_files_of_different_lengths(short: int, long: int, swapped: bool, tmp_path: Path) -> None:
    sides = [b"a b c\n" * short, b"x y\n" * long]
    with written(*(sides[::-1] if swapped else sides), directory=tmp_path) as paths:
        known = outcome(Bitext(*paths), slowly(True))
        assert outcome(Bitext(*paths), quickly(True, 2)) == known
        named = paths[1] if swapped else paths[0]
        assert str(known).startswith(f"{named}:{short + 1}: the files have different numbers of lines")


@pytest.mark.parametrize("faults", [(30, 31), (31, 30), (30, None), (None, 2), (30, 30)])
def test_the_first_fault_is_the_one_that_is_named(
    faults: tuple[int | None, int | None], tmp_path: Path
) -> None:
    sides = [
        b"".join(b"\xe9\n" if number == fault else b"a bb c\n" for number in range(60 + side))
        for side, fault in enumerate(faults)
    ]
    with written(*sides, directory=tmp_path) as paths:
        known = outcome(Bitext(*paths), slowly(True))
        assert "not UTF-8" in str(known)
        assert outcome(Bitext(*paths), quickly(True, 2)) == known


def test_pairs_before_a_fault_come_first(tmp_path: Path) -> None:
    with written(b"a\n" * 50, b"b\n" * 40 + b"\xe9\n" + b"b\n" * 9, directory=tmp_path) as paths:
        found = tables(aligner(), Bitext(*paths))
        assert isinstance(found, list) and len(found) > 20 and "not UTF-8" in found[-1]


def test_words_of_a_lexicon_are_part_of_the_spelling(tmp_path: Path) -> None:
    paths = write_text(tmp_path)
    lexicon = [WordPair("unseen", "inconnu", 3.0)]
    quick = Aligner(threads=1).fit(Bitext(*paths), lexicon=lexicon)
    slow = Aligner(threads=1).fit(sample()[0], lexicon=lexicon)
    for own, known in zip(_arrays(quick), _arrays(slow), strict=True):
        np.testing.assert_array_equal(own, known)


def test_what_is_not_cut_at_spaces_is_read_pair_by_pair(tmp_path: Path) -> None:
    paths = write_text(tmp_path)
    assert Bitext(*paths, tokenize="unicode").blocks() is None
    assert Bitext.of([("a", "b")]).blocks() is None
    assert isinstance(read_at_once(Bitext(*paths, tokenize="char"), lowercase=True).source, Reader)
    reverse = Bitext(*paths).reversed().blocks()
    assert reverse is not None
    assert [pair for lines in reverse for pair in lines] == list(Bitext(*paths).reversed())


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_stream_is_idle_when_all_its_lines_are_walked(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("b\n" * 4)
    out, into = os.pipe()
    os.write(into, b"a\n" * 3)
    text = Bitext(f"/dev/fd/{out}", target, streaming=True)
    blocks = text.blocks(Most(pairs=1))
    assert blocks is not None
    assert [(len(lines), text.idle()) for lines in islice(blocks, 3)] == [(1, False), (1, False), (1, True)]
    os.write(into, b"a\n")
    os.close(into)
    assert len(list(blocks)) == 1
    os.close(out)


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_stream_is_answered_line_by_line(tmp_path: Path) -> None:
    fifo, target = tmp_path / "fifo", tmp_path / "target"
    os.mkfifo(fifo)
    target.write_text("le chat\n" * 5)
    answered = [threading.Event() for _ in range(5)]

    def send() -> None:
        with open(fifo, "wb", buffering=0) as stream:
            for event in answered:
                stream.write(b"the cat\n")
                assert event.wait(60)

    sender = threading.Thread(target=send)
    sender.start()
    text = Bitext(fifo, target, streaming=True)
    pairs = 0
    for sizes, _ in aligner().stream_tables(text):
        for _ in range(len(sizes)):
            answered[pairs].set()
            pairs += 1
    sender.join()
    assert pairs == 5
