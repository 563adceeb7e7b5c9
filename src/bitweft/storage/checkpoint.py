"""Checkpoints: the state of long work, kept now and then in files that are always whole.

A checkpoint is a directory of its own. `checkpoint.json` names the files in it: nothing else is ever removed,
and a directory that holds anything else is not taken. A state is named, by default `state`; it is arrays
and facts, which are whatever JSON can hold.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

import bitweft
from bitweft.errors import InputError, ModelError, UsageError
from bitweft.storage.output import clear_leftovers, hidden_name, json_bytes, own_files, write_bytes

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]
Facts: TypeAlias = Mapping[str, Any]  # as JSON has them

MANIFEST = "checkpoint.json"


class Checkpoint:
    """Keep states in a directory, and give them back after a stop."""

    def __init__(
        self, directory: str | os.PathLike[str], *, every: float = 600.0, resume: bool = False
    ) -> None:
        """Take a directory that does not exist, is empty, or holds a checkpoint.

        Arguments:
            directory: where to keep the states; it is made when the first is kept.
            every: how many seconds must pass before the next state is `due`.
            resume: give back what was kept before; without it, a directory that holds something is refused.

        Raises:
            InputError: the directory holds what no checkpoint wrote, or a checkpoint and `resume` is not set.
            UsageError: `every` is below 0.
        """
        if not every >= 0:
            raise UsageError(f"seconds between checkpoints must be 0 or greater, got {every}")
        self.directory = Path(directory)
        self.every = every
        self.resume = resume
        self._last = time.monotonic()
        self._files = self._found()
        if any((self.directory / name).exists() for name in self._files) and not resume:
            raise InputError(
                "there is a checkpoint of earlier learning: give --resume to go on, or remove it",
                file=str(self.directory),
            )

    def _found(self) -> set[str]:
        """Name the files of a checkpoint that is there; refuse a directory that holds anything else."""
        if not self.directory.exists():
            return set()
        if not self.directory.is_dir():
            raise InputError("is a file; a checkpoint needs a directory", file=str(self.directory))
        own = own_files(self.directory, MANIFEST)
        unfinished = {hidden_name(name) for name in (MANIFEST, *own)}  # of learning that was killed
        foreign = sorted(set(os.listdir(self.directory)) - own - unfinished)
        if foreign:
            raise InputError(
                f"holds {foreign[0]}, which is no checkpoint: give --checkpoint a directory of its own",
                file=str(self.directory),
            )
        return own - {MANIFEST}

    def path(self, name: str = "state") -> Path:
        """Name the file of a state."""
        return self.directory / f"{name}.safetensors"

    def due(self) -> bool:
        """Tell whether it is time to keep a state."""
        return time.monotonic() - self._last >= self.every

    def keep(self, arrays: Arrays, facts: Facts, name: str = "state") -> None:
        """Put a state in the place of the last one of its name, which stays until the new one is whole.

        Raises:
            InputError: it cannot be written, the disk is full for example.
        """
        path = self.path(name)
        if path.name not in self._files:  # named before it is there: what is there is always named
            self._files.add(path.name)
            self._write_manifest()
        plain = {
            key: np.asarray(array, order="C") for key, array in arrays.items()
        }  # safetensors needs it so
        text = json.dumps({**facts, "digest": digest(plain)})
        write_bytes(path, save(plain, {"facts": text}))
        self._last = time.monotonic()

    def load(self, expected: Facts, name: str = "state") -> tuple[dict[str, npt.NDArray[Any]], Facts] | None:
        """Return the arrays and facts of a state that was kept before, None if there is none.

        Arguments:
            expected: facts that must be as they were: what the work is of.
            name: of the state.

        Raises:
            ModelError: the file is damaged, or of other work. Whether the arrays have shapes and numbers that
                the work can have is for the caller to check.
        """
        path = self.path(name)
        if not self.resume or not path.exists():
            return None
        try:
            with safe_open(path, "np") as file:
                facts = json.loads((file.metadata() or {})["facts"])
                arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            if facts.pop("digest") != digest(arrays):
                raise ValueError("its numbers are not those that were written")
            differing = [key for key, value in expected.items() if facts[key] != value]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise _unusable(path, error) from error
        except SafetensorError as error:
            raise _unusable(path, error) from error
        if differing:
            raise ModelError(
                f"{path}: the checkpoint is of another {differing[0]}; "
                "give the same text and options again, or remove it"
            )
        return arrays, facts

    def finish(self, result: str) -> None:
        """Note what the work came to, before that is written: after a stop, `result` tells that it was."""
        self._write_manifest(result)

    @property
    def result(self) -> str | None:
        """Return what the work came to, if it is finished."""
        try:
            found = json.loads((self.directory / MANIFEST).read_bytes()).get("result")
        except (OSError, ValueError, AttributeError, RecursionError):
            return None
        return found if isinstance(found, str) else None

    def _write_manifest(self, result: str | None = None) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write here: {error.strerror}", file=str(self.directory)) from error
        value = {"bitweft": bitweft.__version__, "files": sorted(self._files), "result": result}
        write_bytes(self.directory / MANIFEST, json_bytes(value))

    def remove(self) -> None:
        """Remove all that was kept, and the directory: the work is done."""
        if not self.directory.is_dir():
            return
        for name in (*sorted(self._files), MANIFEST):  # the manifest last: what is there is always named
            clear_leftovers(self.directory / name)
            (self.directory / name).unlink(missing_ok=True)
        self._files.clear()
        if not any(self.directory.iterdir()):
            self.directory.rmdir()


def _unusable(path: Path, error: Exception) -> ModelError:
    return ModelError(f"{path}: this is no checkpoint that can be used: {error}")


def digest(arrays: Arrays) -> str:
    """Return the SHA-256 of arrays, with their names, types and shapes."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        found.update(f"{name} {array.dtype} {array.shape}\n".encode("utf-8", "surrogatepass"))
        found.update(array.tobytes())
    return found.hexdigest()
