"""The lexicon: counts and probabilities worked out by hand, examples, pruning, and what other tools read."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft.cli import main
from bitweft.corpus.lexicon import (
    Entry,
    Lexicon,
    Pruning,
    examples,
    linked_pairs,
    write_table,
)
from bitweft.corpus.phrases.entries import linked_phrases
from bitweft.errors import InputError
from bitweft.links.alignment import Alignment
from bitweft.text.bitext import Bitext

TEXT = [
    ("das haus ist klein", "the house is small"),
    ("das buch", "the book"),
    ("das haus", "a house"),
    ("ja das stimmt", "that is right"),
]
LINKS = ["0-0 1-1 2-2 3-3", "0-0 1-1", "1-1", "1-0 2-1 2-2"]


def alignment(text: str) -> Alignment:
    return Alignment.of((int(s), int(t)) for s, _, t in (link.partition("-") for link in text.split()))


def counted() -> Lexicon:
    return Lexicon.count(Bitext.of(TEXT), map(alignment, LINKS))


def files(directory: Path) -> list[str]:
    paths = [directory / name for name in ("de", "en", "links")]
    for path, lines in zip(paths, (*zip(*TEXT, strict=True), LINKS), strict=True):
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return [str(path) for path in paths]


def test_counts_and_probabilities_are_those_of_the_links_and_of_null() -> None:
    lexicon = counted()
    das = lexicon.get("das", "the")
    # das: the, the, NULL, that. The third das is unlinked. the: das, das.
    assert das is not None
    assert (das.count, das.source_count, das.target_count) == (2, 4, 2)
    assert (das.p_target, das.p_source) == (0.5, 1.0)
    assert lexicon.p_target("das", None) == 0.25
    assert lexicon.p_source("ja", None) == 0.5  # NULL stands for ja and one das
    assert lexicon.p_target(None, "a") == 1.0
    assert lexicon.get("das", "book") is None
    assert lexicon.p_target("das", "book") == 0.0
    assert lexicon.p_source("unseen", "book") == 0.0


def test_a_word_spelt_null_is_not_null() -> None:
    lexicon = Lexicon.count(Bitext.of([("NULL x", "nil")]), [Alignment.of([(0, 0)])])
    assert lexicon.p_target("NULL", "nil") == 1.0
    assert lexicon.get(None, "nil") is None
    assert lexicon.p_target("x", None) == 1.0


def test_entries_come_by_word_most_probable_first() -> None:
    targets = [(e.source, e.target) for e in counted().by_source()]
    assert targets == [
        ("buch", "book"),
        ("das", "the"),
        ("das", "that"),
        ("haus", "house"),
        ("ist", "is"),
        ("klein", "small"),
        ("stimmt", "is"),
        ("stimmt", "right"),
    ]
    assert [e.source for e in counted().by_target() if e.target == "is"] == ["ist", "stimmt"]


def test_pruning_by_count_rank_and_share() -> None:
    lexicon = counted()
    assert {e.source for e in lexicon.by_source(Pruning(min_count=2))} == {"das", "haus"}
    top = [(e.source, e.target) for e in lexicon.by_source(Pruning(top=1))]
    assert ("das", "that") not in top and ("das", "the") in top
    # "that" is half as probable as "the" for das, but is nothing else than das: kept for the target's sake.
    assert ("das", "that") in [(e.source, e.target) for e in lexicon.by_source(Pruning(threshold=0.5))]
    assert ("das", "that") not in [(e.source, e.target) for e in lexicon.by_source(Pruning(threshold=0.51))]


def test_the_example_is_the_shortest_pair_with_the_two_words_linked_alone() -> None:
    text = [("a b c", "x y z"), ("a b", "x y"), ("a", "x y"), ("a b", "x y")]
    links = [alignment(line) for line in ("0-0", "0-0 1-1", "0-0 0-1", "0-0")]
    lexicon = Lexicon.count(Bitext.of(text), links)
    entry = lexicon.get("a", "x")
    assert entry is not None and entry.lines == (2,)
    found = examples([entry], Bitext.of(text), links)
    assert found["a", "x"] == [(2, "[a] b", "[x] y")]


def test_contexts_are_cut_and_show_null() -> None:
    text = [("1 2 3 4 5 6 7 8 9", "a b c d e f g h i")]
    links = [Alignment.of([(4, 4), (0, 8)])]
    lexicon = Lexicon.count(Bitext.of(text), links)
    found = examples(lexicon.by_source(Pruning(null=True)), Bitext.of(text), links)
    assert found["5", "e"][0][1:] == ("… 2 3 4 [5] 6 7 8 …", "… b c d [e] f g h …")
    assert found["1", "i"][0][1:] == ("[1] 2 3 4 …", "… f g h [i]")
    assert found["2", None][0][1:] == ("1 [2] 3 4 5 …", "a b c d e f g …")


def test_every_entry_has_an_example_that_holds_it() -> None:
    lexicon = counted()
    entries = list(lexicon.by_source(Pruning(null=True)))
    found = examples(iter(entries), Bitext.of(TEXT), map(alignment, LINKS))
    assert len(entries) == len(lexicon) == len(found)
    for entry in entries:
        (example,) = found[entry.source, entry.target]
        assert (example.line,) == entry.lines
        for word, context in ((entry.source, example.source), (entry.target, example.target)):
            assert word is None or f"[{word}]" in context


sentences = st.lists(st.sampled_from("ab"), max_size=4)


@st.composite
def linked(draw: st.DrawFn) -> tuple[list[str], list[str], Alignment]:
    source, target = draw(sentences), draw(sentences)
    every = [(s, t) for s in range(len(source)) for t in range(len(target))]
    return source, target, Alignment.of(draw(st.lists(st.sampled_from(every), max_size=5)) if every else [])


@given(st.lists(linked(), max_size=5))
def test_probabilities_of_a_word_sum_to_one(text: list[tuple[list[str], list[str], Alignment]]) -> None:
    pairs = [(" ".join(source), " ".join(target)) for source, target, _ in text]
    lexicon = Lexicon.count(Bitext.of(pairs), [links for _, _, links in text])
    sums: Counter[tuple[str, str | None]] = Counter()
    for entry in lexicon.by_source(Pruning(null=True)):
        sums["source", entry.source] += entry.count
        sums["target", entry.target] += entry.count
        assert sums["source", entry.source] <= entry.source_count
    for entry in lexicon.by_source(Pruning(null=True)):
        assert sums["source", entry.source] == entry.source_count
        assert sums["target", entry.target] == entry.target_count


def test_several_examples_are_of_different_lines_the_best_first() -> None:
    text = [("a b c", "x y z"), ("a a", "x x"), ("a b", "x y"), ("a", "x y")]
    links = [alignment(line) for line in ("0-0", "0-0 1-1", "0-0 1-1", "0-0 0-1")]
    lexicon = Lexicon.count(Bitext.of(text), links, examples=3)
    entry = lexicon.get("a", "x")
    assert entry is not None and (entry.count, entry.lines) == (5, (2, 3, 1))
    found = examples([entry], Bitext.of(text), links)["a", "x"]
    assert [each.line for each in found] == [2, 3, 1]
    assert found[0] == (2, "[a] a", "[x] x")


def test_phrases_are_those_linked_as_a_whole_without_punctuation() -> None:
    text = [("the white house .", "la maison blanche ."), ("potatoes", "pommes de terre")]
    links = [alignment(line) for line in ("0-0 1-2 2-1 3-3", "0-0 0-2")]
    units = linked_phrases(3)
    lexicon = Lexicon.count(Bitext.of(text), links, units=units)
    found = {(entry.source, entry.target): entry.count for entry in lexicon.by_source(Pruning(null=True))}
    assert found == {
        ("the", "la"): 1,
        ("white", "blanche"): 1,
        ("house", "maison"): 1,
        ("white house", "maison blanche"): 1,
        ("the white house", "la maison blanche"): 1,
        (".", "."): 1,
        ("potatoes", "pommes de terre"): 1,
        (None, "de"): 1,
    }
    shown = examples(lexicon.by_source(), Bitext.of(text), links, units=units)
    assert shown["white house", "maison blanche"] == [(1, "the [white house] .", "la [maison blanche] .")]
    assert lexicon.p_target("potatoes", "pommes de terre") == 1.0


def test_keys_of_a_parallel_file_stand_for_the_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = files(tmp_path)
    lemmas = tmp_path / "lemmas"
    lemmas.write_text("der Haus sein klein\nder Buch\nder Haus\nja der stimmen\n", encoding="utf-8")
    assert main(["lexicon", *arguments, "--lemmas", str(lemmas), "-", "--min-count", "2"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[:2] for row in rows] == [["Haus", "house"], ["der", "the"]]
    assert rows[0][8] == "das [haus]"  # the text itself is what is shown
    assert main(["lexicon", *arguments, "--lemmas", str(lemmas), "-", "--query", "sein", "-q"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["1\tdas haus [ist] klein\tthe house [is] small"]
    lemmas.write_text("der Haus\n", encoding="utf-8")
    assert main(["lexicon", *arguments, "--lemmas", str(lemmas), "-"]) == 1
    assert f"{lemmas}:1: 2 tags for 4 words" in capsys.readouterr().err


def test_columns_of_several_examples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lexicon", *files(tmp_path), "--examples", "2", "--phrases", "2"]) == 0
    head, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert head[-3:] == ["line2", "source_context2", "target_context2"]
    assert {len(row) for row in rows} == {len(head)}
    house = next(row for row in rows if row[0] == "haus")
    assert house[7:] == ["3", "das [haus]", "a [house]", "1", "das [haus] ist klein", "the [house] is small"]
    assert main(["lexicon", *files(tmp_path), "--phrases", "2", "--to", "moses", "-o", "x"]) == 2
    assert "--phrases" in capsys.readouterr().err


def test_lower_case_merges_words() -> None:
    links = [Alignment.of([(0, 0)])] * 2
    bitext = Bitext.of([("Das", "The"), ("das", "the")])
    assert len(Lexicon.count(bitext, links)) == 2
    assert Lexicon.count(bitext, links, lower=True).p_target("das", "the") == 1.0


def test_links_that_do_not_fit_the_text_are_refused_with_their_line() -> None:
    bitext = Bitext.of([("a", "b"), ("c", "d")])
    with pytest.raises(InputError, match=r"^x\.links:2: link 1-0 \(zero-based\) is outside"):
        list(linked_pairs(bitext, [Alignment(), Alignment.of([(1, 0)])], names=("x", "x.links")))
    for count, name in ((1, "links:2"), (3, "text:3")):
        with pytest.raises(InputError, match=name):
            list(linked_pairs(bitext, [Alignment()] * count))


def test_tables_leave_out_words_that_their_readers_would_split() -> None:
    stream = io.StringIO()
    entries = [
        Entry("a\xa0b", "x", 1, 1, 1, (1,)),
        Entry("a", "x", 1, 3, 1, (1,)),
        Entry(None, "y", 2, 3, 2, (1,)),
    ]
    assert write_table(entries, stream) == 1
    assert stream.getvalue() == "x a 0.3333333\ny NULL 0.6666667\n"


def test_tsv_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lexicon", *files(tmp_path), "--min-count", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "source\ttarget\tcount\tsource_count\ttarget_count\tp_target\tp_source\tline\t"
        "source_context\ttarget_context",
        "das\tthe\t2\t4\t2\t0.5000000\t1.0000000\t2\t[das] buch\t[the] book",
        "haus\thouse\t2\t2\t2\t1.0000000\t1.0000000\t3\tdas [haus]\ta [house]",
    ]


def test_both_walks_show_progress_unless_quiet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bitweft.cli.progress.LINE", 0.0)
    arguments = ["lexicon", *files(tmp_path)]
    assert main(arguments) == 0
    shown = capsys.readouterr()
    assert "counting links  1 done" in shown.err and "finding examples  1 done" in shown.err
    assert main([*arguments, "--quiet"]) == 0
    assert capsys.readouterr() == (shown.out, "")


def test_json_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lexicon", *files(tmp_path), "--to", "json", "--null"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"source": "das", "target": None, "p_target": 0.25}.items() <= next(
        r for r in records if r["source"] == "das" and r["target"] is None
    ).items()
    assert len(records) == len(counted()) and records[1]["examples"][0]["line"] == 2


def test_marian_and_moses_get_both_directions(tmp_path: Path) -> None:
    arguments = files(tmp_path)
    prefix = str(tmp_path / "lex")
    assert main(["lexicon", *arguments, "--to", "marian", "-o", prefix]) == 0
    assert main(["lexicon", *arguments, "--to", "moses", "-o", prefix]) == 0
    forward = Path(prefix + ".s2t").read_text(encoding="utf-8")
    backward = Path(prefix + ".t2s").read_text(encoding="utf-8")
    assert Path(prefix + ".f2e").read_text(encoding="utf-8") == forward
    assert Path(prefix + ".e2f").read_text(encoding="utf-8") == backward
    # extract_lex: `target source p(target|source)`, and `source target p(source|target)`.
    assert "the das 0.5000000\n" in forward and "NULL das 0.2500000\n" in forward
    assert "das the 1.0000000\n" in backward and "NULL a 1.0000000\n" in backward
    assert forward.count("\n") == backward.count("\n") == len(counted())


def test_bicleaner_gets_gzip_lower_case_and_the_likely_translations_without_null(tmp_path: Path) -> None:
    text = [("Haus", "house")] * 11 + [("haus", "home")] + [("x", "y")]
    for name, lines in zip(("de", "en"), zip(*text, strict=True), strict=True):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "links").write_text("0-0\n" * 12 + "\n", encoding="utf-8")
    inputs = [str(tmp_path / name) for name in ("de", "en", "links")]
    prefix = str(tmp_path / "dict")
    assert main(["lexicon", *inputs, "--to", "bicleaner", "-o", prefix]) == 0
    assert gzip.decompress(Path(prefix + ".s2t.gz").read_bytes()).decode() == "house haus 0.9166667\n"
    assert gzip.decompress(Path(prefix + ".t2s.gz").read_bytes()).decode() == (
        "haus home 1.0000000\nhaus house 1.0000000\n"
    )


def test_two_tables_need_a_prefix_and_keep_what_exists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = files(tmp_path)
    assert main(["lexicon", *arguments, "--to", "marian"]) == 2
    assert "-o PREFIX" in capsys.readouterr().err
    (tmp_path / "lex.t2s").write_text("kept")
    assert main(["lexicon", *arguments, "--to", "marian", "-o", str(tmp_path / "lex")]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["de", "en", "lex.t2s", "links"]
    assert (tmp_path / "lex.t2s").read_text() == "kept"


def test_links_out_of_range_end_the_command_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = files(tmp_path)
    Path(arguments[2]).write_text("0-0\n0-7\n\n\n")
    assert main(["lexicon", *arguments]) == 1
    captured = capsys.readouterr()
    assert f"{arguments[2]}:2: link 0-7" in captured.err and captured.out == ""
