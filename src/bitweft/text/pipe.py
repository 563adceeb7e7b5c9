"""What comes through a pipe, read once and as it comes."""

from __future__ import annotations

import select
from types import TracebackType
from typing import BinaryIO

from bitweft.text.compressed import is_compressed


class Pipe:
    """Read an unbuffered file, giving what is there without waiting for more; closed when done."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._buffer = b""

    def __enter__(self) -> Pipe:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._raw.close()

    def read(self, size: int = 1 << 20, /) -> bytes:
        """Return some bytes, as many as are there and at most about `size`; none at the end."""
        if self._buffer:
            data, self._buffer = self._buffer, b""
            return data
        while (data := self._raw.read(size)) is None:  # of a file that does not block
            select.select([self._raw], [], [])
        return data

    def readline(self, size: int) -> bytes:
        """Return the rest of the line, at most `size` bytes of it."""
        parts: list[bytes] = []
        while size > 0 and (data := self.read(size)):
            end = data.find(b"\n", 0, size) + 1 or size
            self._buffer = data[end:]
            parts.append(data[:end])
            size -= len(parts[-1])
            if parts[-1].endswith(b"\n"):
                break
        return b"".join(parts)

    def is_compressed(self) -> bool:
        """Tell whether what comes is compressed; waits for the first bytes, and no longer than it must."""
        start = b""
        while (known := is_compressed(start)) is None and (more := self.read(16)):
            start += more
        self._buffer = start + self._buffer
        return bool(known)

    def idle(self) -> bool:
        """Tell whether the next bytes would have to be waited for."""
        if self._buffer:
            return False
        try:
            return not select.select([self._raw], [], [], 0)[0]
        except (OSError, ValueError):  # no descriptor, or a system that cannot tell
            return False
