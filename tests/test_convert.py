"""`bitweft convert`: any format into any other, the sides swapped, another tokenization."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft.cli import main
from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Alignment, Entry
from bitweft.links.convert import Onto, convert
from bitweft.links.formats.registry import LINK_FORMATS
from bitweft.links.subwords import positions
from bitweft.text.bitext import Sentence, SentencePair, tokenize

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("en").write_text("the house\n\na b c\n", encoding="utf-8")
    Path("fr").write_text("la maison\nx\nd e\n", encoding="utf-8")
    Path("gold").write_text("0-0 1-1\n\n2-0 1?1\n", encoding="utf-8")

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["convert", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.mark.parametrize(
    "through", sorted(name for name in LINK_FORMATS if LINK_FORMATS[name].holds_possible)
)
def test_there_and_back(run: Run, through: str) -> None:
    texts = ["--source", "en", "--target", "fr"]
    assert run("gold", "--to", through, *texts, "-o", "between") == (0, "", "")
    code, out, err = run("between", "--from", through, "--to", "possible", *texts)
    assert (code, out, err) == (0, "0-0 1-1\n\n1?1 2-0\n", "")


@pytest.mark.parametrize("through", sorted(LINK_FORMATS))
def test_there_and_back_without_possible_links(run: Run, through: str) -> None:
    texts = ["--source", "en", "--target", "fr"]
    assert run("gold", "--to", through, "--possible", "drop", *texts, "-o", "between")[0] == 0
    assert run("between", "--from", through, *texts) == (0, "0-0 1-1\n\n2-0\n", "")


def test_possible_links_must_be_kept_or_dropped(run: Run) -> None:
    code, _, err = run("gold", "-o", "out")
    assert code == 2
    assert "--possible keep|drop" in err
    assert not Path("out").exists()
    assert run("gold", "--possible", "keep") == (0, "0-0 1-1\n\n1-1 2-0\n", "")


def test_the_other_direction(run: Run) -> None:
    assert run("gold", "--to", "possible", "--inverse") == (0, "0-0 1-1\n\n0-2 1?1\n", "")


def test_one_based_links(run: Run) -> None:
    Path("one").write_text("1-1 2-2\n")
    assert run("one", "--one-based")[:2] == (0, "0-0 1-1\n")
    code, _, err = run("one")
    assert code == 1
    assert "no link has the index 0" in err


def test_pairs_without_links_at_the_end(run: Run) -> None:
    Path("wa").write_text("2 1 1\n")
    code, out, err = run("wa")
    assert (code, out) == (0, "\n0-0\n")
    assert "--sentences" in err
    assert run("wa", "--sentences", "3") == (0, "\n0-0\n\n", "")
    assert run("wa", "--sentences", "3", "--source", "en", "--target", "fr")[0] == 2


def test_links_outside_the_text_leave_no_file(run: Run) -> None:
    Path("bad").write_text("0-0\n\n0-2\n")
    code, out, err = run("bad", "--source", "en", "--target", "fr", "-o", "out")
    assert (code, out) == (1, "")
    assert "bad:3: link 0-2" in err
    assert not Path("out").exists()


def test_options_that_do_not_go_together(run: Run) -> None:
    assert run("gold", "--target", "fr")[0] == 2
    assert run("-", "--source", "-")[0] == 2
    assert run("gold", "--to", "giza", "--possible", "keep")[0] == 2


def test_odd_text_is_told(run: Run) -> None:
    Path("en").write_bytes(b"the house\r\n\r\na b c\r\n")
    code, _, err = run("gold", "--to", "possible", "--source", "en", "--target", "fr")
    assert code == 0
    assert err == "bitweft: en and fr: 3 lines ending in CR LF (the CR was dropped)\n"


def test_onto_pieces_and_back(run: Run) -> None:
    Path("en.spm").write_text("▁the ▁hou se\n\n▁a ▁b ▁ c\n", encoding="utf-8")
    Path("fr.bpe").write_text("l@@ a maison\nx\nd e\n", encoding="utf-8")
    words, pieces = ["--source", "en", "--target", "fr"], ["en.spm", "fr.bpe"]
    code, out, _ = run("gold", "--to", "possible", *words, "--onto", *pieces, "-o", "pieces")
    assert code == 0
    assert Path("pieces").read_text() == "0-0 0-1 1-2 2-2\n\n1?1 3-0\n"
    back = ["--source", "en.spm", "--target", "fr.bpe", "--onto", "en", "fr"]
    code, out, _ = run("pieces", "--to", "possible", *back)
    assert out == "0-0 1-1\n\n1?1 2-0\n"
    code, out, err = run("gold", "--to", "possible", *words, "--onto", "fr", "fr.bpe")
    assert (code, out) == (0, "\n\n\n")
    assert "fr:1: not the same text: 'the house' and 'la maison'" in err
    assert "bitweft: 3 pairs left empty" in err
    code, _, err = run("gold", "--to", "possible", *words, "--onto", "fr", "fr.bpe", "--strict", "-o", "out")
    assert code == 1
    assert "fr:1: not the same text: 'the house' and 'la maison'" in err
    assert not Path("out").exists()
    assert run("gold", "--strict")[0] == 2
    assert run("gold", "--onto", *pieces)[0] == 2


@given(
    text=st.text("abc", max_size=12),
    cuts=st.frozensets(st.integers(1, 11)),
    others=st.frozensets(st.integers(1, 11)),
)
def test_pieces_that_share_characters(text: str, cuts: frozenset[int], others: frozenset[int]) -> None:
    mine, theirs = cut(text, cuts), cut(text, others)
    there, back = positions(mine, theirs), positions(theirs, mine)
    assert {(s, t) for s, found in enumerate(there) for t in found} == {
        (s, t) for t, found in enumerate(back) for s in found
    }
    assert positions(mine, mine) == [[place] for place in range(len(mine))]


def cut(text: str, cuts: frozenset[int]) -> Sentence:
    places = sorted({0, len(text), *(place for place in cuts if place < len(text))})
    pieces = [text[start:end] for start, end in pairwise(places)]
    return Sentence(pieces, text)


def test_carried_links_keep_their_best_probability() -> None:
    pair = SentencePair(tokenize("▁a b"), tokenize("x y"))
    entry = Entry(Alignment.of([(0, 0), (1, 0), (1, 1)], [0.25, 0.5, 0.75]), frozenset({(0, 0)}), pair=pair)
    other = SentencePair(tokenize("ab"), tokenize("xy"))
    (carried,) = Onto([other]).carry([entry])
    assert carried == Entry(Alignment(((0, 0),), (0.75,)), pair=other)


def test_faulty_calls() -> None:
    pair = SentencePair(tokenize("a"), tokenize("b"))
    with pytest.raises(UsageError, match="possible must be keep or drop"):
        list(convert([], possible="maybe"))
    with pytest.raises(UsageError, match="--source, --target"):
        list(Onto([pair]).carry([Entry(Alignment())]))
    with pytest.raises(InputError, match="links:1: this line is missing"):
        list(Onto([pair]).carry([]))
