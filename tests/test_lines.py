"""Lines of files: plain or compressed, told apart by content, with faults named."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import subprocess
import sys
import threading
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


def test_utf16_is_recognized(file: Path) -> None:
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


SKIPPABLE = b"\x5a\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("checksum", [False, True])
def test_skippable_frames_of_zstd_are_passed_over(file: Path, place: int, checksum: bool) -> None:
    pack = zstandard.ZstdCompressor(write_checksum=checksum).compress
    half = TEXT.index(b"ligne 10000")
    frames = [pack(TEXT[:half]), pack(TEXT[half:])]
    frames.insert(place, SKIPPABLE)
    file.write_bytes(b"".join(frames))
    assert lines(file) == TEXT.decode().splitlines()
    file.write_bytes(b"".join(frames) + SKIPPABLE[:-2])
    with pytest.raises(InputError, match="cut short"):
        lines(file)
    file.write_bytes(b"".join(frames) + b"more")
    with pytest.raises(InputError, match="not of zstd"):
        lines(file)


@pytest.mark.parametrize("size", [0, 1, 1000, 131_072, 131_073, 1_000_000])
def test_zstd_written_in_any_way_is_read(file: Path, size: int) -> None:
    content = (TEXT * 4)[:size]
    for level in (-5, 1, 19):
        compressor = zstandard.ZstdCompressor(level=level)
        stream = compressor.compressobj()  # does not know the size
        pieces = [stream.compress(content[:500]), stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)]
        pieces += [stream.compress(content[500:]), stream.flush()]
        for packed in (compressor.compress(content), b"".join(pieces)):
            file.write_bytes(packed)
            assert b"".join(line + b"\n" for line in LineFile(file).raw_lines()).startswith(content)
            for end in range(len(packed) - 3, len(packed)):
                file.write_bytes(packed[:end])
                with pytest.raises(InputError, match="cut short"):
                    lines(file)


@pytest.mark.parametrize("padding", [4, 400_000])
def test_xz_streams_may_be_padded(file: Path, padding: int) -> None:
    half = TEXT.index(b"ligne 10000")
    first, second = lzma.compress(TEXT[:half]), lzma.compress(TEXT[half:])
    file.write_bytes(first + b"\0" * padding + second + b"\0" * padding)
    assert lines(file) == TEXT.decode().splitlines()
    file.write_bytes(first + second[:-10])
    with pytest.raises(InputError, match="cut short"):
        lines(file)
    file.write_bytes(first + b"\0" * padding + b"garbage")
    with pytest.raises(InputError, match=r"cannot be read|cut short"):
        lines(file)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in another way")
def test_a_little_zstd_that_grows_large_is_streamed(file: Path) -> None:
    text = b"la vie est belle\n" * (1 << 20)
    file.write_bytes(zstandard.ZstdCompressor().compress(text) * 16)  # 285 MB
    program = f"""
import resource
from bitweft.text.lines import LineFile
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(sum(1 for _ in LineFile({str(file)!r}).raw_lines()))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    count, grown = map(int, done.stdout.split())
    assert count == 16 << 20
    assert grown < 20_000  # kB


@pytest.mark.parametrize("kind", ["plain", *PACK])
def test_a_line_too_long_is_damaged_and_not_held(
    file: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bitweft.text.lines.LONGEST_LINE", 500_000)
    good, long = b"x" * 500_000, b"y" * 500_001
    content = b"\n".join([b"a", good, long, b"b", long * 5, good])
    file.write_bytes(PACK[kind](content) if kind != "plain" else content)
    with pytest.raises(InputError, match=r":3: the line is longer than 500,000 bytes"):
        lines(file)
    oddities = Oddities()
    found = list(LineFile(file, strict=False).lines(oddities))
    assert found == ["a", good.decode(), "", "b", "", good.decode()]
    assert oddities.damaged == 2
    for ending in (b"", b"\n"):
        file.write_bytes(long + ending)
        assert list(LineFile(file, strict=False).lines()) == [""]


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize("packed", [False, True])
def test_a_pipe_that_streams_gives_what_a_file_does(tmp_path: Path, packed: bool) -> None:
    content = b"\xef\xbb\xbfa  b\r\n" + "é\u00a0x\n".encode() + b"\xff\n" + b"y" * 300_000 + b"\n\nend"
    plain = tmp_path / "plain"
    plain.write_bytes(content)
    expected, oddities = Oddities(), Oddities()
    known = list(LineFile(plain, strict=False).lines(expected))
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=(gzip.compress(content) if packed else content,))
    writer.start()
    file = LineFile(fifo, strict=False, streaming=True)
    assert file.head(2) == known[:2]
    assert list(file.lines(oddities)) == known and oddities == expected
    writer.join()
    if packed:  # it was copied
        assert list(file.lines()) == known
    else:
        with pytest.raises(RuntimeError, match="walked twice"):
            list(file.lines())
