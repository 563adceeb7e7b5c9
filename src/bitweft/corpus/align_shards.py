"""Shards aligned each by itself, whole and with a manifest of what it was made of.

The links of a pair depend on nothing but the model and the pair. So shards may be done in any order, on any
number of machines, again after any stop, and their links, one after the other, are the bytes of a single run.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import bitweft
from bitweft.aligner import Aligner
from bitweft.corpus.align_files import LinkOptions, Summary, write_links
from bitweft.corpus.parquet_links import open_links
from bitweft.corpus.shards import Shard, base_name
from bitweft.errors import InputError
from bitweft.progress import Progress
from bitweft.storage import places
from bitweft.storage.output import clear_leftovers, json_bytes, open_output, write_bytes
from bitweft.text.bitext import Bitext

EVERY = 256  # pairs from one word on how far a shard is to the next


@dataclass(frozen=True)
class ShardJob:
    """Say how shards are read and what is written of them."""

    model: str  # the digest of its files
    reading: Mapping[str, Any]  # arguments of Bitext
    wanted: LinkOptions
    resume: bool = False
    force: bool = False

    def made_of(self) -> dict[str, Any]:
        """Return what manifests say of all shards."""
        return {
            "bitweft": bitweft.__version__,
            "model": self.model,
            "reading": {key: value for key, value in self.reading.items() if value is not None},
            "wanted": asdict(self.wanted),
        }

    def bitext(self, shard: Shard) -> Bitext:
        """Open the text of a shard."""
        return Bitext(*shard.inputs, **self.reading, strict=self.wanted.strict)


def align_shards(
    aligner: Aligner, shards: Sequence[Shard], job: ShardJob, tell: Callable[[Progress], None]
) -> Iterator[tuple[Shard, Summary | None]]:
    """Align shard by shard; give None for those that were done before.

    Arguments:
        aligner: of the model whose digest the job names.
        shards: to be done, in this order.
        job: how they are read and written.
        tell: is called with how far all of them are, in pairs.

    Raises:
        InputError: an output exists and neither `force` nor a manifest with `resume` allows to replace it.
    """
    pace = Pace([shard.inputs for shard in shards])
    for number, shard in enumerate(shards):
        check_free(shard, job)

        def told(done: int, total: int, number: int = number) -> None:
            tell(pace.told(number, done, total))

        summary = align_shard(aligner, shard, job, told)
        if summary is None:
            pace.leave_out(number)
        yield shard, summary


def align_shard(
    aligner: Aligner, shard: Shard, job: ShardJob, told: Callable[[int, int], None]
) -> Summary | None:
    """Align one shard; return None if `resume` finds it done.

    `told` is called now and then with the pairs that are done, and those that there are.
    """
    for path in shard.outputs:
        places.make_directory(places.parent(path))
    known = _manifest(shard)
    if job.resume and known is not None and _is_done(shard, known, job.made_of()):
        for path in (*shard.outputs, shard.manifest):
            clear_leftovers(path)  # of a run that was killed behind its last line
        return None
    return _align(aligner, shard, job, told)


def check_free(shard: Shard, job: ShardJob) -> None:
    """Refuse to write over files, unless --resume finds a manifest: then bitweft wrote them.

    Raises:
        InputError: a file would be lost.
    """
    if job.force:
        return
    known = _manifest(shard) is not None
    for path in (*shard.outputs, shard.manifest):
        if not known and places.exists(path):
            hint = "and no manifest says that bitweft wrote it; remove it, or give --force to overwrite it"
            raise InputError(f"exists already, {hint}", file=path)
    if not job.resume and places.exists(shard.output):
        raise InputError("exists already; give --resume, or --force to overwrite it", file=shard.output)


def _align(aligner: Aligner, shard: Shard, job: ShardJob, told: Callable[[int, int], None]) -> Summary:
    bitext = job.bitext(shard)
    made_of = job.made_of()
    # A manifest without an end comes first: after a kill at any moment, what is there is known as bitweft's.
    write_bytes(shard.manifest, json_bytes(made_of))
    try:
        with ExitStack() as stack:
            links = stack.enter_context(open_links(shard.output, job.wanted.link_format, force=True))
            scores = stack.enter_context(open_output(shard.scores, force=True)) if shard.scores else None
            steps = write_links(aligner, bitext, links, job.wanted, scores=scores, name=shard.inputs[0])
            summary = _watched(steps, bitext, told)
    except BaseException:
        if not places.exists(shard.output):
            places.remove(shard.manifest)
        raise
    inputs = [{"name": base_name(name), "sha256": places.digest(name)} for name in shard.inputs]
    manifest = {
        **made_of,
        "inputs": inputs,
        "output": {"name": shard.name, "sha256": places.digest(shard.output)},
        **({} if shard.scores is None else {"scores": places.digest(shard.scores)}),
        "summary": asdict(summary),
    }
    write_bytes(shard.manifest, json_bytes(manifest))
    return summary


def _watched(steps: Iterator[Summary], bitext: Bitext, told: Callable[[int, int], None]) -> Summary:
    total = bitext.count()
    summary = Summary()
    told(0, total)
    last = 0
    for summary in steps:
        if summary.pairs >= last + EVERY:
            last = summary.pairs
            told(last, total)
    told(summary.pairs, summary.pairs)
    return summary


def _manifest(shard: Shard) -> dict[str, Any] | None:
    """Read a manifest, if there is one that bitweft wrote."""
    try:
        if not places.is_file(shard.manifest):
            return None
        value = json.loads(places.read_bytes(shard.manifest))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and {"bitweft", "model", "wanted"} <= value.keys() else None


def _is_done(shard: Shard, manifest: Mapping[str, Any], made_of: Mapping[str, Any]) -> bool:
    """Tell whether the output is whole, and of the same inputs, model and options."""
    known = json.loads(json.dumps(made_of))
    if any(manifest.get(key) != value for key, value in known.items()) or not all(
        map(places.is_file, shard.outputs)
    ):
        return False
    if shard.scores is not None and manifest.get("scores") != places.digest(shard.scores):
        return False
    try:
        inputs = [item["sha256"] for item in manifest["inputs"]]
        output = manifest["output"]["sha256"]
    except (KeyError, TypeError):
        return False
    return inputs == [places.digest(name) for name in shard.inputs] and output == places.digest(shard.output)


def model_digest(directory: str | os.PathLike[str]) -> str:
    """Return one SHA-256 of all of a model's files."""
    if places.is_remote(directory):
        with places.fetched(os.fspath(directory)) as copy:
            return model_digest(copy)
    digest = hashlib.sha256()
    for path in sorted(Path(directory).iterdir()):
        if path.is_file():
            digest.update(os.fsencode(path.name) + f" {places.digest(path)}\n".encode())
    return digest.hexdigest()


class Pace:
    """Add up how far shards are, in pairs: those of shards not yet begun are estimated by their bytes."""

    def __init__(self, shards: Sequence[Sequence[str]], phase: str = "aligning") -> None:
        """Take the files of each shard."""
        self._bytes = {number: sum(map(_size, files)) for number, files in enumerate(shards)}
        self._done: dict[int, int] = {}
        self._total: dict[int, int] = {}
        self._phase = phase

    def told(self, shard: int, done: int, total: int) -> Progress:
        """Take note of one shard, and tell how far all are."""
        self._done[shard], self._total[shard] = done, total
        return self.progress()

    def leave_out(self, shard: int) -> None:
        """Count a shard no more: it was done before."""
        for known in (self._bytes, self._done, self._total):
            known.pop(shard, None)

    def progress(self) -> Progress:
        """Tell how far all shards are."""
        known = sum(self._total.values())
        seen = sum(self._bytes[shard] for shard in self._total)
        total = known * sum(self._bytes.values()) / seen if seen else known
        return Progress(sum(self._done.values()), max(round(total), known), self._phase)


def _size(name: str) -> int:
    return places.size(name) if places.is_file(name) else 0
