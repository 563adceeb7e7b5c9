"""The directory of a kept model: what `model.json` says, files that are checked before they are believed."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file

import bitweft
from bitweft.errors import InputError, ModelError
from bitweft.storage.output import check_new_directory, new_directory

MODEL = "model.json"
FORMAT = 1  # of the directory; a change that older ones cannot be read by makes it one more


@dataclass(frozen=True)
class Training:
    """Hold what a model learned from, and what that took."""

    pairs: int
    words: tuple[int, int]  # of the source, of the target
    seconds: float
    cpu_seconds: float
    record: list[dict[str, str | int | float | None]]  # what each phase came to
    files: tuple[str, ...] = ()  # the text
    tags: tuple[str | None, ...] = ()  # files of tags beside the text; None for a side without


@dataclass(frozen=True)
class About:
    """Hold all that `model.json` says of a model."""

    recipe: str
    config: dict[str, Any]
    seed: int
    bitweft: str = bitweft.__version__
    tokenize: str = "space"  # how the text was cut that it learned from
    languages: tuple[str, str] | None = None
    note: str | None = None  # where it comes from, and what may be done with it
    training: Training | None = None  # None: nothing was learned yet

    @property
    def record(self) -> list[dict[str, str | int | float | None]]:
        """Return what each phase of learning came to."""
        return [] if self.training is None else self.training.record


def digest(about: About) -> str:
    """Return a digest of what `model.json` says of learning; no two trainings share one but by a miracle.

    Languages and note are left out: they are given when the model is saved.
    """
    value = asdict(replace(about, languages=None, note=None))
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def read_about(directory: Path) -> About:
    """Read and check `model.json`."""
    if not directory.is_dir():
        raise ModelError(f"{directory}: there is no such model directory; `bitweft train -o DIR` makes one")
    path = directory / MODEL
    try:
        value = json.loads(_checked(path).read_text(encoding="utf-8"), parse_constant=_refuse)
    except RecursionError:
        raise ModelError(f"{path}: this is no bitweft model: nested too deep") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: this is no bitweft model: {error}") from error
    if not isinstance(value, dict) or "format" not in value:
        raise ModelError(f"{path}: this is no bitweft model: it names no format")
    made_by = value.get("bitweft")
    if value["format"] != FORMAT:
        raise ModelError(
            f"{directory}: a model of format {value['format']!r}, made by bitweft {made_by}; this bitweft, "
            f"{bitweft.__version__}, reads format {FORMAT}: use that bitweft, or train again"
        )
    try:
        return _about(value)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: this is no bitweft model: {error}") from error


def _about(value: Mapping[str, Any]) -> About:
    kinds = {"recipe": str, "config": dict, "seed": int, "bitweft": str, "tokenize": str, "training": dict}
    for key, kind in kinds.items():
        if type(value.get(key)) is not kind:
            raise ValueError(f"{key!r} must be there, and a JSON {kind.__name__}")
    if value["seed"] < 0:
        raise ValueError(f"'seed' must be 0 or greater, got {value['seed']}")
    languages, note = value.get("languages"), value.get("note")
    if languages is not None:
        if not _is_list(languages, str) or len(languages) != 2:
            raise ValueError("'languages' must be two texts")
        languages = (languages[0], languages[1])
    if note is not None and not isinstance(note, str):
        raise ValueError("'note' must be a text")
    plain = {key: value[key] for key in kinds if key != "training"}
    return About(**plain, languages=languages, note=note, training=_training(value["training"]))


def _training(value: Mapping[str, Any]) -> Training:
    """Read what a model learned from; descriptions and later training rely on it."""
    words, record = value.get("words"), value.get("record")
    if type(value.get("pairs")) is not int or not _is_list(words, int) or len(words) != 2:
        raise ValueError("'training' must say how many 'pairs' and 'words' there were")
    wall, cpu = value.get("seconds"), value.get("cpu_seconds")
    if not isinstance(wall, int | float) or not isinstance(cpu, int | float):
        raise ValueError("'training' must say how many 'seconds' and 'cpu_seconds' it took")
    if not _is_list(record, dict) or not all(map(_is_record, record)):
        raise ValueError("'training.record' must be a list of phases")
    files, tags = value.get("files", []), value.get("tags", [])
    if not _is_list(files, str) or not _is_list(tags, str, type(None)):
        raise ValueError("'training.files' and 'training.tags' must be lists of names")
    return Training(value["pairs"], (words[0], words[1]), wall, cpu, record, tuple(files), tuple(tags))


def _is_list(value: object, *kinds: type) -> TypeGuard[list[Any]]:
    return isinstance(value, list) and all(type(item) in kinds for item in value)


def _is_record(phase: Mapping[str, object]) -> bool:
    return all(type(value) in (str, int, float, type(None)) for value in phase.values())


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number")


def _checked(path: Path) -> Path:
    # A pipe or a device in place of a file would be waited for, or read without end.
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path.name}")
    return path


def check_files(directory: Path, *names: str) -> None:
    """Refuse a directory in which a file is missing, or is something else than a file."""
    for name in names:
        if not (directory / name).is_file():
            raise ModelError(f"{directory}: {name} is missing, or no file: the model is not whole")


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Read a file of arrays."""
    try:
        arrays: dict[str, npt.NDArray[Any]] = load_file(_checked(path))
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise ModelError(f"{path}: cannot be read: {error}") from error
    return arrays


class Arrays:
    """Hand out arrays by name, each checked for its type, its shape and its range; all are finite.

    They are those of the file `path` or, if given, `arrays`, which were read from there; `what` they are of
    is said in messages.
    """

    def __init__(
        self, path: Path, arrays: Mapping[str, npt.NDArray[Any]] | None = None, *, what: str = "model"
    ) -> None:
        self._path = path
        self._what = what
        self._arrays = read_arrays(path) if arrays is None else arrays
        for name, array in self._arrays.items():
            if array.dtype.kind not in "if" or not np.isfinite(array).all():
                raise ModelError(f"{path}: {name} contains NaN or infinity, or is not numeric")

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def take(
        self,
        name: str,
        kind: type[np.generic],
        shape: tuple[int | None, ...],
        *,
        low: float = -math.inf,
        high: float = math.inf,
    ) -> npt.NDArray[Any]:
        """Return an array of this type and shape (None: any size) whose numbers are from low to high."""
        array = self._arrays.get(name)
        if array is None:
            raise self.fault(name, "is missing")
        fits = len(array.shape) == len(shape) and all(
            wanted in (None, size) for size, wanted in zip(array.shape, shape, strict=True)
        )
        if array.dtype != kind or not fits:
            raise self.fault(name, f"is {array.dtype} {list(array.shape)}, not {kind.__name__} {list(shape)}")
        if array.size and not (low <= array.min() and array.max() <= high):
            raise self.fault(name, f"has numbers outside {low:g} to {high:g}")
        return np.ascontiguousarray(array)

    def fault(self, name: str, what: str) -> ModelError:
        """Make the error that says what is wrong with an array."""
        return ModelError(f"{self._path}: the {self._what} is damaged: {name} {what}")


def write_model(
    directory: str | os.PathLike[str], about: About, save: Callable[[Path], None], *, force: bool = False
) -> None:
    """Write a model's files and `model.json` into a directory, which appears whole or not at all.

    Arguments:
        directory: where; with `force`, it replaces a model that is there and nothing else.
        about: what `model.json` says of the model.
        save: writes all other files into the directory that it is given.

    Raises:
        InputError: the place is taken or cannot be written.
    """
    value = {"format": FORMAT, **asdict(about)}
    try:
        with new_directory(directory, manifest=MODEL, about=value, force=force) as partial:
            save(partial)
    except (OSError, SafetensorError) as error:  # safetensors reports a full disk in its own way
        raise InputError(f"cannot be written: {error}", file=os.fspath(directory)) from error


def check_free(directory: str | os.PathLike[str], *, force: bool = False) -> None:
    """Refuse a place that cannot be written, or is taken; with `force`, only by what is no model."""
    check_new_directory(directory, manifest=MODEL, force=force)
