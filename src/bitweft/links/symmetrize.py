"""Two directions of links made one: intersection, union, and the heuristics that grow between them.

Every heuristic but the union starts from the links that both directions have, and adds links that one
of them has.

    rule                    a neighbor is added when        at the end, a link is added when
    grow                    either word is unaligned         -          (4 neighbors: beside, above, below)
    grow-diag               either word is unaligned         -          (8 neighbors, as all that follow)
    grow-diag-final         either word is unaligned         either word is unaligned
    grow-diag-final-and     either word is unaligned         both words are unaligned
    strict-grow-diag        both words are unaligned         -
    strict-grow-diag-final  both words are unaligned         both words are unaligned

The first four are Moses' (symal) and fast_align's (atools). The strict ones are those of lilt's
alignment-scripts, which calls them grow-diagonal and grow-diagonal-final; most published figures of
fast_align and GIZA++ against neural aligners used these.

A link that is added covers its words at once, so the outcome depends on who comes first, and there Moses
and atools differ. Both orders are here:

    moses   goes through the links, by target and then source position, looks at the neighbors of each
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

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from math import sqrt
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Alignment, Link
from bitweft.storage.lockstep import lockstep

_Ints: TypeAlias = npt.NDArray[np.int64]
_Links: TypeAlias = Sequence[tuple[Link, ...]]

MOST = 2000  # pairs that are handled together
ROOM = 1 << 22  # and so many words, every pair taken for as long as the longest
LONGEST = 1 << 20  # words in a sentence that links may point at

_MOVES = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))  # Moses' order


class _Rule(NamedTuple):
    """Say which neighbors count, and how many words of a link (0 or 1) may be covered for it to be added."""

    moves: tuple[tuple[int, int], ...]
    grow: int
    final: int | None = None


_RULES = {
    "grow": _Rule(_MOVES[:4], 1),
    "grow-diag": _Rule(_MOVES, 1),
    "grow-diag-final": _Rule(_MOVES, 1, 1),
    "grow-diag-final-and": _Rule(_MOVES, 1, 0),
    "strict-grow-diag": _Rule(_MOVES, 0),
    "strict-grow-diag-final": _Rule(_MOVES, 0, 0),
}


class _Cells:
    """The cells that either direction links, of many pairs, in an order: by pair, row and column.

    A cell is named by its place in that order. Pairs do not meet: a row and a column lie between them.
    """

    def __init__(self, forward: _Links, backward: _Links, *, target_major: bool) -> None:
        pairs = len(forward)
        counts = np.fromiter(map(len, chain(forward, backward)), np.int64, 2 * pairs)
        numbers = chain.from_iterable(chain.from_iterable(chain(forward, backward)))
        links = np.fromiter(numbers, np.int64, 2 * int(counts.sum())).reshape(-1, 2)
        size = int(links.max(initial=-1)) + 1
        self.size = size + 2
        self.target_major = target_major
        pair = np.repeat(np.arange(2 * pairs) % max(pairs, 1), counts)
        row, column = links.T[::-1] if target_major else links.T
        codes = (pair * self.size + row + 1) * self.size + column + 1
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        fresh = np.diff(codes, prepend=-1) > 0
        self.codes = codes[fresh]
        own = np.cumsum(fresh) - 1
        ahead = order < counts[:pairs].sum()
        self.directions = np.zeros((2, len(self.codes)), bool)
        self.directions[0, own[ahead]] = True
        self.directions[1, own[~ahead]] = True
        self.rows = self.codes // self.size  # of all pairs, one below the other
        self.pairs = self.rows // self.size
        self.columns = self.pairs * self.size + self.codes % self.size  # likewise
        self.taken = np.append(self.directions.all(0), False)  # and a cell that is nowhere
        self.covered = np.zeros((2, pairs * self.size), bool)  # rows and columns with a cell that is taken
        self._cover(np.flatnonzero(self.taken))

    def _cover(self, cells: _Ints) -> None:
        self.covered[0, self.rows[cells]] = True
        self.covered[1, self.columns[cells]] = True

    def addable(self, cells: _Ints, most: int) -> _Ints:
        """Return those cells of whose row and column at most so many are covered."""
        covered = self.covered[0, self.rows[cells]].astype(np.int8) + self.covered[1, self.columns[cells]]
        addable: _Ints = cells[covered <= most]
        return addable

    def add(self, cells: _Ints, most: int) -> bool:
        """Take what may be taken of cells of different pairs; tell whether anything was."""
        cells = self.addable(cells, most)
        self.taken[cells] = True
        self._cover(cells)
        return len(cells) > 0

    def beside(self, cells: _Ints, moves: Iterable[tuple[int, int]]) -> _Ints:
        """Return the cells from which each move leads to each of `cells`: (cells, moves)."""
        nowhere = len(self.codes)
        codes = np.append(self.codes, -1)
        found = {}
        for row in (-1, 0, 1):
            wanted = self.codes[cells] - row * self.size - 2
            place = np.searchsorted(self.codes, wanted + 1)
            for column in (1, 0, -1):  # cells of a row follow one another
                wanted = wanted + 1
                there = codes[place] == wanted
                found[row, column] = np.where(there, place, nowhere)
                place = place + there
        return np.stack([found[move] for move in moves], 1)

    def links(self) -> list[tuple[Link, ...]]:
        """Return the links taken of each pair, sorted."""
        cells = np.flatnonzero(self.taken)
        rows, columns = self.rows[cells] % self.size - 1, self.columns[cells] % self.size - 1
        if self.target_major:
            order = np.argsort(self.columns[cells] * self.size + rows)
            cells, rows, columns = cells[order], columns[order], rows[order]
        links = list(zip(rows.tolist(), columns.tolist(), strict=True))
        pairs = self.covered.shape[1] // self.size
        bounds = [0, *np.searchsorted(self.pairs[cells], np.arange(pairs), "right").tolist()]
        return [tuple(links[start:end]) for start, end in pairwise(bounds)]


def _turns(pairs: _Ints) -> Iterator[_Ints]:
    """Part places, sorted by pair, into the first ones of each pair, the second ones, and so on."""
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    rank = np.arange(len(pairs)) - np.repeat(starts, np.diff(starts, append=len(pairs)))
    order = np.argsort(rank, kind="stable")
    ends = np.cumsum(np.bincount(rank)).tolist()
    return (order[start:end] for start, end in pairwise([0, *ends]))


def _grow_from_taken(cells: _Cells, rule: _Rule) -> None:
    """Go through the links taken, as Moses does, adding what may be added beside each."""
    pending = ~cells.taken
    wanted = cells.addable(np.flatnonzero(pending[:-1]), rule.grow)  # a covered word stays covered
    points = cells.beside(wanted, rule.moves)
    which, move = np.nonzero(points < len(cells.codes))
    point, cell = points[which, move], wanted[which]
    order = np.argsort(point * len(rule.moves) + move)  # of the rule, should the point be taken by then
    point, cell = point[order], cell[order]
    added = True
    while added:
        added = False
        for turn in _turns(cells.pairs[point]):
            now = cell[turn][cells.taken[point[turn]] & pending[cell[turn]]]
            pending[now] = False  # what is tried once is added or never will be
            added |= cells.add(now, rule.grow)
        left = pending[cell]
        point, cell = point[left], cell[left]


def _grow_from_pending(cells: _Cells, rule: _Rule) -> None:
    """Go through the links pending, as atools does, adding what may be added beside a link taken."""
    pending = cells.addable(np.flatnonzero(~cells.taken[:-1]), rule.grow)
    points = cells.beside(pending, rule.moves)
    added = True
    while added:
        added = False
        for turn in _turns(cells.pairs[pending]):
            beside = cells.taken[points[turn]].any(1) & ~cells.taken[pending[turn]]
            added |= cells.add(pending[turn][beside], rule.grow)


class _Order(NamedTuple):
    target_major: bool
    grow: Callable[[_Cells, _Rule], None]


_ORDERS = {"moses": _Order(True, _grow_from_taken), "atools": _Order(False, _grow_from_pending)}

HEURISTICS = ("intersection", "union", *_RULES)
ORDERS = tuple(_ORDERS)


def symmetrize(
    forward: Alignment, backward: Alignment, heuristic: str = "grow-diag-final-and", *, order: str = "moses"
) -> Alignment:
    """Combine the links of two directions, both given as (source, target), by the named heuristic.

    Probabilities are kept where both directions have them: a link of both gets the geometric mean of the two
    (the plain mean of scores below zero, taken as logarithms), a link of one keeps its own.
    """
    return next(symmetrize_all([forward], [backward], heuristic, order=order))


def symmetrize_all(
    forward: Iterable[Alignment],
    backward: Iterable[Alignment],
    heuristic: str = "grow-diag-final-and",
    *,
    order: str = "moses",
    names: tuple[str, str] = ("forward", "backward"),
) -> Iterator[Alignment]:
    """Symmetrize pair by pair, holding some thousands at a time; `names` are the files', for messages."""
    if heuristic not in HEURISTICS:
        raise UsageError(f"heuristic must be one of {', '.join(HEURISTICS)}, got {heuristic!r}")
    if order not in ORDERS:
        raise UsageError(f"order must be one of {', '.join(ORDERS)}, got {order!r}")
    return _symmetrized(lockstep(forward, backward, names=names), heuristic, _ORDERS[order], names)


def _symmetrized(
    both: Iterator[tuple[Alignment, Alignment]], heuristic: str, order: _Order, names: tuple[str, str]
) -> Iterator[Alignment]:
    if heuristic == "union":
        for ahead, back in both:
            yield _with_probabilities(tuple(sorted({*ahead.links, *back.links})), ahead, back)
    elif heuristic == "intersection":
        for ahead, back in both:
            yield _with_probabilities(tuple(sorted({*ahead.links}.intersection(back.links))), ahead, back)
    else:
        done = 0
        for some in _gathered(both):
            _check_places(some, names, done)
            done += len(some)
            for links, (ahead, back) in zip(_grown(some, _RULES[heuristic], order), some, strict=True):
                yield _with_probabilities(links, ahead, back)


def _gathered(both: Iterator[tuple[Alignment, Alignment]]) -> Iterator[list[tuple[Alignment, Alignment]]]:
    """Put pairs together, as many as there is room for; what comes before a fault is given before it."""
    some: list[tuple[Alignment, Alignment]] = []
    longest = 0
    try:
        for pair in both:
            own = max(chain.from_iterable(chain(pair[0].links, pair[1].links)), default=0)
            if len(some) == MOST or (some and (len(some) + 1) * max(longest, own) > ROOM):
                yield some
                some, longest = [], 0
            some.append(pair)
            longest = max(longest, own)
    except Exception as fault:
        yield some
        raise fault
    yield some


def _check_places(both: Sequence[tuple[Alignment, Alignment]], names: tuple[str, str], done: int) -> None:
    """Refuse links of words that no sentence has; the first of the pairs is that of line `done` + 1."""
    for line, pair in enumerate(both, done + 1):
        for name, alignment in zip(names, pair, strict=True):
            farthest = max(chain.from_iterable(alignment.links), default=0)
            if farthest >= LONGEST:
                message = f"a link points at word {farthest + 1:,}: sentences have at most {LONGEST:,} words"
                raise InputError(message, file=name, line=line)


def _grown(both: Sequence[tuple[Alignment, Alignment]], rule: _Rule, order: _Order) -> list[tuple[Link, ...]]:
    forward, backward = ([pair[side].links for pair in both] for side in (0, 1))
    cells = _Cells(forward, backward, target_major=order.target_major)
    order.grow(cells, rule)
    if rule.final is not None:
        for direction in cells.directions:
            left = np.flatnonzero(direction & ~cells.taken[:-1])
            for turn in _turns(cells.pairs[left]):
                cells.add(left[turn], rule.final)
    return cells.links()


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
