"""Output files that appear whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from weft.errors import InputError


@contextmanager
def open_output(path: str | os.PathLike[str] | None, *, force: bool = False) -> Iterator[TextIO]:
    """Open `path` for writing UTF-8 text: written beside it, renamed when the block ends well.

    `None` and `-` mean standard output. An existing file is kept unless `force` is set.
    """
    if path is None or str(path) == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    target = Path(path)
    if target.exists() and not force:
        raise InputError("exists already; give --force to overwrite it", file=str(target))
    try:
        descriptor, partial = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InputError(f"cannot write here: {error.strerror}", file=str(target)) from error
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            yield stream
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, target)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
