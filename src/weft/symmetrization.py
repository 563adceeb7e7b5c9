"""Two directions of links made one: intersection, union, and the heuristics that grow between them.

Every heuristic but the union starts from the links that both directions have, and adds links that one
of them has.

    rule                    a neighbour is added when        at the end, a link is added when
    grow                    either word is unaligned         -          (4 neighbours: beside, above, below)
    grow-diag               either word is unaligned         -          (8 neighbours, as all that follow)
    grow-diag-final         either word is unaligned         either word is unaligned
    grow-diag-final-and     either word is unaligned         both words are unaligned
    strict-grow-diag        both words are unaligned         -
    strict-grow-diag-final  both words are unaligned         both words are unaligned

The first four are Moses' (symal) and fast_align's (atools). The strict ones are those of lilt's
alignment-scripts, which calls them grow-diagonal and grow-diagonal-final; most published figures of
fast_align and GIZA++ against neural aligners used these.

A link that is added covers its words at once, so the outcome depends on who comes first, and there Moses
and atools differ. Both walks are here:

    moses   goes through the links, by target and then source position, looks at the neighbours of each
            (left, right, above, below before the diagonal ones), and starts again until nothing is added;
            a link that was added further on is visited in the same round
    atools  goes through the links not yet taken, by source and then target position, takes those beside
            a taken one, and starts again until nothing is added

The end goes over the forward links first, then the backward ones, in both. `forward` is the direction in
which each target word chose a source word (fast_align without -r, Moses' b); that order is theirs too.
Swapping the languages therefore gives the inverse for intersection and union, and for `grow` on links of
directional models; for the others only where no two links compete for a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import chain
from math import sqrt
from operator import and_, or_, xor
from typing import NamedTuple, TypeAlias

from weft.alignment import Alignment, Link
from weft.errors import UsageError
from weft.lockstep import lockstep

# A matrix of links is a list of rows, and a row is a number with a bit for each column: a walk passes over
# many cells at once. Places begin at 1, and an empty row lies behind the last, so that every cell has
# neighbours.
_Rows: TypeAlias = list[int]
LONGEST = 1 << 20  # words in a sentence that links may point at

_MOVES = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))  # Moses' order


def _moves_by_pattern(moves: tuple[tuple[int, int], ...]) -> list[tuple[tuple[int, int], ...]]:
    """List, for each pattern of cells around a cell (three bits a row), the moves to them, in order."""
    bits = [1 << 3 * (row + 1) + column + 1 for row, column in moves]
    return [
        tuple(move for move, bit in zip(moves, bits, strict=True) if pattern & bit) for pattern in range(512)
    ]


class _Rule(NamedTuple):
    """Say which neighbours count, and how many words of a link (0 or 1) may be covered for it to be added."""

    moves: list[tuple[tuple[int, int], ...]]
    grow: int
    final: int | None = None


_AROUND, _BESIDE = _moves_by_pattern(_MOVES), _moves_by_pattern(_MOVES[:4])
_RULES = {
    "grow": _Rule(_BESIDE, 1),
    "grow-diag": _Rule(_AROUND, 1),
    "grow-diag-final": _Rule(_AROUND, 1, 1),
    "grow-diag-final-and": _Rule(_AROUND, 1, 0),
    "strict-grow-diag": _Rule(_AROUND, 0),
    "strict-grow-diag-final": _Rule(_AROUND, 0, 0),
}


def _pattern(rows: _Rows, row: int, left: int) -> int:
    """Return the nine cells of three rows, from the column `left`, as three bits a row."""
    return rows[row - 1] >> left & 7 | (rows[row] >> left & 7) << 3 | (rows[row + 1] >> left & 7) << 6


class _Taken:
    """The links taken so far, and the columns (words) that they cover; a row is covered if it has a bit."""

    def __init__(self, rows: _Rows) -> None:
        self.rows = rows
        self.columns = reduce(or_, rows)

    def add(self, row: int, bit: int, most: int) -> bool:
        """Take a link unless more than `most` of its words are covered; tell whether it is taken."""
        if (self.rows[row] != 0) + (self.columns & bit != 0) > most:
            return False
        self.rows[row] |= bit
        self.columns |= bit
        return True


def _grow_from_taken(taken: _Taken, pending: _Rows, rule: _Rule) -> None:
    """Go through the links taken, as Moses does, adding what may be added beside each."""
    moves, most, rows, columns = rule.moves, rule.grow, taken.rows, taken.columns
    again = True
    while again:
        again = False
        for row in range(1, len(rows) - 1):
            near = pending[row - 1] | pending[row] | pending[row + 1]
            walk = rows[row] & (near | near << 1 | near >> 1) if near else 0
            while walk:
                point = walk & -walk
                walk ^= point
                left = point.bit_length() - 2
                for down, right in moves[_pattern(pending, row, left)]:
                    # What is tried once is added or never will be, as a covered word stays covered.
                    at, bit = row + down, 2 << left + right
                    pending[at] ^= bit
                    if (rows[at] != 0) + (columns & bit != 0) > most:
                        continue
                    rows[at] |= bit
                    columns |= bit
                    if down == 0 and right > 0:
                        walk |= bit
                    elif down <= 0:  # behind the walk
                        near = pending[at - 1] | pending[at] | pending[at + 1]
                        again |= near & (bit << 1 | bit | bit >> 1) != 0
    taken.columns = columns


def _grow_from_pending(taken: _Taken, pending: _Rows, rule: _Rule) -> None:
    """Go through the links pending, as atools does, adding what may be added beside a link taken."""
    added = True
    while added:
        added = False
        for row in range(1, len(pending) - 1):
            walk = pending[row]
            while walk:
                bit = walk & -walk
                walk ^= bit
                beside = rule.moves[_pattern(taken.rows, row, bit.bit_length() - 2)]
                if beside and taken.add(row, bit, rule.grow):
                    pending[row] ^= bit
                    added = True


class _Walk(NamedTuple):
    target_major: bool
    grow: Callable[[_Taken, _Rows, _Rule], None]


_WALKS = {"moses": _Walk(True, _grow_from_taken), "atools": _Walk(False, _grow_from_pending)}

HEURISTICS = ("intersection", "union", *_RULES)
WALKS = tuple(_WALKS)


def symmetrize(
    forward: Alignment, backward: Alignment, heuristic: str = "grow-diag-final-and", *, walk: str = "moses"
) -> Alignment:
    """Combine the links of two directions, both given as (source, target), by the named heuristic.

    Probabilities are kept where both directions have them: a link of both gets the geometric mean of the two
    (the plain mean of scores below zero, taken as logarithms), a link of one keeps its own.
    """
    if heuristic not in HEURISTICS:
        raise UsageError(f"no heuristic {heuristic!r}; there are {', '.join(HEURISTICS)}")
    if walk not in WALKS:
        raise UsageError(f"no walk {walk!r}; there are {', '.join(WALKS)}")
    links: Iterable[Link]
    if heuristic == "union":
        links = {*forward.links, *backward.links}
    elif heuristic == "intersection":
        links = set(forward.links).intersection(backward.links)
    else:
        links = _grown(forward, backward, _RULES[heuristic], _WALKS[walk])
    return _with_probabilities(tuple(sorted(links)), forward, backward)


def symmetrize_all(
    forward: Iterable[Alignment],
    backward: Iterable[Alignment],
    heuristic: str = "grow-diag-final-and",
    *,
    walk: str = "moses",
    names: tuple[str, str] = ("forward", "backward"),
) -> Iterator[Alignment]:
    """Symmetrize line by line, holding one pair at a time; `names` are the files', for error messages."""
    for ahead, back in lockstep(forward, backward, names=names):
        yield symmetrize(ahead, back, heuristic, walk=walk)


def _grown(forward: Alignment, backward: Alignment, rule: _Rule, walk: _Walk) -> list[Link]:
    union = {*forward.links, *backward.links}
    size = 1 + max(chain.from_iterable(union), default=0)
    if size > LONGEST:
        raise UsageError(f"a link points at word {size:,}: sentences have at most {LONGEST:,} words")
    ahead, back = (_rows(links, size, walk.target_major) for links in (forward.links, backward.links))
    taken, pending = _Taken(list(map(and_, ahead, back))), list(map(xor, ahead, back))
    walk.grow(taken, pending, rule)
    if rule.final is not None:
        for direction in (ahead, back):
            for row, left in enumerate(map(and_, direction, pending)):
                while left:
                    bit = left & -left
                    left ^= bit
                    taken.add(row, bit, rule.final)
    rows = taken.rows
    if walk.target_major:
        return [link for link in union if rows[link[1] + 1] & 2 << link[0]]
    return [link for link in union if rows[link[0] + 1] & 2 << link[1]]


def _rows(links: Iterable[Link], size: int, target_major: bool) -> _Rows:
    rows = [0] * (size + 2)
    if target_major:
        for s, t in links:
            rows[t + 1] |= 2 << s
    else:
        for s, t in links:
            rows[s + 1] |= 2 << t
    return rows


def _with_probabilities(links: tuple[Link, ...], forward: Alignment, backward: Alignment) -> Alignment:
    ahead, back = _probability_of(forward), _probability_of(backward)
    if ahead is None or back is None or not links:
        return Alignment(links)
    return Alignment(links, tuple(_mean(ahead.get(link), back.get(link)) for link in links))


def _mean(ahead: float | None, back: float | None) -> float:
    if ahead is None or back is None:
        return ahead or back or 0.0
    return sqrt(ahead * back) if ahead >= 0 <= back else (ahead + back) / 2


def _probability_of(alignment: Alignment) -> dict[Link, float] | None:
    """Look probabilities up by link; an alignment without links lacks none."""
    if alignment.probabilities is None:
        return None if alignment.links else {}
    return dict(zip(alignment.links, alignment.probabilities, strict=True))
