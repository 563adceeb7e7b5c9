"""The benchmark of the paper's tables: its cells, what is kept, and how it shows what was not run."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corpora
import directions
import paper
import paper_cells
import paper_errors
import paper_runs
import paper_speed
import paper_tables
import peers
import published
from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.recipes.paper.decode import BestWords
from bitweft.recipes.paper.presets import PUBLISHED
from bitweft.sample import SamplePair, generate, natural
from bitweft.settings import to_mapping
from bitweft.text.bitext import SentencePair, tokenize
from corpora import Row
from measuring import Cost

SMALL = [
    "--set=training.word_epochs=1",
    "--set=training.epochs=0",
    "--set=model.target_k1=1",
    "--set=model.target_k2=1",
    "--set=decoding.sentences=5",
    "--set=decoding.negatives=2",
]


def _gold(pair: SamplePair) -> str:
    return " ".join(f"{s}-{t}" for s, t in sorted(pair.gold.sure))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lay out some of the embedded sample, with tags, as the directory that benchmarks read."""
    directory = tmp_path / "data" / "en-fr"
    directory.mkdir(parents=True)
    held = natural()
    for part, pairs in (("test", held[:20]), ("dev", held[20:30]), ("train", list(generate(40)))):
        for language, side in (("en", "source"), ("fr", "target")):
            lines = [getattr(pair, side) for pair in pairs]
            for end, text in (
                ("", "".join(" ".join(words) + "\n" for words in lines)),
                (".pos", "".join(" ".join("X" for _ in words) + "\n" for words in lines)),
            ):
                name = f"{part}.{language}{end}"
                if part == "train":
                    (directory / f"{name}.xz").write_bytes(lzma.compress(text.encode()))
                else:
                    (directory / name).write_bytes(text.encode())
        if part != "train":
            text = "".join(_gold(pair) + "\n" for pair in pairs)
            (directory / f"{part}.gold").write_bytes(text.encode())
    monkeypatch.setattr(corpora, "DATA", tmp_path / "data")
    return tmp_path / "data"


def test_every_published_cell_has_a_configuration_of_its_own() -> None:
    for name, make in paper_cells.TABLES.items():
        cells = make()
        texts = {cell.text for cell in cells}
        for text in texts:
            own = [cell for cell in cells if cell.text == text]
            assert len({cell.settings for cell in own}) == len(own)
        for cell in cells:
            assert len(cell.published) == 3
            assert {len(figures) for figures in cell.published} == {
                1 if name in ("aggregations", "features") else 4
            }
    assert sum(len(make()) for make in paper_cells.TABLES.values()) == 9 + 12 + 2 + 2 + 3


def test_tables_have_names_and_the_papers_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert paper.arguments(["1", "french", "5"]).tables == ["aggregations", "french", "czech"]
    with pytest.raises(SystemExit):
        paper.arguments(["6"])
    assert "invalid choice: '6'" in capsys.readouterr().err


def test_published_figures_agree_with_one_another() -> None:
    """F1 follows from P and R, up to rounding; on ro-en, all of whose links are sure, AER follows from F1."""
    wrong = []
    for text, systems in published.LANGUAGES.items():
        for system, rows in systems.items():
            for way, (p, r, f1, aer) in zip(published.ROWS, rows, strict=True):
                if abs(2 * p * r / (p + r) - f1) > 0.15:
                    wrong.append((text, system, way))
                if text == "ro-en":
                    assert aer == pytest.approx(100 - f1, abs=0.31)
    assert wrong == [("en-cs", "single", "symmetrized")]  # so it is printed


def test_cells_are_run_kept_and_shown(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def stand_in(system: str, sample: corpora.Sample, *_: Any, seed: int, **__: Any) -> peers.Run:
        ran.append(f"{system} {seed}")
        links = [corpora.gold_of("en-fr", part) for part in ("test", "dev")]
        right = [Alignment.of(sorted(gold.sure)) for part in links for gold in part]
        none = [Alignment()] * len(right)
        return peers.Run(
            Cost(1.0, 1.0, 1.0), {"union": none, "grow": right}, {"forward": right, "backward": none}
        )

    monkeypatch.setattr(directions, "run", stand_in)
    monkeypatch.setattr(paper, "require_installed", lambda _: None)
    places = ["--output", str(tmp_path / "results"), "--cache", str(tmp_path / "cache")]
    order = ["aggregations", "--text", "en-fr", "--pairs", "40", "--seeds", "2", *SMALL, *places]
    order += ["--systems", "eflomal", "hmm", "--system-pairs", "30", "all"]
    paper.main([*order, "--kept"])
    assert ran == [] and capsys.readouterr().out.count("not run") == 3 * (3 + 2 * 2)
    paper.main([*order, "--kept", "paper"])
    assert len(ran) == 6 and capsys.readouterr().out.count("not run") == 3 * 3
    paper.main(order)
    said = capsys.readouterr()
    assert ran == ["eflomal 1", "eflomal 2", "hmm 1"] * 2
    assert "not run" not in said.out
    assert "| eflomal | 30 | 0.0 ± 0.0 |  | 100.0 ± 0.0 |  | 0.0 ± 0.0 |  | grow |" in said.out
    assert "| HMM (sil-thot) | all | 0.0 |  | 100.0 |  | 0.0 |  | grow |" in said.out
    assert "minutes left" in said.err
    results = json.loads((tmp_path / "results" / "paper-aggregations.json").read_text(encoding="utf-8"))
    lse = next(row for row in results["rows"] if row["system"] == "lse")
    assert lse["runs"] == 2 and lse["published"]["symmetrized"] == [12.8]
    assert 0 < lse["results"]["forward"]["aer"]["mean"] <= 100
    monkeypatch.setattr(paper_cells, "_fit", lambda *_: pytest.fail("what is kept was made again"))
    paper.main(order)
    assert len(ran) == 6
    assert capsys.readouterr().out == said.out


def test_the_key_of_a_cell_has_what_is_not_default(data: Path) -> None:
    plain, tagged = (
        next(cell for cell in paper_cells.TABLES["features"]() if cell.name == name)
        for name in ("+ diag", "+ POS")
    )
    assert paper_cells.PaperRun(plain, 40, 1).key()["settings"] == {}
    run = paper_cells.PaperRun(tagged, 40, 1, ("training.epochs=0",))
    tags = {f"features.{side}.tags": "inline" for side in ("source", "target")}
    assert run.key()["settings"] == {**tags, "model.diagonal": False, "training.epochs": 0}
    assert "train.en.pos.xz" in run.key()["files"]
    before = run.key()
    (data / "en-fr" / "test.gold").write_text("0-0\n")
    assert run.key() != before


def test_kept_words_give_links_without_training(tmp_path: Path) -> None:
    def words(*lengths: int) -> list[BestWords]:
        return [BestWords(np.arange(n), *(np.arange(n) / (k + 2) for k in range(4))) for n in lengths]

    best = {"dev": (words(2, 0, 3), words(1, 1, 2)), "test": (words(4), words(0))}
    paper_cells.keep_words(best, tmp_path / "cells" / "own.npz")
    again = paper_cells.kept_words(tmp_path / "cells" / "own.npz")
    for part, ways in best.items():
        for one, other in zip(ways, again[part], strict=True):
            assert [own.links(0.5).links for own in one] == [own.links(0.5).links for own in other]


def test_a_preset_comes_before_the_settings_of_a_cell(data: Path) -> None:
    cell = next(own for own in paper_cells.TABLES["aggregations"]() if own.name == "max")
    run = paper_cells.PaperRun(cell, 40, 1, ("training.epochs=3",), "published")
    assert (run.config.training.aggregation, run.config.training.epochs) == ("max", 3)
    assert run.config.training.optimizer == "sgd" and run.key() != paper_cells.PaperRun(cell, 40, 1).key()


def test_the_default_recipe_is_measured_by_direction(data: Path, tmp_path: Path) -> None:
    result = directions.measure("bitweft", Row("en-fr", 40), 1, tmp_path)
    assert set(result["results"]) == set(published.ROWS)
    assert result["results"]["symmetrized"]["heuristic"] == "default"
    assert all(0 <= own["aer"] < 100 for own in result["results"].values())
    assert result["all_pairs"] == 70


def _row(system: str, kind: str, aer: float | None) -> dict[str, Any]:
    by = {"precision": 90.0, "recall": 80.0, "f1": 84.7}
    ways = {name: {**by, "aer": aer, "heuristic": "grow"} for name in published.ROWS}
    figures = published.LANGUAGES["en-cs"].get(system) if kind == "paper" else None
    runs = [] if aer is None else [{"results": ways, "date": "2026-01-02"}]
    return paper_tables.row_of(Row("en-cs", 20_000), system, runs, figures)


def test_full_tables_have_every_figure_and_the_papers_baseline() -> None:
    rows = [_row("single", "paper", None), _row("bitweft", "system", 10.0)]
    about = {"versions": {"bitweft": "1"}}
    results = {"about": about, "table": "czech", "settings": ["a.b=1"], "rows": rows}
    text = paper_tables.markdown(results)
    assert "| **en → cs** | fast_align of the paper |  |  |  |  |  | 68.4 | 73.3 | 70.7 | 26.6 |  |" in text
    assert "|  | single | 20,000 |  |  |  | not run | 72.0 | 74.3 | 73.1 | 24.6 |  |" in text
    assert "|  | bitweft, default recipe | 20,000 | 90.0 | 80.0 | 84.7 | 10.0 |  |  |  |  |  |" in text
    assert (
        "Measured 2026-01-02, one seed; bitweft 1. Set for every cell of the paper's recipe: `a.b=1`." in text
    )


def test_a_cell_that_was_not_run_is_drawn_as_such(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from drawing import draw_cells

    draw_cells([_row("single", "paper", None), _row("bitweft", "system", 10.0)], tmp_path / "cells.svg")
    picture = (tmp_path / "cells.svg").read_text(encoding="utf-8")
    assert picture.count("not run") == 1 and "bitweft 20k" in picture and "en-cs" in picture


def test_other_sizes_have_a_figure_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from drawing import draw_cells, draw_sizes

    rows = [_row("single", "paper", 20.0), _row("bitweft", "system", 10.0), _row("hmm", "system", None)]
    assert not draw_sizes(rows, tmp_path / "sizes.svg")
    rows.append({**_row("bitweft", "system", 9.0), "pairs": None, "all_pairs": 77_000})
    assert draw_sizes(rows, tmp_path / "sizes.svg")
    assert "bitweft" in (tmp_path / "sizes.svg").read_text(encoding="utf-8")
    draw_cells(rows, tmp_path / "cells.svg")
    assert "bitweft all" not in (tmp_path / "cells.svg").read_text(encoding="utf-8")


def test_the_page_has_a_block_for_every_table() -> None:
    page = (corpora.ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    blocks = ("bleu", "paper-runs", "paper-alphas", "paper-spreads")
    for name in (*blocks, *(f"paper-{table}" for table in paper_cells.TABLES)):
        assert page.count(f"<!-- {name} -->") == page.count(f"<!-- /{name} -->") == 1


def test_the_time_of_an_epoch(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="too few"):
        paper_speed.main(["--output", str(tmp_path)])
    monkeypatch.setattr("bitweft.recipes.paper.train.REPORT_EVERY", 1)
    paper_speed.main(["--output", str(tmp_path), "--share", "1"])
    results = json.loads((tmp_path / "paper-speed.json").read_text(encoding="utf-8"))
    assert results["pairs"] == 40 and set(results["rows"]) == set(paper_speed.SETTINGS)
    assert [own["steps"] for own in results["rows"].values()] == [2, 2, 2, 39]  # of 16 pairs, and of one
    assert all(own["peak_mib"] > 50 for own in results["rows"].values())
    assert "40 pairs" in capsys.readouterr().out


def test_a_size_that_a_text_does_not_have_is_all_of_it(data: Path) -> None:
    whole = corpora.size_of("en-fr")
    order = ["aggregations", "--systems", "bitweft", "--system-pairs", "30", str(whole), "1000000", "all"]
    cells = [cell for cell in paper_cells.TABLES["aggregations"]() if cell.text == "en-fr"]
    jobs = [job for job in paper.jobs_of(cells, paper.arguments(order)) if job.cell is None]
    assert [job.row for job in jobs] == [Row("en-fr", 30), Row("en-fr")]
    order = ["aggregations", "--systems", "bitweft", "--pairs", "all"]
    assert {job.row for job in paper.jobs_of(cells, paper.arguments(order))} == {Row("en-fr")}


def test_settings_are_checked_with_their_preset(data: Path, tmp_path: Path) -> None:
    """Without its preset, nothing replaced would leave windows without negatives."""
    order = ["aggregations", "--text", "en-fr", "--cells", "lse", "--systems", "--preset", "published"]
    paper.main([*order, "--set", "training.replacement_rate=0", "--kept", "--output", str(tmp_path)])
    results = json.loads((tmp_path / "paper-aggregations.json").read_text(encoding="utf-8"))
    assert results["settings"] == ["--preset published", "training.replacement_rate=0"]


def _kept(directory: Path, name: str, *, seed: int = 1, settings: tuple[str, ...] = ()) -> None:
    """Keep a cell of English-French whose figures are made up."""
    cells = [cell for make in paper_cells.TABLES.values() for cell in make()]
    cell = next(own for own in cells if (own.text, own.name) == ("en-fr", name))
    run = paper_cells.PaperRun(cell, 1000, seed, settings)
    by = {"precision": 90.0, "recall": 80.0, "f1": 84.7, "aer": 14.0 + seed}
    ways: dict[str, Any] = {way: {**by, "alpha": 1.0} for way in published.ROWS[:2]}
    ways["choices"] = {way: {**by, "heuristic": f"by {way}"} for way in paper_tables.WAYS}
    result = {"cell": name, "cpu_seconds": 120, "config": to_mapping(run.config), "results": ways}
    kept = {"key": run.key(), "result": result, "date": "2026-01-02"}
    directory.mkdir(exist_ok=True)
    (directory / f"{name}-{seed}-{len(settings)}.json").write_text(json.dumps(kept), encoding="utf-8")


def test_kept_cells_stand_beside_those_with_the_same_settings(data: Path, tmp_path: Path) -> None:
    directory = tmp_path / "cells"
    for seed in (1, 2):
        _kept(directory, "+ POS", seed=seed)
    _kept(directory, "sum")
    _kept(directory, "max", settings=(*PUBLISHED, "training.epochs=2"))
    other = json.loads((directory / "sum-1-0.json").read_text(encoding="utf-8"))
    other["key"]["revision"] -= 1
    (directory / "old.json").write_text(json.dumps(other), encoding="utf-8")
    runs = paper_runs.read_kept(directory)
    assert [run.cell.name for run in runs] == ["max", "sum", "+ POS", "+ POS"]
    text = paper_runs.runs_markdown(runs)
    assert text.count("**en-fr, 1,000 pairs**") == 2
    assert "`--preset published --set training.epochs=2`, one seed, 2026-01-02:" in text
    assert "the default settings, 2 seeds, 2026-01-02:" in text
    figures = "**15.5** ± 0.7 (90.0, 80.0)"
    symmetrized = f"{figures} | {figures} by paper | {figures} by apart | {figures} by all"
    assert f"| + POS | {figures} | 20.9 | {figures} | 23.9 | {symmetrized} | 15.3 | 2 |" in text


def test_an_alpha_for_each_direction_is_chosen_on_dev() -> None:
    def words(source: list[int], score: list[float]) -> list[BestWords]:
        zeros, ones = np.zeros(2), np.ones(2)
        return [BestWords(np.array(source), np.array(score), zeros, ones, ones)]

    # The second target word is wrong, and only a high α leaves it out; the other direction needs a low one.
    best = (words([0, 0], [5.0, 1.1]), words([0, 1], [0.1, 0.1]))
    gold = [GoldAlignment.of([(0, 0), (1, 1)])]
    found = paper_cells.choices_of({"dev": best, "test": best}, {"dev": gold, "test": gold})
    assert (found["paper"]["aer"], found["apart"]["aer"]) == (20.0, 0.0)
    assert found["apart"]["alpha"] >= 1.25 > 0.1 > found["apart"]["backward_alpha"]
    assert found["paper"]["alpha"] == found["paper"]["backward_alpha"]


def test_the_papers_precision_on_possible_links() -> None:
    """100 sure links: of 120 links 90 are sure and 108 possible, so P 75 on sure links, R 90, AER 10."""
    assert paper_runs.implied_precision(75.0, 90.0, 10.0, 100) == pytest.approx(90.0)


def test_what_the_threshold_does_is_shown_from_kept_words(data: Path, tmp_path: Path) -> None:
    directory = tmp_path / "cells"
    _kept(directory, "single")
    (run,) = paper_runs.read_kept(directory)
    assert paper_runs.alphas_markdown([run]) == "\n"  # its words are not kept
    gold = corpora.gold_of("en-fr", "test")
    lengths = [max((t for _, t in own.sure), default=0) + 1 for own in gold]
    words = [
        BestWords(np.zeros(n, np.int64), *(np.full(n, x) for x in (2.5, 0.0, 1.0, 0.5))) for n in lengths
    ]
    paper_cells.keep_words({"dev": (words, words), "test": (words, words)}, run.path.with_suffix(".npz"))
    rows = [line.split(" | ") for line in paper_runs.alphas_markdown([run]).splitlines() if "**" in line]
    found = {row[0].strip("| "): row[1] for row in rows[1:]}
    assert found["none"] == found["2.25"] and "**100.0**" not in found["2.25"]
    assert found["2.5"].endswith("**100.0**")  # a score of 2.5 is not above the threshold
    assert found["the paper's"].endswith("80.7, **13.2**")


@pytest.mark.parametrize("spread", ["deviation", "variance"])
def test_a_variance_is_shown_beside_a_deviation(
    spread: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A right link scores 2, a wrong one 4.4; with deviations of 1 and 2 only variances part them."""
    _kept(tmp_path, "single", settings=(f"decoding.spread={spread}",))
    (run,) = paper_runs.read_kept(tmp_path)
    deviation = np.array([1.0, 2.0]) ** (2 if spread == "variance" else 1)
    score, both = np.array([2.0, 4.4]), np.arange(2)
    words = [BestWords(both, score, np.zeros(2), deviation, np.ones(2))]
    paper_cells.keep_words({"dev": (words, words), "test": (words, words)}, run.path.with_suffix(".npz"))
    monkeypatch.setattr(paper_runs, "gold_of", lambda *_: [GoldAlignment.of([(0, 0)])])
    (line,) = paper_runs.spreads_markdown([run]).splitlines()[2:]
    assert line.split(" | ")[2:] == ["33.3, **33.3**", "0.0, **0.0**"] * 2 + [
        "33.3, **33.3**",
        "0.0, **0.0** |",
    ]


def test_wrong_links_are_told_apart_in_both_directions() -> None:
    pair = SentencePair(tokenize("the cat and the dog ."), tokenize("le chat , le chien ici ."))
    gold = GoldAlignment.of([(0, 0), (1, 1), (3, 3), (4, 4), (5, 6)], [(2, 2)])
    found = Alignment.of(
        [(3, 0), (1, 1), (5, 2), (0, 3), (1, 4), (2, 5), (5, 6)]
    )  # `, ici` have no counterpart
    stop, elsewhere, unlinked, other = paper_errors.KINDS

    def wrong(way: str) -> list[paper_errors.Wrong]:
        return sorted(paper_errors.wrong_links([pair], [found], [gold], way))

    assert wrong("forward") == sorted(
        [
            (stop, ",", "."),
            (elsewhere, "le", "the"),
            (elsewhere, "le", "the"),
            (other, "chien", "cat"),
            (unlinked, "ici", "and"),
        ]
    )
    assert wrong("backward") == sorted(
        [
            (other, ".", ","),
            (elsewhere, "the", "le"),
            (elsewhere, "the", "le"),
            (other, "cat", "chien"),
            (other, "and", "ici"),
        ]
    )
