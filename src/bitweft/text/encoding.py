"""Text that is not UTF-8 as a whole: what it is instead, and what turns it into UTF-8."""

from __future__ import annotations

import codecs

MANY = 10  # lines that are not UTF-8, from which on it is the file that is at fault and not a line
SHORTEST = 256  # bytes: NULs in a shorter file tell nothing of its encoding
_NUL_SHARE = 0.05  # of the bytes: English in UTF-16 has half of them, Chinese its line feeds at least
_UTF16 = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


def foreign_encoding(block: bytes) -> str | None:
    """Say which encoding the beginning of a file is in, if it is plainly not UTF-8."""
    if block[:2] in _UTF16:
        return _UTF16[block[:2]]
    if len(block) >= SHORTEST and block.count(0) > _NUL_SHARE * len(block):
        even, odd = block[0::2].count(0), block[1::2].count(0)
        return "UTF-16LE" if odd > even else "UTF-16BE"
    lines = [line for line in block.split(b"\n") if not line.isascii()]
    foreign = [line for line in lines if not _is_utf8(line)]
    if len(foreign) < MANY or 2 * len(foreign) < len(lines):
        return None
    # The bytes from 0x80 to 0x9f are control signs in Latin-1, and quotes and dashes in Windows' kind of it.
    return "WINDOWS-1252" if any(0x80 <= byte < 0xA0 for line in foreign for byte in line) else "LATIN1"


def remedy(encoding: str, name: str) -> str:
    """Say what to do about a file in another encoding."""
    like = "Latin-1 or another encoding of single bytes" if not encoding.startswith("UTF") else encoding
    return f"the file is not UTF-8; it looks like {like}: iconv -f {encoding} -t UTF-8 {name} > {name}.utf8"


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
