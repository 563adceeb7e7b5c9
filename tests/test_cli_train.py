"""`bitweft train` and `bitweft show`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bitweft.cli import main
from small import write_joint, write_text


def train(tmp_path: Path, *arguments: str, code: int = 0) -> Path:
    """Run the verb and name the model."""
    output = tmp_path / "made.weft"
    assert main(["train", *arguments, "-o", str(output), "--threads", "1"]) == code
    return output


def test_a_model_is_kept_with_what_is_said_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--languages", "en", "fr", "--note", "CC0, by me", "--seed", "5"]
    output = train(tmp_path, *write_text(tmp_path), *options)
    assert "learned from 300 pairs in" in capsys.readouterr().err
    assert main(["show", str(output)]) == 0
    shown = capsys.readouterr().out
    for fact in (
        "en – fr",
        "recipe     default, seed 5",
        "CC0, by me",
        "from 300 pairs",
        "dimensions = ",
        "lse: ",
    ):
        assert fact in shown
    assert main(["show", str(output), "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["languages"] == ["en", "fr"] and value["files"]["weights.safetensors"] > 1000


def test_the_same_text_and_seed_give_the_same_model(tmp_path: Path) -> None:
    joint = write_joint(tmp_path)
    models = []
    for name in ("a", "b"):
        assert main(["train", joint, "-o", str(tmp_path / name), "-q", "--threads", "1"]) == 0
        models.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
        models[-1].pop("model.json")
    assert models[0] == models[1]


def test_training_goes_on_from_a_model(model: Path, tmp_path: Path) -> None:
    (tmp_path / "more").write_text("the zyzzyva sleeps ||| le zyzzyva dort\n" * 20)
    output = train(tmp_path, str(tmp_path / "more"), "--from", str(model), "-q")
    words = (output / "source.words.txt").read_text(encoding="utf-8")
    assert "zyzzyva\t20\n" in words and len(words) > 1000
    about = json.loads((output / "model.json").read_text(encoding="utf-8"))
    assert about["languages"] == ["en", "fr"]
    assert main(["train", str(tmp_path / "more"), "--from", str(model), "--seed", "2", "-o", "x"]) == 2


def test_checkpoints_are_removed_when_all_is_done(tmp_path: Path) -> None:
    options = ["--checkpoint-every", "0", "--checkpoint", str(tmp_path / "c"), "-q"]
    train(tmp_path, write_joint(tmp_path), *options)
    assert not (tmp_path / "c").exists()


def test_a_checkpoint_removes_nothing_that_it_did_not_write(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    joint, kept = write_joint(tmp_path), tmp_path / "kept.weft"
    shutil.copytree(model, kept)
    train(tmp_path, joint, "--checkpoint", str(kept), code=1)
    assert "which is no checkpoint: give --checkpoint a directory of its own" in capsys.readouterr().err
    assert {path.name for path in kept.iterdir()} == {path.name for path in model.iterdir()}
    made = str(tmp_path / "made.weft")
    for place in (made, made + "/", f"{made}/c"):
        train(tmp_path, joint, "--checkpoint", place, code=2)
    assert "outside the model's" in capsys.readouterr().err


def test_an_input_is_not_replaced_by_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "made.weft"
    output.mkdir()
    for lexicon in (output / "words", output):
        train(tmp_path, write_joint(tmp_path), "--lexicon", str(lexicon), "--force", code=2)
        assert "it would be lost" in capsys.readouterr().err


def test_known_word_pairs_are_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "words").write_text("aardvark\toryctérope\nhot dog\thot-dog\n", encoding="utf-8")
    output = train(tmp_path, write_joint(tmp_path), "--lexicon", str(tmp_path / "words"))
    assert "1 entries of several words left out" in capsys.readouterr().err
    assert "oryctérope\t10\n" in (output / "target.words.txt").read_text(encoding="utf-8")


def test_nothing_is_overwritten_or_made_of_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").write_text(" ||| a\n")
    train(tmp_path, str(tmp_path / "empty"), code=1)
    assert "no pair has words on both sides" in capsys.readouterr().err
    output = tmp_path / "made.weft"
    assert not output.exists()
    output.mkdir()
    (output / "file").write_text("precious")
    train(tmp_path, write_joint(tmp_path), code=1)
    assert "exists already" in capsys.readouterr().err
    train(tmp_path, write_joint(tmp_path), "--force", code=1)
    assert "holds file, and no model.json says that bitweft wrote it" in capsys.readouterr().err
    assert (output / "file").read_text() == "precious"


def test_the_papers_recipe_is_kept_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text").write_text("a b ||| x y\nb a ||| y x\na ||| x\nb ||| y\n" * 4)
    options = ["--recipe", "paper", "--set", "training.epochs=1", "--members", "2", "-q"]
    output = train(tmp_path, str(tmp_path / "text"), *options)
    assert main(["show", str(output)]) == 0
    assert "members = 2" in capsys.readouterr().out
    links = tmp_path / "links"
    arguments = ["align", str(tmp_path / "text"), "--model", str(output), "-o", str(links), "-q"]
    assert main([*arguments, "--heuristic", "union"]) == 0
    assert len(links.read_text().splitlines()) == 16
    assert main([*arguments, "--force", "--direction", "forward"]) == 0
    assert main([*arguments, "--force", "--threshold", "0.5"]) == 2
    assert main(["train", str(tmp_path / "text"), "-o", "x", "--members", "2"]) == 2


def test_the_papers_recipe_takes_tags_of_files_and_chooses_on_dev(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "en": "a b\nb a\na\nb\n" * 4,
        "fr": "x y\ny x\nx\ny\n" * 4,
        "en.pos": "A B\nB A\nA\nB\n" * 4,
        "gold": "0-0 1-1\n0-0 1-1\n0-0\n0-0\n" * 4,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    en, fr, pos, gold = (str(tmp_path / name) for name in files)
    tags = ["--tags", pos, "none"]
    options = ["--recipe", "paper", "--set", "training.word_epochs=20", *tags]
    output = train(tmp_path, en, fr, *options, "--dev", en, fr, gold, "--dev-tags", pos, "none")
    said = capsys.readouterr().err
    assert "dev: " in said and "%) on 16 pairs" in said
    assert (output / "source.tags.txt").read_text() == "A\t12\nB\t12\n"
    assert not (output / "target.tags.txt").exists()
    links = ["align", en, fr, "--model", str(output), "-q", "--to", "jsonl"]
    assert main([*links, *tags]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (first["src"], first["src_spans"]) == ("a b", [[0, 1], [2, 3]])
    assert main([*links, *tags, "-o", pos, "--force"]) == 2  # tags are an input, not to be written over
    assert main(links) == 1
    assert "'a' has no tag" in capsys.readouterr().err
    (tmp_path / "en.pos").write_text("A\n" * 16)
    assert main([*links, *tags]) == 1
    assert "en.pos:1: 1 tags for 2 words" in capsys.readouterr().err


def test_options_of_the_papers_recipe_are_refused_elsewhere(model: Path, tmp_path: Path) -> None:
    text = write_text(tmp_path)
    for options in (["--tagger", "classes", "classes"], ["--dev-tags", "a", "b"]):
        train(tmp_path, *text, *options, code=2)
    both = ["--recipe", "paper", "--tagger", "classes", "none", "--tags", text[0], "none"]
    train(tmp_path, *text, *both, code=2)
    train(tmp_path, *text, "--from", str(model), "--tags", "a", "b", code=2)
    assert main(["align", *text, "--model", str(model), "--tags", "a", "b"]) == 2


def test_show_refuses_what_is_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(tmp_path)]) == 1
    assert "no bitweft model" in capsys.readouterr().err
