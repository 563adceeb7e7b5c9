"""The standard streams of a command: never missing, and never at a loss for a character."""

from __future__ import annotations

import io
import os
import sys


def prepare_streams() -> None:
    """Make standard streams that can be used, whatever the command was started with.

    A closed one is opened the wrong way round: to use it fails as it would have, and no other file gets its
    number. Messages of a command whose standard error is closed go nowhere. What an encoding cannot hold is
    written as escapes.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            _occupy(number, os.O_RDONLY if name == "stdout" else os.O_WRONLY)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _occupy(number: int, way: int) -> None:
    """Open the null device under the number of a descriptor that is closed."""
    try:
        os.fstat(number)
    except OSError:
        found = os.open(os.devnull, way)
        if found != number:
            os.dup2(found, number)
            os.close(found)
