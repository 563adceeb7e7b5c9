"""Inputs to break readers with: seeds, past finds, and what becomes of them by mutating and splicing."""

from __future__ import annotations

import gzip
import lzma
import random
from collections.abc import Sequence
from pathlib import Path

import zstandard

RUN = 10_000  # bytes of a run of something, at most
KEPT = Path(__file__).parents[1] / "finds"  # inputs that once made a fault

# What breaks readers: numbers at the edge, marks of formats, bytes that are no text.
TOKENS = (
    b"0-0", b"1?2", b"1p2", b"0-0:0.5", b"NULL-1", b"-1--1", b"99999999999-0", b"1-1:nan", b"|||", b" ||| ",
    b"\t", b"\r\n", b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", "é".encode(), b"\xf0\x9f\x91\xa9",
    b"{", b"}", b'"', b"[[0,0]]", b"1e999", b"null", b"NULL ({ 1 }) a ({ })", b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b" " * 300, b"a" * 5000, b"\\ud800", b"9223372036854775808-0",
    b"0-9223372036854775807", b"-0", b"1e-400", b"0x10", "٣".encode(), "²".encode(), b"Infinity", b"true",
    b"<b>", b"</b>", b"<br/>", b"{0}", b"B-LOC", b"\t_\t_\t", b"1-2\tdu\t_", b"T1\tLOC 0 4\tRome\n",
    b"[]", b"{}",
    b"# Sentence pair (1) source length 1 target length 1 alignment score : 1",
)  # fmt: skip
SEEDS = (
    b"0-0 1-1\n\n2-1 0-2\n",
    b"0-0 1?1\n0p0\n",
    b"0-0:0.5 1-NULL:0.1\n\n",
    b"1-1 2p3\n",
    b"1 1 1 S\n1 2 2 P 0.5\n0002 1 1\n",
    b"# Sentence pair (1) source length 2 target length 2 alignment score : 0.1\n"
    b"x y\nNULL ({ }) a ({ 1 }) b ({ 2 })\n",
    b'{"links": [[0, 0, 0.5]], "src": "a b", "tgt": "c", "score": 1.5}\n',
    b'{"translation": {"en": "a b", "fr": "c d"}}\n{"src": "a", "tgt": "b"}\n',
    b"the cat ||| le chat\n ||| \nthe ||| le\n",
    b"the cat\tle chat\n\t\n",
    b"the cat\nthe dog sleeps\n\n",
    b"cat\tchat\ndog\tchien\t2.5\n",
    b"NOUN VERB\nDET\n\n",
    b"Rome NNP B-LOC\nis VBZ O\n\nParis NNP B-LOC\n",
    b"1\tthe\tthe\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN\t_\t_\t0\troot\t_\t_\n\n",
    b'{"text": "Rome is old", "spans": [{"start": 0, "end": 4, "label": "LOC"}]}\n',
    b"a <b>bold</b> word<br/> {0}\nplain\n",
    b"T1\tLOC 0 4\tRome\nR1\tIn Arg1:T1 Arg2:T1\n#1\tNote T1\tx\n",
    b"LEX\tcat\tchat\t1\nHMMF\t1\t2\nFERF\tcat\t1\t0.5\n",
    b"3 2\ncat 0.5 -1\ndog 1e-3 2\n",
    b"the\t12\ncat\t3\n",
    b'{"source": "the cat", "target": "le chat", "alternatives": 2}',
    b'{"pairs": [{"source": "a", "target": "b"}], "tokenize": "char"}',
    b'{"links": [[0, 0]], "possible": [[1, 1]], "src": "a b", "tgt": "c d", "by": "x", "done": true}\n',
    b"house ||| maison\n",
    b"null=0.2\nlse_epochs=3\n",
    "▁the ▁c at\nle Ġchat ##s\n日本語 の 文\n".encode(),
)


def beginnings() -> list[bytes]:
    """Give the inputs that all others are grown from."""
    return [*SEEDS, *(path.read_bytes() for path in sorted(KEPT.iterdir()))]


def mutate(content: bytes, corpus: Sequence[bytes], chance: random.Random) -> bytes:
    """Change an input in a few places, and sometimes splice it with another, or compress it."""
    changed = bytearray(content)
    if chance.random() < 0.15:
        other = chance.choice(corpus)
        changed[chance.randint(0, len(changed)) :] = other[chance.randint(0, len(other)) :]
    for _ in range(chance.randint(0, 5)):
        place = chance.randint(0, len(changed))
        kind = chance.randrange(7)
        if kind == 0:
            changed[place:place] = chance.choice(TOKENS)
        elif kind == 1 and changed:
            changed[min(place, len(changed) - 1)] = chance.randrange(256)
        elif kind == 2:
            del changed[place : place + chance.randint(1, 20)]
        elif kind == 3:
            start = chance.randint(0, len(changed))
            changed[place:place] = changed[start : start + chance.randint(1, 50)]
        elif kind == 4 and chance.random() < 0.3:
            del changed[place:]
        elif kind == 5:
            changed += b"\n" + chance.choice(TOKENS)
        elif kind == 6 and chance.random() < 0.1:  # a run of something
            run = bytes(changed[place : place + chance.choice((1, 2, 4, 16, 40))])
            changed[place:place] = run * chance.randint(1, RUN // max(1, len(run)))
    return _compressed(bytes(changed), chance) if chance.random() < 0.02 else bytes(changed)


def _compressed(content: bytes, chance: random.Random) -> bytes:
    kind = chance.randrange(3)
    packed = (
        gzip.compress(content, 1)
        if kind == 0
        else lzma.compress(content, preset=0)
        if kind == 1
        else zstandard.compress(content)
    )
    if chance.random() < 0.5:
        return packed
    damaged = bytearray(packed)
    damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged[: chance.randint(0, len(damaged))] if chance.random() < 0.3 else damaged)
