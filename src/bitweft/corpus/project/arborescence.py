"""The best tree over words: Chu and Liu (1965), Edmonds (1967), with exactly one word under the root."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]
Heads = npt.NDArray[np.intp]

_NEVER = -1e18


class _Contraction(NamedTuple):
    """Hold what is needed to open a cycle again that was taken as one node, the last."""

    heads: Heads
    cycle: Heads
    rest: Heads  # the nodes that are not in it
    entered: Heads  # for each of the rest as a head: the node of the cycle it would enter at
    left: Heads  # for each of the rest: the node of the cycle that would be its head


def best_tree(scores: Scores) -> list[int]:
    """Find the tree whose edges have the highest sum.

    Args:
        scores: (head, word); 0 is the root, words count from 1.

    Returns:
        The head of each word, the first word's first.
    """
    scores = scores.astype(np.float64)
    np.fill_diagonal(scores, _NEVER)
    scores[:, 0] = _NEVER
    finite = scores[scores > _NEVER]
    scores[0, 1:] -= 1 + len(scores) * float(np.ptp(finite)) if len(finite) else 0  # one word under the root
    contractions: list[_Contraction] = []
    heads = scores.argmax(0)
    while (cycle := _cycle(heads)) is not None:
        scores, contraction = _contract(scores, heads, cycle)
        contractions.append(contraction)
        heads = scores.argmax(0)
    for contraction in reversed(contractions):
        heads = _open(contraction, heads)
    return [int(head) for head in heads[1:]]


def _cycle(heads: Heads) -> Heads | None:
    """Find a cycle of words, if there is one."""
    seen = np.zeros(len(heads), np.intp)
    for start in range(1, len(heads)):
        node = start
        while node and not seen[node]:
            seen[node] = start
            node = int(heads[node])
        if node and seen[node] == start:
            cycle = [node]
            while (node := int(heads[node])) != cycle[0]:
                cycle.append(node)
            return np.array(cycle)
    return None


def _contract(scores: Scores, heads: Heads, cycle: Heads) -> tuple[Scores, _Contraction]:
    """Take a cycle as one node: entering it costs the edge that is broken."""
    rest = np.setdiff1d(np.arange(len(heads)), cycle)
    entering = scores[np.ix_(rest, cycle)] - scores[heads[cycle], cycle]
    leaving = scores[np.ix_(cycle, rest)]
    smaller = np.full((len(rest) + 1, len(rest) + 1), _NEVER)
    smaller[:-1, :-1] = scores[np.ix_(rest, rest)]
    smaller[:-1, -1] = entering.max(1)
    smaller[-1, :-1] = leaving.max(0)
    smaller[:, 0] = _NEVER
    return smaller, _Contraction(heads, cycle, rest, cycle[entering.argmax(1)], cycle[leaving.argmax(0)])


def _open(contraction: _Contraction, heads: Heads) -> Heads:
    """Give each node of the larger graph its head."""
    whole, _, rest, entered, left = contraction
    result = whole.copy()
    node = len(rest)  # the cycle's number in the smaller graph
    inside = heads[:-1] == node
    result[rest] = np.where(inside, left, rest[np.where(inside, 0, heads[:-1])])
    result[entered[heads[node]]] = rest[heads[node]]
    return result
