"""A directory of output files that appears whole or not at all; compressed files of reproducible bytes."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from bitweft.errors import InputError


@contextmanager
def new_directory(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a directory beside `path` to write into; it becomes `path` when the block ends well."""
    if path.exists() and not force:
        raise InputError("exists already; give --force to replace it", file=str(path))
    if path.exists() and not path.is_dir():
        raise InputError("is a file; a directory would be written here", file=str(path))
    try:
        partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise InputError(f"cannot write here: {error.strerror}", file=str(path)) from error
    try:
        yield partial
        partial.chmod(0o777 & ~_umask())
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)) / path.name
            os.replace(path, old)
            os.replace(partial, path)
            shutil.rmtree(old.parent)
        else:
            os.replace(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextmanager
def compressed(path: Path) -> Iterator[TextIO]:
    """Write UTF-8 text, compressed with gzip: the same text always gives the same bytes."""
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as stream,
    ):
        yield stream
