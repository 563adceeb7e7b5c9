"""Packages that are installed only where they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bitweft.errors import MissingExtraError


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Import inside; a package that is missing is answered with the extra that brings it.

    Raises:
        MissingExtraError: a package of the extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "bitweft"):
            raise
        raise MissingExtraError(package, extra) from error
