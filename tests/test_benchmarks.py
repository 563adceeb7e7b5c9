"""The benchmarks of accuracy and speed: the protocol, what is kept, what a process costs, tables, figures."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

import accuracy
import cells
import corpora
import measuring
import peers
import reporting
import sample as sample_benchmark
import speed
import speed_tables
from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.sample import SamplePair, generate, natural
from corpora import Row

PYTHON = sys.executable
unix = pytest.mark.skipif(sys.platform == "win32", reason="measuring needs wait4")


def _gold(pair: SamplePair) -> str:
    links = sorted(pair.gold.possible)
    return " ".join(f"{s}{'-' if (s, t) in pair.gold.sure else '?'}{t}" for s, t in links)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lay out the embedded sample as the directory that benchmarks read."""
    directory = tmp_path / "data" / "en-fr"
    directory.mkdir(parents=True)
    held = natural()
    for part, pairs in (("test", held[:60]), ("dev", held[60:]), ("train", list(generate(300)))):
        sides = ([pair.source for pair in pairs], [pair.target for pair in pairs])
        for language, lines in zip(("en", "fr"), sides, strict=True):
            text = "".join(" ".join(words).capitalize() + "\n" for words in lines)
            if part == "train":
                (directory / f"train.{language}.xz").write_bytes(lzma.compress(text.encode()))
            else:
                (directory / f"{part}.{language}").write_bytes(text.encode())
        if part != "train":
            text = "".join(_gold(pair) + "\n" for pair in pairs)
            (directory / f"{part}.gold").write_bytes(text.encode())
    monkeypatch.setattr(corpora, "DATA", tmp_path / "data")
    return tmp_path / "data"


def test_rows_are_read_from_their_names() -> None:
    assert Row.parse("en-fr:2k") == Row("en-fr", 2000)
    assert Row.parse("en-fr:500") == Row("en-fr", 500)
    assert Row.parse("en-fr:10m") == Row("en-fr", 10_000_000)
    assert Row.parse("ro-en") == Row.parse("ro-en:all") == Row("ro-en", None)
    for wrong in ("en-fr:many", "en-fr:0", "en-fr:-3"):
        with pytest.raises(ValueError, match="write a row as"):
            Row.parse(wrong)


def test_text_is_test_then_dev_then_training_pairs_in_lower_case(data: Path, tmp_path: Path) -> None:
    sample = corpora.write_sample(Row("en-fr", 7), tmp_path / "text")
    lines = sample.source.read_text(encoding="utf-8").splitlines()
    held, train = natural(), list(generate(7))
    assert lines == [" ".join(pair.source).lower() for pair in (*held, *train)]
    assert sample.parts == {"test": range(60), "dev": range(60, 100), "train": range(100, 107)}
    assert sample.pairs == 107
    numbered = [Alignment(((n, n),)) for n in range(107)]
    assert corpora.part_of(numbered, sample, "dev")[0].links == ((60, 60),)
    assert corpora.gold_of("en-fr", "dev") == [pair.gold for pair in held[60:]]


def test_missing_text_is_named(tmp_path: Path) -> None:
    assert not corpora.available("xx-yy", tmp_path)
    with pytest.raises(corpora.NoDataError, match="WEFT_DATA"):
        next(corpora.pairs_of("xx-yy", "test", data=tmp_path))


def test_a_result_is_made_once_for_its_key(tmp_path: Path) -> None:
    kept, made = cells.Cells(tmp_path), []

    def make() -> dict[str, Any]:
        made.append(1)
        return {"value": len(made)}

    assert {"a": 1} not in kept
    assert [kept.get({"a": 1}, make)["value"] for _ in range(2)] == [1, 1]
    assert {"a": 1} in kept
    assert kept.get({"a": 2}, make)["value"] == 2
    with pytest.raises(ZeroDivisionError):
        kept.get({"a": 3}, lambda: {"value": 1 / 0})
    assert {"a": 3} not in kept
    assert len(list(tmp_path.iterdir())) == 2


def test_what_is_kept_elsewhere_is_read_and_not_written(tmp_path: Path) -> None:
    first = cells.Cells(tmp_path / "committed")
    first.get({"a": 1}, lambda: {"value": 1})
    kept = cells.Cells(tmp_path / "own", tmp_path / "committed")
    assert {"a": 1} in kept and kept.get({"a": 1}, dict)["value"] == 1
    assert not (tmp_path / "own").exists()
    kept.get({"a": 2}, lambda: {"value": 2})
    assert {"a": 2} in kept and {"a": 2} not in first


def test_every_committed_result_is_found_by_its_key() -> None:
    files = sorted((reporting.RESULTS / "cells").glob("*.json"))
    assert len(files) > 100
    for file in files:
        key = json.loads(file.read_text(encoding="utf-8"))["key"]
        assert cells.digest(key) == file.stem
        if "recipe" in key:
            assert key["revision"] <= cells.recipe_key(key["recipe"])["revision"]


def test_the_key_of_a_recipe_is_its_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    from bitweft.recipes.default.recipe import DefaultRecipe

    before = cells.recipe_key()
    monkeypatch.setattr(DefaultRecipe, "revision", DefaultRecipe.revision + 1)
    assert cells.recipe_key() == {**before, "revision": before["revision"] + 1}


def test_timed_runs_are_held_to_their_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = tmp_path / "default" / "compiled" / "chain.py"
    code.parent.mkdir(parents=True)
    code.write_text("1", encoding="utf-8")
    monkeypatch.setattr(cells, "RECIPES", tmp_path)
    unchanged = cells.Unchanged()
    unchanged.check()
    code.write_text("2", encoding="utf-8")
    with pytest.raises(SystemExit, match="changed during this run"):
        unchanged.check()


@pytest.mark.parametrize("name", ["accuracy", "bleu", "paper", "paper_speed", "sample", "speed"])
def test_committed_results_are_written_only_on_demand(name: str) -> None:
    def output(*options: str) -> Path:
        found: Path = reporting.parse(reporting.new_parser(None), options, page="x").output
        return found

    assert output() == reporting.CACHE / "results"
    assert output("--docs") == output("--publish") == reporting.RESULTS
    assert output("--docs", "--output", "x") == Path("x")
    # Every script reads these options by that one function.
    script = (corpora.ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8")
    assert "parse(parser" in script and "parse_args" not in script


@pytest.mark.parametrize(
    "order",
    [
        ["accuracy.py"],
        ["speed.py"],
        ["paper.py", "all"],
        ["paper.py", "french", "--kept"],
        ["paper_speed.py"],
        ["bleu.py"],
    ],
    ids=" ".join,
)
def test_without_text_a_benchmark_says_what_is_missing(order: list[str], tmp_path: Path) -> None:
    script = str(corpora.ROOT / "benchmarks" / order[0])
    options = ["--output", str(tmp_path / "results")]
    environment = {**os.environ, "WEFT_DATA": str(tmp_path / "none")}
    done = subprocess.run(
        [PYTHON, script, *order[1:], *options], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1 and done.stdout == ""
    assert f"{tmp_path / 'none' / 'en-fr' / 'train.en.xz'}: no such file" in done.stderr
    assert "WEFT_DATA" in done.stderr and "benchmarks/sample.py" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_peer_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "installed_version", lambda _: reporting.NOT_INSTALLED)
    peers.require_installed(["bitweft"])
    with pytest.raises(SystemExit, match=r"hmm \(package sil-thot\).*pip install"):
        peers.require_installed(["bitweft", "hmm"])


def test_results_that_are_not_there_cannot_be_published(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"accuracy\.json: no such results"):
        accuracy.main(["--publish", "--output", str(tmp_path)])


@unix
def test_the_sample_is_measured_with_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(corpora, "DATA", tmp_path / "none")
    sample_benchmark.main(["--quick", "--output", str(tmp_path)])
    results = json.loads((tmp_path / "sample.json").read_text(encoding="utf-8"))
    (own,) = [run for run in results["runs"] if run["system"] == "bitweft"]
    assert own["all_pairs"] == sample_benchmark.QUICK + sample_benchmark.MEASURED + 100
    assert 0 < own["scores"]["generated"]["aer"] < own["scores"]["natural"]["aer"] < 60
    assert own["cost"]["cpu"] > 0.1
    assert "| 200 | bitweft |" in capsys.readouterr().out
    assert (tmp_path / "sample.md").exists()


@unix
def test_cost_is_of_the_child_and_its_children() -> None:
    burn = "import time\nwhile time.process_time() < 0.4: pass\n"
    inside = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}], check=True)\n"
    room = "room = bytearray(200 << 20)\nimport time; time.sleep(1)\n"
    assert 0.4 <= measuring.measure([PYTHON, "-c", burn]).cpu < 1.5
    assert measuring.measure([PYTHON, "-c", inside]).cpu >= 0.4
    cost = measuring.measure([PYTHON, "-c", room])
    assert 200 <= cost.memory < 260
    assert cost.wall >= 1 > cost.cpu


@unix
def test_cost_does_not_count_the_memory_of_the_benchmark() -> None:
    held = bytearray(300 << 20)
    assert measuring.measure([PYTHON, "-c", "pass"]).memory < 60
    assert len(held)


@unix
def test_a_child_that_fails_is_told_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no such thing"):
        measuring.measure([PYTHON, "-c", "raise SystemExit('no such thing')"], log=tmp_path / "log")


@unix
def test_a_child_may_write_bytecode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    measuring.measure([PYTHON, "-c", "import sys; print(sys.dont_write_bytecode)"], log=tmp_path / "log")
    assert (tmp_path / "log").read_text() == "False\n"


@unix
def test_threads_are_limited_in_the_child(tmp_path: Path) -> None:
    say = "import os; print(os.environ['OMP_NUM_THREADS'])"
    measuring.measure([PYTHON, "-c", say], threads=3, log=tmp_path / "log")
    assert (tmp_path / "log").read_text(encoding="utf-8") == "3\n"


def test_links_are_binned_by_probability() -> None:
    gold = GoldAlignment(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))
    links = Alignment(((0, 0), (0, 1), (1, 1)), (1.0, 0.85, 0.8))
    bins = accuracy.bins_of([links], [gold])
    assert [own["links"] for own in bins] == [0, 0, 0, 0, 0, 0, 0, 2, 1]
    assert (bins[7]["from"], bins[7]["possible"], bins[7]["sure"]) == (0.8, 1, 0)
    assert bins[7]["probability"] == pytest.approx(1.65)
    assert (bins[8]["possible"], bins[8]["sure"]) == (1, 1)


def _cell(union: float, grow: float) -> dict[str, Any]:
    def by(aer: float) -> dict[str, float]:
        return {"aer": aer, "precision": 90.0, "recall": 80.0, "f1": 84.7}

    own = {"union": by(union), "grow": by(grow)}
    return {"scores": {"test": own, "dev": own}, "cost": {"cpu": 2.0, "wall": 3.0, "memory": 40.0}}


def test_the_best_heuristic_has_the_lowest_mean_on_test() -> None:
    runs = [_cell(10.0, 11.0), _cell(14.0, 12.0)]
    assert peers.best_heuristic(runs) == "grow"
    result = accuracy.row_result(runs)
    assert result["test"]["aer"] == {"mean": 11.5, "spread": 0.707, "runs": 2}
    assert result["cost"]["cpu"]["mean"] == 2.0


def test_peers_without_chance_run_once() -> None:
    jobs = accuracy.jobs_of([Row("en-fr", 5)], ("bitweft", "hmm"), 2)
    assert [(job.system, job.seed) for job in jobs] == [
        ("bitweft", 1),
        ("hmm", 1),
        ("bitweft", 2),
        ("reliability", 1),
    ]


def test_a_block_of_a_page_is_filled_again_and_again(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nold\n<!-- /x -->\nb\n", encoding="utf-8")
    for text in ("new", "newer"):
        reporting.fill_block(page, "x", text)
        assert page.read_text(encoding="utf-8") == f"a\n<!-- x -->\n\n{text}\n\n<!-- /x -->\nb\n"
    with pytest.raises(ValueError, match="must be there"):
        reporting.fill_block(page, "y", "new")


def test_the_page_has_every_block_that_is_filled() -> None:
    page = (corpora.ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for name in ("accuracy", *(f"speed-{name}" for name in ("race", "kept", "phases", "products", "length"))):
        assert page.count(f"<!-- {name} -->") == page.count(f"<!-- /{name} -->") == 1


def test_operations_are_counted_as_the_products_make_them() -> None:
    pytest.importorskip("numba")
    import products

    # 3 target and 2 source words, 4 dimensions, groups of 5: three products with 4, four with 5.
    assert products.group_flop(products.Size(3, 2, 5), 4) == 3 * 2 * (3 * 2 * 4 + 4 * 2 * 5)
    assert products.pair_flop(products.Size(3, 2, 1), 4) == 2 * 3 * 2 * 4
    text = [({"a", "b"}, {"x"}), ({"b"}, {"x", "y"}), ({"c"}, {"z"})]
    assert products.draw(text[:2], 2) == [products.Size(2, 2, 2)]
    assert len(products.draw(text, 2)) == 1


def _speed() -> dict[str, Any]:
    costs = {"wall": 2.0, "cpu": 4.0, "memory": 100.0}
    twice = {name: 2 * value for name, value in costs.items()}
    row = "en-fr, 100 pairs"
    phases = {
        "what": "phases",
        "row": row,
        "pairs": 100,
        "learned": 80,
        "group": 8,
        "epochs": {"lse": 2, "chain": 1, "count": 2},
        "seconds": {"reading": 1.0, "lse": 2.0, "chain": 1.0, "count": 1.6, "aligning": 1.0},
        "products": {"group_flop": 1e6, "group_seconds": 1e-2, "pair_flop": 1e4, "pair_seconds": 1e-3},
        "peak_flops": 1e9,
    }
    kept = {"what": "kept", "row": row, "pairs": 101, "threads": 2, "train": costs, "first_link": 1.5}
    kept |= {f"{name}, {threads}": costs for name in ("one", "tenth") for threads in (1, 2)}
    kept |= {"whole, 1": twice, "whole, 2": twice, "500 words": costs}
    start = {"wall": 0.1, "cpu": 0.05}
    kept |= {"import": start, "load": start, "imports_torch": False}
    kept |= {"short": {"pairs": 100, **costs}, "single": 1234.5}
    length = {"what": "length", "row": row, "lengths": [1, 10], "pairs": 100, "words": 5.5}
    race = {"what": "race", "row": row, "pairs": 101}
    both = {"bitweft": costs, "eflomal": twice}
    alone = {**race, "row": "en-fr, 1,000 pairs", "pairs": 1_000, "bitweft": costs}
    about = reporting.surroundings()
    walls = {"1": {"reading": 1.0, "lse": 4.0, "count": 8.0}, "2": {"reading": 1.0, "lse": 2.0, "count": 5.0}}
    cores = {"what": "cores", "row": row, "pairs": 100, "threads": 2, "walls": walls}
    raced = race | both | {"fast_align": twice}
    steps = [raced, phases, kept, length | both, cores, alone]
    return {"about": about, "threads": 2, "steps": steps}


def test_tables_of_speed_hold_ratios_rates_and_shares() -> None:
    results = _speed()
    blocks = speed_tables.blocks(results)
    assert list(blocks) == ["race", "kept", "phases", "products", "cores", "length"]
    # reading is serial, lse has four groups, a quarter of counting is serial
    assert "| **all** | **13.0 s** | **8.0 s** | **4.8 s** | **4.2 s** | **4.1 s** |" in blocks["cores"]
    assert "| **bitweft / eflomal** | **0.50** | **0.50** | **0.50** |" in blocks["race"]
    grown = "| en-fr, 1,000 pairs | bitweft | 2.0 | 4.0 | 100 |"  # by bitweft alone: no ratio
    assert blocks["race"].rstrip().endswith(grown) and blocks["race"].count("fast_align") == 1
    assert "50 pairs/s" in blocks["kept"] and "`Aligner.load` | 0.10 s, CPU 0.05 s" in blocks["kept"]
    assert "against eflomal's training and aligning | 2 × faster" in blocks["kept"]
    assert "learning from 100 pairs and aligning them | 2.0 s" in blocks["kept"]
    assert "**1,234 a second**" in blocks["kept"]
    results["steps"][2]["whole, 2"] = results["steps"][2]["one, 2"]  # nothing but start
    assert "the start is most of it" in speed_tables.blocks(results)["kept"]
    # lse: 2 s over 2 passes of 80 pairs
    assert "| 12500 |" in blocks["phases"]
    shares = speed_tables.shares(results["steps"][1])
    assert shares["learning"]["share"] == pytest.approx(10 * 3 * 1e-2 / 3.0)
    assert shares["counting"]["achieved"] == pytest.approx(160 * 1e4 / 1.6)
    assert shares["aligning"]["in_products"] == pytest.approx(1e7)


def test_figures_are_drawn_alike_from_the_same_results(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    import drawing

    results = _speed()
    pictures = []
    for name in ("one.svg", "two.svg"):
        drawing.draw_speed(results, tmp_path / name)
        pictures.append((tmp_path / name).read_text(encoding="utf-8"))
    assert pictures[0] == pictures[1]
    assert pictures[0].count("eflomal") >= 2 and "words a sentence" in pictures[0]


def test_long_pairs_are_joined_and_short_texts_cut(data: Path, tmp_path: Path) -> None:
    sample = corpora.write_sample(Row("en-fr", 5), tmp_path / "text")
    for path in speed._joined(sample, tmp_path / "long", 5000):
        assert len(Path(path).read_text(encoding="utf-8").split()) == 5000
    for path in speed._cut(sample, tmp_path / "cut", 3):
        assert len(Path(path).read_text(encoding="utf-8").splitlines()) == 3
    chosen = speed.by_length(Row("en-fr"), (5, 6), 4, tmp_path / "length")
    sides = [path.read_text(encoding="utf-8").splitlines() for path in (chosen.source, chosen.target)]
    assert chosen.pairs == 4
    assert {max(map(len, map(str.split, pair))) for pair in zip(*sides, strict=True)} <= {5, 6}


def test_what_was_stopped_goes_on(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: list[tuple[str, int]] = []

    def stand_in(system: str, *_: Any, seed: int, **__: Any) -> peers.Run:
        if system == "eflomal" and len(runs) == 1:
            runs.append(("stopped", seed))
            raise KeyboardInterrupt
        runs.append((system, seed))
        right = [Alignment.of(sorted(pair.gold.sure)) for pair in natural()]
        links = right if system == "bitweft" else [Alignment()] * len(right)
        return peers.Run(measuring.Cost(2.0, 1.0, 10.0), {"default": links})

    monkeypatch.setattr(accuracy, "run", stand_in)
    monkeypatch.setattr(accuracy, "require_installed", lambda _: None)
    monkeypatch.setattr(accuracy, "reliability", lambda *_: [])
    monkeypatch.setattr(accuracy, "warm_up", lambda *_: None)
    places = ["--output", str(tmp_path / "results"), "--cache", str(tmp_path / "cache")]
    order = ["--rows", "en-fr:20", "--seeds", "2", *places]
    with pytest.raises(KeyboardInterrupt):
        accuracy.main(order)
    assert not (tmp_path / "results").exists()
    accuracy.main(order)
    assert runs == [("bitweft", 1), ("stopped", 1), ("eflomal", 1), ("bitweft", 2), ("eflomal", 2)]
    said = capsys.readouterr()
    assert "| en-fr, 20 pairs | 0.0 ± 0.0 | 100.0 ± 0.0 | 1 | 1 |" in said.out
    assert "5 of 5: en-fr, 20 pairs, reliability, run 1" in said.err


@unix
@pytest.mark.slow
def test_accuracy_is_measured_kept_and_published(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("eflomal")
    pytest.importorskip("matplotlib")
    places = ["--output", str(tmp_path / "results"), "--cache", str(tmp_path / "cache")]
    order = ["--rows", "en-fr:300", "--seeds", "1", *places]
    accuracy.main(order)
    results = json.loads((tmp_path / "results" / "accuracy.json").read_text(encoding="utf-8"))
    row = results["rows"][0]
    assert (row["row"], row["pairs"]) == ("en-fr, 300 pairs", 400)
    for system in ("bitweft", "eflomal"):
        own = row["systems"][system]
        assert 0 < own["test"]["aer"]["mean"] < 60
        assert own["cost"]["cpu"]["mean"] > 0.1
    assert sum(own["links"] for own in row["reliability"]) > 100
    assert "| en-fr, 300 pairs |" in capsys.readouterr().out
    monkeypatch.setattr(accuracy, "run_job", lambda *_: pytest.fail("what is kept was made again"))
    accuracy.main(order)
    import drawing

    drawing.draw_accuracy(results, tmp_path / "figure.svg")
    assert "test AER" in (tmp_path / "figure.svg").read_text(encoding="utf-8")


@unix
@pytest.mark.slow
def test_peers_from_thot_align(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("thot")
    sample = corpora.write_sample(Row("en-fr", 300), tmp_path / "text")
    for system in ("fast_align", "hmm"):
        found = peers.run(system, sample, tmp_path / system)
        scores = peers.scores(found, sample, "en-fr")
        assert scores["test"]["intersection"]["precision"] > scores["test"]["union"]["precision"]
        assert scores["test"]["grow-diag-final-and"]["aer"] < 70
        measured = peers.run(system, sample, tmp_path / f"{system} measured", resume=True)
        assert measured.links == found.links and measured.directions == found.directions


def test_a_peer_from_thot_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def directions(*_: Any) -> tuple[Iterator[Alignment], Iterator[Alignment]]:
        return (pytest.fail("this direction is there already") for _ in "x"), repeat(Alignment(((0, 1),)))

    monkeypatch.setattr(peers, "thot_directions", directions)
    outputs = [tmp_path / name for name in peers.DIRECTIONS]
    outputs[0].write_text("0-0\n1-1\n", encoding="utf-8")
    peers.main(["hmm", "2", "source", "target", *map(str, outputs)])
    assert [path.read_text(encoding="utf-8") for path in outputs] == ["0-0\n1-1\n", "0-1\n0-1\n"]
    assert sorted(tmp_path.iterdir()) == sorted(outputs)


def test_systems_that_are_not_run_stay_as_they_were(tmp_path: Path) -> None:
    def result(runs: dict[tuple[str, str], str], bins: str | None) -> dict[str, Any]:
        texts = dict.fromkeys(text for text, _ in runs)
        rows = [
            {"text": text, "pairs": 2, "systems": {name: f for (own, name), f in runs.items() if own == text}}
            for text in texts
        ]
        found = [{"system": name, "text": text, "pairs": 2, "is": f} for (text, name), f in runs.items()]
        return {"rows": [{**row, "reliability": bins} for row in rows], "runs": found}

    path = tmp_path / "accuracy.json"
    now = result({("a", "bitweft"): "new"}, None)
    assert accuracy.with_earlier(now, path) == now
    before = {("a", "bitweft"): "old", ("a", "eflomal"): "old", ("b", "bitweft"): "old"}
    path.write_text(json.dumps(result(before, "bins")), encoding="utf-8")
    after = {("a", "bitweft"): "new", ("a", "eflomal"): "old", ("b", "bitweft"): "old"}
    both = accuracy.with_earlier(now, path)
    assert both["rows"] == result(after, "bins")["rows"]
    assert sorted(map(str, both["runs"])) == sorted(map(str, result(after, None)["runs"]))


def test_steps_that_are_not_measured_anew_stay_as_they_were(tmp_path: Path) -> None:
    def step(what: str, row: str, code: str) -> dict[str, Any]:
        return {"what": what, "row": row, "threads": 2, "turn": 1, "lengths": None, "code": code}

    path = tmp_path / "speed.json"
    now = [step("kept", "small", "new"), step("race", "small", "new")]
    assert speed.with_earlier(now, path) == now
    earlier = [step("race", "small", "old"), step("race", "all", "old"), step("cores", "small", "old")]
    path.write_text(json.dumps({"steps": earlier}), encoding="utf-8")
    assert speed.with_earlier(now, path) == [*now, *earlier[1:]]


@unix
@pytest.mark.slow
def test_speed_is_measured_and_published(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("eflomal")
    sizes = ["--rows", "en-fr:200", "--model-row", "en-fr:200", "--length-pairs", "20", "--grown", "400"]
    places = ["--output", str(tmp_path / "results"), "--cache", str(tmp_path / "cache")]
    monkeypatch.setattr(speed, "LENGTHS", ((1, 6), (7, 20)))
    speed.main([*sizes, *places])
    results = json.loads((tmp_path / "results" / "speed.json").read_text(encoding="utf-8"))
    kinds = ["race", "race", "race", "race", "phases", "kept", "cores", "length", "length"]
    assert [step["what"] for step in results["steps"]] == kinds
    assert results["steps"][3]["pairs"] > results["steps"][0]["pairs"]  # grown
    assert set(speed_tables.blocks(results)) == {"race", "kept", "phases", "products", "cores", "length"}
