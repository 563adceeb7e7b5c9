"""Learning that can be stopped: its state kept now and then, and gone on from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import bitweft
from bitweft.errors import ModelError
from bitweft.progress import Progress
from bitweft.recipes.default.bounds import check_state
from bitweft.recipes.default.learn import Learning
from bitweft.settings import to_mapping
from bitweft.storage.checkpoint import Checkpoint
from bitweft.storage.model_directory import Arrays


def with_checkpoints(learning: Learning, checkpoint: Checkpoint) -> Iterator[Progress]:
    """Learn on from the last checkpoint, if there is one, and keep new ones now and then.

    Raises:
        ModelError: the checkpoint is damaged, or of another text, seed, version or configuration.
        InputError: a checkpoint cannot be written.
    """
    facts: dict[str, Any] = {
        "bitweft": bitweft.__version__,
        "seed": learning.seed,
        "settings": to_mapping(learning.config),
        "text": _text_digest(learning),
    }
    kept = checkpoint.load(facts)
    if kept is not None:
        arrays, known = kept
        record = known.get("record")
        if not isinstance(record, list) or not all(isinstance(item, dict) for item in record):
            raise ModelError(f"{checkpoint.path()}: the checkpoint is damaged: it has no record")
        check_state(Arrays(checkpoint.path(), arrays, what="checkpoint"), learning)
        learning.restore(arrays, record)
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
