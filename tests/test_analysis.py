"""Neighbors of source windows, from Python and from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from bitweft import sample
from bitweft.aligner import Aligner
from bitweft.cli import main
from bitweft.errors import UsageError
from bitweft.recipes.paper.batches import padded
from bitweft.recipes.paper.features import FeatureConfig, Inventory, SideConfig, Tagger
from bitweft.recipes.paper.neighbors import Space
from bitweft.recipes.paper.network import Network
from bitweft.recipes.paper.recipe import PaperRecipe
from bitweft.text.bitext import Bitext

PAIRS = list(sample.generate(60))
SOURCE, TARGET = [pair.source for pair in PAIRS], [pair.target for pair in PAIRS]
SETTINGS = [
    "model.hidden=8",
    "model.output=8",
    "model.words=8",
    "model.source_k1=3",
    "training.word_epochs=0",
    "training.epochs=1",
    "members=2",
    "decoding.sentences=10",
    "decoding.negatives=2",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PaperRecipe]:
    directory = tmp_path_factory.mktemp("neighbors")
    for name, side in (("text.en", SOURCE), ("text.fr", TARGET)):
        (directory / name).write_text("".join(" ".join(words) + "\n" for words in side), encoding="utf-8")
    aligner = Aligner("paper", settings=SETTINGS)
    aligner.fit(Bitext(directory / "text.en", directory / "text.fr")).save(directory / "model")
    assert isinstance(aligner.recipe, PaperRecipe)
    return directory, aligner.recipe


def space(recipe: PaperRecipe) -> Space:
    assert recipe.inventories is not None
    return Space(recipe.directions[0].networks, recipe.inventories)


def windows_one_by_one(recipe: PaperRecipe, sentence: tuple[str, ...]) -> list[torch.Tensor]:
    assert recipe.inventories is not None
    batch = padded(recipe.inventories[0].encode([sentence]), np.array([0]))
    vectors = [network.source_vectors(batch)[0] for network in recipe.directions[0].networks]
    return list(torch.cat(vectors, -1).detach())


def test_nearest_windows_are_those_found_one_by_one(files: tuple[Path, PaperRecipe]) -> None:
    _, recipe = files
    window = SOURCE[0][:3]
    query = windows_one_by_one(recipe, window)[1]
    expected: dict[str, float] = {}
    for sentence in SOURCE:
        for s, vector in enumerate(windows_one_by_one(recipe, sentence)):
            text = " ".join(sentence[max(0, s - 1) : s + 2]).lower()
            distance = float((vector - query).norm())
            expected[text] = min(distance, expected.get(text, distance))
    expected.pop(" ".join(window).lower(), None)
    best = sorted(expected.values())[:5]
    found = space(recipe).nearest_windows(window, SOURCE, count=5)
    assert [neighbor.value for neighbor in found] == pytest.approx(best)
    assert all(expected[neighbor.text] == pytest.approx(neighbor.value) for neighbor in found)


def test_target_words_score_as_the_network_does(files: tuple[Path, PaperRecipe]) -> None:
    _, recipe = files
    found = space(recipe).best_target_words(SOURCE[0][:3], TARGET, count=5)
    assert len({neighbor.text for neighbor in found}) == 5
    assert [neighbor.value for neighbor in found] == sorted((n.value for n in found), reverse=True)
    query = windows_one_by_one(recipe, SOURCE[0][:3])[1]
    assert recipe.inventories is not None
    best = -np.inf
    for sentence in TARGET:
        batch = padded(recipe.inventories[1].encode([sentence]), np.array([0]))
        parts = [network.target_vectors(batch)[0].detach() for network in recipe.directions[0].networks]
        best = max(best, float((torch.cat(parts, -1) @ query / 2).max()))
    assert found[0].value == pytest.approx(best)


def test_an_empty_window_fails(files: tuple[Path, PaperRecipe]) -> None:
    with pytest.raises(UsageError, match="a word or more"):
        space(files[1]).nearest_windows((), SOURCE)


def test_command_line(files: tuple[Path, PaperRecipe], capsys: pytest.CaptureFixture[str]) -> None:
    directory, recipe = files
    window = " ".join(SOURCE[0][:3])
    assert main(["neighbors", str(directory / "model"), window, "--count", "3", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    expected = space(recipe).nearest_windows(SOURCE[0][:3], SOURCE, count=3)
    assert [(found["text"], found["value"]) for found in about["windows"]] == [
        (neighbor.text, pytest.approx(neighbor.value)) for neighbor in expected
    ]
    assert len(about["words"]) == 3
    assert main(["neighbors", str(directory / "model"), window, "--count", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and lines[1].startswith(expected[0].text)


def test_a_text_that_went_away(
    files: tuple[Path, PaperRecipe], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory, _ = files
    model = shutil.copytree(directory / "model", tmp_path / "model")
    about = json.loads((model / "model.json").read_text(encoding="utf-8"))
    about["training"]["files"] = ["nowhere.en", "nowhere.fr"]
    (model / "model.json").write_text(json.dumps(about), encoding="utf-8")
    assert main(["neighbors", str(model), "the"]) == 2
    error = capsys.readouterr().err
    assert "nowhere.en is not there" in error and "--source and --target" in error
    text = ["--source", str(directory / "text.en"), "--target", str(directory / "text.fr")]
    assert main(["neighbors", str(model), "the", *text]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 11


def test_a_model_with_tags_finds_the_text_and_its_tags_again(
    files: tuple[Path, PaperRecipe], capsys: pytest.CaptureFixture[str]
) -> None:
    directory, _ = files
    for name, side in (("en.pos", SOURCE), ("fr.pos", TARGET)):
        lines = (" ".join(f"L{len(word)}" for word in words) + "\n" for words in side)
        (directory / name).write_text("".join(lines), encoding="utf-8")
    text, tags = [str(directory / "text.en"), str(directory / "text.fr")], ["en.pos", "fr.pos"]
    model = str(directory / "tagged")
    options = [option for setting in SETTINGS for option in ("--set", setting)]
    named = [str(directory / name) for name in tags]
    assert main(["train", *text, "-o", model, "--recipe", "paper", "--tags", *named, *options, "-q"]) == 0
    tagged = " ".join(f"{word}|L{len(word)}" for word in SOURCE[0][:3])
    window = " ".join(SOURCE[0][:3]).upper()  # neither its case nor its tags need be written
    answers = []
    for given in ([], ["--source", text[0], "--target", text[1], "--tags", *named]):
        for written in (tagged, window):
            assert main(["neighbors", model, written, "--count", "3", "--json", *given]) == 0
            answers.append(json.loads(capsys.readouterr().out))
    assert len({json.dumps(answer["windows"]) for answer in answers}) == 1
    assert len(answers[0]["windows"]) == len(answers[0]["words"]) == 3
    for found in (*answers[0]["windows"], *answers[0]["words"]):
        assert "|" not in found["text"] and found["text"] == found["text"].lower()
    assert main(["neighbors", model, "qqq"]) == 2
    assert "'qqq' is not in the text" in capsys.readouterr().err
    (directory / "fr.pos").unlink()
    assert main(["neighbors", model, window]) == 2
    assert "fr.pos is not there" in capsys.readouterr().err


def test_single_words_have_no_windows_worth_listing(
    tmp_path: Path, files: tuple[Path, PaperRecipe], capsys: pytest.CaptureFixture[str]
) -> None:
    directory, _ = files
    settings = [*SETTINGS, "model.source_k1=1", "members=1"]
    aligner = Aligner("paper", settings=settings)
    aligner.fit(Bitext(directory / "text.en", directory / "text.fr")).save(tmp_path / "m")
    assert main(["neighbors", str(tmp_path / "m"), " ".join(SOURCE[0][:3])]) == 0
    said = capsys.readouterr()
    assert f"every window around {SOURCE[0][1].lower()!r} is at distance 0" in said.err
    assert isinstance(aligner.recipe, PaperRecipe)
    found = space(aligner.recipe).nearest_windows(SOURCE[0][:3], SOURCE, count=5)
    assert all(" " not in neighbor.text and neighbor.value > 0 for neighbor in found) and len(found) == 5


def test_words_of_a_tagger_are_tagged(files: tuple[Path, PaperRecipe]) -> None:
    _, recipe = files
    side = SideConfig(tags="spacy:any")
    taggers: list[Tagger] = [lambda sentences: [["X"] * len(words) for words in sentences]] * 2
    inventories = [
        Inventory.of(text, FeatureConfig(source=side, target=side), side, tagger=tagger)
        for text, tagger in zip((SOURCE, TARGET), taggers, strict=True)
    ]
    network = Network(inventories[0], inventories[1], recipe.config.model, seed=1)
    found = Space([network], (inventories[0], inventories[1]), taggers)
    windows, words, _ = found.neighborhood(SOURCE[0][:3], SOURCE, TARGET, 4)
    assert len(windows) == len(words) == 4


def test_a_model_without_neighbors_says_so(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["neighbors", str(model), "the"]) == 2
    assert capsys.readouterr().err == (
        "bitweft: bitweft neighbors is not supported by the recipe 'default'\n"
    )
