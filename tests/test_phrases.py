"""Phrases: Koehn's figure, Moses' rules, thot's extraction, and tables worked out by hand."""

from __future__ import annotations

import gzip
import random
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft.cli import main
from bitweft.corpus.phrases import (
    FILES,
    Orientation,
    PhraseOptions,
    PhraseSpan,
    SortedCounts,
    extract_phrases,
    orientations,
    write_phrase_tables,
)
from bitweft.corpus.phrases.tables import Item
from bitweft.errors import InputError
from bitweft.links.alignment import Alignment, Link
from bitweft.text.bitext import Bitext

MONO, SWAP, OTHER = Orientation

# Koehn, Statistical Machine Translation (2010), figures 5.3 to 5.5.
GERMAN = ["michael", "geht", "davon", "aus", ",", "dass", "er", "im", "haus", "bleibt"]
ENGLISH = ["michael", "assumes", "that", "he", "will", "stay", "in", "the", "house"]
FIGURE = frozenset([(0, 0), (1, 1), (2, 1), (3, 1), (5, 2), (6, 3), (7, 6), (7, 7), (8, 8), (9, 4), (9, 5)])
FIGURE_PHRASES = """\
michael – michael
michael assumes – michael geht davon aus / michael geht davon aus ,
michael assumes that – michael geht davon aus , dass
michael assumes that he – michael geht davon aus , dass er
michael assumes that he will stay in the house – michael geht davon aus , dass er im haus bleibt
assumes – geht davon aus / geht davon aus ,
assumes that – geht davon aus , dass
assumes that he – geht davon aus , dass er
assumes that he will stay in the house – geht davon aus , dass er im haus bleibt
that – dass / , dass
that he – dass er / , dass er
that he will stay in the house – dass er im haus bleibt / , dass er im haus bleibt
he – er
he will stay in the house – er im haus bleibt
will stay – bleibt
will stay in the house – im haus bleibt
in the – im
in the house – im haus
house – haus
"""


def phrases(
    source: list[str], target: list[str], links: frozenset[Link], max_length: int
) -> list[tuple[str, str]]:
    return [
        (" ".join(source[a:b]), " ".join(target[c:d]))
        for a, b, c, d in extract_phrases(links, len(source), len(target), max_length=max_length)
    ]


def expected_of_figure() -> set[tuple[str, str]]:
    rows = [line.split(" – ") for line in FIGURE_PHRASES.splitlines()]
    return {(german, english) for english, all_german in rows for german in all_german.split(" / ")}


def test_koehns_figure() -> None:
    extracted = phrases(GERMAN, ENGLISH, FIGURE, 10)
    assert len(extracted) == len(set(extracted)) == 24
    assert set(extracted) == expected_of_figure()


def test_length_bounds_both_sides() -> None:
    short = {pair for pair in expected_of_figure() if all(len(side.split()) <= 3 for side in pair)}
    assert set(phrases(GERMAN, ENGLISH, FIGURE, 3)) == short


def test_unlinked_words_at_the_edges_extend_both_sides() -> None:
    extracted = phrases(["a", "b", "c"], ["x", "y", "z"], frozenset([(1, 1)]), 7)
    sources, targets = ("b", "a b", "b c", "a b c"), ("y", "x y", "y z", "x y z")
    assert Counter(extracted) == Counter((s, t) for s in sources for t in targets)


def test_nothing_comes_of_no_links() -> None:
    assert phrases(["a"], ["x"], frozenset(), 7) == []
    assert phrases([], [], frozenset(), 7) == []


@st.composite
def linked(draw: st.DrawFn) -> tuple[int, int, frozenset[Link]]:
    sources, targets = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    link = st.tuples(st.integers(0, sources - 1), st.integers(0, targets - 1))
    return sources, targets, draw(st.frozensets(link, max_size=10))


@given(linked(), st.integers(1, 8))
def test_extraction_is_the_definition(pair: tuple[int, int, frozenset[Link]], max_length: int) -> None:
    sources, targets, links = pair
    consistent = {
        PhraseSpan(a, b, c, d)
        for a in range(sources)
        for b in range(a + 1, min(sources, a + max_length) + 1)
        for c in range(targets)
        for d in range(c + 1, min(targets, c + max_length) + 1)
        if any(a <= s < b and c <= t < d for s, t in links)
        and all((a <= s < b) == (c <= t < d) for s, t in links)
    }
    extracted = list(extract_phrases(links, sources, targets, max_length=max_length))
    assert len(extracted) == len(set(extracted))
    assert set(extracted) == consistent


def a3(source: list[str], target: list[str], links: frozenset[Link]) -> str:
    words = " ".join(
        f"{word} ({{ {' '.join(str(t + 1) for s, t in sorted(links) if s == place)} }})"
        for place, word in enumerate(source)
    )
    head = f"# Sentence pair (1) source length {len(source)} target length {len(target)} alignment score : 1"
    return f"{head}\n{' '.join(target)}\nNULL ({{ }}) {words}\n"


def test_thot_extracts_the_same(tmp_path: Path) -> None:
    """Compare with another implementation, on one sentence pair at a time.

    thot leaves out some extensions over unlinked source words: where there are such words its phrases are
    among ours, and where there are none they are the same.
    """
    thot = pytest.importorskip("thot.translation")
    parameters = thot.PhraseExtractParameters()
    parameters.max_target_phrase_length = 4
    parameters.constrain_source_length = True
    generator = random.Random(1)
    compared = 0
    for _ in range(300):
        source = [f"s{place}" for place in range(generator.randint(1, 8))]
        target = [f"t{place}" for place in range(generator.randint(1, 8))]
        links = frozenset(
            (generator.randrange(len(source)), generator.randrange(len(target)))
            for _ in range(generator.randint(1, 20))
        )
        (tmp_path / "links.A3").write_text(a3(source, target, links))
        model = thot.PhraseModel()
        assert model.build(str(tmp_path / "links.A3"), parameters, False)
        assert model.print_phrase_table(str(tmp_path / "table"))
        lines = (tmp_path / "table").read_text().splitlines()
        theirs = {tuple(line.split(" ||| ")[:2]) for line in lines}
        ours = set(phrases(source, target, links, 4))
        assert theirs <= ours
        if len({s for s, _ in links}) == len(source):
            compared += 1
            assert theirs == ours
    assert compared > 50


def test_orientations_by_words() -> None:
    links = frozenset([(0, 0), (1, 2), (2, 1), (4, 3)])
    # Source 0 1 2 3 4, target 0 1 2 3; words 1 and 2 are swapped, source word 3 is unlinked.
    cases = {
        PhraseSpan(0, 1, 0, 1): (MONO, OTHER),
        PhraseSpan(2, 3, 1, 2): (OTHER, SWAP),
        PhraseSpan(1, 2, 2, 3): (SWAP, OTHER),
        PhraseSpan(1, 3, 1, 3): (MONO, OTHER),
        PhraseSpan(1, 4, 1, 3): (MONO, MONO),
        PhraseSpan(3, 5, 3, 4): (OTHER, MONO),
        PhraseSpan(0, 5, 0, 4): (MONO, MONO),
    }
    for span, orientation in cases.items():
        assert orientations(links, span, 5, 4) == orientation


def test_a_neighbor_linked_on_both_sides_is_neither_mono_nor_swap() -> None:
    links = frozenset([(0, 0), (2, 0), (1, 1)])
    assert orientations(links, PhraseSpan(1, 2, 1, 2), 3, 2)[0] is OTHER


TEXT = [("a b", "x y"), ("a b", "x y"), ("a b", "y x"), ("a c", "x z"), ("a", "w")]
LINKS = [[(0, 0), (1, 1)], [(0, 0), (1, 1)], [(0, 1), (1, 0)], [(0, 0)], [(0, 0)]]


def unpacked(directory: Path) -> dict[str, list[str]]:
    tables = {}
    for name in FILES:
        data = (directory / name).read_bytes()
        text = gzip.decompress(data) if name.endswith(".gz") else data
        tables[name] = text.decode("utf-8").splitlines()
    return tables


def written(
    directory: Path, *, text: list[tuple[str, str]] = TEXT, options: PhraseOptions | None = None
) -> dict[str, list[str]]:
    links = [Alignment.of(pairs) for pairs in (LINKS if text is TEXT else [[(0, 0)]] * len(text))]
    write_phrase_tables(Bitext.of(text), links, directory, options=options)
    assert sorted(path.name for path in directory.iterdir()) == sorted((*FILES, "phrases.json"))
    return unpacked(directory)


def test_the_phrase_table_by_hand(tmp_path: Path) -> None:
    table = written(tmp_path / "model")["phrase-table.gz"]
    # a: x four times, w once. x: a four times. c and z are unlinked once each.
    # a's phrase pairs: x (4), "x z" (1), w (1): six. lex(t|s) of "x z" is p(x|a) p(z|NULL) = 0.8.
    assert table == [
        "a b ||| x y ||| 1 1 0.666667 0.8 ||| 0-0 1-1 ||| 2 3 2 ||| |||",
        "a b ||| y x ||| 1 1 0.333333 0.8 ||| 1-0 0-1 ||| 1 3 1 ||| |||",
        "a c ||| x z ||| 0.5 1 0.5 0.8 ||| 0-0 ||| 2 2 1 ||| |||",
        "a c ||| x ||| 0.2 1 0.5 0.8 ||| 0-0 ||| 5 2 1 ||| |||",
        "a ||| w ||| 1 1 0.166667 0.2 ||| 0-0 ||| 1 6 1 ||| |||",
        "a ||| x z ||| 0.5 1 0.166667 0.8 ||| 0-0 ||| 2 6 1 ||| |||",
        "a ||| x ||| 0.8 1 0.666667 0.8 ||| 0-0 ||| 5 6 4 ||| |||",
        "b ||| y ||| 1 1 1 1 ||| 0-0 ||| 3 3 3 ||| |||",
    ]


def test_lexical_tables_by_hand(tmp_path: Path) -> None:
    tables = written(tmp_path / "model")
    assert tables["lex.f2e"] == [
        "z NULL 1.0000000",
        "x a 0.8000000",
        "w a 0.2000000",
        "y b 1.0000000",
        "NULL c 1.0000000",
    ]
    assert sorted(tables["lex.e2f"]) == sorted(
        ["NULL z 1.0000000", "a x 1.0000000", "a w 1.0000000", "b y 1.0000000", "c NULL 1.0000000"]
    )


def test_reordering_by_hand(tmp_path: Path) -> None:
    tables = written(tmp_path / "model")
    counts = dict(line.rsplit(" ||| ", 1) for line in tables["reordering-counts.gz"])
    # a ||| x: first in three pairs, after y (b) in the third, swapped. Followed by y (b) in the first
    # two, by the end of the target alone in the third, by z, which is unlinked, in the fourth.
    assert counts["b ||| y"] == "2 0 1 2 1 0"
    assert counts["a ||| x"] == "3 1 0 2 0 2"
    assert counts["a b ||| x y"] == "2 0 0 2 0 0"
    table = dict(line.rsplit(" ||| ", 1) for line in tables["reordering-table.wbe-msd-bidirectional-fe.gz"])
    assert table["b ||| y"] == "0.555556 0.111111 0.333333 0.555556 0.333333 0.111111"
    assert (
        list(table)
        == list(counts)
        == [" ||| ".join(line.split(" ||| ")[:2]) for line in tables["phrase-table.gz"]]
    )


def test_the_most_frequent_links_of_a_phrase_pair_win(tmp_path: Path) -> None:
    every = Alignment.of([(0, 0), (0, 1), (1, 0), (1, 1)])
    diagonal = Alignment.of([(0, 0), (1, 1)])
    inputs: list[tuple[list[Alignment], str]] = [
        ([diagonal, every, every], "0-0 1-0 0-1 1-1"),
        ([diagonal, diagonal, every], "0-0 1-1"),
        ([diagonal, every], "0-0 1-0 0-1 1-1"),  # equally frequent: the greater, target word by target word
    ]
    for number, (links, best) in enumerate(inputs):
        text = Bitext.of([("a b", "x y")] * len(links))
        directory = tmp_path / str(number)
        write_phrase_tables(text, links, directory)
        line = next(line for line in unpacked(directory)["phrase-table.gz"] if line.startswith("a b ||| x y"))
        assert line.split(" ||| ")[3] == best


def generated(size: int) -> tuple[Bitext, list[Alignment]]:
    generator = random.Random(2)
    text, links = [], []
    for _ in range(size):
        source = [
            generator.choice(["un", "é", "chat", "noir", "|", "𝄞"]) for _ in range(generator.randint(0, 8))
        ]
        target = [
            generator.choice(["a", "cat", "black", "ß", "\xa0"]) for _ in range(generator.randint(0, 8))
        ]
        every = [(s, t) for s in range(len(source)) for t in range(len(target))]
        text.append((" ".join(source), " ".join(target)))
        links.append(Alignment.of(generator.sample(every, min(len(every), generator.randint(0, 7)))))
    return Bitext.of(text), links


def test_a_tiny_bound_on_memory_gives_the_same_bytes(tmp_path: Path) -> None:
    text, links = generated(60)
    summaries = [
        write_phrase_tables(text, links, tmp_path / name, options=PhraseOptions(memory=memory))
        for name, memory in (("whole", 1 << 30), ("chunks", 2000))
    ]
    assert summaries[0] == summaries[1]
    assert summaries[0].phrase_pairs > 500
    for name in FILES:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "chunks" / name).read_bytes()


def test_scores_are_those_of_the_extracted_phrases(tmp_path: Path) -> None:
    text, links = generated(60)
    joint: Counter[tuple[str, str]] = Counter()
    for pair, alignment in zip(text, links, strict=True):
        joint.update(
            phrases(list(pair.source.tokens), list(pair.target.tokens), frozenset(alignment.links), 7)
        )
    sources: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    for (source, target), count in joint.items():
        sources[source] += count
        targets[target] += count
    write_phrase_tables(text, links, tmp_path / "model")
    table = unpacked(tmp_path / "model")["phrase-table.gz"]
    assert len(table) == len(joint)
    assert table == sorted(table, key=lambda line: line.encode())
    for line in table:
        source, target, scores, _, counts, _ = line.split(" ||| ", 5)
        numbers = [targets[target], sources[source], joint[source, target]]
        assert counts == " ".join(map(str, numbers))
        assert scores.split()[0] == f"{numbers[2] / numbers[0]:g}"
        assert scores.split()[2] == f"{numbers[2] / numbers[1]:g}"


@given(
    st.lists(
        st.tuples(st.text(st.sampled_from("ab |\té𝄞\r\x85\u2028"), max_size=4), st.integers(1, 9)),
        max_size=200,
    )
)
def test_sorted_counts_are_those_of_a_counter(added: list[tuple[str, int]]) -> None:
    expected: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory:
        counts = SortedCounts(Path(directory), memory=500)
        for key, count in added:
            counts.add(key, count)
            expected[key] += count
        assert list(counts) == sorted(expected.items(), key=lambda item: item[0].encode())
        counts.clear()
        assert list(Path(directory).iterdir()) == []


def test_more_runs_than_are_merged_at_a_time(tmp_path: Path) -> None:
    counts = SortedCounts(tmp_path, memory=1)
    keys = [str(number * 7919 % 300) for number in range(600)]
    for key in keys:
        counts.add(key)
    assert len(list(tmp_path.iterdir())) == 600
    assert list(counts) == sorted(Counter(keys).items())


def test_memory_stays_within_its_bound(tmp_path: Path) -> None:
    bound = 1 << 20
    counts = SortedCounts(tmp_path, memory=bound)
    tracemalloc.start()
    try:
        for number in range(20_000):
            counts.add(f"phrase {number * 7919 % 20_000} ||| phrase")
        assert sum(1 for _ in counts) == 20_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    buffers = len(list(tmp_path.iterdir())) * 100_000  # of the files that are read side by side
    assert peak < bound + buffers
    assert buffers > bound / 2  # many runs: all keys together are far beyond the bound


def test_nothing_is_left_of_a_run_that_fails(tmp_path: Path) -> None:
    links = [Alignment.of([(0, 0)]), Alignment.of([(0, 5)])]
    with pytest.raises(InputError, match="links:2: link 0-5"):
        write_phrase_tables(Bitext.of([("a", "b"), ("a", "b")]), links, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_exists_is_kept_unless_forced(tmp_path: Path) -> None:
    directory = tmp_path / "model"
    first = written(directory)
    with pytest.raises(InputError, match="exists already"):
        written(directory)
    write_phrase_tables(Bitext.of([("q", "r")]), [Alignment.of([(0, 0)])], directory, force=True)
    assert unpacked(directory) != first
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_what_was_not_written_as_tables_is_not_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contents = {"en": "a b\n", "fr": "x y\n", "links": "0-0 1-1\n"}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    arguments = ["phrases", *(str(tmp_path / name) for name in contents), "--force", "-q", "-o"]
    assert main([*arguments, str(tmp_path)]) == 2
    assert "it would be lost" in capsys.readouterr().err
    for name in FILES:  # names alone do not make it bitweft's
        (tmp_path / "foreign").mkdir(exist_ok=True)
        (tmp_path / "foreign" / name).write_text("made by Moses")
    assert main([*arguments, str(tmp_path / "foreign")]) == 1
    assert "so it is not replaced" in capsys.readouterr().err
    assert {path.name for path in (tmp_path / "foreign").iterdir()} == set(FILES)
    assert {name: (tmp_path / name).read_text() for name in contents} == contents


def test_the_word_of_three_bars_is_refused_or_escaped(tmp_path: Path) -> None:
    text = [("||| [a]", "<b> & 'c'")]
    with pytest.raises(InputError, match=r"text:1: .*--escape"):
        written(tmp_path / "refused", text=text)
    tables = written(tmp_path / "escaped", text=text, options=PhraseOptions(escape=True))
    assert tables["phrase-table.gz"][0].startswith(
        "&#124;&#124;&#124; &#91;a&#93; ||| &lt;b&gt; &amp; &apos;c&apos; |||"
    )


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, lines in zip(("s", "t"), zip(*TEXT, strict=True), strict=True):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    (tmp_path / "links").write_text("".join(f"{Alignment.of(links)}\n" for links in LINKS))
    inputs = [str(tmp_path / name) for name in ("s", "t", "links")]
    arguments = ["phrases", *inputs, "-o", str(tmp_path / "model"), "--memory", "1K"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.out == "" and "5 sentence pairs, 14 phrase pairs extracted, 8 different" in captured.err
    assert unpacked(tmp_path / "model") == written(tmp_path / "other")
    assert main(arguments) == 1
    assert "--force" in capsys.readouterr().err
    assert main([*arguments, "--force", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert main([*arguments, "--memory", "lots"]) == 2


def test_every_phase_is_watched_to_its_end(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []

    def watch(items: Iterable[Item], phase: str, total: int = 0) -> Iterator[Item]:
        own = list(items)
        seen.append((phase, len(own), total))
        return iter(own)

    write_phrase_tables(
        Bitext.of(TEXT), [Alignment.of(links) for links in LINKS], tmp_path / "model", watch=watch
    )
    counted, extracted, scored, wrote = seen
    assert counted == ("counting words", 5, 0)
    assert extracted == ("extracting phrases", 5, 5)
    assert scored[0] == "scoring phrases" and scored[1] > wrote[1]  # the totals of source phrases, too
    assert wrote == ("writing phrases", 8, 8)
