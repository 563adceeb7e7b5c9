"""Single bytes changed in models: refused, or links within bounds; a crash is that of a child."""

from __future__ import annotations

import functools
import json
import random
import shutil
import time
from collections import Counter
from pathlib import Path

from bitweft import Aligner
from bitweft.errors import BitweftError
from bitweft.sample import bitext, generate
from torture.common import Part, Place, child, ended, said

TURN = 250  # changes that one child tries


def flips(place: Place, part: Part, end: float) -> None:
    """Change bytes of a model of each recipe in turn."""
    while time.monotonic() < end:
        for name, model in place.models.items():
            log, told, seed = place.root / "flips", place.root / "told", place.chance.randrange(1 << 30)
            work = functools.partial(_flip, place.root / "flipped", model, seed, end, told)
            code = ended(child(work, log))
            if code:
                part.faults.append(f"{name}, seed {seed}: ended with {code}: {said(log)}")
                continue
            for what, count in json.loads(told.read_text()).items():
                part.counts[f"{name} {what}"] += count
                part.tried += count


def _flip(copy: Path, model: Path, seed: int, end: float, told: Path) -> int:
    chance = random.Random(seed)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(model, copy)
    files = sorted(copy.iterdir())
    pairs = [(pair.source.tokens, pair.target.tokens) for pair in bitext(generate(3, seed=7))[0]]
    counts: Counter[str] = Counter()
    while counts.total() < TURN and time.monotonic() < end + 5:
        victim = chance.choice(files)
        content = bytearray(victim.read_bytes())
        at = chance.randrange(min(len(content), 4000) if chance.random() < 0.5 else len(content))
        before, content[at] = content[at], chance.choice((content[at] ^ 1 << chance.randrange(8), 0, 255))
        if content[at] == before:
            continue
        victim.write_bytes(content)
        try:
            found = Aligner.load(copy, threads=1).align(pairs)
            for (source, target), links in zip(pairs, found, strict=True):
                assert all(0 <= s < len(source) and 0 <= t < len(target) for s, t in links.links), links
                assert all(0 <= p <= 1 for p in links.probabilities or ()), links
            counts["used"] += 1
        except BitweftError:
            counts["refused"] += 1
        content[at] = before
        victim.write_bytes(content)
    told.write_text(json.dumps(counts))
    return 0
