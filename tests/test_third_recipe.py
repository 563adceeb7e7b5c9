"""A recipe that is not bitweft's own, in one file, works like those that are: from Python and every verb."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from battery import with_dice
from bitweft import Aligner, UsageError, evaluate
from bitweft.cli import main
from bitweft.recipes import registry
from bitweft.sample import bitext, generate
from dice import DiceRecipe

TEXT, GOLD = bitext(generate(300))


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = tmp_path / "text.en", tmp_path / "text.fr"
    for path, side in zip(paths, zip(*TEXT, strict=True), strict=True):
        path.write_text("".join(f"{sentence.text}\n" for sentence in side), encoding="utf-8")
    return list(map(str, paths))


@pytest.fixture
def registered() -> Iterator[None]:
    with with_dice():
        yield


def test_links_are_those_counted_by_hand(registered: None) -> None:
    aligner = Aligner("dice").fit([("a b", "x y"), ("a", "x"), ("a c", "x z")])
    found = aligner.align("a b c d", "z x y q")
    # a with x: 3 of 3 and 3 pairs; b with y and c with z: 1 of 1 and 1; d and q were never seen.
    assert (found.links, found.probabilities) == (((0, 1), (1, 2), (2, 0)), (1.0, 1.0, 1.0))
    assert aligner.align("b", "x").probabilities == (2 * 1 / (1 + 3),)
    strict = Aligner("dice", settings=["least=0.5"]).fit([("a b", "x y"), ("a", "x"), ("a c", "x z")])
    assert strict.align("b", "x").links == ()


def test_the_verbs_know_it(
    registered: None, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, links = str(tmp_path / "m"), tmp_path / "links"
    options = ["--recipe", "dice", "--set", "least=0.1", "--languages", "en", "fr"]
    assert main(["train", *files, "-o", model, *options]) == 0
    assert "learned from 300 pairs" in capsys.readouterr().err
    assert main(["align", *files, "--model", model, "-o", str(links), "-q"]) == 0
    aligner = Aligner.load(model)
    assert links.read_text().splitlines() == [str(alignment) for alignment in aligner.align(TEXT)]
    assert evaluate(aligner.align(TEXT), GOLD).aer < 0.4
    again = tmp_path / "again"
    assert main(["align", *files, "--recipe", "dice", "--set", "least=0.1", "-o", str(again), "-q"]) == 0
    assert again.read_bytes() == links.read_bytes()
    capsys.readouterr()
    assert main(["show", model]) == 0
    shown = capsys.readouterr().out
    assert "recipe     dice, seed 1" in shown and "    least = 0.1" in shown
    assert "    counting words: cells" in shown and "counts.safetensors" in shown


def test_the_server_describes_it(registered: None, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="needs the extra serve: pip install 'bitweft[serve]'")
    from bitweft.server.service import Service
    from serving import align, ask, running

    Aligner("dice").fit(TEXT).save(tmp_path / "m")
    aligner = Aligner.load(tmp_path / "m")
    with running(Service(aligner, tmp_path / "m")) as address:
        about = ask(address, "/model").json
        assert (about["recipe"], about["alternatives"]) == ("dice", False)
        assert about["sizes"]["source_words"] == aligner.recipe.vocabulary_sizes[0] > 50
        reply = align(address, source="the cat", target="le chat", alternatives=3).json
    assert reply["pharaoh"] == str(aligner.align("the cat", "le chat"))
    assert reply["score"] is None and "alternatives" not in reply


def test_a_package_may_offer_it(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "_RECIPES", dict(registry._RECIPES))
    train = ["train", *files, "-o", str(tmp_path / "m"), "--recipe", "dice", "-q"]
    assert main(train) == 2
    assert "unknown recipe 'dice'; known are default, paper" in capsys.readouterr().err
    package = tmp_path / "site" / "dice-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: dice\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(f"[{registry.GROUP}]\ndice = dice:DiceRecipe\n")
    monkeypatch.syspath_prepend(package.parent)
    assert main(train) == 0
    about = json.loads((tmp_path / "m" / "model.json").read_text(encoding="utf-8"))
    assert about["recipe"] == "dice"
    monkeypatch.setattr(registry, "_RECIPES", {})  # as in another process
    assert isinstance(Aligner.load(tmp_path / "m").recipe, DiceRecipe)


def test_a_model_of_a_recipe_that_went_away(tmp_path: Path) -> None:
    with with_dice():
        Aligner("dice").fit(TEXT).save(tmp_path / "m")
    assert main(["show", str(tmp_path / "m")]) == 1
    with pytest.raises(UsageError, match="unknown recipe 'dice'"):
        Aligner("dice")
