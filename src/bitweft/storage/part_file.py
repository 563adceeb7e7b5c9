"""A file of arrays and of facts about them, which may be anywhere: what one part of long work came to."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

from bitweft.errors import ModelError
from bitweft.storage.checkpoint import digest
from bitweft.storage.output import write_bytes
from bitweft.storage.places import is_file, read_bytes

_FACTS = "facts"


def write_part(path: str, arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, Any]) -> None:
    """Write a part, in the place of one that is there.

    Raises:
        InputError: it cannot be written.
    """
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = json.dumps({**facts, "digest": digest(plain)}, sort_keys=True)
    write_bytes(path, save(plain, {_FACTS: text}))


def read_part(path: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Read a part.

    Raises:
        ModelError: the file is damaged, or something else.
    """
    try:
        content = read_bytes(path)
        facts = _facts(content)
        arrays = load(content)
        if facts.pop("digest") != digest(arrays):
            raise ValueError("its numbers are not those that were written")
    except (OSError, ValueError, KeyError, TypeError, struct.error, RecursionError, SafetensorError) as error:
        raise ModelError(f"{path}: this is no part that can be used: {error}") from error
    return arrays, facts


def part_facts(path: str) -> dict[str, Any] | None:
    """Return the facts of a part, if there is one and it is whole."""
    if not is_file(path):
        return None
    try:
        return read_part(path)[1]
    except ModelError:
        return None


def _facts(content: bytes) -> dict[str, Any]:
    (size,) = struct.unpack("<Q", content[:8])
    facts: dict[str, Any] = json.loads(json.loads(content[8 : 8 + size])["__metadata__"][_FACTS])
    return facts
