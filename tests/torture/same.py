"""The same links on any number of threads, in any company, from anywhere, before and after saving."""

from __future__ import annotations

import functools
import hashlib
import io
import itertools
import os
import sys
from pathlib import Path

from battery import SMALL
from bitweft import Aligner, Bitext
from bitweft.cli import main as bitweft
from bitweft.recipes import chunks
from torture.common import Part, Place, child, ended, said

CASES = tuple(itertools.product(("default", "paper"), (1, 2, 4), (1, 7, 256)))


def same(place: Place, part: Part, end: float) -> None:
    """Try every recipe, on 1, 2 and 4 threads, in chunks of three sizes, however long it takes."""
    version = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
    for name, threads, size in CASES:
        log = place.root / "same"
        code = ended(child(functools.partial(_same, place, name, threads, size), log))
        part.tried += 1
        part.counts[version] += 1
        if code:
            part.faults.append(f"{version}, {name}, {threads} threads, chunks of {size}: {said(log)}")
    digest = hashlib.sha256()
    for model in place.models.values():
        digest.update(Path(f"{model}.links").read_bytes())
        for weights in sorted(model.glob("*.safetensors")):
            digest.update(weights.read_bytes())
    part.counts[f"models and links {digest.hexdigest()[:12]}"] += 1  # the same with every Python


def _same(place: Place, name: str, threads: int, size: int) -> int:
    model = place.models[name]
    known = Path(f"{model}.links").read_text().splitlines()
    chunks.CHUNK = size
    lines = [line.split(" ||| ") for line in Path(place.joint).read_text().splitlines()]
    found = Aligner.load(model, threads=threads)
    assert [str(each) for each in found.align((s, t) for s, t in lines)] == known
    assert [str(found.align(s, t)) for s, t in lines[::4]] == known[::4], "alone"
    if size == 256:
        new = Aligner(name, threads=threads, settings=SMALL.get(name, ())).fit(Bitext(*place.text))
        assert [str(each) for each in new.align(Bitext(place.joint))] == known, "before it was saved"
    output = str(place.root / "same.links")
    command = ["--model", str(model), "-q", "-o", output, "--force", "--threads", str(threads)]
    for source in ([place.joint], [*place.text], ["-"], ["/dev/fd/0"]):
        with open(place.joint, "rb") as joint:
            os.dup2(joint.fileno(), 0)
        sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False))  # noqa: SIM115
        assert bitweft(["align", *source, *command]) == 0
        assert Path(output).read_text().splitlines() == known, source
    return 0
