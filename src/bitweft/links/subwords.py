"""Find the tokens of one tokenization in another of nearly the same text.

Subword tools change the text that they cut: SentencePiece normalizes (NFKC), others lower-case, escape
(`&apos;`), drop zero-width signs, mark pieces (`▁`, `@@`, `##`), write bytes for characters, and put `<unk>`
for what they do not know and `</s>` at the end. Both texts are brought to bare characters first; what
differs then is bridged by the longest common subsequence of characters.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from bitweft.text.bitext import Sentence

ENOUGH = 0.8  # of the characters must be found again; two sentences of one language share about half
MOST_EDITS = 1_000  # characters that differ, after which the search is given up
UNKNOWN = frozenset(("<unk>", "[UNK]", "⁇", "▁⁇", "▁<unk>", "<UNK>"))
EMPTY = frozenset(("<s>", "</s>", "<pad>", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "<mask>", "<bos>", "<eos>"))
_NOTHING = frozenset(("▁", *map(chr, range(0xFE00, 0xFE10))))  # and variation selectors
_BYTE = re.compile(r"(▁?)<0x([0-9A-Fa-f]{2})>")
_ESCAPED = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});")


class Bare(NamedTuple):
    """Hold the bare characters of a sentence, and the tokens that they come from."""

    characters: str
    owners: list[int]  # of each character: the token where it begins
    unknown: list[tuple[int, int]]  # token that stands for unknown text, number of the character after it
    inner: list[tuple[int, int]]  # token of bytes inside a character, and the token where that begins


def positions(sentence: Sentence, other: Sentence) -> list[list[int]]:
    """For each token, list the tokens of the other tokenization that share a character with it.

    Raises:
        ValueError: too few characters of one are found in the other.
    """
    if sentence.tokens == other.tokens:
        return [[place] for place in range(len(sentence))]
    mine, theirs = _plain(sentence.tokens), _plain(other.tokens)
    if mine.characters == theirs.characters:
        pairs = set(zip(mine.owners, theirs.owners, strict=True))
    else:
        pairs = _approximate(sentence, other)
    found: list[list[int]] = [[] for _ in sentence.tokens]
    for own, their in sorted(pairs):
        found[own].append(their)
    if not _spaces_are_tokens(sentence.tokens):
        _give_to_the_next(sentence.tokens, found)
    return found


def _plain(tokens: Sequence[str]) -> Bare:
    """Take the marks of pieces off, and change nothing else."""
    return _owned("".join(piece.replace("▁", " ").split()) for piece in _unmarked(tokens))


def _unmarked(tokens: Sequence[str]) -> Iterator[str]:
    last = len(tokens) - 1
    for place, token in enumerate(tokens):
        yield token[:-2] if token.endswith("@@") and place < last else token


def _owned(texts: Iterator[str]) -> Bare:
    characters, owners = [], []
    for place, text in enumerate(texts):
        characters.append(text)
        owners += [place] * len(text)
    return Bare("".join(characters), owners, [], [])


def _spaces_are_tokens(tokens: Sequence[str]) -> bool:
    """Tell whether `▁` stands for a space, as a token of its own, and nowhere else."""
    return "▁" in tokens and not any(len(token) > 1 and "▁" in token for token in tokens)


def _give_to_the_next(tokens: Sequence[str], found: list[list[int]]) -> None:
    # A piece of nothing but `▁` belongs to the piece that follows it.
    for place in range(len(tokens) - 2, -1, -1):
        if not found[place] and tokens[place].strip("▁") == "" and found[place + 1]:
            found[place] = [found[place + 1][0]]


def _approximate(sentence: Sentence, other: Sentence) -> set[tuple[int, int]]:
    best: tuple[float, set[tuple[int, int]]] = (0.0, set())
    for mine in _readings(sentence.tokens):
        for theirs in _readings(other.tokens):
            best = max(best, _matched(mine, theirs), key=lambda result: result[0])
    if best[0] < ENOUGH:
        raise ValueError(f"not the same text: {_short(sentence.text)} and {_short(other.text)}")
    return best[1]


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")


def _readings(tokens: Sequence[str]) -> list[Bare]:
    """Read tokens as text and, where they may be bytes written as letters (GPT-2's way), as these bytes."""
    readings = [_normalized(tokens)]
    text = "".join(token for token in tokens if token not in EMPTY)
    if not text.isascii() and set(text) <= _byte_letters().keys():
        readings.append(_of_bytes([bytes(map(_byte_letters().__getitem__, token)) for token in tokens]))
    return readings


def _normalized(tokens: Sequence[str]) -> Bare:
    characters: list[str] = []
    owners: list[int] = []
    unknown: list[tuple[int, int]] = []
    inner: list[tuple[int, int]] = []
    pieces = list(_unmarked(tokens))
    for is_bytes, group in groupby(range(len(pieces)), key=lambda n: _BYTE.fullmatch(pieces[n]) is not None):
        places = list(group)
        if is_bytes:
            parts = _of_bytes([bytes.fromhex(pieces[n].removeprefix("▁")[3:5]) for n in places])
            characters.append(parts.characters)
            owners += [places[owner] for owner in parts.owners]
            inner += [(places[token], places[owner]) for token, owner in parts.inner]
            continue
        for place in places:
            piece = pieces[place]
            if piece in UNKNOWN:
                unknown.append((place, len(owners)))
            elif piece not in EMPTY:
                bare = _bare(piece[2:] if place and len(piece) > 2 and piece.startswith("##") else piece)
                characters.append(bare)
                owners += [place] * len(bare)
    return Bare("".join(characters), owners, unknown, inner)


def _bare(piece: str) -> str:
    if "&" in piece:
        piece = _ESCAPED.sub(lambda found: html.unescape(found[0]), piece)
    return "".join(map(_bare_character, piece))


@lru_cache(maxsize=1 << 16)
def _bare_character(character: str) -> str:
    """Decompose one character and fold its case; spaces, zero-width and control signs are nothing."""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(
        sign
        for sign in decomposed
        if sign not in _NOTHING and not sign.isspace() and unicodedata.category(sign) not in ("Cf", "Cc")
    )


def _of_bytes(pieces: Sequence[bytes]) -> Bare:
    """Decode pieces of bytes, which may end inside a character."""
    tokens = [token for token, piece in enumerate(pieces) for _ in piece]
    characters: list[str] = []
    owners: list[int] = []
    inner: list[tuple[int, int]] = []
    place = 0
    for character in b"".join(pieces).decode("utf-8", errors="surrogateescape"):
        size = len(character.encode("utf-8", errors="surrogateescape"))
        own = tokens[place : place + size]
        bare = _bare_character(character)
        characters.append(bare)
        owners += own[:1] * len(bare)
        inner += [(token, own[0]) for token in sorted(set(own[1:]) - {own[0]})]
        place += size
    return Bare("".join(characters), owners, [], inner)


@lru_cache(maxsize=1)
def _byte_letters() -> dict[str, int]:
    """Give the byte that each letter of a byte-level tokenizer stands for, as in GPT-2's vocabulary."""
    printed = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printed]
    return {chr(byte): byte for byte in printed} | {chr(256 + n): byte for n, byte in enumerate(others)}


def _matched(mine: Bare, theirs: Bare) -> tuple[float, set[tuple[int, int]]]:
    """Return the share of characters that both have, and the tokens that belong together."""
    total = len(mine.characters) + len(theirs.characters)
    limit = MOST_EDITS if mine.unknown or theirs.unknown else int(total * (1 - ENOUGH)) + 1
    common = list(_common(mine.characters, theirs.characters, min(limit, MOST_EDITS)))
    pairs = {(mine.owners[a], theirs.owners[b]) for a, b in common}
    explained = 2 * len(common)
    last_a = last_b = -1
    for a, b in [*common, (len(mine.characters), len(theirs.characters))]:
        own, own_unknown = _between(mine, last_a + 1, a)
        their, their_unknown = _between(theirs, last_b + 1, b)
        pairs.update(_side_by_side(own, their))
        # What an unknown piece stands for is no fault of the text.
        explained += (a - last_a - 1) * their_unknown + (b - last_b - 1) * own_unknown
        last_a, last_b = a, b
    pairs.update(_of_inner(mine.inner, pairs))
    turned = ((their, own) for own, their in pairs)
    pairs.update([(own, their) for their, own in _of_inner(theirs.inner, turned)])
    return (explained / total if total else 1.0), pairs


def _of_inner(inner: Sequence[tuple[int, int]], pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pair the tokens inside a character with whatever the token has where it begins."""
    partners: defaultdict[int, list[int]] = defaultdict(list)
    for own, their in pairs if inner else ():
        partners[own].append(their)
    return [(token, their) for token, owner in inner for their in partners[owner]]


def _between(bare: Bare, start: int, end: int) -> tuple[list[int], bool]:
    """List the tokens between two characters that were found, the unknown among them."""
    place = itemgetter(1)
    first, last = bisect_left(bare.unknown, start, key=place), bisect_right(bare.unknown, end, key=place)
    unknown = [token for token, _ in bare.unknown[first:last]]
    return sorted({*bare.owners[start:end], *unknown}), bool(unknown)


def _side_by_side(own: Sequence[int], their: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pair two runs of tokens whose characters differ, in order, as evenly as can be."""
    for n, token in enumerate(own):
        first = n * len(their) // len(own)
        last = -(-(n + 1) * len(their) // len(own))
        for other in their[first:last]:
            yield token, other


def _common(a: str, b: str, limit: int) -> Iterator[tuple[int, int]]:
    """Give the places of the longest common subsequence, or only of the ends, if more than `limit` differs.

    Myers' O(ND) search on what is left between the common beginning and the common end.
    """
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    yield from ((n, n) for n in range(start))
    middle_a, middle_b = a[start : len(a) - end], b[start : len(b) - end]
    in_a, in_b = Counter(middle_a), Counter(middle_b)
    least = (in_a - in_b).total() + (in_b - in_a).total()  # must differ, in whatever order the others stand
    if middle_a and middle_b and least <= limit:
        yield from ((start + x, start + y) for x, y in _myers(middle_a, middle_b, limit))
    yield from ((len(a) - n, len(b) - n) for n in range(end, 0, -1))


def _myers(a: str, b: str, limit: int) -> list[tuple[int, int]]:
    """Return the places of the longest common subsequence, none if more than `limit` characters differ."""
    limit = min(limit, len(a) + len(b))
    reach = [0] * (2 * limit + 3)  # of each diagonal k, at limit + 1 + k: the farthest place in a
    trace: list[list[int]] = []  # of the diagonals -edits - 1 to edits + 1, before each round
    for edits in range(limit + 1):
        first = limit - edits
        trace.append(reach[first : first + 2 * edits + 3])
        for k in range(-edits, edits + 1, 2):
            x = _step(trace[edits], k, edits)[1]
            while x < len(a) and x - k < len(b) and a[x] == b[x - k]:
                x += 1
            reach[limit + 1 + k] = x
            if x >= len(a) and x - k >= len(b):
                return _way_back(trace, len(a), len(b))
    return []


def _step(reach: Sequence[int], k: int, edits: int) -> tuple[int, int]:
    """Return the diagonal from which diagonal k is entered with one edit more, and the place in a then."""
    if not edits:
        return 0, 0
    below, above = reach[edits + k], reach[edits + k + 2]
    if k == -edits or (k != edits and below < above):
        return k + 1, above
    return k - 1, below + 1


def _way_back(trace: Sequence[Sequence[int]], x: int, y: int) -> list[tuple[int, int]]:
    found = []
    for edits in range(len(trace) - 1, -1, -1):
        previous, entered = _step(trace[edits], x - y, edits)
        while x > entered:
            x, y = x - 1, y - 1
            found.append((x, y))
        x = trace[edits][edits + previous + 1] if edits else 0
        y = x - previous
    return found[::-1]
