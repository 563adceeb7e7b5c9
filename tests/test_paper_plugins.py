"""An aggregation and a feature of a user's own: registered by a decorator, or offered by a package."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from bitweft import Aligner, ModelError, UsageError
from bitweft.recipes.paper import aggregation as aggregations
from bitweft.recipes.paper import features
from bitweft.recipes.paper.aggregation import aggregation, register_aggregation
from bitweft.recipes.paper.features import FeatureConfig, Inventory, SideConfig, register_feature
from bitweft.recipes.paper.recipe import PaperRecipe
from bitweft.sample import bitext, generate

TEXT, _ = bitext(generate(30))
SMALL = [
    "model.hidden=8",
    "model.output=8",
    "model.words=8",
    "model.more=3",
    "training.word_epochs=1",
    "decoding.sentences=5",
    "decoding.negatives=3",
]


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:
    """Forget after each test what it registered, and use one thread."""
    for registry in (aggregations.AGGREGATIONS, features.FEATURES):
        monkeypatch.setattr(registry, "_known", dict(registry._known))
        monkeypatch.setattr(registry, "_registered", set())


def noisy_or(scores: Tensor, mask: Tensor) -> Tensor:
    """Take the log odds that any of the source words, each by itself, explains a target word."""
    total = torch.nn.functional.softplus(scores).masked_fill(~mask, 0.0).sum(-2)
    return total + torch.log(-torch.expm1(-total))


def ending(words: object) -> list[str]:
    return [str(word)[-2:] for word in words]  # type: ignore[attr-defined]


def test_a_registered_aggregation_is_used() -> None:
    with pytest.raises(UsageError, match="must be one of sum, average, max, lse, got 'noisy-or'"):
        Aligner("paper", settings=["training.aggregation=noisy-or"])
    assert register_aggregation("noisy-or")(noisy_or) is noisy_or
    scores, mask = torch.tensor([[[0.0], [0.0], [9.0]]]), torch.tensor([[[True], [True], [False]]])
    assert float(aggregation("noisy-or")(scores, mask)) == pytest.approx(math.log(3))  # 1 - 1/2 · 1/2
    models = []
    for name in ("noisy-or", "sum"):
        recipe = Aligner("paper", settings=[*SMALL, f"training.aggregation={name}"]).fit(TEXT).recipe
        assert isinstance(recipe, PaperRecipe)
        models.append(recipe.directions[0].networks[0].target.m1.detach())
    assert not torch.equal(*models)


def test_a_registered_feature_has_a_table_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"features.target.more must name .* \(known: none\)"):
        Aligner("paper", settings=["features.target.more=ending"])
    register_feature("ending")(ending)
    settings = [*SMALL, "features.target.more=ending", "model.source_k1=3"]
    aligner = Aligner("paper", settings=settings).fit(TEXT)
    recipe = aligner.recipe
    assert isinstance(recipe, PaperRecipe) and recipe.inventories is not None
    (values,) = recipe.inventories[1].more
    assert "on" in values.entries and not recipe.inventories[0].more
    (table,) = recipe.directions[0].networks[0].target.more
    assert isinstance(table, torch.nn.Embedding) and tuple(table.weight.shape) == (len(values), 3)
    assert recipe.directions[0].networks[0].target.width == 8 + 3
    aligner.save(tmp_path / "m")
    pairs = list(TEXT)[:5]
    assert list(Aligner.load(tmp_path / "m").align(pairs)) == list(aligner.align(pairs))
    features.FEATURES._known.clear()  # as in a process that has not registered it
    with pytest.raises(ModelError, match="must name registered features"):
        Aligner.load(tmp_path / "m")


def test_a_feature_must_give_a_value_for_each_word() -> None:
    register_feature("broken")(lambda words: ["x"])
    with pytest.raises(UsageError, match="'broken' gave 1 values for 2 words"):
        Inventory.of([("a", "b")], FeatureConfig(), SideConfig(more="broken"))


def test_the_page_that_does_it(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[1] / "docs" / "howto" / "extend-paper.md"
    (code,) = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    small = ", ".join(map(repr, SMALL))
    exec(code.replace("settings = [", f"settings = [{small}, ").replace("generate(200)", "generate(30)"), {})
    assert re.fullmatch(r"(\d+-\d+ ?)*", capsys.readouterr().out.strip())
    assert {"noisy-or"} < set(aggregations.AGGREGATIONS.names()) and features.FEATURES.names() == ("ending",)


def test_a_package_may_offer_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "mine-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    parts = {"aggregation": "noisy-or = mine:noisy_or", "feature": "ending = mine:ending"}
    groups = "".join(f"[bitweft.paper.{kind}]\n{part}\n" for kind, part in parts.items())
    (package / "entry_points.txt").write_text(groups)
    code = (
        "def noisy_or(scores, mask):\n    return scores.mean(-2)\n\n\ndef ending(words):\n    return words\n"
    )
    (package.parent / "mine.py").write_text(code)
    monkeypatch.syspath_prepend(package.parent)
    settings = [*SMALL, "training.aggregation=noisy-or", "features.source.more=ending"]
    assert len(list(Aligner("paper", settings=settings).fit(TEXT).align(list(TEXT)[:3]))) == 3
    assert not aggregations.AGGREGATIONS.is_local("noisy-or")  # processes of training find it by themselves
