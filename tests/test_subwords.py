"""Links on pieces of what ordinary subword tools write, whatever they did to the text."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft.cli import main
from bitweft.links.alignment import Alignment, Entry
from bitweft.links.convert import Onto
from bitweft.links.subwords import positions
from bitweft.text.bitext import SentencePair, tokenize
from small import sample

Run = Callable[..., tuple[int, str, str]]


def places(words: str, pieces: str) -> list[list[int]]:
    return positions(tokenize(words), tokenize(pieces))


@pytest.mark.parametrize(
    ("words", "pieces", "expected"),
    [
        ("the house", "▁the ▁ho use", [[0], [1, 2]]),
        ("the house", "▁the ▁ho use </s>", [[0], [1, 2]]),
        ("wait … Ŀ ½", "▁wait ▁ ... ▁l · ▁1 ⁄ 2", [[0], [2], [3, 4], [5, 6, 7]]),
        ("I don’t", "▁I ▁don ' t", [[0], [1, 2, 3]]),
        ("it &apos;s", "▁it ' s", [[0], [1, 2]]),
        ("it 's", "it &apos;s", [[0], [1]]),
        ("Playing Football", "play ##ing foot ##ball", [[0, 1], [2, 3]]),
        ("a\u200bb soft\xadly", "▁ab ▁soft ly", [[0], [1, 2]]),
        ("the 日本 house", "▁the ▁ <unk> ▁ho use", [[0], [2], [3, 4]]),
        ("日本 house 語", "<unk> ▁house <unk>", [[0], [1], [2]]),
        ("one X Y two", "one <unk> <unk> two", [[0], [1], [2], [3]]),
        ("un café noir", "un ĠcafÃ© Ġno ir", [[0], [1], [2, 3]]),
        ("café", "caf Ã ©", [[0, 1, 2]]),
        ("the 語 is", "▁the ▁ <0xE8> <0xAA> <0x9E> ▁is", [[0], [2, 3, 4], [5]]),
        ("あ い う", "ãģ Ĥãģ Ħãģ Ĩ", [[0, 1], [1, 2], [2, 3]]),  # pieces that end inside characters
        ("[CLS]", "▁[ CL S ]", [[0, 1, 2, 3]]),
        ("e\u0301te\u0301", "▁été", [[0]]),
        ("a b", "", None),
        ("", "", []),
        ("the cat sat", "un chien dort", None),
    ],
)
def test_pieces_of_ordinary_tools(words: str, pieces: str, expected: list[list[int]] | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match="not the same text"):
            places(words, pieces)
    else:
        assert places(words, pieces) == expected


def test_spaces_that_are_tokens_have_no_words() -> None:
    assert places("the ▁ cat ▁ sleeps .", "the cat sleeps.") == [[0], [], [1], [], [2], [2]]
    assert places("▁the ▁ cat", "the cat") == [[0], [1], [1]]  # SentencePiece: of the piece that follows


@given(st.lists(st.text("aéßﬁ½Ж語\u0301…ก", min_size=1, max_size=5), min_size=1, max_size=6), st.data())
def test_normalized_and_cut_anywhere(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    changed = unicodedata.normalize("NFKC", text).replace(" ", "▁")
    cuts = data.draw(st.sets(st.integers(1, max(1, len(changed) - 1))))
    bounds = [0, *sorted(cut for cut in cuts if cut < len(changed)), len(changed)]
    pieces = [changed[a:b] for a, b in pairwise(bounds)]
    found = places(text, " ".join(piece for piece in pieces if piece.strip()))
    assert len(found) == len(tokenize(text))
    order = [piece for own in found for piece in own]
    assert order == sorted(order)
    assert all(found)


def test_a_sentence_that_was_replaced_takes_no_time() -> None:
    with pytest.raises(ValueError, match="not the same text"):
        places("ab cd " * 20_000, "ba dc " * 20_000)


def test_unknown_pieces_and_bytes_take_no_more_than_their_length() -> None:
    # What looks at each of them from every other would need minutes for one of these.
    many = 20_000
    assert places("<unk> a " * many, "a " * many)[-1] == [many - 1]
    assert places("語 " * many, "<0xE8> <0xAA> <0x9E> " * many)[-1] == [
        3 * many - 3,
        3 * many - 2,
        3 * many - 1,
    ]


def test_words_without_links_are_carried_over() -> None:
    pair = SentencePair(tokenize("a bc"), tokenize("x"))
    other = SentencePair(tokenize("a b c"), tokenize("x"))
    entry = Entry(Alignment(((0, 0),), (0.5,)), pair=pair, unlinked=(((1, 0.75),), ()))
    (carried,) = Onto([other]).carry([entry])
    assert carried.unlinked == (((1, 0.75), (2, 0.75)), ())


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("en").write_text("the cat sleeps …\nthe dog\nthe cat\n", encoding="utf-8")
    Path("fr").write_text("le chat dort …\nle chien\nle chat\n", encoding="utf-8")
    Path("en.sp").write_text("▁the ▁c at ▁sleeps ▁ ...\n▁nothing ▁like ▁it\n▁the ▁cat\n", encoding="utf-8")
    Path("fr.sp").write_text("▁le ▁chat ▁dort ▁...\n▁le ▁chien\n▁le ▁cha t\n", encoding="utf-8")

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_align_onto_pieces(run: Run, small_model: Path) -> None:
    options = ("--model", str(small_model), "--heuristic", "intersection", "--onto", "en.sp", "fr.sp")
    code, out, err = run("align", "en", "fr", *options, "--scores", "scores")
    assert code == 0
    first, second, third = out.splitlines()
    assert {"0-0", "1-1", "2-1", "3-2"} <= set(first.split())
    assert (second, third) == ("", "0-0 1-1 1-2")
    assert "en.sp:2: not the same text: 'the dog' and '▁nothing ▁like ▁it'" in err
    assert "1 pairs left empty" in err
    assert [len(line.split("\t")[1].split()) for line in Path("scores").read_text().splitlines()] == [
        len(line.split()) for line in out.splitlines()
    ]
    code, out, err = run("align", "en", "fr", *options, "--strict")
    assert code == 1
    assert "en.sp:2: not the same text" in err


def test_align_onto_words(run: Run, small_model: Path) -> None:
    Path("en").write_text("The cat sleeps.\n", encoding="utf-8")
    Path("fr").write_text("Le chat dort.\n", encoding="utf-8")
    options = ("--model", str(small_model), "--tokenize", "unicode", "--heuristic", "intersection")
    code, out, _ = run("align", "en", "fr", *options)
    assert (code, out) == (0, "0-0 1-1 2-2 3-3\n")
    code, out, _ = run("align", "en", "fr", *options, "--onto-words")
    assert (code, out) == (0, "0-0 1-1 2-2\n")


def test_onto_needs_as_many_lines(run: Run, small_model: Path) -> None:
    Path("en.sp").write_text("▁the ▁cat ▁sleeps ▁...\n▁the ▁dog\n", encoding="utf-8")
    Path("fr.sp").write_text("▁le ▁chat ▁dort ▁...\n▁le ▁chien\n", encoding="utf-8")
    code, _, err = run(
        "align", "en", "fr", "--model", str(small_model), "--onto", "en.sp", "fr.sp", "-o", "out"
    )
    assert code == 1
    assert "en.sp:3: this line is missing, but en has it" in err
    assert not Path("out").exists()
    assert run("align", "--shards", "en", "fr", "--out", "d", "--model", "m", "--onto", "a", "b")[0] == 2


def test_what_sentencepiece_writes(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    lines = [pair.source.text for pair in sample()[0]][:200]
    prefix = str(tmp_path / "model")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=prefix, vocab_size=120, minloglevel=2
    )
    model = sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model")
    for line in lines:
        pieces = ["<s>", *model.encode(line, out_type=str), "</s>"]
        ends = [n for n, piece in enumerate(pieces) if piece.startswith("▁")]
        words = [range(a, b) for a, b in pairwise([*ends, len(pieces) - 1])]
        expected = [[n for n in own if pieces[n] != "▁"] for own in words]
        assert places(line, " ".join(pieces)) == expected
