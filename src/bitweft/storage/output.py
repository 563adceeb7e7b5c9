"""Output files that appear whole or not at all."""

from __future__ import annotations

import io
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from bitweft.errors import InputError


@contextmanager
def open_output(path: str | os.PathLike[str] | None, *, force: bool = False) -> Iterator[TextIO]:
    """Open `path` for writing UTF-8 text: written beside it, renamed when the block ends well.

    `None` and `-` mean standard output. An existing file is kept unless `force` is set. A device or a pipe
    (`/dev/null`) is written straight.
    """
    if path is None or str(path) == "-":
        yield _standard_output()
        sys.stdout.flush()
        return
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(path))
    if _is_special(target):
        with open(target, "w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    if target.is_dir():
        raise InputError("is a directory; give a file", file=str(path))
    if target.exists() and not force:
        raise InputError("exists already; give --force to overwrite it", file=str(path))
    try:
        descriptor, partial = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InputError(f"cannot write here: {error.strerror}", file=str(path)) from error
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            yield stream
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, target)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def _standard_output() -> TextIO:
    """Give standard output, in UTF-8 with plain line feeds whatever the system's habits."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    return sys.stdout


def _is_special(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
