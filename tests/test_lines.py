"""Lines of files: plain or compressed, told apart by content, with faults named."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from bitweft.errors import InputError
from bitweft.text.lines import LineFile, Oddities

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
TEXT = "".join(f"ligne {number} é\n" for number in range(20_000)).encode()


def lines(path: Path) -> list[str]:
    return list(LineFile(path).lines())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.txt"


@pytest.mark.parametrize("kind", PACK)
def test_compressed_files_are_told_by_content(file: Path, kind: str) -> None:
    half = TEXT.index(b"ligne 10000")
    file.write_bytes(PACK[kind](TEXT[:half]) + PACK[kind](TEXT[half:]))
    assert lines(file) == TEXT.decode().splitlines()
    assert b"\n".join(LineFile(file).raw_lines()) + b"\n" == TEXT


@pytest.mark.parametrize("kind", PACK)
def test_a_compressed_file_cut_short(file: Path, kind: str) -> None:
    file.write_bytes(PACK[kind](TEXT)[:-20])
    with pytest.raises(InputError, match="cut short"):
        lines(file)


@pytest.mark.parametrize("kind", PACK)
def test_a_damaged_compressed_file(file: Path, kind: str) -> None:
    packed = bytearray(PACK[kind](TEXT))
    packed[40:80] = b"\xff" * 40
    file.write_bytes(packed)
    with pytest.raises(InputError, match=r"cannot be read|not UTF-8|cut short"):
        lines(file)


def test_an_empty_zstd_frame(file: Path) -> None:
    file.write_bytes(PACK["zstd"](b""))
    assert lines(file) == []


@given(parts=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\ufeff"))))
def test_only_line_feeds_end_lines(parts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "lines.txt"
    path.write_bytes("".join(part + "\n" for part in parts).encode())
    assert lines(path) == parts
    path.write_bytes("".join(part + "\r\n" for part in parts).encode())
    oddities = Oddities()
    assert list(LineFile(path).lines(oddities)) == parts
    assert oddities.crlf == len(parts)


@pytest.mark.parametrize("before", [0, 3, 70_000])
def test_bad_utf8_is_named_by_line_and_byte(file: Path, before: int) -> None:
    file.write_bytes(b"good\n" * before + b"ab\xe9cd\ngood\n")
    with pytest.raises(InputError) as caught:
        lines(file)
    assert str(caught.value).startswith(f"{file}:{before + 1}: not UTF-8 at byte 3 of the line (0xe9)")


def test_utf16_is_recognised(file: Path) -> None:
    file.write_bytes("abc\n".encode("utf-16"))
    with pytest.raises(InputError, match="looks like UTF-16"):
        lines(file)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory"):
        lines(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        lines(tmp_path / "missing")


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    secret.chmod(0)
    if os.access(secret, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(InputError, match="cannot be read"):
        lines(secret)


def test_standard_input_is_walked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"a\nb\n"))))
    file = LineFile("-")
    assert list(file.lines()) == list(file.lines()) == ["a", "b"]
    copy = file._spooled
    assert copy is not None and os.path.exists(copy)
    del file
    assert not os.path.exists(copy)


@pytest.mark.parametrize("text", [b"a\n\xff", b"\xff", b"a\n\xff\nb", b"\xff\n\xff", b"\xff\r\n\xfe"])
def test_damaged_lines_are_empty_ones_where_that_is_allowed(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "text"
    path.write_bytes(text)
    oddities = Oddities()
    lines = list(LineFile(path, strict=False).lines(oddities))
    raw = text.removesuffix(b"\n").split(b"\n")
    assert lines == ["" if b"\xff" in line or b"\xfe" in line else line.decode() for line in raw]
    assert oddities.damaged == sum(1 for line in raw if b"\xff" in line or b"\xfe" in line)
