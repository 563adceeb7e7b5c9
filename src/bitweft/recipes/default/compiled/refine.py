"""Refined links of sentence pairs: cells worth a look, their numbers, and what trees say of them.

A pair's links are a function of the model and that pair: pairs share nothing but the call.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.arrays import longer, place_of
from bitweft.recipes.default.compiled.emissions import emissions, total_counts
from bitweft.recipes.default.compiled.features import (
    WIDTH,
    Facts,
    Grid,
    candidates,
    features,
    grid_of,
    log_ratios,
)
from bitweft.recipes.default.compiled.posteriors import classes_and_nulls, explain_both, mean_log_ratio
from bitweft.recipes.default.compiled.trees import Place, Some, Trees, add_margins
from bitweft.recipes.default.compiled.types import (
    Cells,
    Doubles,
    Floats,
    Inputs,
    Ints,
    Longs,
    Tally,
    Words,
)

STYLE = WIDTH  # the number after those of the cell: the style that is asked for
LEXICAL = WIDTH + 1  # the three after that: what gold links said of the words, and of the two together
WIDE = WIDTH + 4
FIRST = 30  # trees that every cell is put to
BLOCK = 1040  # cells that are put to the trees together: their numbers stay in the nearest cache
HOPELESS = 2.25  # a cell so far below the bound by then is no link: of 86,000 links in six dev texts 15 were


class Signs(NamedTuple):
    """Say of each word of both sides, those that training did not see included, whether it is a sign."""

    source: Floats
    target: Floats


class Memory(NamedTuple):
    """Hold how much more often than expected the links of words were in gold, in the mean."""

    source: Floats  # (source words); both are empty where nothing was learned from gold
    target: Floats  # (target words)
    keys: Longs  # (pairs of words): target << 32 | source, sorted
    values: Floats  # (pairs of words)


class Looked(NamedTuple):
    """Hold the cells worth a look: those of pair n are `offsets[n]:offsets[n + 1]`."""

    offsets: Longs  # (pairs + 1)
    source: Ints
    target: Ints
    numbers: Floats  # (cells, WIDTH)


class Deciding(NamedTuple):
    """Hold what decides on cells: the refiner's trees in two styles by their shares, and trees from gold."""

    refiner: Trees
    styles: tuple[float, float]
    shares: tuple[float, float]
    own: Trees
    memory: Memory
    bound: float  # of the log odds of a link


def no_memory() -> Memory:
    """Remember nothing."""
    floats = np.empty(0, np.float32)
    return Memory(floats, floats, np.empty(0, np.int64), floats)


@compiled()
def _sentence_facts(side: Words, pair: int, counts: Longs, total: float, null: float, signs: Floats) -> Facts:
    """Return what is known of the words of one sentence; one that training did not see counts half."""
    _, nulls = classes_and_nulls(side, pair, null)
    first, last = side.offsets[pair], side.offsets[pair + 1]
    common = np.empty(last - first, np.float32)
    seen = np.empty(last - first, np.float32)
    sign = np.empty(last - first, np.float32)
    tokens = side.tokens
    size = math.log(max(total, 1.0))
    for place in range(last - first):
        word = tokens[first + place]
        often = 0.5 + (counts[word] if word < len(counts) else 0)
        seen[place] = math.log(often)
        common[place] = math.log(often) - size
        sign[place] = signs[word]
    return Facts(common, seen, nulls, sign)


class Seen(NamedTuple):
    """Hold one pair as far as it was looked at: its cells worth a look, and what their numbers are of."""

    grid: Grid
    cells: tuple[Ints, Ints]  # source and target places
    source: Facts
    target: Facts
    score: float  # of the pair


@compiled()
def _look(inputs: Inputs, pair: int, totals: tuple[float, float], signs: Signs, tally: Tally) -> Seen:
    """Find the cells of one pair that are worth a look."""
    source, target, counts, prior = inputs.source, inputs.target, inputs.counts, inputs.prior
    both = emissions(inputs, pair, totals, np.empty((0, 0), np.float32))
    ratios = log_ratios(*both)
    t_own, s_own = explain_both(inputs, pair, both, (tally, np.int64(0)))
    grid = grid_of(t_own.posterior, s_own.posterior, ratios)
    s_facts = _sentence_facts(source, pair, counts.source, totals[0], prior.null, signs.source)
    t_facts = _sentence_facts(target, pair, counts.target, totals[1], prior.null, signs.target)
    return Seen(grid, candidates(grid), s_facts, t_facts, mean_log_ratio(t_own.scales, s_own.scales))


@compiled()
def _empty(side: Words, pair: int) -> bool:
    return bool(side.offsets[pair + 1] == side.offsets[pair])


@compiled(entry=True)
def look(inputs: Inputs, pairs: int, signs: Signs, tally: Tally) -> Looked:
    """Return all cells of the first pairs that are worth a look, with their numbers."""
    totals = total_counts(inputs.counts)
    offsets = np.zeros(pairs + 1, np.int64)
    s_all, t_all = np.empty(1024, np.int32), np.empty(1024, np.int32)
    numbers = np.empty((1024, WIDTH), np.float32)
    n = 0
    for pair in range(pairs):
        offsets[pair + 1] = n
        if _empty(inputs.source, pair) or _empty(inputs.target, pair):
            continue
        seen = _look(inputs, pair, totals, signs, tally)
        s_cells, t_cells = seen.cells
        own = np.empty((WIDTH, len(s_cells)), np.float32)
        features(seen.grid, seen.cells, seen.source, seen.target, own, 0)
        while n + len(s_cells) > len(s_all):
            s_all, t_all = longer(s_all), longer(t_all)
            more = np.empty((2 * len(numbers), WIDTH), np.float32)
            more[:n] = numbers[:n]
            numbers = more
        for at in range(len(s_cells)):
            s_all[n], t_all[n] = s_cells[at], t_cells[at]
            for number in range(WIDTH):
                numbers[n, number] = own[number, at]
            n += 1
        offsets[pair + 1] = n
    return Looked(offsets, s_all[:n].copy(), t_all[:n].copy(), numbers[:n].copy())


@compiled()
def _remember(
    inputs: Inputs, pair: int, cells: tuple[Ints, Ints], memory: Memory, out: Floats, start: Place
) -> None:
    """Fill in what is remembered of the words of each cell, from a column on."""
    s_words, t_words, keys, values = memory
    s_cells, t_cells = cells
    s_tokens, t_tokens = inputs.source.tokens, inputs.target.tokens
    s_first, t_first = inputs.source.offsets[pair], inputs.target.offsets[pair]
    for at in range(len(s_cells)):
        s, t = np.int64(s_tokens[s_first + s_cells[at]]), np.int64(t_tokens[t_first + t_cells[at]])
        c = start + at
        out[LEXICAL, c] = s_words[s] if s < len(s_words) else np.float32(0.0)
        out[LEXICAL + 1, c] = t_words[t] if t < len(t_words) else np.float32(0.0)
        key = t << 32 | s
        place = place_of(keys, np.int64(0), len(keys), key)
        known = place < len(keys) and keys[place] == key
        out[LEXICAL + 2, c] = values[place] if known else np.float32(0.0)


@compiled()
def _add_odds(numbers: Floats, deciding: Deciding, some: Some, odds: Doubles) -> None:
    """Add the log odds of cells by some of the refiner's trees, in both styles."""
    for k in range(2):
        if deciding.shares[k] > 0.0:
            numbers[STYLE] = deciding.styles[k]
            add_margins(deciding.refiner, some, numbers, deciding.shares[k], odds)


@compiled()
def _hopeful(odds: Doubles, deciding: Deciding) -> Longs:
    """List the cells that may become links; trees from gold may think otherwise of any."""
    least = -math.inf if len(deciding.own.features) else deciding.bound - HOPELESS
    cells = np.empty(len(odds), np.int64)
    size = 0
    for at in range(len(odds)):
        if odds[at] >= least:
            cells[size] = at
            size += 1
    return cells[:size]


@compiled()
def _taken(numbers: Floats, cells: Longs) -> Floats:
    """Return the numbers of some cells."""
    out = np.empty((numbers.shape[0], len(cells)), np.float32)
    for row in range(numbers.shape[0]):
        for at in range(len(cells)):
            out[row, at] = numbers[row, cells[at]]
    return out


class Waiting(NamedTuple):
    """Hold cells of some pairs, one pair after the other, that are to be put to the trees together."""

    numbers: Floats  # (WIDE, BLOCK or more)
    source: Ints  # (BLOCK or more)
    target: Ints
    pair: Longs  # whose cells they are


@compiled()
def _room(cells: int) -> Waiting:
    size = max(cells, BLOCK)
    numbers, places = np.zeros((WIDE, size), np.float32), np.empty(size, np.int32)
    return Waiting(numbers, places, np.empty_like(places), np.empty(size, np.int64))


@compiled()
def _decide(waiting: Waiting, size: Place, deciding: Deciding, links: Cells, n: Place) -> tuple[Cells, Place]:
    """Put the first cells that wait to the trees, and those that are links behind the n that there are."""
    offsets, s_links, t_links, values = links
    all_odds = np.zeros(size)
    _add_odds(waiting.numbers, deciding, (np.int64(0), np.int64(FIRST)), all_odds)
    left = _hopeful(all_odds, deciding)
    numbers, odds = _taken(waiting.numbers, left), all_odds[left]
    _add_odds(numbers, deciding, (np.int64(FIRST), len(deciding.refiner.features)), odds)
    add_margins(deciding.own, (np.int64(0), len(deciding.own.features)), numbers, 1.0, odds)
    while n + len(odds) > len(values):
        s_links, t_links, values = longer(s_links), longer(t_links), longer(values)
    for k in range(len(odds)):
        at = left[k]
        if odds[k] < deciding.bound:
            continue
        s_links[n], t_links[n] = waiting.source[at], waiting.target[at]
        values[n] = 1.0 / (1.0 + math.exp(-odds[k]))
        n += 1
        offsets[waiting.pair[at] + 1] = n
    return Cells(offsets, s_links, t_links, values), n


@compiled(entry=True)
def refine(
    inputs: Inputs, pairs: int, signs: Signs, tally: Tally, deciding: Deciding, scores: Doubles
) -> Cells:
    """Find the links of the first pairs, with their probabilities; `scores` gets the scores of the pairs."""
    totals = total_counts(inputs.counts)
    places = np.empty(1024, np.int32)
    links = Cells(np.zeros(pairs + 1, np.int64), places, np.empty_like(places), np.empty(1024, np.float32))
    waiting = _room(0)
    size: Place = np.int64(0)
    n: Place = np.int64(0)
    for pair in range(pairs):
        scores[pair] = 0.0
        if _empty(inputs.source, pair) or _empty(inputs.target, pair):
            continue
        seen = _look(inputs, pair, totals, signs, tally)
        scores[pair] = seen.score
        count = len(seen.cells[0])
        if size and size + count > len(waiting.pair):
            links, n = _decide(waiting, size, deciding, links, n)
            size = 0
        if count > len(waiting.pair):
            waiting = _room(count)
        features(seen.grid, seen.cells, seen.source, seen.target, waiting.numbers, size)
        if len(deciding.memory.source):
            _remember(inputs, pair, seen.cells, deciding.memory, waiting.numbers, size)
        size = _wait(waiting, size, seen.cells, pair)
    if size:
        links, n = _decide(waiting, size, deciding, links, n)
    offsets, s_links, t_links, values = links
    for pair in range(pairs):  # one without links ends where the one before does
        offsets[pair + 1] = max(offsets[pair], offsets[pair + 1])
    return Cells(offsets, s_links[:n].copy(), t_links[:n].copy(), values[:n].copy())


@compiled()
def _wait(waiting: Waiting, size: Place, cells: tuple[Ints, Ints], pair: int) -> Place:
    """Put the places of a pair's cells down behind those that wait; return how many wait then."""
    s_cells, t_cells = cells
    for n in range(len(s_cells)):
        waiting.source[size + n], waiting.target[size + n] = s_cells[n], t_cells[n]
        waiting.pair[size + n] = pair
    return size + len(s_cells)
