"""What the parts of the torture share: the text and the models, children that may crash, and counting."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from battery import SMALL
from bitweft.cli import main as bitweft
from bitweft.sample import bitext, generate

FINDS = Path("torture-finds").resolve()  # where inputs are kept that made a fault
PAPER = ("--recipe", "paper", *(part for setting in SMALL["paper"] for part in ("--set", setting)))


@dataclass
class Part:
    """Hold what one part of the torture tried and found, over all runs."""

    name: str
    tried: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0
    runs: int = 0

    def most(self, what: str, number: int) -> None:
        """Keep the largest number that was seen of something."""
        self.counts[what] = max(self.counts[what], number)

    def __str__(self) -> str:
        detail = ", ".join(f"{count:,} {what}" for what, count in sorted(self.counts.items()))
        return f"{self.name:<8} {self.tried:>9,} {len(self.faults):>7,} {self.seconds:>8.0f} s  {detail}"


@dataclass(frozen=True)
class Place:
    """Name the files that every part works on."""

    root: Path
    text: tuple[str, str]
    joint: str
    links: str
    models: dict[str, Path]  # one of each recipe
    chance: random.Random


def child(work: Callable[[], int], log: Path) -> int:
    """Begin some work in a process of its own, whose messages go to a file; return its number."""
    sys.stdout.flush()
    number = os.fork()
    if number:
        return number
    with contextlib.suppress(BaseException):
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        code = 99
        try:
            code = work()
        except SystemExit as error:
            code = int(error.code or 0)
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    os._exit(98)


def ended(number: int) -> int:
    """Wait for a process, and return its exit code, or less than 0 for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def said(log: Path) -> str:
    """Read the end of what a child has said."""
    return log.read_text(errors="replace")[-800:]


def tree(directory: Path) -> dict[str, bytes]:
    """Read all files below a directory; what a model says of the time it took is left out."""
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            if path.name == "model.json":
                value = json.loads(content)
                value["training"] |= {"seconds": 0, "cpu_seconds": 0}
                content = json.dumps(value).encode()
            found[str(path.relative_to(directory))] = content
    return found


def prepared(root: Path, seed: int) -> Place:
    """Write the text, and learn a model of each recipe.

    All that the parts do is done here once: a child that is forked later finds it imported and compiled.
    """
    (root / "text").mkdir()
    pairs = list(bitext(generate(80))[0])
    sides = [[pair[side].text for pair in pairs] for side in (0, 1)]
    text = (str(root / "text" / "en"), str(root / "text" / "fr"))
    for path, lines in zip(text, sides, strict=True):
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    joint = [f"{s} ||| {t}\n" for s, t in zip(*sides, strict=True)]
    (root / "text" / "joint").write_text("".join(joint), encoding="utf-8")
    for number in range(3):
        (root / f"shard.{number}").write_text("".join(joint[number::3]), encoding="utf-8")
    models = {name: root / name for name in ("default", "paper")}
    train = ("train", *text, "-q", "--threads", "1")
    do = functools.partial(_do, root)
    do(*train, "-o", str(models["default"]))
    do(*train, "-o", str(models["paper"]), *PAPER)
    for model in models.values():
        do("align", *text, "--model", str(model), "-q", "-o", f"{model}.links", "--threads", "1")
    joint_path = str(root / "text" / "joint")
    return Place(root, text, joint_path, f"{models['default']}.links", models, random.Random(seed))


def _do(root: Path, *command: str) -> None:
    if code := bitweft(command):
        raise RuntimeError(f"{command}: exit code {code}")
