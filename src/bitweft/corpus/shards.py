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
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import bitweft
from bitweft.aligner import Aligner
from bitweft.corpus.align_files import LinkOptions, Summary, write_links
from bitweft.errors import InputError, UsageError
from bitweft.storage.output import clear_leftovers, json_bytes, open_output, write_bytes
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
    scores: Path | None = None

    @property
    def outputs(self) -> tuple[Path, ...]:
        """Name the files that are written, but for the manifest."""
        return (self.output,) if self.scores is None else (self.output, self.scores)

    @property
    def manifest(self) -> Path:
        """Name the file that says what the output was made of; it is written last."""
        return self.output.with_name(self.output.name + MANIFEST)


def find_shards(
    patterns: Sequence[str],
    out: str,
    link_format: str,
    *,
    compress: str | None = None,
    scores: str | None = None,
) -> list[Shard]:
    """Find the files of one pattern, or of two whose matches belong together, in the order of their names.

    Two files belong together if the wildcards of their patterns stand for the same. Outputs are compressed as
    asked (`gz`, `zst`, `xz`); `scores` is the directory of the files of scores, if any are wanted.

    Raises:
        InputError: a pattern has no files, a file has no partner, or two would have one output.
    """
    if len(patterns) > 2:
        raise UsageError("--shards takes one pattern of joint files, or two in quotes, one for each side")
    sides = [_matches(pattern) for pattern in patterns]
    if len(sides) == 2:
        _check_partners(patterns, sides)
        _check_partners(patterns[::-1], sides[::-1])
    packed = "" if compress is None else f".{compress}"
    ending = (".jsonl" if link_format == "jsonl" else ".links") + packed
    shards = []
    for wild in sides[0]:
        names = tuple(side[wild] for side in sides)
        stem = _stem(names[0])
        beside = None if scores is None else Path(scores) / f"{stem}.scores{packed}"
        shards.append(Shard(names, Path(out) / (stem + ending), beside))
    for output, count in Counter(shard.output for shard in shards).items():
        if count > 1:
            raise InputError(f"two of the shards would be written to {output}: their names differ too little")
    return shards


def _matches(pattern: str) -> dict[tuple[str, ...], str]:
    """Find the files of a pattern, by what its wildcards stand for in their names."""
    names = sorted(name for name in glob.glob(pattern, recursive=True) if not os.path.isdir(name))
    if not names:
        raise InputError("no file has a name like this", file=pattern)
    wild = re.compile("".join(expression for _, expression in _parts(pattern)), re.DOTALL)
    found = {}
    for name in names:
        match = wild.fullmatch(_with_slashes(name))
        assert match is not None, (pattern, name)
        found[match.groups()] = name
    return found


def _check_partners(patterns: Sequence[str], sides: Sequence[Mapping[tuple[str, ...], str]]) -> None:
    """Refuse files of the first side that have no partner on the second."""
    for wild, name in sides[0].items():
        if wild not in sides[1]:
            wilds = [part for part, expression in _parts(patterns[1]) if expression.startswith("(")]
            if len(wilds) != len(wild):
                raise InputError(f"has not as many wildcards as {patterns[0]}", file=patterns[1])
            values = iter(wild)
            literal = (
                next(values) if expression[0] == "(" else part for part, expression in _parts(patterns[1])
            )
            raise InputError(f"no such file, but {name} needs it as its other side", file="".join(literal))


def _parts(pattern: str) -> list[tuple[str, str]]:
    """Cut a pattern of `glob` into literal parts and wildcards, each with its regular expression.

    Those of wildcards are groups: `**/` any directories or none, `*`, `?`, `[…]`.
    """
    parts = re.findall(
        r"(?:(?<![^/])\*\*(?:/|\Z))|\*+|\?|\[!?\]?[^\]]*\]|[^*?\[]+|\[", _with_slashes(pattern), re.DOTALL
    )
    return [(part, _expression(part)) for part in parts]


def _expression(part: str) -> str:
    if part in ("**/", "**"):
        return "((?:.*/)?)" if part == "**/" else "(.*)"
    if part.startswith("*"):
        return "([^/]*)"
    if part == "?":
        return "([^/])"
    if part.startswith("[") and len(part) > 2:
        inside = re.sub(r"([\\\[\]^&|~])", r"\\\1", part[1:-1].removeprefix("!"))
        return f"([{'^' if part[1] == '!' else ''}{inside}])"
    return re.escape(part)


def _with_slashes(name: str) -> str:
    return name.replace(os.sep, "/")


def _stem(name: str) -> str:
    path = Path(name)
    return path.stem if path.suffix in (".gz", ".xz", ".zst") else path.name


@dataclass(frozen=True)
class Shards:
    """Say how shards are read and what is written of them."""

    model: str  # its directory
    reading: Mapping[str, Any]  # arguments of Bitext
    wanted: LinkOptions
    resume: bool = False
    force: bool = False


def align_shards(
    aligner: Aligner, shards: Sequence[Shard], job: Shards
) -> Iterator[tuple[Shard, Summary | None]]:
    """Align shard by shard; give None for those that were done before.

    Raises:
        InputError: an output exists and neither `force` nor a manifest with `resume` allows to replace it.
    """
    made_of = {
        "bitweft": bitweft.__version__,
        "model": model_digest(job.model),
        "reading": {key: value for key, value in job.reading.items() if value is not None},
        "wanted": asdict(job.wanted),
    }
    for shard in shards:
        for path in shard.outputs:
            path.parent.mkdir(parents=True, exist_ok=True)
        known = _manifest(shard)
        if job.resume and known is not None and _is_done(shard, known, made_of):
            for path in shard.outputs:
                clear_leftovers(path)  # of a run that was killed behind its last line
            clear_leftovers(shard.manifest)
            yield shard, None
            continue
        if not job.force:
            _check_free(shard, resume=job.resume, known=known is not None)
        yield shard, _align_shard(aligner, shard, job, made_of)


def _check_free(shard: Shard, *, resume: bool, known: bool) -> None:
    """Refuse to write over files, unless --resume finds a manifest: then bitweft wrote them."""
    for path in (*shard.outputs, shard.manifest):
        if path.exists() and not known:
            hint = "and no manifest says that bitweft wrote it; remove it, or give --force to overwrite it"
            raise InputError(f"exists already, {hint}", file=str(path))
    if shard.output.exists() and not resume:
        raise InputError("exists already; give --resume, or --force to overwrite it", file=str(shard.output))


def _align_shard(aligner: Aligner, shard: Shard, job: Shards, made_of: Mapping[str, Any]) -> Summary:
    bitext = Bitext(*shard.inputs, **job.reading, strict=job.wanted.strict)
    # A manifest without an end comes first: after a kill at any moment, what is there is known as bitweft's.
    write_bytes(shard.manifest, json_bytes(made_of))
    try:
        with ExitStack() as stack:
            streams = [stack.enter_context(open_output(path, force=True)) for path in shard.outputs]
            scores = None if shard.scores is None else streams[1]
            steps = write_links(aligner, bitext, streams[0], job.wanted, scores=scores, name=shard.inputs[0])
            (summary,) = deque(steps, maxlen=1)
    except BaseException:
        if not shard.output.exists():
            shard.manifest.unlink(missing_ok=True)
        raise
    manifest = {
        **made_of,
        "inputs": [{"name": os.path.basename(name), "sha256": file_digest(name)} for name in shard.inputs],
        "output": {"name": shard.output.name, "sha256": file_digest(shard.output)},
        **({} if shard.scores is None else {"scores": file_digest(shard.scores)}),
        "summary": asdict(summary),
    }
    write_bytes(shard.manifest, json_bytes(manifest))
    return summary


def _manifest(shard: Shard) -> dict[str, Any] | None:
    """Read a manifest, if there is one that bitweft wrote."""
    try:
        value = json.loads(shard.manifest.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and {"bitweft", "model", "wanted"} <= value.keys() else None


def _is_done(shard: Shard, manifest: Mapping[str, Any], made_of: Mapping[str, Any]) -> bool:
    """Tell whether the output is whole, and of the same inputs, model and options."""
    known = json.loads(json.dumps(made_of))
    if any(manifest.get(key) != value for key, value in known.items()) or not all(
        path.is_file() for path in shard.outputs
    ):
        return False
    if shard.scores is not None and manifest.get("scores") != file_digest(shard.scores):
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
            digest.update(os.fsencode(path.name) + f" {file_digest(path)}\n".encode())
    return digest.hexdigest()
