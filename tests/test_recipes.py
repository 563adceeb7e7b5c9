"""One battery for every recipe: those that are registered, and a third one that is not bitweft's own."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from battery import NAMES, new, with_dice
from bitweft import Aligner, Alignment, Bitext, ModelError, NothingToLearnError, SentencePair, UsageError
from bitweft.cli import main
from bitweft.recipes import registry
from bitweft.recipes.base import Decoding
from bitweft.sample import bitext, generate
from bitweft.settings import Settings, from_mapping, to_mapping

SIZES = {  # settings that ask for more than a model's files have
    "default": ("dimensions", 4096),
    "paper": ("model.words", 65_536),
}
TEXT, GOLD = bitext(generate(60))
PAIRS = list(TEXT)
ODD = (
    ("", ""),
    ("the", ""),
    ("", "le"),
    ("qqqq zzzz", "xxxx yyyy"),
    ("the " * 300, "le " * 200),
    ("a" * 5000, "b" * 5000),
    ("the the the", "le"),
    ("éé ßß İi ﬁ", "👩‍👩‍👧 \u0301 \u202e \u200b"),
    ("0-0 ||| | <s> NULL", "\\ud800 %s {0} \x00"),
)
EXECUTION = {"threads", "device", "kernels"}


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    with with_dice():
        yield


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def aligner(name: str, registered: None) -> Aligner:
    """Learn from the text; tests must not change it."""
    return new(name).fit(TEXT)


@pytest.fixture(scope="module")
def kept(aligner: Aligner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep what was learned; tests must not change it."""
    directory = tmp_path_factory.mktemp("models") / "kept"
    aligner.save(directory)
    return directory


@pytest.fixture
def copy(kept: Path, tmp_path: Path) -> Path:
    """Give a copy that a test may change."""
    return Path(shutil.copytree(kept, tmp_path / "copy"))


def check_links(pair: SentencePair, alignment: Alignment) -> None:
    source, target = map(len, pair)
    assert list(alignment.links) == sorted(set(alignment.links))
    assert all(0 <= s < source and 0 <= t < target for s, t in alignment.links)
    if alignment.probabilities is not None:
        assert all(0 <= value <= 1 for value in alignment.probabilities)


def write_pairs(directory: Path, pairs: list[tuple[str, str]]) -> list[str]:
    paths = directory / "text.s", directory / "text.t"
    for path, side in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in side), encoding="utf-8", newline="\n")
    return list(map(str, paths))


# Aligning


def test_odd_pairs_get_links_that_they_can_have(aligner: Aligner) -> None:
    pairs = list(Bitext.of(ODD))
    for decoding in (Decoding(), Decoding(direction="backward"), Decoding(heuristic="union")):
        found = list(aligner.align(pairs, decoding=decoding))
        assert len(found) == len(pairs)
        for pair, alignment in zip(pairs, found, strict=True):
            check_links(pair, alignment)


def test_a_pair_that_is_too_long_is_left_empty(aligner: Aligner) -> None:
    pairs = [("the " * 9, "le"), ("the", "le " * 8), ("the", "le")]
    found = aligner.infer(pairs, decoding=Decoding(longest=7))
    assert [inference.too_long for inference in found] == [True, True, False]
    assert found[2] == aligner.infer([("the", "le")])[0]
    assert not found[0].alignment.links and not found[1].alignment.links


def test_alone_in_a_batch_and_in_any_order_a_pair_is_the_same(aligner: Aligner) -> None:
    pairs = [*PAIRS, *Bitext.of(ODD)]
    whole = aligner.infer(pairs)
    assert [aligner.infer([pair])[0] for pair in pairs] == whole
    order = list(range(len(pairs)))
    random.Random(1).shuffle(order)
    assert aligner.infer([pairs[place] for place in order]) == [whole[place] for place in order]
    assert [inference for _, inference in aligner.stream(pairs)] == whole


def test_there_is_something_to_compare(aligner: Aligner) -> None:
    assert sum(map(len, aligner.align(PAIRS))) > len(PAIRS)
    source, target = aligner.recipe.vocabulary_sizes
    assert 50 < source < 1000 and 50 < target < 1000


def test_one_line_in_one_line_out(kept: Path, tmp_path: Path) -> None:
    text = write_pairs(tmp_path, list(ODD))
    Path(text[0]).write_bytes(Path(text[0]).read_bytes() + b"\xff\xfe damaged\n")
    Path(text[1]).write_text(Path(text[1]).read_text(encoding="utf-8") + "whole\n", encoding="utf-8")
    out = tmp_path / "links"
    assert main(["align", *text, "--model", str(kept), "-o", str(out), "-q"]) == 0
    assert out.read_text().count("\n") == len(ODD) + 1


# Keeping


def test_what_is_kept_is_what_was_learned(aligner: Aligner, kept: Path) -> None:
    again = Aligner.load(kept, threads=1)
    pairs = [*PAIRS, *Bitext.of(ODD)]
    for decoding in (Decoding(), Decoding(direction="forward"), Decoding(heuristic="grow-diag")):
        assert again.infer(pairs, decoding=decoding) == aligner.infer(pairs, decoding=decoding)
    assert (again.about, again.recipe.record) == (aligner.about, aligner.recipe.record)
    assert again.recipe.vocabulary_sizes == aligner.recipe.vocabulary_sizes
    assert again.recipe.config == aligner.recipe.config


def model_bytes(directory: Path) -> dict[str, bytes]:
    """Read all files of a model; of model.json, all but how long learning took."""
    files = {path.name: path.read_bytes() for path in directory.iterdir()}
    about = json.loads(files.pop("model.json"))
    for key in ("seconds", "cpu_seconds"):
        del about["training"][key]
    return {**files, "model.json": json.dumps(about).encode()}


def test_a_seed_reproduces_whatever_it_runs_on(name: str, kept: Path, tmp_path: Path) -> None:
    new(name, threads=2).fit(TEXT).save(tmp_path / "again")
    assert model_bytes(tmp_path / "again") == model_bytes(kept)


def keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from keys(inner)


def test_settings_are_whole_once_it_has_learned(name: str, aligner: Aligner, kept: Path) -> None:
    assert aligner.about.config == to_mapping(aligner.recipe.config)
    kind = registry.recipe_named(name).settings
    assert set(aligner.about.config) == {field.name for field in fields(kind)}
    assert from_mapping(kind, aligner.about.config) == aligner.recipe.config
    about = json.loads((kept / "model.json").read_text(encoding="utf-8"))
    assert about["config"] == aligner.about.config
    assert not EXECUTION & set(keys(about))


def test_other_things_in_the_directory_do_no_harm(aligner: Aligner, copy: Path) -> None:
    (copy / "notes").mkdir()
    (copy / "notes" / "weights.safetensors").write_bytes(b"mine")
    (copy / ".hidden").mkdir()
    (copy / "README").write_text("mine")
    assert Aligner.load(copy, threads=1).infer(PAIRS[:5]) == aligner.infer(PAIRS[:5])
    assert main(["show", str(copy), "-o", str(copy / "shown")]) == 0


# Damage


def test_a_file_that_is_missing_or_cut_is_noticed(kept: Path, copy: Path) -> None:
    for path in sorted(kept.iterdir()):
        content = path.read_bytes()
        for damaged in (b"", content[: len(content) // 2], b"\x00" * len(content), None, content[::-1]):
            (copy / path.name).unlink()
            if damaged is None:
                (copy / path.name).mkdir()
            else:
                (copy / path.name).write_bytes(damaged)
            with pytest.raises(ModelError, match=str(copy)):
                Aligner.load(copy)
            if damaged is None:
                (copy / path.name).rmdir()
            (copy / path.name).write_bytes(content)
        (copy / path.name).unlink()
        with pytest.raises(ModelError, match=str(copy)):
            Aligner.load(copy)
        (copy / path.name).write_bytes(content)
    Aligner.load(copy)


def damaged_arrays(array: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any] | None]:
    """Give what must not be taken for an array of a model; None: that there is none."""
    for value in (np.nan, np.inf):
        wrong = array.astype(array.dtype if array.dtype.kind == "f" else np.float32)
        wrong.flat[-1] = value
        yield wrong
    yield array[:-1]
    yield array[None]
    yield array.astype(np.complex64)
    yield array.astype(np.float16)
    yield None


def test_every_array_is_checked(kept: Path, copy: Path) -> None:
    tried = 0
    for path in sorted(kept.glob("*.safetensors")):
        arrays = load_file(path)
        for key, array in arrays.items():
            for wrong in damaged_arrays(array):
                rest = {other: own for other, own in arrays.items() if other != key}
                added = {} if wrong is None else {key: np.ascontiguousarray(wrong)}
                save_file({**rest, **added}, copy / path.name)
                with pytest.raises(ModelError, match=path.name):
                    Aligner.load(copy)
                tried += 1
        shutil.copy(path, copy / path.name)
    assert tried
    Aligner.load(copy)


def edit_config(directory: Path, path: str, value: object) -> None:
    about = json.loads((directory / "model.json").read_text(encoding="utf-8"))
    *sections, key = path.split(".")
    place = about["config"]
    for section in sections:
        place = place[section]
    place[key] = value
    (directory / "model.json").write_text(json.dumps(about), encoding="utf-8")


def integers(kind: type[Settings], prefix: str = "") -> Iterator[tuple[str, int]]:
    """Name every setting that is an integer, with large values that it may have, or not."""
    example = kind()
    for field in fields(kind):
        value = getattr(example, field.name)
        if isinstance(value, Settings):
            yield from integers(type(value), f"{prefix}{field.name}.")
        elif type(value) is int:
            yield prefix + field.name, 5_000_000
            yield prefix + field.name, field.metadata.get("at_most") or 5_000_000


def test_settings_that_the_files_do_not_fit_are_refused_before_room_is_made(
    name: str, kept: Path, copy: Path
) -> None:
    if name in SIZES:
        edit_config(copy, *SIZES[name])
        with pytest.raises(ModelError, match=r"is float32 \[.*\], not float32 \["):
            Aligner.load(copy)
    for path, large in integers(registry.recipe_named(name).settings):
        shutil.copy(kept / "model.json", copy)
        edit_config(copy, path, large)
        try:
            loaded = Aligner.load(copy, threads=1)
        except ModelError:
            continue
        assert len(loaded.infer(PAIRS[:3])) == 3


@given(data=st.data())
@settings(max_examples=60)
def test_flipped_bytes_never_crash(
    kept: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    copy = tmp_path_factory.mktemp("flipped") / "m"
    shutil.copytree(kept, copy)
    file = data.draw(st.sampled_from(sorted(path.name for path in kept.iterdir())))
    content = bytearray((copy / file).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, min(len(content), 4000) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(1, len(content))) :]
    (copy / file).write_bytes(content)
    try:
        damaged = Aligner.load(copy, threads=1)
    except ModelError:
        return
    damaged.infer([("the cat sleeps", "le chat dort"), ("xyz", "xyz")])


# Text from which there is little to learn

NO_WORDS = {
    "no pair": [],
    "empty lines": [("", ""), ("", "")],
    "never both sides": [("the", ""), ("", "le"), ("", "")],
}
DEGENERATE = {
    "one pair": [("the cat", "le chat")],
    "one word": [("a", "b")],
    "the same line": [("the cat sleeps", "le chat dort")] * 30,
    "one word a line": [(word, word.upper()) for word in "abcdefgh"],
    "the same word": [("a a a", "b b")] * 5,
    "one side longer": [("a", "b " * 50)] * 5,
    "empty among them": [("", ""), ("a b", "c d"), ("", "c"), ("a", "")],
}


@pytest.mark.parametrize("text", NO_WORDS)
def test_text_without_a_word_teaches_nothing(name: str, text: str, tmp_path: Path) -> None:
    aligner = new(name)
    with pytest.raises(NothingToLearnError, match="no pair has words on both sides"):
        aligner.fit(NO_WORDS[text])
    assert aligner.about.training is None
    with pytest.raises(UsageError, match="not learned anything yet"):
        aligner.save(tmp_path / "m")


@pytest.mark.parametrize("recipe", ["default", "paper"])
def test_text_of_overlong_lines_is_refused_with_the_reason(
    recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = " ".join(f"w{number}" for number in range(401))
    text = tmp_path / "text"
    text.write_text(f"{long}\n{long} more\n\n")
    setting = {"default": "longest", "paper": "training.longest"}[recipe]
    command = ["align", str(text), str(text), "--recipe", recipe, "-q", "-o", str(tmp_path / "links")]
    assert main(command) == 1
    error = capsys.readouterr().err
    assert "every pair has a sentence of more than" in error and f"--set {setting}=N" in error
    assert "the shortest pair needs 401" in error and not (tmp_path / "links").exists()


@pytest.mark.parametrize("text", NO_WORDS)
def test_text_without_a_word_gets_as_many_empty_lines(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = NO_WORDS[text]
    files = write_pairs(tmp_path, pairs or [("", "")])
    if not pairs:
        for file in files:
            Path(file).write_bytes(b"")
    assert main(["align", *files, "--recipe", name, "-q"]) == 0
    assert capsys.readouterr().out == "\n" * len(pairs)
    assert main(["train", *files, "--recipe", name, "-o", str(tmp_path / "m"), "-q"]) == 1
    assert "no pair has words on both sides" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("text", DEGENERATE)
def test_degenerate_text_is_learned_from(name: str, text: str, tmp_path: Path) -> None:
    pairs = list(Bitext.of(DEGENERATE[text]))
    aligner = new(name).fit(pairs)
    later = list(Bitext.of([("never seen", "jamais vu"), ("xyz xyz", "xyz")]))
    found = aligner.infer([*pairs, *later])
    for pair, inference in zip([*pairs, *later], found, strict=True):
        check_links(pair, inference.alignment)
    aligner.save(tmp_path / "m")
    assert Aligner.load(tmp_path / "m", threads=1).infer([*pairs, *later]) == found


# Mistakes


def test_what_has_not_learned_says_so(name: str, tmp_path: Path) -> None:
    aligner = new(name)
    message = "this aligner has not learned anything yet: call fit"
    with pytest.raises(UsageError, match=message):
        aligner.align("the", "le")
    with pytest.raises(UsageError, match=message):
        aligner.infer([])
    with pytest.raises(UsageError, match=message):
        _ = aligner.recipe.vocabulary_sizes
    with pytest.raises(UsageError, match=message):
        aligner.save(tmp_path / "m")


def test_settings_seeds_and_threads_out_of_range_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="unknown setting magic"):
        Aligner(name, settings=["magic=1"])
    with pytest.raises(UsageError, match="seed must be 0 or greater, got -1"):
        Aligner(name, seed=-1)
    with pytest.raises(UsageError, match="threads must be 1 or greater, got 0"):
        Aligner(name, threads=0)
    with pytest.raises(UsageError, match="expected settings of the kind"):
        registry.recipe_named(name)(Settings())
