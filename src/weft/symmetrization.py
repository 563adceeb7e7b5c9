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

from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from math import sqrt
from typing import NamedTuple, TypeAlias

from weft.alignment import Alignment, Link
from weft.errors import UsageError
from weft.lockstep import lockstep

# A cell of the matrix is one number, row * 2**_BITS + column, so that neighbours are sums and a walk's order
# is the numbers'. No sentence has 2**_BITS words, so a step over the edge never meets another cell.
_BITS = 30
_COLUMN = (1 << _BITS) - 1


class _Taken:
    """The cells taken so far, and the rows and columns (words) that they cover."""

    def __init__(self, cells: Iterable[int]) -> None:
        self.cells = set(cells)
        self.rows = {cell >> _BITS for cell in self.cells}
        self.columns = {cell & _COLUMN for cell in self.cells}

    def add(self, cell: int) -> None:
        self.cells.add(cell)
        self.rows.add(cell >> _BITS)
        self.columns.add(cell & _COLUMN)

    def either_unaligned(self, cell: int) -> bool:
        return cell >> _BITS not in self.rows or cell & _COLUMN not in self.columns

    def both_unaligned(self, cell: int) -> bool:
        return cell >> _BITS not in self.rows and cell & _COLUMN not in self.columns


_Predicate: TypeAlias = Callable[[_Taken, int], bool]

_MOVES = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))  # Moses' order
_AROUND = tuple((row << _BITS) + column for row, column in _MOVES)
_BESIDE = _AROUND[:4]


class _Rule(NamedTuple):
    neighbours: tuple[int, ...]
    grow: _Predicate
    final: _Predicate | None = None


_EITHER, _BOTH = _Taken.either_unaligned, _Taken.both_unaligned
_RULES = {
    "grow": _Rule(_BESIDE, _EITHER),
    "grow-diag": _Rule(_AROUND, _EITHER),
    "grow-diag-final": _Rule(_AROUND, _EITHER, _EITHER),
    "grow-diag-final-and": _Rule(_AROUND, _EITHER, _BOTH),
    "strict-grow-diag": _Rule(_AROUND, _BOTH),
    "strict-grow-diag-final": _Rule(_AROUND, _BOTH, _BOTH),
}


def _round_from_taken(taken: _Taken, pending: set[int], rule: _Rule) -> None:
    """Go once through the cells taken, as Moses does, adding what may be added beside each."""
    # Most cells have nothing pending beside them. So the walk is a sorted list of visits, each one number:
    # the cell that is taken, and which of its eight neighbours to try.
    neighbours, both, cells = rule.neighbours, rule.grow is _BOTH, taken.cells
    rows, columns = taken.rows, taken.columns
    steps = tuple(enumerate(neighbours))
    visits = [point * 8 + turn for cell in pending for turn, step in steps if (point := cell - step) in cells]
    visits.sort()
    for visit in visits:  # grows ahead of the walk
        point = visit >> 3
        cell = point + neighbours[visit & 7]
        if cell not in pending:
            continue
        pending.remove(cell)
        row, column = cell >> _BITS, cell & _COLUMN
        covered = (row in rows) + (column in columns)
        if covered == 0 or (covered == 1 and not both):
            cells.add(cell)
            rows.add(row)
            columns.add(column)
            if cell > point and pending:
                for turn, step in steps:
                    if cell + step in pending:
                        insort(visits, cell * 8 + turn)


def _round_from_pending(taken: _Taken, pending: set[int], rule: _Rule) -> None:
    """Go once through the cells pending, as atools does, adding what may be added beside a cell taken."""
    for cell in sorted(pending):
        if rule.grow(taken, cell) and not taken.cells.isdisjoint([cell + step for step in rule.neighbours]):
            taken.add(cell)


class _Walk(NamedTuple):
    target_major: bool
    round: Callable[[_Taken, set[int], _Rule], None]


_WALKS = {"moses": _Walk(True, _round_from_taken), "atools": _Walk(False, _round_from_pending)}

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
    if walk.target_major:
        ahead = {(t << _BITS) + s for s, t in forward.links}
        back = {(t << _BITS) + s for s, t in backward.links}
    else:
        ahead = {(s << _BITS) + t for s, t in forward.links}
        back = {(s << _BITS) + t for s, t in backward.links}
    taken = _Taken(ahead & back)
    others = ahead ^ back
    _grow(taken, others, rule, walk)
    if rule.final is not None:
        left = sorted(others - taken.cells)
        for direction in (ahead, back):
            for cell in left:
                if cell in direction and rule.final(taken, cell):
                    taken.add(cell)
    if walk.target_major:
        return [(cell & _COLUMN, cell >> _BITS) for cell in taken.cells]
    return [(cell >> _BITS, cell & _COLUMN) for cell in taken.cells]


def _grow(taken: _Taken, candidates: set[int], rule: _Rule, walk: _Walk) -> None:
    """Add candidates beside the cells taken, round after round, until a round adds nothing."""
    rows, columns, size = taken.rows, taken.columns, -1
    while len(taken.cells) != size:
        size = len(taken.cells)
        # A covered word stays covered: what may not be added now never may.
        candidates = candidates - taken.cells
        if rule.grow is _EITHER:
            candidates = {c for c in candidates if c >> _BITS not in rows or c & _COLUMN not in columns}
        else:
            candidates = {cell for cell in candidates if rule.grow(taken, cell)}
        if not candidates:
            break
        walk.round(taken, set(candidates), rule)


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
