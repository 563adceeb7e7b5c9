"""What is known before learning helps, and is respected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bitweft import Aligner, Alignment, InputError
from bitweft.cli import main
from bitweft.links.known import KnownLinks, WordPair, read_lexicon, with_known
from bitweft.recipes.default.compiled.types import Cells
from bitweft.recipes.default.knowledge import with_links

# A language in which nothing but the order of words could tell which is which, and the order misleads.
AMBIGUOUS = [("one two", "zwei eins")] * 20 + [("three four", "drei vier")] * 20


def test_known_word_pairs_decide_where_the_text_cannot() -> None:
    lexicon = [WordPair("one", "eins", 50.0), WordPair("TWO", "zwei", 50.0)]
    taught = Aligner(threads=1).fit(AMBIGUOUS, lexicon=lexicon)
    assert taught.align("one two", "zwei eins").links == ((0, 1), (1, 0))
    other = [WordPair("one", "zwei", 50.0), WordPair("two", "eins", 50.0)]
    assert Aligner(threads=1).fit(AMBIGUOUS, lexicon=other).align("one two", "zwei eins").links == (
        (0, 0),
        (1, 1),
    )


def test_words_of_the_dictionary_alone_can_be_aligned() -> None:
    text = [("the cat", "le chat"), ("the dog", "le chien")] * 10
    taught = Aligner(threads=1).fit(
        text, lexicon=[WordPair("platypus", "ornithorynque"), WordPair("owl", "hibou")]
    )
    assert (0, 1) in taught.align("platypus owl", "hibou ornithorynque").links


def test_known_links_teach_other_pairs(tmp_path: Path) -> None:
    text = [("one two", "zwei eins")] * 20
    (tmp_path / "links").write_text("0-1 1-0\n" * 10 + "\n" * 10)
    taught = Aligner(threads=1).fit(text, known_links=KnownLinks(str(tmp_path / "links")))
    (tmp_path / "links").write_text("0-0 1-1\n" * 10 + "\n" * 10)
    other = Aligner(threads=1).fit(text, known_links=KnownLinks(str(tmp_path / "links")))
    matrices = [aligner.posteriors("one two", "zwei eins") for aligner in (taught, other)]
    assert matrices[0][0, 1] > matrices[1][0, 1] and matrices[0][0, 0] < matrices[1][0, 0]


def test_known_links_are_in_the_output(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a b c ||| x y z\n" * 8 + "a ||| x\n")
    (tmp_path / "known").write_text("0-2 0-1\n" + "\n" * 8)
    known = ["--known-links", str(tmp_path / "known"), "--to", "scored", "-o", str(tmp_path / "out"), "-q"]
    assert main(["align", str(tmp_path / "text"), *known]) == 0
    first = (tmp_path / "out").read_text().splitlines()[0].split()
    assert "0-1:1" in first and "0-2:1" in first
    assert not any(link.startswith("0-0") for link in first)


def test_known_links_replace_what_they_contradict() -> None:
    found = Alignment.of([(0, 0), (1, 1), (2, 2)], [0.9, 0.8, 0.7])
    assert with_known(found, Alignment.of([(0, 1)])) == Alignment.of([(0, 1), (2, 2)], [1.0, 0.7])
    assert with_known(found, Alignment()) == found


def test_cells_of_known_links_are_certain() -> None:
    cells = Cells(
        np.array([0, 2, 4]),
        np.array([0, 1, 0, 1], np.int32),
        np.array([0, 1, 0, 1], np.int32),
        np.array([0.5, 0.6, 0.7, 0.8], np.float32),
    )
    fixed = with_links(cells, np.array([4, 9]), {9: Alignment.of([(0, 1)])})
    assert_array_equal(fixed.offsets, [0, 2, 3])
    assert_array_equal(fixed.source, [0, 1, 0])
    assert_array_equal(fixed.target, [0, 1, 1])
    assert_array_equal(fixed.values, np.array([0.5, 0.6, 1.0], np.float32))


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ("0-0\n", ":2: the file ends here"),
        ("0-0\n\n\n0-0\n", ":4: the text has ended"),
        ("5-0\n\n\n", ":1: link 5-0"),
    ],
)
def test_links_that_do_not_fit_the_text_are_refused(tmp_path: Path, links: str, message: str) -> None:
    (tmp_path / "known").write_text(links)
    with pytest.raises(InputError, match=message):
        Aligner(threads=1).fit([("a b", "c d")] * 3, known_links=KnownLinks(str(tmp_path / "known")))


def test_a_dictionary_is_read(tmp_path: Path) -> None:
    path = tmp_path / "words"
    path.write_text("cat\tchat\n\ndog\tchien\t2.5\nhot dog\thot-dog\n", encoding="utf-8")
    assert read_lexicon(str(path)) == ([WordPair("cat", "chat"), WordPair("dog", "chien", 2.5)], 1)


@pytest.mark.parametrize("line", ["cat chat", "cat\t", "a\tb\tc", "a\tb\tnan", "a\tb\t-1", "a\tb\t1\t2"])
def test_a_faulty_line_of_a_dictionary_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "words"
    path.write_text(f"x\ty\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=":2: "):
        read_lexicon(str(path))
