"""What is drawn: the page's data and its safety, the picture, the grid, and the verb that makes them."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitweft.cli import main
from bitweft.errors import InputError
from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.text.bitext import Sentence, SentencePair, tokenize
from bitweft.viewer import page, svg, text_grid
from bitweft.viewer.grid import columns

HOUSE = SentencePair(tokenize("the blue house"), tokenize("la maison bleue"))
HOUSE_LINKS = Alignment.of([(0, 0), (1, 2), (2, 1)], [0.9, 0.6, 0.2])
# 0-0 sure and found, 1-2 possible and found, 2-1 wrong, 2-2 sure and missed, 0-1 possible and left open.
HOUSE_GOLD = GoldAlignment.of([(0, 0), (2, 2)], [(1, 2), (0, 1)])

ATTACKS = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "<img/src=x/onerror=alert(1)>",
    "]]>",
    "&lt;b&gt;",
    "'\"><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "${alert(1)}",
    "$title",
]


ANY = st.text(st.characters(exclude_categories=()), min_size=1, max_size=8) | st.sampled_from(ATTACKS)
LETTERS = st.text(st.characters(categories=["L", "M"]), min_size=1, max_size=12)


@st.composite
def linked_pairs(draw: st.DrawFn, word: st.SearchStrategy[str] = ANY) -> tuple[SentencePair, Alignment]:
    words = st.lists(word, max_size=9)
    sides = [
        Sentence(tokens, draw(st.sampled_from([" ", ""])).join(tokens))
        for tokens in (draw(words), draw(words))
    ]
    every = [(s, t) for s in range(len(sides[0])) for t in range(len(sides[1]))]
    links = draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    scored = draw(st.booleans()) and links
    chances = draw(st.lists(st.floats(0, 1), min_size=len(links), max_size=len(links))) if scored else None
    return SentencePair(*sides), Alignment.of(links, chances)


class Reader(HTMLParser):
    """Collect elements, and what stands in scripts, styles and headings."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style", "title", "h1"):
            self.texts.append((tag, ""))

    def handle_data(self, data: str) -> None:
        if self.texts:
            tag, before = self.texts[-1]
            self.texts[-1] = (tag, before + data)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style", "title", "h1"):
            self.texts.append(("", ""))

    def of(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]


def html_of(*arguments: Any, **options: Any) -> str:
    stream = io.StringIO()
    page(*arguments, stream=stream, **options)
    return stream.getvalue()


def data_of(text: str) -> Any:
    return json.loads(Reader(text).of("script")[0])


def words_of(packed: str | list[str]) -> tuple[str, ...]:
    """Unpack words as the page's script does."""
    return tuple(packed[1:]) if isinstance(packed, list) else tuple(packed.split(" ")) if packed else ()


@settings(max_examples=40)
@given(st.lists(linked_pairs(), max_size=4))
def test_the_page_holds_every_word_and_link(items: list[tuple[SentencePair, Alignment]]) -> None:
    text = html_of([pair for pair, _ in items], [alignment for _, alignment in items])
    rows = data_of(text)["pairs"]
    assert len(rows) == len(items)
    for (source, target, links, chances, *rest), (pair, alignment) in zip(rows, items, strict=True):
        assert (words_of(source), words_of(target)) == (pair.source.tokens, pair.target.tokens)
        assert all(
            isinstance(packed, str) or packed[0] == side.text
            for packed, side in zip((source, target), pair, strict=True)
        )
        assert tuple(zip(links[::2], links[1::2], strict=True)) == alignment.links
        assert chances == (
            0 if alignment.probabilities is None else [round(1000 * p) for p in alignment.probabilities]
        )
        assert not rest


@settings(max_examples=40)
@given(st.lists(linked_pairs(), max_size=3), st.text() | st.sampled_from(ATTACKS))
def test_no_text_becomes_part_of_the_page(items: list[tuple[SentencePair, Alignment]], name: str) -> None:
    text = html_of([pair for pair, _ in items], [alignment for _, alignment in items], title=name, note=name)
    plain = html_of([], [])
    shape = [(tag, sorted(attributes)) for tag, attributes in Reader(text).elements]
    assert shape == [(tag, sorted(attributes)) for tag, attributes in Reader(plain).elements]
    data = text[text.index('id="data">') + 10 :]
    assert "<" not in data[: data.index("</script>")]


def test_gold_and_scores_are_packed() -> None:
    text = html_of(
        [HOUSE, HOUSE], [HOUSE_LINKS, Alignment()], [HOUSE_GOLD, GoldAlignment.of([])], scores=[-2.5, None]
    )
    data = data_of(text)
    assert data["about"]["gold"] is True
    assert data["pairs"] == [
        [
            "the blue house",
            "la maison bleue",
            [0, 0, 1, 2, 2, 1],
            [900, 600, 200],
            -2.5,
            [0, 0, 2, 2],
            [0, 1, 1, 2],
        ],
        ["the blue house", "la maison bleue", [], 0, None, [], []],
    ]


def test_odd_numbers_of_a_file_do_not_break_the_drawings() -> None:
    odd = Alignment.of([(0, 0), (1, 1), (2, 2)], [float("nan"), 12.5, -3.0])
    (row,) = data_of(html_of([HOUSE], [odd], scores=[float("-inf")]))["pairs"]
    assert row[3:] == [[0, 1000, 0]]
    assert text_grid(HOUSE, odd).splitlines()[3:] == ["the   ░░· ·", "blue  · ██·", "house · · ░░"]
    assert drawn(svg(HOUSE, odd))[1] == ["link"] * 3


def test_the_policy_lets_exactly_this_script_and_style_run() -> None:
    text = html_of([HOUSE], [HOUSE_LINKS])
    reader = Reader(text)
    policy = next(
        a["content"] for tag, a in reader.elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None and policy.startswith("default-src 'none'")
    for name, content in (("style", reader.of("style")[0]), ("script", reader.of("script")[1])):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_nothing_comes_from_elsewhere_and_no_text_is_taken_for_html() -> None:
    for asset in (resources.files("bitweft.viewer") / "assets").iterdir():
        text = asset.read_text(encoding="utf-8")
        addresses = set(re.findall(r"\w+://[^\"'\s)]*", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, asset.name
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\(", text
        )
        if asset.name.endswith(".js"):
            assert "</script" not in text and "<!--" not in text and "\r" not in text
        if asset.name == "page.html":
            assert not re.search(r"\son\w+=|\sstyle=|javascript:", text)


@pytest.mark.parametrize(
    ("alignments", "golds", "message"),
    [
        ([HOUSE_LINKS], None, "links:2: this line is missing"),
        ([HOUSE_LINKS] * 3, None, "text:3: this line is missing"),
        ([HOUSE_LINKS] * 2, [HOUSE_GOLD], "gold:2: this line is missing"),
        ([HOUSE_LINKS, Alignment.of([(3, 0)])], None, "2: link 3-0 .* outside"),
        ([HOUSE_LINKS] * 2, [HOUSE_GOLD, GoldAlignment.of([], [(0, 9)])], "2: link 0-9 .* outside"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_written(
    alignments: list[Alignment], golds: list[GoldAlignment] | None, message: str
) -> None:
    stream = io.StringIO()
    with pytest.raises(InputError, match=message):
        page([HOUSE, HOUSE], alignments, golds, stream=stream)
    assert stream.getvalue() == ""


SVG = "{http://www.w3.org/2000/svg}"


def drawn(text: str) -> tuple[list[str], list[str], list[float]]:
    """Read a picture: its words, the classes of its paths, and the words' x."""
    root = ElementTree.fromstring(text)
    words = root.findall(f"{SVG}text")
    paths = [path.get("class", "") for path in root.findall(f"{SVG}path")]
    return [word.text or "" for word in words], paths, [float(word.get("x", "nan")) for word in words]


def test_the_picture_draws_every_kind_of_link() -> None:
    words, paths, x = drawn(svg(HOUSE, HOUSE_LINKS, HOUSE_GOLD))
    assert words == ["the", "blue", "house", "la", "maison", "bleue"]
    assert sorted(paths) == sorted(
        ["sure", "open", "possible", "wrong", "wrong sign", "missed", "missed sign"]
    )
    assert x[:3] == sorted(x[:3]) and x[3:] == sorted(x[3:])


def test_the_picture_stands_words_in_columns_where_rows_are_too_wide() -> None:
    _, paths, x = drawn(svg(HOUSE, HOUSE_LINKS, width=120))
    assert paths == ["link"] * 3
    assert max(x[:3]) < min(x[3:])


def test_the_picture_runs_from_right_to_left_where_the_text_does() -> None:
    pair = SentencePair(tokenize("הבית הכחול"), tokenize("the blue house"))
    _, _, x = drawn(svg(pair, Alignment.of([(0, 2), (1, 1)])))
    assert x[0] > x[1] and x[2] < x[3] < x[4]


@given(linked_pairs())
def test_the_picture_is_always_xml_with_every_word(item: tuple[SentencePair, Alignment]) -> None:
    pair, alignment = item
    words, paths, _ = drawn(svg(pair, alignment))
    assert len(words) == len(pair.source) + len(pair.target)
    assert paths == ["link"] * len(alignment)


def test_the_grid_shades_by_probability() -> None:
    assert text_grid(HOUSE, HOUSE_LINKS) == (
        "      ┌ la\n"
        "      │ ┌ maison\n"
        "      │ │ ┌ bleue\n"
        "the   ██· ·\n"
        "blue  · · ▓▓\n"
        "house · ░░·\n"
    )  # fmt: skip


def test_the_grid_tells_gold_apart_without_color() -> None:
    lines = text_grid(HOUSE, HOUSE_LINKS, HOUSE_GOLD).splitlines()
    assert lines[3:] == ["the   ● ◌ ·", "blue  · · ◐", "house · × ○"]


def test_the_grid_has_colors_only_when_asked() -> None:
    assert "\033[36m██\033[0m" in text_grid(HOUSE, HOUSE_LINKS, color=True)
    assert "\033" not in text_grid(HOUSE, HOUSE_LINKS)


def test_wide_letters_take_two_columns_in_the_grid() -> None:
    pair = SentencePair(tokenize("我 喜欢"), tokenize("I like"))
    assert text_grid(pair, Alignment.of([(0, 0), (1, 1)])).splitlines()[2:] == ["我   ██·", "喜欢 · ██"]
    assert columns("e\u0301") == 1


def test_a_terminal_obeys_nothing_that_stands_in_the_text() -> None:
    pair = SentencePair(tokenize("\x1b[31mred"), tokenize("\x9b2J \u202eabc"))
    grid = text_grid(pair, Alignment())
    assert not set(grid) & set("\x1b\x9b\u202e") and "�[31mred" in grid


@given(linked_pairs(LETTERS), st.integers(1, 120))
def test_the_grid_fits_the_terminal_and_holds_every_link(
    item: tuple[SentencePair, Alignment], width: int
) -> None:
    pair, alignment = item
    grid = text_grid(pair, alignment, width=width)
    assert sum(grid.count(2 * shade) for shade in "█▓▒░") == len(alignment)
    assert all(columns(line) <= max(width, 24) for line in grid.splitlines())


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "en").write_text("the blue house\nyes <b>\n", encoding="utf-8")
    (tmp_path / "fr").write_text("la maison bleue\noui </script>\n", encoding="utf-8")
    (tmp_path / "joint").write_text("the blue house ||| la maison bleue\nyes ||| oui\n", encoding="utf-8")
    (tmp_path / "links").write_text("0-0 1-2 2-1\n0-0\n", encoding="utf-8")
    (tmp_path / "gold").write_text("0-0 1-2 2p1\n0-0\n", encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> int:
    known = {"en", "fr", "joint", "links", "gold", "page.html"}
    return main(["view", *(str(folder / each) if each in known else each for each in arguments)])


def test_the_verb_writes_a_page(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(files, "en", "fr", "links", "--gold", "gold", "-o", "page.html") == 0
    text = (files / "page.html").read_text(encoding="utf-8")
    assert [row[:3] for row in data_of(text)["pairs"]] == [
        ["the blue house", "la maison bleue", [0, 0, 1, 2, 2, 1]],
        ["yes <b>", "oui </script>", [0, 0]],
    ]
    assert Reader(text).of("title") == ["en – fr"]
    out, err = capsys.readouterr()
    assert out == "" and "2 sentence pairs" in err
    assert run(files, "en", "fr", "links", "-o", "page.html") == 1  # it exists


def test_the_verb_takes_a_joint_file_and_one_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(files, "joint", "links", "--line", "2", "--title", "<b>") == 0
    data = data_of(out := capsys.readouterr().out)
    assert data["about"]["first"] == 2
    assert [row[:2] for row in data["pairs"]] == [["yes", "oui"]]
    assert Reader(out).of("h1") == ["<b>"]


def test_the_verb_draws_grids_and_pictures(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(files, "en", "fr", "links", "--gold", "gold", "--text") == 0
    out = capsys.readouterr().out
    assert "1: 3 links, precision 100.0, recall 100.0, AER 0.0\n" in out
    assert "house · ◐ ·\n" in out and "2: 1 link," in out and out.endswith("possible, not linked\n")
    assert run(files, "en", "fr", "links", "--line", "1", "--svg") == 0
    assert drawn(capsys.readouterr().out)[1] == ["link"] * 3


def test_the_verb_asks_the_model_for_the_wanted_lines(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[object] = []

    class Aligner:
        @classmethod
        def load(cls, folder: str) -> Aligner:
            asked.append(folder)
            return cls()

        def align(self, pairs: list[SentencePair]) -> list[Alignment]:
            asked.extend(pair.source.text for pair in pairs)
            return [Alignment.of([(1, 1)], [0.25]) for _ in pairs]

    monkeypatch.setitem(sys.modules, "bitweft.aligner", SimpleNamespace(Aligner=Aligner))
    assert run(files, "en", "fr", "--model", "m.weft", "--line", "2") == 0
    assert asked == ["m.weft", "yes <b>"]
    assert data_of(capsys.readouterr().out)["pairs"] == [["yes <b>", "oui </script>", [1, 1], [250]]]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["en", "fr"], 2, "no links"),
        (["en"], 2, "no links"),
        (["en", "fr", "links", "--model", "x"], 2, "not both"),
        (["en", "fr", "links", "--svg"], 2, "--line N"),
        (["-", "fr", "-"], 2, "standard input"),
        (["en", "fr", "links", "--line", "3", "--text"], 1, "en:3: the text ends before"),
        (["en", "fr", "links", "--line", "3", "-o", "page.html"], 1, "en:3: the text ends before"),
        (["fr", "en", "missing", "-o", "page.html"], 1, "missing"),
        (["en", "fr", "links", "--gold", "joint", "-o", "page.html"], 1, "joint"),
    ],
)
def test_the_verb_says_what_is_wrong_and_leaves_nothing(
    files: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    before = sorted(files.iterdir())
    assert run(files, *arguments) == code
    assert message in capsys.readouterr().err
    assert sorted(files.iterdir()) == before


def test_a_page_is_not_poured_into_a_terminal(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(files, "en", "fr", "links") == 2


def test_gold_outside_the_text_names_file_and_line(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "gold").write_text("0-0\n0-7\n", encoding="utf-8")
    assert run(files, "en", "fr", "links", "--gold", "gold", "-o", "page.html") == 1
    assert "gold:2: link 0-7" in capsys.readouterr().err


def test_json_lines_with_text_and_links_are_enough(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = files / "links.jsonl"
    row = {"src": "the house", "tgt": "la maison", "links": [[0, 0, 0.9], [1, 1, 0.6]]}
    lines.write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert main(["view", str(lines), "-o", str(files / "alone.html")]) == 0
    data = data_of((files / "alone.html").read_text(encoding="utf-8"))
    assert data["pairs"] == [["the house", "la maison", [0, 0, 1, 1], [900, 600]]]
    assert main(["view", str(lines), "--text"]) == 0
    assert "the" in capsys.readouterr().out
    lines.write_text(json.dumps({"links": [[0, 0]]}) + "\n", encoding="utf-8")
    assert main(["view", str(lines), "-o", str(files / "none.html")]) == 1
    assert "links.jsonl:1: no text" in capsys.readouterr().err and not (files / "none.html").exists()


def test_another_systems_links_are_packed_and_checked() -> None:
    text = html_of([HOUSE], [HOUSE_LINKS], others=[Alignment.of([(0, 0), (2, 2)])], systems=("a", "<b>"))
    data = data_of(text)
    assert data["about"]["compare"] == ["a", "<b>"]
    assert data["pairs"][0][4:] == [None, [], [], [0, 0, 2, 2]]
    with pytest.raises(InputError, match="link 9-0"):
        html_of([HOUSE], [HOUSE_LINKS], others=[Alignment.of([(9, 0)])])
