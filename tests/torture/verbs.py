"""Verbs, models, checkpoints and requests: what is fuzzed more slowly than readers are."""

from __future__ import annotations

import contextlib
import io
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from bitweft import Aligner
from bitweft.cli import main as bitweft
from bitweft.links.formats.registry import LINK_FORMATS
from bitweft.server.problems import Problem
from bitweft.server.service import Service
from bitweft.storage.checkpoint import Checkpoint
from bitweft.text.lines import LineFile
from torture.common import Place
from torture.inputs import mutate
from torture.readers import Reader, Three
from torture.writing import FEW

Command: TypeAlias = Callable[[Place, random.Random, Three], list[str]]

PAIRS = [("the cat sleeps", "le chat dort"), ("xyz", "xyz"), ("", "a")]


def run(command: Sequence[str]) -> int:
    """Run bitweft in this process; an exit code that is none of its own, or no message, is a fault."""
    output, errors = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = bitweft(command)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else -1
    assert code in (0, 1, 2), f"exit code {code}"
    assert not code or errors.getvalue() or output.getvalue(), f"exit code {code} without a message"
    assert "out of memory" not in errors.getvalue(), errors.getvalue()
    return code


def _align(place: Place, chance: random.Random, files: Three) -> int:
    """Align two files, and count the lines."""
    output = Path(f"{files[0]}.links")
    options = chance.choice(
        (
            [],
            ["--known-links", files[2]],
            ["--to", "scored"],
            ["--tokenize", "char", "--to", "jsonl", "--null"],
        )
    )
    model = chance.choice([*place.models.values()])
    code = run(
        ["align", *files[:2], "-q", "--model", str(model), "-o", str(output), *options, "--threads", "1"]
    )
    if code == 0:
        lines = sum(1 for _ in LineFile(files[0], strict=False).lines())
        found = output.read_bytes().count(b"\n")
        output.unlink()
        assert lines == found, f"{found} lines of links for {lines} of text"
    assert not output.exists(), "an output of a command that failed"
    return code


def _command(make: Command, place: Place, chance: random.Random) -> Reader:
    def work(files: Three) -> int:
        out = Path(f"{files[0]}.out")
        code = run([*make(place, chance, files), "-o", str(out)])
        if out.is_dir():
            shutil.rmtree(out)
        out.unlink(missing_ok=True)
        return code

    return work


def _said(make: Command, place: Place, chance: random.Random, files: Three) -> int:
    return run(make(place, chance, files))


def _formats(chance: random.Random) -> str:
    return chance.choice(tuple(LINK_FORMATS))


COMMANDS: dict[str, Command] = {
    "align one": lambda place, chance, files: [
        "align", files[0], "--format", chance.choice(("auto", "joint", "tsv", "jsonl")), "-q", "--model",
        str(place.models["default"]), "--threads", "1",
    ],
    "train": lambda place, chance, files: ["train", *files[:2], "-q", "--threads", "1", *FEW],
    "train, known": lambda place, chance, files: [
        "train", *place.text, chance.choice(("--known-links", "--lexicon")), files[0], "-q", *FEW,
    ],
    "tune": lambda place, chance, files: ["tune", str(place.models["default"]), *files],
    "convert": lambda place, chance, files: ["convert", files[0], "--to", _formats(chance)],
    "convert from": lambda place, chance, files: [
        "convert", files[0], "--from", _formats(chance), "--source", files[1], "--target", files[2],
    ],
    "convert onto": lambda place, chance, files: [
        "convert", files[0], "--source", files[1], "--target", files[2], "--onto", files[2], files[1],
    ],
    "symmetrize": lambda place, chance, files: ["symmetrize", *files[:2], "--heuristic", "grow-diag-final"],
    "lexicon": lambda place, chance, files: ["lexicon", *files],
    "phrases": lambda place, chance, files: ["phrases", *files],
    "filter": lambda place, chance, files: [
        "filter", files[0], "--model", str(place.models["default"]), "-q", "--keep", "50%", "--threads", "1",
    ],
    "project": lambda place, chance, files: [
        "project", files[0], files[1], "--links", files[2], "-q",
        "--format", chance.choice(("conll", "conllu", "jsonl", "markup")),
    ],
    "view": lambda place, chance, files: ["view", *files],
}  # fmt: skip
SAID: dict[str, Command] = {  # those that only say something
    "evaluate": lambda place, chance, files: ["evaluate", *files[:2]],
    "check": lambda place, chance, files: ["check", *files],
    "fast-align": lambda place, chance, files: [
        "fast-align",
        "-i",
        files[0],
        "-f",
        str(place.models["default"]),
    ],
}


def _service(place: Place) -> Reader:
    service = Service(Aligner.load(place.models["default"], threads=1), place.models["default"])

    def answer(files: Three) -> int:
        try:
            return len(service.answer(Path(files[0]).read_bytes()))
        except Problem as problem:
            return problem.status

    return answer


def _damaged(place: Place, chance: random.Random, files: Three, *, name: str) -> int:
    """Damage a file of a model, load it, and align."""
    copy = Path(f"{files[0]}.{name}")
    if not copy.exists():
        shutil.copytree(place.models[name], copy)
    victim = chance.choice(sorted(copy.iterdir()))
    whole = victim.read_bytes()
    try:
        with _changed(victim, whole, chance):
            if chance.random() < 0.1:
                return run(["show", str(copy)])
            found = list(Aligner.load(copy, threads=1).align(PAIRS))
    finally:
        victim.write_bytes(whole)
    for (source, target), links in zip(PAIRS, found, strict=True):
        sizes = len(source.split()), len(target.split())
        assert all(0 <= s < sizes[0] and 0 <= t < sizes[1] for s, t in links.links), links
    return sum(map(len, found))


@contextlib.contextmanager
def _changed(victim: Path, whole: bytes, chance: random.Random) -> Iterator[None]:
    cut = 3000 if chance.random() < 0.7 else len(whole)
    changed = mutate(whole[:cut], [whole[:cut]], chance)
    victim.write_bytes(changed + (whole[cut:] if chance.random() < 0.8 else b""))
    yield


def _checkpoint(chance: random.Random, files: Three) -> int:
    """Damage a file of a checkpoint, and load it."""
    directory = Path(f"{files[0]}.checkpoint")
    if not directory.exists():
        import numpy as np

        Checkpoint(directory).keep({"a": np.arange(9.0), "b": np.arange(4)}, {"text": "x", "seed": 1})
    victim = chance.choice(sorted(directory.iterdir()))
    whole = victim.read_bytes()
    try:
        with _changed(victim, whole, chance):
            kept = Checkpoint(directory, resume=True).load({"text": "x"})
            return 0 if kept is None else len(kept[0])
    finally:
        victim.write_bytes(whole)


def slow_readers(place: Place, chance: random.Random) -> dict[str, tuple[float, int, Reader]]:
    """Give what else reads files: how often among a million inputs, how many files, and how."""
    found: dict[str, tuple[float, int, Reader]] = {"align": (1000, 3, partial(_align, place, chance))}
    for name, make in COMMANDS.items():
        found[name] = 30 if name.startswith("train") else 300, 3, _command(make, place, chance)
    for name, make in SAID.items():
        found[name] = 300, 3, partial(_said, make, place, chance)
    found["requests"] = 10_000, 1, _service(place)
    found["checkpoints"] = 5000, 0, partial(_checkpoint, chance)
    for name in place.models:
        found[f"models, {name}"] = 5000, 0, partial(_damaged, place, chance, name=name)
    return found
