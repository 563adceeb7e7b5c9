"""Lines of UTF-8 files: plain, gzip, xz or zstd, told apart by content; walked as often as wanted."""

from __future__ import annotations

import io
import os
import re
import stat
import sys
import tempfile
import weakref
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from bitweft.errors import InputError
from bitweft.storage.places import is_remote, open_bytes
from bitweft.text.compressed import BLOCK, DamagedError, ahead, decompressed
from bitweft.text.encoding import foreign_encoding, remedy
from bitweft.text.pipe import Pipe

LONGEST_LINE = 100_000_000  # bytes: a longer line is damaged, and not held
# White space that is neither space nor tab, and the zero-width characters that pass for it.
ODD_SPACES = (
    "\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
    + "".join(map(chr, range(0x2000, 0x200C)))
)
ODD_SPACE = re.compile(f"[{ODD_SPACES}]")
_NO_TEXT = b"\xff"  # in UTF-8 nowhere


@dataclass(slots=True)
class Oddities:
    """Count what was put right or passed over in one walk: lines for each kind."""

    crlf: int = 0
    byte_order_marks: int = 0
    odd_spaces: int = 0
    repeated_spaces: int = 0
    line_breaks: int = 0
    damaged: int = 0

    @property
    def changed(self) -> int:
        """Tell how many lines were changed, and not only counted, on reading them."""
        return self.crlf + self.byte_order_marks + self.damaged

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))

    def __str__(self) -> str:
        counts = [(getattr(self, name), text) for name, text in _ODDITY_TEXTS.items()]
        return "; ".join(f"{count:,} {text}" for count, text in counts if count)


_ODDITY_TEXTS = {
    "crlf": "lines ending in CR LF (the CR was dropped)",
    "byte_order_marks": "byte order marks (dropped)",
    "odd_spaces": "lines with no-break or other odd spaces (kept inside words)",
    "repeated_spaces": "lines with repeated spaces (taken as one)",
    "line_breaks": "texts with a line break inside (taken as a space)",
    "damaged": "lines that cannot be read (taken as empty)",
}


class LineFile:
    """Give the lines of a file, without their ends; only a line feed ends a line.

    `-` is standard input. What cannot be read twice (standard input, a pipe) is first copied to a
    temporary file or, if it is `streaming` and not compressed, read as it comes, once. Unless `strict`, a
    line that is not UTF-8, or longer than LONGEST_LINE, is counted and given as an empty one.
    """

    def __init__(self, path: str | os.PathLike[str], *, strict: bool = True, streaming: bool = False) -> None:
        self.name = os.fspath(path)
        self.strict = strict
        self.streaming = streaming
        self._spooled: str | None = None
        self._pipe: Pipe | None = None
        self._streamed: Iterator[bytes] | None = None  # the rest of the pipe, in runs of whole lines
        self._held: deque[bytes] = deque()  # those that were looked at, but not yet walked
        self.left = 0  # lines of a pipe that were read, and are still to be walked
        self._walked = False  # a pipe can be once

    def lines(self, oddities: Oddities | None = None) -> Iterator[str]:
        """Walk the lines from the first, adding to `oddities` on the way."""
        for _, text in self._runs(self._blocks(), Oddities() if oddities is None else oddities):
            lines = text.split("\n")
            if self._pipe is None:
                yield from lines
            else:
                for self.left, line in zip(range(len(lines) - 1, -1, -1), lines, strict=True):
                    yield line

    def blocks(self, oddities: Oddities) -> Iterator[bytes]:
        """Walk the same lines as `lines` gives, many at a time: UTF-8 with a line feed after each line.

        Who walks those of a pipe keeps `left`.
        """
        changed = oddities.changed
        for block, text in self._runs(self._blocks(), oddities):
            if oddities.changed != changed:
                yield text.encode() + b"\n"
            else:
                yield block if block.endswith(b"\n") else block + b"\n"
            changed = oddities.changed

    def head(self, count: int) -> list[str]:
        """Give the first lines, `count` of them if there are as many; a walk gives them again."""
        blocks = self._read()
        held = [next(blocks, b"")]
        if self._pipe is None:
            return list(islice(self.lines(), count))
        lines = held[0].count(b"\n")
        while lines < count and (block := next(blocks, None)):
            held.append(block)
            lines += block.count(b"\n")
        self._streamed = blocks
        self._held.extend(filter(None, held))
        texts = (text.split("\n") for _, text in self._runs(held, Oddities()))
        return list(islice(chain.from_iterable(texts), count))

    def idle(self) -> bool:
        """Tell whether the next line of a pipe that is walked would have to be waited for."""
        return self._pipe is not None and not self.left and not self._held and self._pipe.idle()

    def _runs(self, blocks: Iterable[bytes], oddities: Oddities) -> Iterator[tuple[bytes, str]]:
        """Give each block with its text: lines put right, with line feeds between them."""
        number = 1
        for block in blocks:
            if number == 1:
                self._check_encoding(block)
            text = self._decode(block, number, oddities)
            if number == 1 and text.startswith("\ufeff"):
                oddities.byte_order_marks += 1
                text = text[1:]
            if "\r" in text:
                text = _without_returns(text, oddities)
            _count_spaces(text, oddities)
            if block.endswith(b"\n"):
                text = text[:-1]
            number += text.count("\n") + 1
            yield block, text

    def open(self) -> BinaryIO:
        """Open the file as it is, for reading bytes from any place in it; a pipe is copied first."""
        streaming, self.streaming = self.streaming, False
        try:
            file = self._open()
        finally:
            self.streaming = streaming
        assert not isinstance(file, Pipe)
        return file

    def starts_with(self, magic: bytes) -> bool:
        """Tell whether the file begins with these bytes; of a pipe that streams, it is not known."""
        try:
            unknown = self.streaming and self._is_pipe()
        except OSError:  # who opens it says what is wrong
            unknown = True
        if unknown:
            return False
        with self.open() as file:
            return file.read(len(magic)) == magic

    def count(self) -> int:
        """Count the lines, which is quick: nothing is decoded."""
        lines, rest = 0, False
        for block in self._blocks():
            lines += block.count(b"\n")
            rest = not block.endswith(b"\n")
        return lines + rest

    def raw_lines(self) -> Iterator[bytes]:
        """Walk the lines as they are in the file, whether they are text or not, without their line feeds."""
        for block in self._blocks():
            lines = block.split(b"\n")
            yield from lines[:-1] if block.endswith(b"\n") else lines

    def _check_encoding(self, block: bytes) -> None:
        """Refuse a file that as a whole is in another encoding: to pass over its lines would lose it."""
        encoding = foreign_encoding(block)
        if encoding is not None:
            raise InputError(remedy(encoding, self.name), file=self.name, line=1)

    def _decode(self, block: bytes, number: int, oddities: Oddities) -> str:
        try:
            return block.decode("utf-8")
        except UnicodeDecodeError as error:
            if not self.strict:
                return _decoded_lines(block, oddities)
            before = block[: error.start]
            column = error.start - (before.rfind(b"\n") + 1) + 1
            line = number + before.count(b"\n")
            hint = "convert the file to UTF-8, e.g. with iconv"
            message = f"not UTF-8 at byte {column} of the line (0x{block[error.start]:02x}); {hint}"
            raise InputError(message, file=self.name, line=line) from error

    def _blocks(self) -> Iterator[bytes]:
        """Yield runs of whole lines; of a pipe that streams, what was looked at and then the rest."""
        if self._walked:
            raise RuntimeError(f"{self.name}: a pipe that streams was walked twice")
        blocks = self._streamed or self._read()
        while self._held:
            yield self._held.popleft()
        for block in blocks:
            self._walked = self._pipe is not None
            yield block

    def _read(self) -> Iterator[bytes]:
        """Open the file, and yield runs of whole lines."""
        line = 1
        with self._open() as raw:
            try:
                with raw if isinstance(raw, Pipe) else decompressed(raw) as stream:
                    runs = self._whole_lines(stream)
                    for block in runs if stream is raw else ahead(runs):
                        yield block
                        line += block.count(b"\n")
            except EOFError as error:
                message = "the compressed file is cut short; fetch or make it again"
                raise InputError(message, file=self.name, line=line) from error
            except (OSError, zlib.error, DamagedError) as error:
                raise InputError(f"cannot be read: {error}", file=self.name, line=line) from error

    def _whole_lines(self, stream: BinaryIO | Pipe) -> Iterator[bytes]:
        line = 1
        while block := stream.read(BLOCK):
            block = self._whole(block, stream, line)
            yield block
            line += block.count(b"\n")

    def _whole(self, block: bytes, stream: BinaryIO | Pipe, line: int) -> bytes:
        """Read on to the end of the block's last line; put a byte that is no text for a line too long."""
        if block.endswith(b"\n"):
            return block
        start = block.rfind(b"\n") + 1
        rest = stream.readline(LONGEST_LINE - (len(block) - start) + 1)
        if rest.endswith(b"\n") or len(block) - start + len(rest) <= LONGEST_LINE:
            return block + rest
        if self.strict:
            message = f"the line is longer than {LONGEST_LINE:,} bytes; is this a text?"
            raise InputError(message, file=self.name, line=line + block.count(b"\n"))
        while rest and not rest.endswith(b"\n"):
            rest = stream.readline(BLOCK)
        return block[:start] + _NO_TEXT + rest[-1:]

    def _open(self) -> BinaryIO | Pipe:
        try:
            if self._spooled is None and self._is_pipe():
                pipe = Pipe(self._unbuffered())
                if self.streaming and not pipe.is_compressed():
                    self._pipe = pipe
                    return pipe
                self._spool(pipe)
            return open_bytes(self._spooled or self.name)
        except IsADirectoryError as error:
            raise InputError("is a directory; give a file", file=self.name) from error
        except FileNotFoundError as error:
            raise InputError("no such file", file=self.name) from error
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=self.name) from error

    def _is_pipe(self) -> bool:
        if self.name == "-":
            return True
        if is_remote(self.name):
            return False
        mode = os.stat(self.name).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(self.name)
        return not stat.S_ISREG(mode)

    def _unbuffered(self) -> BinaryIO:
        if self.name != "-":
            return open(self.name, "rb", buffering=0)
        try:
            return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
        except io.UnsupportedOperation:  # no file, but something in memory
            return sys.stdin.buffer

    def _spool(self, pipe: Pipe) -> None:
        descriptor, path = tempfile.mkstemp(prefix="bitweft-")
        weakref.finalize(self, _remove, path)
        with os.fdopen(descriptor, "wb") as copy, pipe:
            while block := pipe.read(BLOCK):
                copy.write(block)
        self._spooled = path


def _decoded_lines(block: bytes, oddities: Oddities) -> str:
    """Decode line by line, and leave those empty that cannot be."""
    lines = []
    for line in block.split(b"\n"):
        try:
            lines.append(line.decode("utf-8"))
        except UnicodeDecodeError:
            oddities.damaged += 1
            lines.append("")
    return "\n".join(lines)


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


def _without_returns(text: str, oddities: Oddities) -> str:
    """Drop the carriage return at the end of each line that has one."""
    oddities.crlf += text.count("\r\n")
    text = text.replace("\r\n", "\n")
    if text.endswith("\r"):  # a last line without its line feed
        oddities.crlf += 1
        text = text[:-1]
    return text


def _count_spaces(text: str, oddities: Oddities) -> None:
    # Whole blocks are looked through first: most have none, or one kind, which is found sooner by itself.
    odd = [space for space in ODD_SPACES if space in text]
    if odd:
        oddities.odd_spaces += _lines_with(odd[0] if len(odd) == 1 else ODD_SPACE, text)
    if "  " in text:
        oddities.repeated_spaces += _lines_with("  ", text)


def _lines_with(what: str | re.Pattern[str], text: str) -> int:
    """Count the lines in which something is found."""
    lines, place = 0, _find(what, text, 0)
    while place >= 0:
        lines += 1
        end = text.find("\n", place)
        place = -1 if end < 0 else _find(what, text, end)
    return lines


def _find(what: str | re.Pattern[str], text: str, start: int) -> int:
    if isinstance(what, str):
        return text.find(what, start)
    found = what.search(text, start)
    return -1 if found is None else found.start()
