"""Fuzz for some minutes: mutated files through every reader, verb and model; no input makes a traceback.

`python tests/fuzz.py --seconds 300 --seed 1`. What is found is kept in --finds, with the command, and ends in
exit code 1. The same seed mutates the same way.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from bitweft.cli import main as bitweft
from bitweft.links.formats.registry import LINK_FORMATS
from small import aligner, sample

# What breaks readers: numbers at the edge, marks of formats, bytes that are no text.
TOKENS = (
    b"0-0", b"1?2", b"1p2", b"0-0:0.5", b"NULL-1", b"-1--1", b"99999999999-0", b"1-1:nan", b"|||", b" ||| ",
    b"\t", b"\r\n", b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", "é".encode(), b"\xf0\x9f\x91\xa9",
    b"{", b"}", b'"', b"[[0,0]]", b"1e999", b"null", b"NULL ({ 1 }) a ({ })", b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\xfd7zXZ\x00", b" " * 300, b"a" * 5000, b"\\ud800",
    b"# Sentence pair (1) source length 1 target length 1 alignment score : 1",
)  # fmt: skip
SEEDS = (
    b"0-0 1-1\n\n2-1 0-2\n",
    b"0-0 1?1\n0p0\n",
    b"0-0:0.5 1-NULL:0.1\n\n",
    b"1-1 2p3\n",
    b"1 1 1 S\n1 2 2 P 0.5\n0002 1 1\n",
    b"# Sentence pair (1) source length 2 target length 2 alignment score : 0.1\n"
    b"x y\nNULL ({ }) a ({ 1 }) b ({ 2 })\n",
    b'{"links": [[0, 0, 0.5]], "src": "a b", "tgt": "c", "score": 1.5}\n',
    b'{"translation": {"en": "a b", "fr": "c d"}}\n{"src": "a", "tgt": "b"}\n',
    b"the cat ||| le chat\n ||| \nthe ||| le\n",
    b"the cat\tle chat\n\t\n",
    b"the cat\nthe dog sleeps\n\n",
    b"cat\tchat\ndog\tchien\t2.5\n",
)


def mutate(content: bytes, chance: random.Random) -> bytes:
    """Change a file in a few places."""
    changed = bytearray(content)
    for _ in range(chance.randint(0, 6)):
        place = chance.randint(0, len(changed))
        kind = chance.randrange(6)
        if kind == 0:
            changed[place:place] = chance.choice(TOKENS)
        elif kind == 1 and changed:
            changed[min(place, len(changed) - 1)] = chance.randrange(256)
        elif kind == 2:
            del changed[place : place + chance.randint(1, 20)]
        elif kind == 3:
            start = chance.randint(0, len(changed))
            changed[place:place] = changed[start : start + chance.randint(1, 50)]
        elif kind == 4:
            del changed[place:]
        else:
            changed += b"\n" + chance.choice(TOKENS)
    return bytes(changed)


def text_command(directory: Path, model: Path, chance: random.Random) -> list[str]:
    """Write mutated files, and choose a command that reads them."""
    names = []
    for number in range(3):
        path = directory / f"file{number}"
        path.write_bytes(mutate(chance.choice(SEEDS), chance))
        names.append(str(path))
    link_format = chance.choice(tuple(LINK_FORMATS))
    output = ["-o", str(directory / "out"), "--force"]
    align = ["align", *names[: chance.choice((1, 2))], "-q", "--model", str(model), *output]
    return chance.choice(
        (
            align,
            ["align", names[0], "--format", chance.choice(("joint", "tsv", "jsonl")), *align[-6:]],
            [*align, "--tokenize", chance.choice(("unicode", "char")), "--to", "jsonl", "--null"],
            [*align, "--known-links", names[2]],
            ["convert", names[0], "--to", link_format, *output],
            ["convert", names[0], "--from", link_format, "--source", names[1], "--target", names[2], *output],
            ["check", names[0], names[1]],
            ["evaluate", names[0], names[1]],
            ["symmetrize", names[0], names[1], *output],
            ["lexicon", names[0], names[1], names[2], *output],
            ["fast-align", "-i", names[0], "-f", str(model)],
        )
    )


def model_command(directory: Path, model: Path, chance: random.Random) -> list[str]:
    """Damage a copy of a model, and choose a command that loads it."""
    copy = directory / "model"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(model, copy)
    victim = chance.choice(sorted(copy.iterdir()))
    content = victim.read_bytes()
    head, tail = content[:3000], content[3000:]
    victim.write_bytes(mutate(head, chance) + (tail if chance.random() < 0.8 else b""))
    (directory / "text").write_bytes(b"the cat sleeps ||| le chat dort\nxyz ||| xyz\n")
    align = ["align", str(directory / "text"), "--model", str(copy), "-q", "--to", "jsonl", "--null"]
    return chance.choice((["show", str(copy)], align))


def run(command: Sequence[str]) -> str | None:
    """Run bitweft, and return what went wrong: a traceback, or an exit code that is none of bitweft's."""
    output, errors = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = bitweft(command)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else -1
    except BaseException:
        return traceback.format_exc()
    if code not in (0, 1, 2):
        return f"exit code {code}"
    return (
        f"exit code {code} without a message"
        if code and not (errors.getvalue() or output.getvalue())
        else None
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz until the time is over, and return 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--finds", type=Path, default=Path("fuzz-finds"))
    args = parser.parse_args(arguments)
    chance = random.Random(args.seed)
    sample()
    kinds: tuple[Callable[[Path, Path, random.Random], list[str]], ...] = (text_command, model_command)
    tried = found = 0
    with tempfile.TemporaryDirectory() as temporary:
        model = Path(temporary) / "kept"
        aligner().save(model)
        directory = Path(temporary) / "work"
        directory.mkdir()
        end = time.monotonic() + args.seconds
        while time.monotonic() < end:
            command = chance.choices(kinds, (4, 1))[0](directory, model, chance)
            tried += 1
            fault = run(command)
            if fault is not None:
                found += 1
                kept = args.finds / f"{args.seed}-{tried}"
                shutil.copytree(directory, kept, dirs_exist_ok=True)
                (kept / "command.json").write_text(json.dumps({"command": command, "fault": fault}, indent=2))
                sys.stderr.write(f"{' '.join(command)}\n{fault}\n")
    sys.stdout.write(f"{tried:,} inputs tried, {found:,} faults\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
