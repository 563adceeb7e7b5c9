"""Compressed bytes as a stream: gzip, xz and zstd, told apart by content and never held whole.

What is cut short raises EOFError; what is damaged raises DamagedError, OSError or zlib.error.
"""

from __future__ import annotations

import gzip
import io
import lzma
from collections.abc import Iterator
from typing import BinaryIO, cast

BLOCK = 1 << 17  # bytes read at a time, and the most that a block of zstd can grow to

_XZ = b"\xfd7zXZ\x00"
_ZSTD = 0xFD2FB528
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)  # frames of zstd that hold something else


_MAGIC = (b"\x1f\x8b", _XZ, *(number.to_bytes(4, "little") for number in (_ZSTD, *_SKIPPABLE)))


class DamagedError(Exception):
    """Report compressed bytes that do not decompress."""


def decompressed(raw: BinaryIO) -> BinaryIO:
    """Give the content of a file, whether it is compressed or not; `raw` stands at its beginning."""
    start = raw.read(6)
    raw.seek(0)
    if start.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    if start == _XZ:
        return cast(BinaryIO, io.BufferedReader(_Blocks(_xz_blocks(raw)), BLOCK))
    magic = int.from_bytes(start[:4], "little")
    if magic == _ZSTD or magic in _SKIPPABLE:
        return cast(BinaryIO, io.BufferedReader(_Blocks(_zstd_blocks(raw)), BLOCK))
    return raw


def ahead(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Give the same blocks, the next of which is made, in a thread of its own, while one is looked at."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, blocks, b"")
        while block := coming.result():
            coming = pool.submit(next, blocks, b"")
            yield block


def is_compressed(start: bytes) -> bool | None:
    """Tell from its first bytes whether a file is compressed; None if it takes more of them to tell."""
    if any(map(start.startswith, _MAGIC)):
        return True
    return None if any(magic.startswith(start) for magic in _MAGIC) else False


class _Blocks(io.RawIOBase):
    """Read blocks of bytes, one after the other, as a file."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = memoryview(block)
        view = memoryview(cast(bytearray, buffer))
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _xz_blocks(raw: BinaryIO) -> Iterator[bytes]:
    """Decompress xz streams, with the zero bytes that may stand between them; the package's own reader
    takes all that follows such bytes for waste.
    """
    data = raw.read(BLOCK)
    while data:
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        try:
            while not stream.eof:
                if stream.needs_input and not data:
                    raise EOFError
                yield stream.decompress(data, BLOCK)
                data = raw.read(BLOCK) if stream.needs_input else b""
        except lzma.LZMAError as error:
            raise DamagedError(str(error)) from error
        data = (stream.unused_data + data).lstrip(b"\0") or _after_zeros(raw)


def _after_zeros(raw: BinaryIO) -> bytes:
    while data := raw.read(BLOCK):
        if rest := data.lstrip(b"\0"):
            return rest
    return b""


def _zstd_blocks(raw: BinaryIO) -> Iterator[bytes]:
    """Decompress zstd frames, block by block: a block grows to 128 kB at most, however small it is.

    To decompress more at a time would hold whatever a few bytes grow to.
    """
    import zstandard

    while magic := raw.read(4):
        number = int.from_bytes(magic, "little")
        if number in _SKIPPABLE:
            _skip(raw, int.from_bytes(_exactly(raw, 4), "little"))
            continue
        if number != _ZSTD:
            raise EOFError if len(magic) < 4 else DamagedError("a frame that is not of zstd")
        frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            for part in _frame_parts(raw, magic):
                yield frame.decompress(part)
        except zstandard.ZstdError as error:
            raise DamagedError(str(error)) from error
        if not frame.eof:
            raise DamagedError("a frame of zstd without its end")


def _frame_parts(raw: BinaryIO, magic: bytes) -> Iterator[bytes]:
    """Cut a frame, whose magic number was read, into its header, blocks and checksum (RFC 8878, 3.1.1)."""
    descriptor = _exactly(raw, 1)
    flags = descriptor[0]
    single, checksum = flags >> 5 & 1, flags >> 2 & 1
    content_size = (single, 2, 4, 8)[flags >> 6]
    dictionary_id = (0, 1, 2, 4)[flags & 3]
    yield magic + descriptor + _exactly(raw, 1 - single + dictionary_id + content_size)
    last = False
    while not last:
        header = _exactly(raw, 3)
        number = int.from_bytes(header, "little")
        last, kind, size = bool(number & 1), number >> 1 & 3, number >> 3
        if kind == 3 or size > BLOCK:
            raise DamagedError("a block of zstd of a kind or size that cannot be")
        yield header + _exactly(raw, 1 if kind == 1 else size)  # kind 1: one byte that is repeated
    if checksum:
        yield _exactly(raw, 4)


def _exactly(raw: BinaryIO, size: int) -> bytes:
    data = raw.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _skip(raw: BinaryIO, size: int) -> None:
    while size:
        size -= len(_exactly(raw, min(size, BLOCK)))
