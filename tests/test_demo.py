"""`bitweft demo` and its drawings."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft.cli import main
from bitweft.cli.demo import (
    EXAMPLE_SENTENCES,
    FILES,
    Part,
    own_command,
    show_examples,
    show_scores,
)
from bitweft.cli.drawing import DOTTED, GLYPHS, draw_links
from bitweft.cli.options import wants_color
from bitweft.cli.screen import Screen
from bitweft.links.alignment import Alignment, Link
from bitweft.links.evaluate import evaluate
from bitweft.links.formats.registry import read_alignments, read_gold
from bitweft.progress import Progress
from bitweft.recipes.default.recipe import DefaultRecipe
from bitweft.sample import generate, natural
from bitweft.text.bitext import Bitext

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def drawn(source: str, target: str, *links: Link, missed: tuple[Link, ...] = ()) -> str:
    lines = draw_links(source.split(), target.split(), links, missed=missed)
    return "\n".join(line.rstrip() for line in lines)


def test_words_in_the_same_order_stand_above_each_other() -> None:
    assert drawn("the cat sleeps", "le chat dort", (0, 0), (1, 1), (2, 2)) == (
        "the  cat  sleeps\n"
        " │    │     │\n"
        " le  chat  dort"
    )  # fmt: skip


def test_a_word_that_moves_is_followed_around_the_corner() -> None:
    assert drawn("I see them .", "je les vois .", (0, 0), (1, 2), (2, 1), (3, 3)) == (
        "I        see  them  .\n"
        "│    ╭────│─────╯   │\n"
        "je  les  vois       ."
    )  # fmt: skip


def test_one_word_fans_out_to_several_and_a_missed_link_is_dotted() -> None:
    assert drawn("not", "ne pas", (0, 0), (0, 1)) == "not\n ├─────╮\n ne  pas"
    assert drawn("not", "ne pas", (0, 0), missed=((0, 1),)) == "not\n ├┄┄┄┄┄╮\n ne  pas"


def test_a_drawing_without_words_or_links_is_still_one() -> None:
    assert drawn("", "") == "\n\n"
    assert drawn("a b", "") == "a   b\n\n"


@st.composite
def linked(draw: st.DrawFn) -> tuple[list[str], list[str], set[Link]]:
    words = st.lists(st.text("abcdefgh", min_size=1, max_size=9), min_size=1, max_size=9)
    source, target = draw(words), draw(words)
    link = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    return source, target, draw(st.sets(link, max_size=12))


@given(linked())
def test_every_thread_can_be_followed_from_word_to_word(pair: tuple[list[str], list[str], set[Link]]) -> None:
    source, target, links = pair
    lines = draw_links(source, target, links)
    assert lines[0].split() == source
    assert lines[-1].split() == target
    reached = {(s, t) for s in range(len(source)) for t in follow(lines, s)}
    assert links <= reached


def test_threads_that_only_cross_do_not_look_joined() -> None:
    crossing = drawn("I see them", "je les vois", (0, 0), (1, 2), (2, 1))
    joined = drawn("I see them", "je les vois", (0, 0), (1, 2), (2, 1), (2, 2))
    assert "┼" not in crossing
    assert "┼" in joined


@given(linked())
def test_color_changes_nothing_but_color(pair: tuple[list[str], list[str], set[Link]]) -> None:
    plain = draw_links(*pair)
    assert [ESCAPE.sub("", line) for line in draw_links(*pair, color=True)] == plain


def follow(lines: list[str], s: int) -> set[int]:
    """Walk the glyphs down from a source word to every target word they lead to."""
    sides = {glyph: bits for bits, glyph in GLYPHS.items() if bits not in (1, 2, 4, 8)}
    sides |= {dotted: sides[glyph] for glyph, dotted in DOTTED.items()}
    steps = {1: (-1, 0), 2: (1, 0), 4: (0, -1), 8: (0, 1)}
    back = {1: 2, 2: 1, 4: 8, 8: 4}
    start, end = spans(lines[0])[s]
    below = spans(lines[-1])
    todo = [(1, column, 2) for column in range(start, end)]
    seen: set[tuple[int, int, int]] = set()
    reached = set()
    while todo:
        state = todo.pop()
        row, column, heading = state
        if state in seen:
            continue
        seen.add(state)
        if row == len(lines) - 1:
            reached |= {t for t, (first, last) in enumerate(below) if heading == 2 and first <= column < last}
            continue
        if row == 0 or not 0 <= column < len(lines[row]):
            continue
        touched = sides.get(lines[row][column], 0)
        down, right = steps[heading]
        if heading in (4, 8) and touched == 3:  # it goes on under an upright thread
            todo.append((row + down, column + right, heading))
        elif touched & back[heading]:
            for side, (down, right) in steps.items():
                if touched & side and side != back[heading]:
                    todo.append((row + down, column + right, side))
    return reached


def spans(line: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", line)]


class Oracle:
    """Stand in for the aligner: knows the gold of what it is given, and gets every tenth link wrong."""

    recipe = DefaultRecipe()

    def __init__(self, *, seed: int) -> None:
        self.seed = seed

    def fit(self, text: Bitext, *, progress: Callable[[Progress], None]) -> Oracle:
        progress(Progress(1, 1, "lse"))
        return self

    def align(self, text: Bitext) -> Iterator[Alignment]:
        golds = {(p.source, p.target): p.gold for p in [*generate(60, self.seed), *natural()]}
        for pair in text:
            links = sorted(golds[pair.source.tokens, pair.target.tokens].sure)
            yield Alignment.of(link for place, link in enumerate(links) if place % 10 != 9)


@pytest.fixture
def oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("bitweft.aligner")
    module.Aligner = Oracle  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "bitweft.aligner", module)


@pytest.mark.usefixtures("oracle")
def test_the_demo_fits_a_terminal_and_ends_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--pairs", "60", "--seed", "3"]) == 0
    out = capsys.readouterr().out
    assert max(len(line) for line in out.partition("\n  Next\n")[0].splitlines()) <= 80
    assert "\x1b" not in out
    assert "60 pairs" in out
    assert "100 pairs" in out
    for sentence in EXAMPLE_SENTENCES:
        assert re.sub(" +", " ", out).count(sentence) == 1
    assert re.search(r"written by hand +100\.0 +9\d\.\d +9\d\.\d +\d\.\d +[1-9][\d,]+", out)
    assert "align YOUR.en YOUR.fr" in out


@pytest.mark.usefixtures("oracle")
def test_files_are_written_and_can_be_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "new" / "demo"
    assert main(["demo", "--pairs", "60", "-o", str(directory)]) == 0
    assert sorted(path.name for path in directory.iterdir()) == sorted(FILES)
    for name, pairs in (("sample", list(generate(60))), ("natural", natural())):
        text = Bitext(directory / f"{name}.en", directory / f"{name}.fr")
        assert [pair.source.tokens for pair in text] == [pair.source for pair in pairs]
        golds = list(read_gold(directory / f"{name}.gold"))
        assert golds == [pair.gold for pair in pairs]
        score = evaluate(read_alignments(directory / f"{name}.links", "pharaoh"), golds)
        assert score.precision == 1
        assert 0.85 < score.recall < 1
    assert f"bitweft evaluate {directory}/natural.links" in capsys.readouterr().out


@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize("directory", [None, "a new demo"])
def test_what_comes_next_works_when_pasted(
    directory: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Paste it into a shell that knows nothing of the environment in which the demo ran."""
    if os.name != "posix":
        pytest.skip("the demo's commands are pasted into a POSIX shell")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.defpath)
    assert main(["demo", "--pairs", "60", *([] if directory is None else ["-o", directory])]) == 0
    pasted = (
        capsys.readouterr().out.partition("\n  Next\n")[2].replace("demo -o demo", "demo --pairs 60 -o demo")
    )
    done = subprocess.run(
        ["sh", "-eux"], input=pasted, capture_output=True, text=True, env={"PATH": os.defpath}
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n+ ") >= 3
    assert "AER" in done.stdout


@pytest.mark.parametrize("name", [".venv", "with space"])
def test_the_command_is_named_so_that_a_shell_finds_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / name / "bin" / "bitweft"
    program.parent.mkdir(parents=True)
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(program.parent / "python"))
    monkeypatch.setenv("PATH", str(program.parent))
    assert own_command() == "bitweft"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert own_command() == shlex.quote(os.path.join(name, "bin", "bitweft"))
    monkeypatch.chdir(tmp_path / name / "bin")
    assert own_command() == shlex.quote(str(program))
    program.unlink()
    assert own_command() == f"{shlex.quote(sys.executable)} -m bitweft"


def test_where_output_is_no_terminal_a_step_is_one_whole_line() -> None:
    """Standard error may go to the same file: what is said during a step must not break its line."""
    out = io.StringIO()
    with Screen(out, color=False).step("It learns"):
        out.write("bitweft: learning words 10 %\n")
    first, second = out.getvalue().splitlines()
    assert first == "bitweft: learning words 10 %"
    assert re.fullmatch(r"  · It learns \.+ \d+\.\d s", second)


@pytest.mark.usefixtures("oracle")
def test_a_file_in_the_way_is_told_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "natural.gold").write_text("mine\n")
    assert main(["demo", "--pairs", "60", "-o", str(tmp_path)]) == 1
    done = capsys.readouterr()
    assert done.out == ""
    assert "natural.gold" in done.err
    assert "--force" in done.err
    assert (tmp_path / "natural.gold").read_text() == "mine\n"
    assert main(["demo", "--pairs", "60", "-o", str(tmp_path), "--force"]) == 0
    assert (tmp_path / "natural.gold").read_text() != "mine\n"


def test_a_file_where_the_directory_should_be_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["demo", "-o", str(tmp_path / "file")]) == 1
    assert "file" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["0", "-3", "many"])
def test_senseless_numbers_of_pairs_are_refused(number: str) -> None:
    assert main(["demo", "--pairs", number]) == 2


def test_perfect_links_are_called_so_and_empty_ones_do_not_crash() -> None:
    pairs = natural()
    perfect = Part("perfect", pairs, [Alignment.of(pair.gold.sure) for pair in pairs])
    empty = Part("empty", pairs, [Alignment() for _ in pairs])
    out = io.StringIO()
    screen = Screen(out, color=False)
    show_examples(screen, perfect)
    assert out.getvalue().count("all as in the gold") == 3
    assert "missed" not in out.getvalue()
    show_examples(screen, empty)
    assert out.getvalue().count("missed, dotted") == 3
    show_scores(screen, [perfect, empty])
    assert re.search(r"perfect +100\.0 +100\.0 +100\.0 +0\.0", out.getvalue())
    assert re.search(r"empty +0\.0 +0\.0 +0\.0 +100\.0 +0", out.getvalue())


def test_color_only_for_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_color(Terminal())
    assert not wants_color(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_color(Terminal())


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("bitweft.aligner") is None, reason="there is no aligner yet")
def test_the_aligner_itself_does_well_on_the_sample(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--pairs", "1000"]) == 0
    table = re.findall(r"(?:grammar|hand) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)", capsys.readouterr().out)
    (_, _, _, sample_aer), (_, _, _, natural_aer) = table
    assert float(sample_aer) < 15
    assert float(natural_aer) < 30
