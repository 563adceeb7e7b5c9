"""The BLEU benchmark: its tuner against brute force, its thot system on a toy language, its Moses calls."""

from __future__ import annotations

import json
import lzma
import os
import random
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sacrebleu")
pytest.importorskip("thot")

import bleu
import mert
import smt
import smt_text
from bitweft.corpus.phrases import escape, write_phrase_tables
from bitweft.links.alignment import Alignment
from bitweft.text.bitext import Bitext
from mert import Candidate, Floats, Lists
from moses_system import Moses
from smt_links import LINKERS, Corpus, best_paper_settings
from smt_text import Task

WORDS = {
    "the": "le",
    "a": "un",
    "cat": "chat",
    "dog": "chien",
    "sees": "voit",
    "eats": "mange",
    "[big]": "[grand]",
}


def toy_pairs(size: int, seed: int) -> list[tuple[str, str]]:
    generator = random.Random(seed)
    pairs = []
    for _ in range(size):
        source = [generator.choice(list(WORDS)) for _ in range(generator.randint(2, 6))]
        pairs.append((" ".join(source), " ".join(WORDS[word] for word in source)))
    return pairs


def diagonal(corpus: Corpus) -> Iterator[Alignment]:
    return (Alignment.of((place, place) for place in range(len(pair.source))) for pair in corpus.text)


def some_lists(seed: int) -> Lists:
    generator = np.random.default_rng(seed)
    owners = np.sort(generator.integers(0, 5, 40))
    matches = generator.integers(1, 5, (40, 4))
    counts = np.column_stack([matches, matches + generator.integers(0, 4, (40, 4))])
    interleaved = counts.reshape(40, 2, 4).transpose(0, 2, 1).reshape(40, 8)
    lengths = generator.integers(5, 9, (40, 2))
    return Lists(generator.normal(size=(40, 3)), np.hstack([interleaved, lengths]).astype(float), owners)


def score_at(lists: Lists, weights: Floats) -> float:
    chosen = []
    for owner in np.unique(lists.owners):
        rows = np.flatnonzero(lists.owners == owner)
        chosen.append(lists.statistics[rows[np.argmax(lists.features[rows] @ weights)]])
    return float(mert.bleu(np.sum(chosen, axis=0)))


def test_tuning_counts_bleu_as_sacrebleu_does() -> None:
    from sacrebleu.metrics.bleu import BLEU

    pairs = [
        ("the cat sees the dog now", "the cat sees a dog now"),
        ("a dog eats the cat", "a dog eats the cat , too"),
    ]
    total = np.sum([mert.statistics(ours.split(), theirs.split()) for ours, theirs in pairs], axis=0)
    outputs, references = zip(*pairs, strict=True)
    expected = BLEU(tokenize="none", force=True).corpus_score(list(outputs), [list(references)]).score
    assert 100 * float(mert.bleu(total)) == pytest.approx(expected, abs=1e-6)
    assert float(mert.bleu(mert.statistics([], ["a"]))) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_the_line_search_finds_the_best_step(seed: int) -> None:
    lists = some_lists(seed)
    generator = np.random.default_rng(seed + 100)
    weights, direction = generator.normal(size=3), generator.normal(size=3)
    step, reached = mert.line_search(lists, weights, direction)
    assert score_at(lists, weights + step * direction) == pytest.approx(reached)
    on_a_grid = max(score_at(lists, weights + place * direction) for place in np.linspace(-10, 10, 401))
    assert reached >= on_a_grid - 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_the_line_search_stays_in_the_ball(seed: int) -> None:
    lists = some_lists(seed)
    generator = np.random.default_rng(seed + 200)
    center, direction = generator.normal(size=3), generator.normal(size=3)
    ball = mert.Ball(center, 0.4)
    weights = ball.draw([0, 1, 2], generator)
    assert np.linalg.norm(weights - center) <= 0.4
    low, high = ball.bounds(weights, direction)
    assert low <= 0 <= high
    for edge in (low, high):
        assert np.linalg.norm(weights + edge * direction - center) == pytest.approx(0.4)
    step, reached = mert.line_search(lists, weights, direction, (low, high))
    assert low <= step <= high
    assert score_at(lists, weights + step * direction) == pytest.approx(reached)
    assert reached >= max(
        score_at(lists, weights + place * direction) for place in np.linspace(low, high, 201)
    )


def test_the_envelope_holds_the_highest_lines() -> None:
    slopes = np.array([0.0, 1.0, -1.0, 1.0, 0.0])
    intercepts = np.array([1.0, 0.0, 0.0, -1.0, 0.5])
    places, before, tops = mert.envelopes(slopes, intercepts, np.zeros(5, dtype=np.int64))
    assert tops.tolist() == [2, 0, 1]
    assert places.tolist() == [-np.inf, -1.0, 1.0]
    assert before.tolist()[1:] == [2, 0]


def test_tuning_finds_the_feature_that_tells_good_from_bad() -> None:
    references = [pair[1].split() for pair in toy_pairs(20, seed=1)]
    generator = np.random.default_rng(1)

    def decode(weights: Floats) -> Sequence[Sequence[Candidate]]:
        lists = []
        for reference in references:
            worse = [*reference[1:], "x"]
            noise = generator.normal(size=2).round(3)
            candidates = [
                Candidate(tuple(reference), (-1.0, float(noise[0]), 5.0)),
                Candidate(tuple(worse), (1.0, float(noise[1]), 5.0)),
            ]
            lists.append(sorted(candidates, key=lambda item: -float(np.dot(item.features, weights))))
        return lists

    weights, history = mert.tune(decode, references, [1.0, 1.0, 0.25], fixed=[2], reach=5, rounds=3, seed=1)
    assert history[0] < 0.9 and max(history) == pytest.approx(1.0)
    assert weights[0] < 0
    assert weights[2] == 0.25


def write_data(directory: Path) -> Path:
    data = directory / "en-fr"
    data.mkdir(parents=True)
    train = [*toy_pairs(200, seed=2), ("", "vide"), ("a " * 81, "un " * 81)]
    for side, language in enumerate(("en", "fr")):
        with lzma.open(data / f"train.{language}.xz", "wt", encoding="utf-8") as stream:
            stream.writelines(pair[side].strip().upper() + "\n" for pair in train)
        for part, seed in (("mt-tune", 3), ("mt-test", 4)):
            lines = [pair[side] + "\n" for pair in toy_pairs(12, seed)]
            (data / f"{part}.{language}").write_text("".join(lines))
    return directory


def test_text_is_lower_cased_escaped_and_cleaned(tmp_path: Path) -> None:
    data = write_data(tmp_path / "data")
    task = Task.of("en-fr")
    smt_text.prepare_training(data / "en-fr", task, 1000, tmp_path)
    smt_text.prepare_held(data / "en-fr", task, 1000, (5, None), tmp_path)
    train = smt_text.read_lines(tmp_path / "train.en")
    assert len(train) == 200
    assert set(" ".join(train).split()) == {*(set(WORDS) - {"[big]"}), "&#91;big&#93;"}
    assert len(smt_text.read_lines(tmp_path / "mt-tune.fr")) == 5
    assert len(smt_text.read_lines(tmp_path / "mt-test.fr")) == 12


def write_tagged(directory: Path, text: str, pairs: Sequence[tuple[str, str]]) -> Path:
    """Write a training text alone, with a tag for each word: how many letters it has."""
    data = directory / text
    data.mkdir(parents=True)
    for side, language in enumerate(text.split("-")):
        for end, lines in (
            ("", [pair[side] for pair in pairs]),
            (".pos", [" ".join(f"N{len(word)}" for word in pair[side].split()) for pair in pairs]),
        ):
            with lzma.open(data / f"train.{language}{end}.xz", "wt", encoding="utf-8") as stream:
                stream.writelines(f"{line}\n" for line in lines)
    return data


def test_what_is_held_out_is_drawn_once_and_never_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smt_text, "HELD", 5)
    single = [(f"w{n} a b c", f"v{n} x y z") for n in range(40)]
    twice = [("again a b c", f"u{n} x y z") for n in range(20)]
    pairs = [*single, *twice, ("too short", "trop court")]
    data = write_tagged(tmp_path / "data", "en-cs", pairs)
    task = Task.of("en-cs")
    assert task.languages == ("cs", "en") and str(task) == "Czech-English"
    smt_text.prepare_training(data, task, None, tmp_path)
    smt_text.prepare_held(data, task, None, (3, None), tmp_path)
    held = [
        list(zip(*(smt_text.read_lines(tmp_path / f"{part}.{own}") for own in ("en", "cs")), strict=True))
        for part in smt_text.PARTS
    ]
    assert [len(own) for own in held] == [3, 5]
    assert not {*held[0]} & {*held[1]} and {*held[0], *held[1]} < {*single}
    train = [smt_text.read_lines(tmp_path / f"train.{own}") for own in ("en", "cs")]
    assert len(train[0]) == len(pairs) - 10
    assert not {*zip(*train, strict=True)} & {*held[0], *held[1]}
    tags = smt_text.read_lines(tmp_path / "train.cs.pos")
    assert tags == [" ".join(f"N{len(word)}" for word in line.split()) for line in train[1]]
    monkeypatch.setattr(smt_text, "HELD", 1000)
    with pytest.raises(SystemExit, match="too little text"):
        smt_text.prepare_training(data, task, None, tmp_path)
    with pytest.raises(SystemExit, match="cannot be translated into fr"):
        Task.of("en-cs", "fr")


def test_the_papers_best_model_learns_with_tags_in_either_order(tmp_path: Path) -> None:
    assert "features.source.words=80000" in best_paper_settings(("cs", "en"))
    assert "features.target.words=80000" in best_paper_settings(("en", "cs"))
    assert not any("characters" in own for own in best_paper_settings(("ro", "en")))
    pytest.importorskip("torch")
    pairs = toy_pairs(60, seed=9)
    data = write_tagged(tmp_path / "data", "en-fr", pairs)
    smt_text.prepare_training(data, Task.of("en-fr"), None, tmp_path)
    files = [tmp_path / f"train.{own}" for own in ("en", "fr")]
    tags = (tmp_path / "train.en.pos", tmp_path / "train.fr.pos")
    corpus = Corpus(Bitext(*files), ("en", "fr"), tags)
    link = LINKERS["bitweft-paper-ensemble-gdfa"][1]
    assert len(list(link(corpus))) == len(pairs)
    with pytest.raises(SystemExit, match="needs tags"):
        link(corpus._replace(tags=None))


def test_a_step_is_made_once_and_a_failed_one_again(tmp_path: Path) -> None:
    steps = smt.Steps(tmp_path)
    made: list[Path] = []

    def fail(directory: Path) -> None:
        (directory / "half").write_text("x")
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        steps.step("one", {"a": 1}, fail)
    assert list(tmp_path.iterdir()) == []
    paths = {steps.step("one", {"a": 1}, made.append) for _ in range(2)}
    assert len(paths) == 1 and len(made) == 1
    assert steps.step("one", {"a": 2}, made.append) not in paths
    assert len(made) == 2


def test_thot_learns_a_toy_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LINKERS, "eflomal", ("bitweft", diagonal))
    data = write_data(tmp_path / "data")
    arguments = [
        "--data",
        str(data),
        "--pairs",
        "1000",
        "--runs",
        "2",
        "--rounds",
        "2",
        "--systems",
        "eflomal",
    ]
    arguments += ["--cache", str(tmp_path / "cache"), "--output", str(tmp_path)]
    assert bleu.main(arguments) == 0
    report = json.loads((tmp_path / "bleu.json").read_text())
    (row,) = report["systems"]
    assert len(row["bleu"]) == 2 and row["mean"] > 95
    assert "tok:none" in row["signature"]
    assert "| eflomal |" in (tmp_path / "bleu.md").read_text()
    assert report["kept"] == 200
    # A second call finds every step made: nothing aligns or tunes again.
    monkeypatch.setattr(smt, "tune", None)
    monkeypatch.setitem(LINKERS, "eflomal", ("bitweft", lambda text: iter(())))
    assert bleu.main(arguments) == 0
    assert json.loads((tmp_path / "bleu.json").read_text())["systems"] == report["systems"]


def test_systems_that_are_not_run_keep_their_results(tmp_path: Path) -> None:
    path = tmp_path / "bleu.json"
    own = {"system": "bitweft-paper", "mean": 31.0}
    assert bleu.with_earlier({"pairs": 9, "systems": [own]}, path)["systems"] == [own]
    rows = [{"system": "bitweft-paper", "mean": 30.0}, {"system": "eflomal", "mean": 30.5}]
    path.write_text(json.dumps({"pairs": 9, "about": {"load": 1}, "systems": rows}))
    report = {"pairs": 9, "about": {"load": 2}, "systems": [own]}
    assert bleu.with_earlier(report, path) == {**report, "systems": [own, rows[1]]}
    assert bleu.with_earlier({**report, "pairs": 8}, path)["systems"] == [own]


def test_bleu_is_drawn_with_its_deviation(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from drawing import draw_bleu

    rows = [
        {"system": "bitweft-default", "bleu": [30.0, 31.0], "mean": 30.5, "deviation": 0.7},
        {"system": "eflomal", "bleu": [30.2], "mean": 30.2, "deviation": None},
    ]
    draw_bleu({"systems": rows}, tmp_path / "bleu.svg")
    picture = (tmp_path / "bleu.svg").read_text(encoding="utf-8")
    assert {"bitweft-", "default", "eflomal"} <= set(re.findall(r">([^<>]+)</text>", picture))  # a line each


def test_phrases_are_counted_as_in_the_phrase_table(tmp_path: Path) -> None:
    import gzip

    from thot_system import count_phrases, phrases_of

    text = Bitext.of(toy_pairs(60, seed=8))
    shifted = [Alignment.of((s, max(t - 1, 0)) for s, t in own.links) for own in diagonal(Corpus(text))]
    write_phrase_tables(text, shifted, tmp_path / "model")
    with gzip.open(tmp_path / "model" / "phrase-table.gz", "rt", encoding="utf-8") as stream:
        rows = [line.split(" ||| ") for line in stream]
    wanted = phrases_of(["the cat sees a dog", "[big]"], longest=3)
    assert ("cat", "sees", "a") in wanted and ("the", "cat", "sees", "a") not in wanted
    expected = set()
    for source, target, _, _, counts, *_ in rows:
        target_count, _, count = map(int, counts.split())
        if tuple(source.split()) in wanted:
            expected.add((tuple(source.split()), tuple(target.split()), target_count, count))
    found = list(count_phrases(text, shifted, wanted))
    assert len(found) == len(set(found)) > 20
    assert set(found) <= expected
    full = {source for source, *_ in expected if sum(own[0] == source for own in expected) <= 20}
    assert {own for own in expected if own[0] in full} == {own for own in found if own[0] in full}


@pytest.mark.parametrize("system", ["fast_align", "eflomal", "bitweft-default", "bitweft-default-gdfa"])
def test_each_aligner_links_the_toy_language(system: str) -> None:
    package, link = LINKERS[system]
    pytest.importorskip({"sil-thot": "thot"}.get(package, package))
    text = Bitext.of(toy_pairs(400, seed=7))
    found, right = list(link(Corpus(text))), list(diagonal(Corpus(text)))
    assert len(found) == len(right)
    links = sum(len(alignment) for alignment in found)
    both = sum(len(set(ours.links) & set(theirs.links)) for ours, theirs in zip(found, right, strict=True))
    assert 2 * both / (links + sum(len(alignment) for alignment in right)) > 0.9


def test_the_language_model_is_tuned_to_the_text(tmp_path: Path) -> None:
    from thot_system import perplexity, tune_language_model, write_language_model

    text = [pair[1].split() for pair in toy_pairs(200, seed=5)]
    write_language_model(text, tmp_path / "lm", order=2)
    lines = (tmp_path / "lm").read_text().splitlines()
    total = sum(len(sentence) + 2 for sentence in text)
    assert f"<s> {total} 200" in lines and f"<unk> {total} {len(WORDS)}" in lines
    held = [pair[1].split() for pair in toy_pairs(50, seed=6)]
    before = perplexity(tmp_path / "lm", held)
    after = tune_language_model(tmp_path / "lm", held)
    assert after < before
    assert perplexity(tmp_path / "lm", held) == pytest.approx(after)
    # Seven words as likely as one another, and an end after two to six of them: below ten by far.
    assert 5 < after < 10


STAND_IN = """\
#!{python}
import json, pathlib, sys
name, arguments = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps([name, arguments]) + "\\n")
options = dict(a.lstrip("-").split("=", 1) for a in arguments if a.startswith("--") and "=" in a)
if name == "lmplz":
    text, arpa = (arguments[arguments.index(o) + 1] for o in ("--text", "--arpa"))
    assert pathlib.Path(text).is_file()
    pathlib.Path(arpa).write_text("arpa")
elif name == "mert-moses.pl":
    source, reference, decoder, ini = map(pathlib.Path, arguments[:4])
    assert all(path.is_file() for path in (source, reference, decoder, ini))
    assert (pathlib.Path(options["mertdir"]) / "mert").is_file()
    assert (pathlib.Path(options["rootdir"]) / "training").is_dir()
    tuned = ini.read_text() + "# tuned\\n"
    (pathlib.Path(options["working-dir"]) / "moses.ini").write_text(tuned)
elif name == "moses":
    ini = pathlib.Path(arguments[arguments.index("-f") + 1]).read_text()
    assert ini.endswith("# tuned\\n")
    paths = [word[5:] for word in ini.split() if word.startswith("path=")]
    assert len(paths) == 3 and all(pathlib.Path(path).is_file() for path in paths)
    words = {words!r}
    for line in sys.stdin:
        print(" ".join(words[word] for word in line.split()))
"""


def stand_in(directory: Path) -> Path:
    log = directory / "calls"
    words = {escape(source): escape(target) for source, target in WORDS.items()}
    text = STAND_IN.format(python=sys.executable, log=str(log), words=words)
    for program in ("bin/moses", "bin/lmplz", "bin/mert", "bin/extractor", "scripts/training/mert-moses.pl"):
        path = directory / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return log


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a script with a #! line")
def test_moses_is_called_as_it_wants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LINKERS, "fast_align", ("bitweft", diagonal))
    moses = tmp_path / "moses"
    log = stand_in(moses)
    arguments = ["--data", str(write_data(tmp_path / "data")), "--runs", "2", "--systems", "fast_align"]
    arguments += ["--moses", str(moses), "--threads", "3", "--cache", str(tmp_path / "cache")]
    assert bleu.main([*arguments, "--output", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "bleu.json").read_text())
    assert report["systems"][0]["bleu"] == [pytest.approx(100.0)] * 2
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    assert [name for name, _ in calls] == ["lmplz", "mert-moses.pl", "moses", "mert-moses.pl", "moses"]
    assert calls[0][1][:3] == ["-o", "5", "--discount_fallback"]
    for seed, (_, given) in enumerate((calls[1], calls[3]), 1):
        assert f"--mertmertargs=-r {seed}" in given
        assert "--decoder-flags=-threads 3" in given
        assert given[0].endswith("mt-tune.en") and given[1].endswith("mt-tune.fr")
        assert given[2] == str((moses / "bin" / "moses").resolve())
    assert calls[2][1][2:] == ["-threads", "3"]


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a script with a #! line")
def test_a_program_of_moses_that_fails_is_named(tmp_path: Path) -> None:
    stand_in(tmp_path)
    failing = tmp_path / "bin" / "lmplz"
    failing.write_text(f"#!{sys.executable}\nraise SystemExit(3)\n")
    with pytest.raises(RuntimeError, match=r"lmplz ended with 3; see .*lm\.log"):
        Moses(tmp_path).train_language_model(tmp_path / "text", tmp_path / "lm.arpa")


def test_a_directory_without_moses_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bleu.main(["--moses", str(tmp_path), "--cache", str(tmp_path / "cache")]) == 1
    assert "bin/lmplz" in capsys.readouterr().err
