"""Learning that keeps its state now and then, and goes on from there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import bitweft
from bitweft.progress import Progress
from bitweft.recipes.default.learn import Learning
from bitweft.settings import to_mapping
from bitweft.storage.checkpoint import Checkpoint


def with_checkpoints(learning: Learning, checkpoint: Checkpoint) -> Iterator[Progress]:
    """Learn on from the last checkpoint, if there is one, and keep new ones now and then."""
    facts: dict[str, Any] = {
        "bitweft": bitweft.__version__,
        "seed": learning.seed,
        "settings": to_mapping(learning.config),
        "text": _text_digest(learning),
    }
    kept = checkpoint.load(facts)
    if kept is not None:
        learning.restore(kept[0], kept[1]["record"])
    for progress in learning.run():
        if checkpoint.due():
            checkpoint.keep(learning.arrays(), {**facts, "record": learning.record})
        yield progress


def _text_digest(learning: Learning) -> str:
    """Return a digest of the text, and of all that is known beside it."""
    digest = hashlib.sha256()
    for text in learning.texts:
        digest.update("\n".join(text.spelling.words.entries).encode())
        digest.update(text.tokens.tobytes())
        digest.update(text.offsets.tobytes())
    counts, links, *_ = learning.knowledge
    digest.update(repr(sorted((number, known.links) for number, known in links.items())).encode())
    for array in counts or ():
        digest.update(np.asarray(array).tobytes())
    return digest.hexdigest()
