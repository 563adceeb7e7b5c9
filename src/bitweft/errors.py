"""Every error that bitweft raises on purpose.

BitweftError                 exit code 1
├── InputError            a file or a line of it is at fault; says which
│   ├── NothingToLearnError   a text without a pair that has words on both sides
│   └── OccupiedError         an output that another process is writing
├── ModelError            a model directory is damaged, foreign, or of another version
└── MissingExtraError     an optional dependency is not installed; names the extra
UsageError                exit code 2: options that do not go together
"""

from __future__ import annotations


class BitweftError(Exception):
    """Report a fault of the data, the model or the installation, with what to do about it."""

    exit_code = 1


class InputError(BitweftError):
    """Report a fault in an input file: `file:line: message`."""

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None) -> None:
        self.file = file
        self.line = line
        place = ":".join(str(part) for part in (file, line) if part is not None)
        super().__init__(f"{place}: {message}" if place else message)


class NothingToLearnError(InputError):
    """Report a text that has no pair with words on both sides."""


class OccupiedError(InputError):
    """Report an output that another process is writing; it may be free later."""


class ModelError(BitweftError):
    """Report a model directory that cannot be used."""


class MissingExtraError(BitweftError):
    """Report an optional dependency that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"this needs the package {package!r}: pip install 'bitweft[{extra}]'")


class UsageError(BitweftError):
    """Report options that are wrong or do not go together."""

    exit_code = 2
