"""Neighbours of source windows, from Python and from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from bitweft import sample
from bitweft.cli import main
from bitweft.errors import UsageError
from bitweft.recipes.paper.batches import padded
from bitweft.recipes.paper.neighbors import best_target_words, nearest_windows
from bitweft.recipes.paper.recipe import PaperConfig, PaperRecipe
from bitweft.settings import with_settings
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
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, PaperRecipe]]:
    directory = tmp_path_factory.mktemp("neighbors")
    for name, side in (("text.en", SOURCE), ("text.fr", TARGET)):
        (directory / name).write_text("".join(" ".join(words) + "\n" for words in side), encoding="utf-8")
    recipe = PaperRecipe(with_settings(PaperConfig(), SETTINGS), seed=1)
    for _ in recipe.fit(Bitext(directory / "text.en", directory / "text.fr")):
        pass
    (directory / "model").mkdir()
    recipe.save(directory / "model")
    yield directory, recipe


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
            text = " ".join(sentence[max(0, s - 1) : s + 2])
            distance = float((vector - query).norm())
            expected[text] = min(distance, expected.get(text, distance))
    expected.pop(" ".join(window), None)
    best = sorted(expected.values())[:5]
    found = nearest_windows(recipe, window, SOURCE, count=5)
    assert [neighbor.value for neighbor in found] == pytest.approx(best)
    assert all(expected[neighbor.text] == pytest.approx(neighbor.value) for neighbor in found)


def test_target_words_score_as_the_network_does(files: tuple[Path, PaperRecipe]) -> None:
    _, recipe = files
    found = best_target_words(recipe, SOURCE[0][:3], TARGET, count=5)
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
    with pytest.raises(UsageError, match="empty window"):
        nearest_windows(files[1], (), SOURCE)


def test_command_line(files: tuple[Path, PaperRecipe], capsys: pytest.CaptureFixture[str]) -> None:
    directory, recipe = files
    window = " ".join(SOURCE[0][:3])
    assert main(["neighbors", str(directory / "model"), window, "--count", "3", "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    expected = nearest_windows(recipe, SOURCE[0][:3], SOURCE, count=3)
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
    about = json.loads((directory / "model" / "paper.json").read_text(encoding="utf-8"))
    for name in ("source.words.txt", "target.words.txt", "forward.safetensors", "backward.safetensors"):
        (tmp_path / name).write_bytes((directory / "model" / name).read_bytes())
    (tmp_path / "paper.json").write_text(json.dumps({**about, "text": ["nowhere.en"]}), encoding="utf-8")
    assert main(["neighbors", str(tmp_path), "the"]) == 2
    assert "--source and --target" in capsys.readouterr().err
    assert (
        main(
            [
                "neighbors",
                str(tmp_path),
                "the",
                "--source",
                str(directory / "text.en"),
                "--target",
                str(directory / "text.fr"),
            ]
        )
        == 0
    )
