"""What a recipe does not offer is refused, by the name under which it was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from battery import NAMES, new, with_dice
from bitweft import Aligner, Bitext, Decoding, GoldAlignment, UsageError
from bitweft.cli import main
from bitweft.links.known import KnownLinks, WordPair
from bitweft.recipes.base import Offer
from bitweft.recipes.registry import recipe_named
from bitweft.storage.checkpoint import Checkpoint
from bitweft.text.tags import TaggedText

PAIR = ("a b", "c d")
PAIRS = [PAIR, ("b", "d")]
GOLD = [GoldAlignment.of([(0, 0)])] * 5

# How each is asked for from Python, and by which name: with a text and a directory that has files for it.
ASKED: dict[str, tuple[Offer, Callable[[Aligner, Path], object]]] = {
    "score": (Offer.SCORES, lambda aligner, _: aligner.score(*PAIR)),
    "posteriors": (Offer.POSTERIORS, lambda aligner, _: aligner.posteriors(*PAIR)),
    "score_matrix": (Offer.SCORE_MATRIX, lambda aligner, _: aligner.score_matrix(*PAIR)),
    "threshold": (Offer.THRESHOLD, lambda aligner, _: aligner.infer([PAIR], decoding=Decoding(0.5))),
    "null": (Offer.NULL, lambda aligner, _: aligner.infer([PAIR], decoding=Decoding(null=True))),
    "lexicon": (Offer.LEXICON, lambda aligner, _: aligner.fit(PAIRS, lexicon=[WordPair("a", "c")])),
    "known_links": (
        Offer.KNOWN_LINKS,
        lambda aligner, files: aligner.fit(PAIRS, known_links=KnownLinks(str(files / "links"))),
    ),
    "continue_training": (Offer.CONTINUE, lambda aligner, _: aligner.fit(PAIRS, continue_training=True)),
    "checkpoint": (
        Offer.CHECKPOINT,
        lambda aligner, files: aligner.fit(PAIRS, checkpoint=Checkpoint(files / "state")),
    ),
    "tags": (
        Offer.TAGS,
        lambda aligner, files: aligner.fit(TaggedText(Bitext.of(PAIRS), source=files / "tags")),
    ),
    "tune": (Offer.TUNE, lambda aligner, _: aligner.tune([PAIR] * 5, GOLD)),
    "style": (Offer.STYLE, lambda aligner, _: aligner.infer([PAIR], decoding=Decoding(style=1.0))),
}
TRAIN = ("train", "TEXT.s", "TEXT.t", "-o", "NEW", "--recipe", "RECIPE")
LEARN = ("align", "TEXT.s", "TEXT.t", "-o", "LINKS", "--recipe", "RECIPE")
ALIGN = ("align", "TEXT.s", "TEXT.t", "-o", "LINKS", "--model", "MODEL")
# The option, or verb, and how it is given.
OPTIONS: dict[str, tuple[Offer, tuple[str, ...]]] = {
    "--lexicon": (Offer.LEXICON, (*TRAIN, "--lexicon", "WORDS")),
    "--known-links": (Offer.KNOWN_LINKS, (*TRAIN, "--known-links", "KNOWN")),
    "--from": (Offer.CONTINUE, ("train", "TEXT.s", "TEXT.t", "-o", "NEW", "--from", "MODEL")),
    "--checkpoint": (Offer.CHECKPOINT, (*TRAIN, "--checkpoint", "STATE")),
    "--resume": (Offer.CHECKPOINT, (*TRAIN, "--resume")),
    "--checkpoint-every": (Offer.CHECKPOINT_EVERY, (*TRAIN, "--checkpoint-every", "9")),
    "--tags": (Offer.TAGS, (*TRAIN, "--tags", "TAGS", "none")),
    "--dev": (Offer.TUNE, (*TRAIN, "--dev", "TEXT.s", "TEXT.t", "KNOWN")),
    "--precision": (Offer.THRESHOLD, (*ALIGN, "--precision")),
    "--recall": (Offer.THRESHOLD, (*LEARN, "--recall")),
    "--links": (Offer.STYLE, (*ALIGN, "--links", "phrases")),
    "--threshold": (Offer.THRESHOLD, (*ALIGN, "--threshold", "0.5")),
    "--null": (Offer.NULL, (*ALIGN, "--null", "--to", "jsonl")),
    "bitweft neighbors": (Offer.NEIGHBORS, ("neighbors", "MODEL", "a")),
    "--shards": (Offer.PARTS, ("train", "--shards", "TEXT.j", "-o", "NEW", "--recipe", "RECIPE")),
    "-f": (Offer.SCORES, ("fast-align", "-f", "MODEL", "-i", "TEXT.j")),
}


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    with with_dice():
        yield


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Write what the options name."""
    texts = {
        "text.s": "a b\nb\n",
        "text.t": "c d\nd\n",
        "text.j": "a b ||| c d\n",
        "links": "0-0\n\n",
        "words": "a\tc\n",
        "tags": "X Y\nY\n",
    }
    for name, content in texts.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, registered: None) -> dict[str, Path]:
    """Keep a model of every recipe."""
    directory = tmp_path_factory.mktemp("models")
    for name in NAMES:
        new(name).fit(PAIRS).save(directory / name)
    return {name: directory / name for name in NAMES}


def cases(asked: dict[str, tuple[Offer, object]]) -> list[tuple[str, str, bool]]:
    with with_dice():
        return [
            (recipe, name, offer in recipe_named(recipe).offers)
            for recipe in NAMES
            for name, (offer, _) in asked.items()
        ]


def test_everything_that_may_be_offered_is_asked_for_here() -> None:
    asked = {offer for offer, _ in (*ASKED.values(), *OPTIONS.values())}
    assert asked == set(Offer)


@pytest.mark.parametrize(("recipe", "name", "offered"), cases({**ASKED}))
def test_the_aligner_refuses_what_is_not_offered(
    recipe: str, name: str, offered: bool, files: Path, models: dict[str, Path]
) -> None:
    aligner = Aligner.load(models[recipe], threads=1)
    ask = ASKED[name][1]
    if offered:
        assert ask(aligner, files) is not None
        return
    with pytest.raises(UsageError) as refused:
        ask(aligner, files)
    assert str(refused.value) == f"{name} is not supported by the recipe {recipe!r}"


@pytest.mark.parametrize(("recipe", "option", "offered"), cases({**OPTIONS}))
def test_the_command_line_refuses_what_is_not_offered(
    recipe: str,
    option: str,
    offered: bool,
    files: Path,
    models: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    if offered:
        return  # the tests of the verbs use it
    places = {
        "TEXT.s": files / "text.s",
        "TEXT.t": files / "text.t",
        "TEXT.j": files / "text.j",
        "MODEL": models[recipe],
        "NEW": files / "new",
        "STATE": files / "state",
        "WORDS": files / "words",
        "KNOWN": files / "links",
        "TAGS": files / "tags",
        "LINKS": files / "out",
        "RECIPE": recipe,
    }
    before = set(files.iterdir())
    assert main([str(places.get(word, word)) for word in OPTIONS[option][1]]) == 2
    shown = capsys.readouterr()
    assert shown.err == f"bitweft: {option} is not supported by the recipe {recipe!r}\n"
    assert not shown.out and set(files.iterdir()) == before


def test_an_option_that_a_recipe_without_options_has_no_use_for(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = [str(files / "text.s"), str(files / "text.t")]
    for option in (["--no-lowercase"], ["--members", "2"]):
        assert main(["align", *text, "--recipe", "dice", *option]) == 2
        name = option[0].replace("--no-", "--")
        assert capsys.readouterr().err == f"bitweft: {name} is not supported by the recipe 'dice'\n"
