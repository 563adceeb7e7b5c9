"""Checkpoints: the state of learning, kept now and then in one file that is always whole."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from bitweft.errors import InputError, ModelError, UsageError

FILE = "checkpoint.safetensors"
STAGES = "checkpoints.json"  # where the paper's recipe lists its finished stages


class Checkpoint:
    """Keep the state of learning every so many seconds, and give it back after a stop."""

    def __init__(
        self, directory: str | os.PathLike[str], *, every: float = 600.0, resume: bool = False
    ) -> None:
        if not every >= 0:
            raise UsageError(f"a checkpoint every {every} seconds cannot be")
        self.directory = Path(directory)
        self.path = self.directory / FILE
        self.every = every
        self.resume = resume
        self._last = time.monotonic()
        if any(path.exists() for path in (self.path, self.directory / STAGES)) and not resume:
            raise InputError(
                "there is a checkpoint of earlier learning: give --resume to go on, or remove it",
                file=str(self.directory),
            )

    def due(self) -> bool:
        """Tell whether it is time to keep the state."""
        return time.monotonic() - self._last >= self.every

    def keep(self, arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Write the state beside the last one, and put it in its place when it is whole."""
        content = save(dict(arrays), {"facts": json.dumps({**facts, "digest": _digest(arrays)})})
        partial: str | None = None
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            descriptor, partial = tempfile.mkstemp(prefix=".checkpoint.", dir=self.directory)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self.path)
        except OSError as error:
            if partial is not None:
                Path(partial).unlink(missing_ok=True)
            raise InputError(f"cannot be written: {error.strerror}", file=str(self.path)) from error
        self._last = time.monotonic()

    def load(self, expected: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return what was kept last: arrays and facts, of which those `expected` must be as they were."""
        if not self.resume or not self.path.exists():
            return None
        try:
            with safe_open(self.path, "np") as file:
                facts = json.loads((file.metadata() or {})["facts"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if facts.pop("digest") != _digest(arrays):
                raise ValueError("its numbers are not those that were written")
            differing = [key for key, value in expected.items() if facts[key] != value]
        except (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError) as error:
            raise ModelError(f"{self.path}: this is no checkpoint that can be used: {error}") from error
        if differing:
            raise ModelError(
                f"{self.path}: the checkpoint is of another {differing[0]}; "
                "give the same text and options again, or remove it"
            )
        return arrays, facts

    def remove(self) -> None:
        """Remove the checkpoint: learning is done."""
        if not self.directory.is_dir():
            return
        unfinished = self.directory.glob(".checkpoint.*")  # of learning that was killed
        for path in (self.directory / STAGES, *self.directory.glob("*.safetensors"), *unfinished):
            path.unlink(missing_ok=True)
        if not any(self.directory.iterdir()):
            self.directory.rmdir()


def _digest(arrays: Mapping[str, Any]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
