"""Files by their names, on this machine or wherever fsspec reaches: `s3://bucket/text.zst`, `gs://…`.

A name with `://` is of a file elsewhere, all others are of this machine. What is written elsewhere is made
here first and sent whole: object stores show a file when all of it is there.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from bitweft.errors import BitweftError, InputError
from bitweft.extras import needs

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

BLOCK = 1 << 20  # bytes that are looked at in a turn
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::[^/]*)*://")


def is_remote(name: str | os.PathLike[str]) -> bool:
    """Tell whether a name is of a file elsewhere."""
    return _SCHEME.match(os.fspath(name)) is not None


def join(directory: str, name: str) -> str:
    """Name a file in a directory."""
    return f"{directory.rstrip('/')}/{name}" if is_remote(directory) else os.path.join(directory, name)


def parent(name: str) -> str:
    """Name the directory of a file."""
    return name.rpartition("/")[0] if is_remote(name) else os.path.dirname(name)


def is_file(name: str) -> bool:
    """Tell whether there is such a file."""
    if not is_remote(name):
        return os.path.isfile(name)
    with _reached(name) as (system, path):
        return bool(system.isfile(path))


def exists(name: str) -> bool:
    """Tell whether there is anything of this name."""
    if not is_remote(name):
        return os.path.lexists(name)
    with _reached(name) as (system, path):
        return bool(system.exists(path))


def size(name: str) -> int:
    """Return how many bytes a file has."""
    if not is_remote(name):
        return os.path.getsize(name)
    with _reached(name) as (system, path):
        return int(system.size(path) or 0)


def open_bytes(name: str) -> BinaryIO:
    """Open a file for reading bytes, from any place in it.

    Raises:
        OSError: a file of this machine cannot be read.
        InputError: one elsewhere cannot be reached.
    """
    if not is_remote(name):
        return open(name, "rb")
    with _reached(name) as (system, path):
        return cast(BinaryIO, system.open(path, "rb"))


def read_bytes(name: str) -> bytes:
    """Read a small file."""
    with open_bytes(name) as stream:
        return stream.read()


def digest(name: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file.

    Raises:
        InputError: it cannot be read.
    """
    found = hashlib.sha256()
    try:
        with open_bytes(os.fspath(name)) as file:
            while block := file.read(BLOCK):
                found.update(block)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=os.fspath(name)) from error
    return found.hexdigest()


def remove(name: str) -> None:
    """Remove a file, if it is there."""
    if not is_remote(name):
        Path(name).unlink(missing_ok=True)
    elif exists(name):
        with _reached(name) as (system, path):
            system.rm_file(path)


def make_directory(name: str) -> None:
    """Make a directory and its parents, where files need one."""
    if not is_remote(name) and name:
        os.makedirs(name, exist_ok=True)


def find(pattern: str) -> list[str]:
    """Find the files whose names fit a pattern of `glob`, in the order of their names."""
    if not is_remote(pattern):
        return sorted(name for name in glob.glob(pattern, recursive=True) if not os.path.isdir(name))
    with _reached(pattern) as (system, path):
        found = [name for name in system.glob(path) if not system.isdir(name)]
        root = pattern[: len(pattern) - len(path)] if pattern.endswith(path) else None
        return sorted(system.unstrip_protocol(name) if root is None else root + name for name in found)


@contextmanager
def sent(name: str, *, force: bool = False) -> Iterator[IO[bytes]]:
    """Open a file elsewhere for writing bytes; it is made here, and sent when the block ends well.

    Raises:
        InputError: it exists and `force` is not set, or it cannot be sent.
    """
    if not force and exists(name):
        raise InputError("exists already; give --force to overwrite it", file=name)
    with NamedTemporaryFile(prefix="bitweft-") as file:
        yield file
        file.flush()
        with _reached(name) as (system, path):
            system.put_file(file.name, path)


@contextmanager
def fetched(directory: str) -> Iterator[Path]:
    """Copy the files of a directory elsewhere, for as long as the block takes.

    Raises:
        InputError: it cannot be reached.
    """
    with TemporaryDirectory(prefix="bitweft-") as copy:
        with _reached(directory) as (system, path):
            for name in system.ls(path, detail=False):
                if system.isfile(name):
                    system.get_file(name, os.path.join(copy, name.rpartition("/")[2]))
        yield Path(copy)


@contextmanager
def _reached(name: str) -> Iterator[tuple[AbstractFileSystem, str]]:
    """Give the file system that holds a file, and its name there; faults of any library become errors."""
    with needs("remote"):
        from fsspec.core import url_to_fs
    try:
        yield url_to_fs(name)
    except BitweftError:
        raise
    except FileNotFoundError as error:
        raise InputError("there is no such file", file=name) from error
    except Exception as error:  # each library has its own
        raise InputError(f"cannot be reached: {error}", file=name) from error
