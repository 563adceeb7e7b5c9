"""Big text in parts: a part of one text, or many files, each aligned by itself, whole and with a manifest.

The links of a pair depend on nothing but the model and the pair. So parts may be done in any order, on any
number of machines, and their links, one after the other, are the bytes of a single run.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import bitweft
from bitweft.aligner import Aligner
from bitweft.corpus.align_files import Summary, Wanted, write_links
from bitweft.errors import InputError, UsageError
from bitweft.storage.output import open_output
from bitweft.text.bitext import Bitext, SentencePair

MANIFEST = ".manifest.json"


def parse_shard(text: str) -> tuple[int, int]:
    """Read `i/n`, counted from 1."""
    found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    part, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= part <= parts:
        raise UsageError(f"{text!r} is no part: write I/N, from 1/N to N/N")
    return part, parts


def shard_of(bitext: Iterable[SentencePair], part: int, parts: int) -> Iterator[SentencePair]:
    """Give the part-th of so many equal runs of the pairs; the text is walked twice."""
    total = sum(1 for _ in bitext)
    yield from islice(bitext, total * (part - 1) // parts, total * part // parts)


@dataclass(frozen=True)
class Shard:
    """Name the files of one shard."""

    inputs: tuple[str, ...]
    output: Path

    @property
    def manifest(self) -> Path:
        """Name the file that says what the output was made of; it is written last."""
        return self.output.with_name(self.output.name + MANIFEST)


def find_shards(patterns: Sequence[str], out: str, dialect: str) -> list[Shard]:
    """Find the files of one pattern, or of two whose matches belong together, in the order of their names."""
    if len(patterns) > 2:
        raise UsageError("--shards takes one pattern of joint files, or two in quotes, one for each side")
    sides = [sorted(glob.glob(pattern)) for pattern in patterns]
    for pattern, found in zip(patterns, sides, strict=True):
        if not found:
            raise InputError("no file has a name like this", file=pattern)
    if len(sides) == 2:
        keys = [
            [_wild(pattern, name) for name in found] for pattern, found in zip(patterns, sides, strict=True)
        ]
        odd = sorted(set(keys[0]) ^ set(keys[1]))
        if odd:
            raise InputError(f"{patterns[0]} and {patterns[1]} do not match alike: see {odd[0]!r}")
    ending = ".jsonl" if dialect == "jsonl" else ".links"
    shards = [Shard(names, Path(out) / (_stem(names[0]) + ending)) for names in zip(*sides, strict=True)]
    outputs = [shard.output for shard in shards]
    for output in outputs:
        if outputs.count(output) > 1:
            raise InputError(f"two of the shards would be written to {output}: their names differ too little")
    return shards


def _wild(pattern: str, name: str) -> str:
    """Return what the pattern's wild cards stand for in a name."""
    before, _, after = pattern.partition("*")
    return name[len(before) : len(name) - len(after.rpartition("*")[2])]


def _stem(name: str) -> str:
    path = Path(name)
    return path.stem if path.suffix in (".gz", ".xz", ".zst") else path.name


@dataclass(frozen=True)
class Shards:
    """Say how shards are read and what is written of them."""

    model: str  # its directory
    reading: Mapping[str, Any]  # arguments of Bitext
    wanted: Wanted
    resume: bool = False
    force: bool = False


def align_shards(
    aligner: Aligner, shards: Sequence[Shard], job: Shards
) -> Iterator[tuple[Shard, Summary | None]]:
    """Align shard by shard; give None for those that were done before."""
    made_of = {
        "bitweft": bitweft.__version__,
        "model": model_digest(job.model),
        "reading": {key: value for key, value in job.reading.items() if value is not None},
        "wanted": asdict(job.wanted),
    }
    for shard in shards:
        shard.output.parent.mkdir(parents=True, exist_ok=True)
        done = _manifest(shard)
        if job.resume and done is not None and _is_done(shard, done, made_of):
            yield shard, None
            continue
        # --resume may do again what it finds unfinished, or made of something else.
        yield shard, _align_shard(aligner, shard, job, made_of, force=job.force or job.resume)


def _align_shard(
    aligner: Aligner, shard: Shard, job: Shards, made_of: Mapping[str, Any], *, force: bool
) -> Summary:
    bitext = Bitext(*shard.inputs, **job.reading, strict=job.wanted.strict)
    with open_output(shard.output, force=force) as stream:
        steps = write_links(aligner, bitext, stream, job.wanted, name=shard.inputs[0])
        (summary,) = deque(steps, maxlen=1)
    manifest = {
        **made_of,
        "inputs": [{"name": os.path.basename(name), "sha256": file_digest(name)} for name in shard.inputs],
        "output": {"name": shard.output.name, "sha256": file_digest(shard.output)},
        "summary": asdict(summary),
    }
    with open_output(shard.manifest, force=True) as stream:
        stream.write(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    return summary


def _manifest(shard: Shard) -> dict[str, Any] | None:
    try:
        value = json.loads(shard.manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_done(shard: Shard, manifest: Mapping[str, Any], made_of: Mapping[str, Any]) -> bool:
    """Tell whether the output is whole, and of the same inputs, model and options."""
    known = json.loads(json.dumps(made_of))
    if any(manifest.get(key) != value for key, value in known.items()) or not shard.output.is_file():
        return False
    try:
        inputs = [item["sha256"] for item in manifest["inputs"]]
        output = manifest["output"]["sha256"]
    except (KeyError, TypeError):
        return False
    found = [file_digest(name) for name in shard.inputs]
    return inputs == found and file_digest(shard.output) == output


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=os.fspath(path)) from error
    return digest.hexdigest()


def model_digest(directory: str | os.PathLike[str]) -> str:
    """Return one SHA-256 of all of a model's files."""
    digest = hashlib.sha256()
    for path in sorted(Path(directory).iterdir()):
        if path.is_file():
            digest.update(f"{path.name} {file_digest(path)}\n".encode())
    return digest.hexdigest()
