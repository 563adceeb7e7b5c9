"""`bitweft filter`: good pairs above damaged ones, lines as they were, and nothing lost."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bitweft.cli import main
from bitweft.corpus.filter import LINKED, WORST, Cut, Judge, Judgment, Judgments, disorder
from bitweft.corpus.language import LanguagePair
from bitweft.links.alignment import Alignment
from bitweft.text.bitext import Bitext
from small import aligner, sample

Run = Callable[..., tuple[int, str, str]]
GOOD = 200


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    return [(pair.source.text, pair.target.text) for pair in sample()[0]][:GOOD]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["filter", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def qualities(pairs: list[tuple[str, str]]) -> list[float]:
    return [judgment.quality for judgment in Judge(aligner()).judge(pairs)]


def test_damaged_pairs_are_below_good_ones(pairs: list[tuple[str, str]]) -> None:
    good = qualities(pairs)
    middle = sorted(good)[len(good) // 10]
    damages = {
        "wrong": [(s, pairs[n - 7][1]) for n, (s, _) in enumerate(pairs)],
        "copy": [(s, s) for s, _ in pairs],
        "cut": [(s, " ".join(t.split()[: len(t.split()) // 3 or 1])) for s, t in pairs],
    }
    for name, bad in damages.items():
        below = sum(quality < middle for quality in qualities(bad))
        assert below > 0.85 * len(bad), name


def test_a_judgment_depends_on_the_pair_alone(pairs: list[tuple[str, str]]) -> None:
    together = qualities(pairs[:20])
    assert together == [qualities([pair])[0] for pair in pairs[:20]]


def test_links_are_judged_before_they_follow_a_style(pairs: list[tuple[str, str]]) -> None:
    found = 0
    for pair in Bitext.of(pairs[:20]):
        linked = aligner().recipe.soft_links(pair) >= LINKED
        (judgment,) = Judge(aligner()).judge([pair])
        assert judgment.unlinked == pytest.approx(1 - (linked.any(0).mean() + linked.any(1).mean()) / 2)
        found += judgment.unlinked != 0
    assert found


def test_reasons() -> None:
    judge = Judge(aligner())
    found = {
        "empty": ("", "le chat"),
        "copy": ("the cat sleeps in the house .",) * 2,
        "unlinked": ("the cat sleeps in the house .", "zyx wvu tsr qpo nml kji"),
    }
    for reason, pair in found.items():
        (judgment,) = judge.judge([pair])
        assert reason in judgment.reasons, (reason, judgment)
    (judgment,) = judge.judge([("the cat " * 4, "le chat " * 4)], longest=7)
    assert judgment.reasons == ("too long",)
    assert judgment.quality == WORST


def test_the_order_of_links_by_hand() -> None:
    assert disorder(Alignment.of([(n, n) for n in range(6)])) == 0  # every jump is to the next place
    assert disorder(Alignment.of([(n, n) for n in range(3)])) == 0  # too few to have an order
    turned = disorder(Alignment.of([(n, 5 - n) for n in range(6)]))  # every jump is two off
    every = [math.log1p(abs(b - a - 1)) for a in range(6) for b in range(6)]
    assert turned == pytest.approx(math.log(3) / (sum(every) / 36))
    shuffled = random.Random(1).sample(range(40), 40)
    assert 0.8 < disorder(Alignment.of(list(enumerate(shuffled)))) < 1.2


def test_two_languages() -> None:
    languages = LanguagePair({"the": 50, "house": 10, "peter": 5}, {"la": 50, "maison": 10, "peter": 5})
    assert languages.sentence(["the", "house"]) > 1 > -1 > languages.sentence(["la", "maison"])
    assert abs(languages.word("peter")) < 0.5  # a name is in both
    assert languages.word("12") == languages.sentence([]) == 0
    assert LanguagePair({}, {}).word("word") == 0


def test_the_best_are_exactly_so_many() -> None:
    judgments = Judgments()
    for quality in (1, 3, 2, 2, 2, -5, WORST):
        judgments.add(Judgment(quality, 0, 0, 0, 0, 0, 0, 0))
    values = [judgment.quality for judgment in judgments]
    for count in range(7):
        kept = list(judgments.best(count).keeps(values))
        assert sum(kept) == count
    assert list(judgments.best(3).keeps(values)) == [False, True, True, True, False, False, False]
    assert sum(judgments.best(7).keeps(values)) == 6  # a pair without words is never kept
    assert list(Cut(-math.inf).keeps(values)) == [True] * 6 + [False]


def test_lines_are_written_as_they_were(run: Run, small_model: Path, pairs: list[tuple[str, str]]) -> None:
    source = [s.encode() for s, _ in pairs[:20]]
    target = [t.encode() for _, t in pairs[:20]]
    source[3], target[5], target[7] = b"", b"not \xe9 UTF-8", b"le  chat\xc2\xa0dort \r"
    Path("en").write_bytes(b"\n".join(source) + b"\n")
    Path("fr").write_bytes(b"\n".join(target) + b"\n")
    kept, rejects = ["k.en", "k.fr"], ["r.en", "r.fr"]
    options = ["--keep", "50%", "-o", *kept, "--rejects", *rejects, "--scores", "s", "--report", "r.html"]
    code, out, err = run("en", "fr", "--model", str(small_model), *options)
    assert (code, out) == (0, "")
    assert "20 pairs: 10 kept (50.0 %), 10 rejected" in err
    target[5] = b"not \\xe9 UTF-8"
    for names, lines in ((("k.en", "r.en"), source), (("k.fr", "r.fr"), target)):
        parts = [Path(name).read_bytes().split(b"\n")[:-1] for name in names]
        assert Counter(parts[0] + parts[1]) == Counter(lines)
        for part in parts:
            places = [lines.index(line) for line in part]
            assert places == sorted(places)
    rows = [line.split("\t") for line in Path("s").read_text().splitlines()]
    assert rows[0][0] == "quality" and len(rows) == 21
    assert [row[-1] for row in rows[4:7:2]] == ["empty", "empty"]
    assert [bool(int(row[9])) for row in rows[1:]] == [line in kept_lines() for line in source]
    page = Path("r.html").read_text()
    assert "<svg" in page and "20 pairs: 10 kept" in page and "http" not in page


def kept_lines() -> list[bytes]:
    return Path("k.en").read_bytes().split(b"\n")[:-1]


def test_parts_by_one_threshold_are_the_whole(
    run: Run, small_model: Path, pairs: list[tuple[str, str]]
) -> None:
    lines = [f"{s} ||| {t}\n" for s, t in pairs[:40]]
    for name, own in (("all", lines), ("a", lines[:15]), ("b", lines[15:])):
        Path(name).write_text("".join(own), encoding="utf-8")
        arguments = [name, "--model", str(small_model), "--threshold", "2", "-o", f"{name}.kept", "-q"]
        assert run(*arguments) == (0, "", "")
    assert Path("all.kept").read_text() == Path("a.kept").read_text() + Path("b.kept").read_text()


def test_only_scores(run: Run, small_model: Path) -> None:
    Path("en").write_text("the cat sleeps .\n\n", encoding="utf-8")
    Path("fr").write_text("le chat dort .\n\n", encoding="utf-8")
    code, out, err = run("en", "fr", "--model", str(small_model))
    assert code == 0
    assert [len(line.split("\t")) for line in out.splitlines()] == [11, 11, 11]
    assert "2 pairs scored" in err and "quality" in err
    Path("none").write_text("")
    assert run("none", "none", "--model", str(small_model), "--keep", "90%", "-o", "x", "y")[0] == 0
    assert Path("x").read_text() == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "a", "b"], "-o needs --keep or --threshold"),
        (["--keep", "5", "-o", "a"], "-o takes a file for each file of the text: 2, got 1"),
        (["--keep", "5", "-o", "a", "a"], "a is named twice"),
        (["--keep", "5", "-o", "a", "en"], "en is an input"),
    ],
)
def test_options_that_do_not_go_together(run: Run, options: list[str], message: str) -> None:
    Path("en").write_text("a\n")
    Path("fr").write_text("b\n")
    code, _, err = run("en", "fr", "--model", "m", *options)
    assert code == 2
    assert message in err
    assert Path("en").read_text() == "a\n"


@pytest.mark.parametrize("share", ["-1", "101%", "many", "5.5"])
def test_a_share_that_is_none(run: Run, share: str) -> None:
    code, _, err = run("en", "fr", "--model", "m", "--keep", share)
    assert code == 2
    assert "neither a share such as 90% nor a number of pairs" in err


def test_a_fault_leaves_no_file(run: Run, small_model: Path) -> None:
    Path("en").write_text("a\nb\n")
    Path("fr").write_text("a\n")
    code, _, err = run("en", "fr", "--model", str(small_model), "--keep", "9", "-o", "x", "y")
    assert code == 1
    assert "fr:2: the files have different numbers of lines" in err
    assert not Path("x").exists()
