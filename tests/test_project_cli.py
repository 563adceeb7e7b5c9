"""`bitweft project` from the command line: links of any origin, faults, and the report."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from bitweft.aligner import Aligner
from bitweft.cli import main
from bitweft.cli.project import EXAMPLES
from small import aligner, sample

SOURCE = "the O\nNew B-LOC\nYork I-LOC\n\nMax B-PER\nsleeps O\n\n"
TARGET = "la Nuova York\nMax dorme\n"
LINKS = "0-0 1-1 2-2\n1-1\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"s.conll": SOURCE, "t.txt": TARGET, "links": LINKS}.items():
        Path(name).write_text(text, encoding="utf-8")
    return tmp_path


def run(arguments: str) -> int:
    return main(["project", *shlex.split(arguments)])


def test_links_of_a_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("s.conll t.txt --links links -o out --report report") == 0
    assert Path("out").read_text() == "la O\nNuova B-LOC\nYork I-LOC\n\nMax O\ndorme O\n\n"
    assert capsys.readouterr().err == "bitweft: 2 sentences, 1 projected, 1 not\n"
    lines = [json.loads(line) for line in Path("report").read_text().splitlines()]
    assert [(line["sentence"], line["target"], line["reason"]) for line in lines] == [
        (1, "Nuova York", None),
        (2, None, "no counterpart"),
    ]


def test_the_other_way_by_inverse(files: Path) -> None:
    assert run("s.conll t.txt --links links -o there -q") == 0
    assert run("there s.conll --format conll --links links --inverse -o back -q --no-target-text") == 0
    assert Path("back").read_text() == SOURCE.replace("B-PER", "O")


def test_another_scheme(files: Path) -> None:
    assert run("s.conll t.txt --links links -o out --scheme bilou -q") == 0
    assert "Nuova B-LOC\nYork L-LOC\n" in Path("out").read_text()


def test_rules_can_be_set(files: Path) -> None:
    Path("links").write_text("1-0 2-2\n\n")
    assert run("s.conll t.txt --links links -o wide -q") == 0
    assert run("s.conll t.txt --links links -o narrow --gap 0 -q") == 0
    assert Path("wide").read_text().startswith("la B-LOC\nNuova I-LOC\nYork I-LOC\n")
    assert Path("narrow").read_text().startswith("la B-LOC\nNuova O\nYork O\n")
    assert run("s.conll t.txt --links links -o none --gap 0 --min-probability 0.9 -q") == 0
    assert "LOC" not in Path("none").read_text()


def sentences(directory: Path) -> None:
    """Write the sample: its source with the second word of each sentence named, its target as lines."""
    named = [
        "".join(f"{word} {'B-X' if n == 1 else 'O'}\n" for n, word in enumerate(pair.source.tokens)) + "\n"
        for pair in sample()[0]
    ]
    (directory / "s.conll").write_text("".join(named), encoding="utf-8")
    (directory / "t.txt").write_text(
        "".join(f"{pair.target.text}\n" for pair in sample()[0]), encoding="utf-8"
    )


def test_a_model_and_learning_from_the_text_agree(files: Path) -> None:
    sentences(files)
    aligner().save(files / "model")
    assert run("s.conll t.txt --model model -o by-model --threads 1 -q") == 0
    assert run("s.conll t.txt -o learned --threads 1 -q") == 0
    by_model = Path("by-model").read_text()
    assert by_model == Path("learned").read_text()
    assert by_model.count("B-X") > 0.9 * len(list(sample()[0]))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("bad.conll t.txt --links links", 1, "bad.conll:2: 'X' is no tag"),
        ("s.conll short.txt --links links", 1, "short.txt: s.conll has 2 sentences, short.txt has 1"),
        ("s.conll long.txt --links links", 1, "s.conll: s.conll has 2 sentences, long.txt has 3"),
        ("s.conll t.txt --links wild", 1, "wild:1: link 9-9 (zero-based) is outside"),
        ("s.conll t.txt --links few", 1, "few: links of 1 pairs, but the text has 2"),
        ("s.conll none.txt --links links", 1, "none.txt: no such file"),
        ("t.txt t.txt --links links", 2, "the ending of t.txt tells no format: give --format"),
        ("s.conll t.txt --links links --model m", 2, "give --model or --links, not both"),
        ("s.conll t.txt --links links --seed 1", 2, "--seed: with --links, nothing is learned"),
        ("s.conll t.txt --links links --scheme x", 2, "scheme must be one of iob1, iob2, bilou, bioes"),
        ("s.conll t.txt --links links --gap -1", 2, "must be 0 or greater, got -1"),
        ("s.conll t.txt --one-based", 2, "--links-format and --one-based are for --links"),
        ("- - --format conll --links links", 2, "standard input can be only one of"),
    ],
)
def test_a_fault_leaves_nothing_behind(
    files: Path, capsys: pytest.CaptureFixture[str], arguments: str, code: int, message: str
) -> None:
    Path("bad.conll").write_text("a O\nb X\n")
    Path("short.txt").write_text("la Nuova York\n")
    Path("long.txt").write_text(TARGET + "x\n")
    Path("wild").write_text("0-0 9-9\n\n")
    Path("few").write_text("0-0\n")
    before = sorted(files.iterdir())
    assert run(f"{arguments} -o out --report report") == code
    assert message in capsys.readouterr().err
    assert sorted(files.iterdir()) == before


def test_an_input_is_not_written_over(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("s.conll t.txt --links links -o t.txt --force") == 2
    assert Path("t.txt").read_text() == TARGET


@pytest.mark.parametrize("example", EXAMPLES.splitlines(), ids=lambda line: line.split()[2])
def test_the_examples_of_the_help_run(files: Path, example: str) -> None:
    tokens = sample()[0]
    pair = next(iter(tokens))
    source, target = pair.source.tokens, pair.target.tokens
    texts = {
        "names.conll": "".join(f"{word} O\n" for word in source),
        "en.conllu": "".join(
            f"{n}\t{word}\t_\tX\t_\t_\t{n - 1}\tdep\t_\t_\n" for n, word in enumerate(source, 1)
        ),
        "fr.conllu": "".join(f"{n}\t{word}" + "\t_" * 8 + "\n" for n, word in enumerate(target, 1)),
        "pages.html": f"<b>{pair.source.text}</b>\n",
        "it.jsonl": json.dumps({"text": pair.target.text, "spans": []}) + "\n",
        "it.txt": f"{pair.target.text}\n",
        "en.txt": f"{pair.source.text}\n",
        "links.txt": "0-0\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    aligner().save("enit.weft")
    command, _, _ = example.partition(" > ")
    assert main([*shlex.split(command)[1:], "-q"]) == 0


def test_a_model_projects_in_python() -> None:
    from bitweft import project

    model: Aligner = aligner()
    pair = next(iter(sample()[0]))
    outcome = project([(0, len(pair.source), "ALL")], pair.source.tokens, pair.target.tokens, model)[0]
    assert outcome.target is not None and outcome.probability > 0.5
