"""The default recipe's inner loops, compiled by numba: posteriors, gradients, row-wise updates, counts.

Everything that these functions call stands in this file: numba's cache does not notice a change in another.
Arrays of a tuple get names before a loop over cells: taking one out counts a reference, which locks memory.
`emission` and `posterior` are (steps, states): a step for each word to explain, a state for each word that
may explain it; the forward direction explains target words by source words. `ratio` is p(target, source) over
p(target) · p(source).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

Ints: TypeAlias = npt.NDArray[np.int32]
Longs: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]

CLIP = 10  # jumps of so many words and more weigh alike
NEAR = CLIP - 1
WIDTH = 2 * NEAR + 1  # of the jumps that weigh apart; a constant, so that loops over them are unrolled
LARGEST = 14.0  # of a score: exp(14) is more than any ratio that a million pairs can show
LANES = 8  # states that one instruction handles: rows of states are padded to whole lanes


_OPTIONS: Any = {
    "cache": True,
    "nogil": True,
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
    "error_model": "numpy",  # a check of every division would keep loops from being done in lanes
}


def kernel(function: Any) -> Any:
    """Compile a function; it holds no lock while it runs, so that threads may share the work."""
    return njit(**_OPTIONS)(function)


def inner(function: Any) -> Any:
    """Compile a function that only kernels call: without an entry from Python, in half the time."""
    options: Any = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(**options)(function)


class Side(NamedTuple):
    """Hold one side of the text and its vectors: word w is the mean of `table[rows[row_offsets[w]:…]]`."""

    tokens: Ints  # (tokens)
    offsets: Longs  # (pairs + 1)
    rows: Ints
    row_offsets: Longs  # (words + 1)
    table: Floats  # (rows, dimensions)


class Prior(NamedTuple):
    """Hold what is known of positions before the words are seen; index 0 is the forward direction."""

    null: float  # the chance of a word to have no link
    mixture: float  # the chance of a jump to anywhere
    chained: bool
    jumps: Floats  # (direction, classes, 2 · clip + 1): weight of a jump by −clip … clip and beyond
    starts: Floats  # (direction, clip + 1): weight of the first position 0 … clip and beyond
    diagonals: Floats  # (direction, buckets): weight of a distance to the diagonal


class Tally(NamedTuple):
    """Count, by group and direction, how often a jump or distance was taken [0] and could have been [1]."""

    jumps: Doubles  # (groups, direction, 2, classes, 2 · clip + 1)
    starts: Doubles
    diagonals: Doubles
    twins: Doubles  # (groups, 2): how often words spelt alike were linked, and how often they met
    loss: Doubles  # (groups, 2): the sum, and the words that it is of


class Gradient(NamedTuple):
    """Hold the gradient of each group's distinct words: those of group g stand from `starts[g]` on."""

    starts: Longs  # (groups)
    sizes: Longs  # (groups)
    words: Ints  # (tokens)
    values: Floats  # (tokens, dimensions)


class Adam(NamedTuple):
    """Hold the state of Adam with one second moment a row."""

    first: Floats  # (rows, dimensions)
    second: Floats  # (rows)
    steps: Longs  # (rows)


class Counts(NamedTuple):
    """Hold expected counts of linked word pairs, sorted by target word, then source word, and of words."""

    offsets: Longs  # (target words + 1)
    sources: Ints  # (pairs of words)
    values: Floats  # (pairs of words)
    source: Longs  # (source words): how often each occurs
    target: Longs  # (target words)
    strength: float  # how many counts the vectors' opinion is worth; 0: only the vectors count
    twins: Ints  # (target words, unseen ones too): the source word spelt alike, or −1
    likeness: float  # the chance of a word to be translated by its twin


class Words(NamedTuple):
    """Hold one side of the text and what is known of its words."""

    tokens: Ints  # (tokens)
    offsets: Longs  # (pairs + 1)
    classes: Ints  # (words): which jumps are made from each word
    nulls: Floats  # (words): the chance of each word to have no link
    scales: Floats  # (words): what makes the ratios of a word's translations sum to one
    vectors: Floats  # (words, dimensions)
    unseen: Floats  # (further words, dimensions): words that training did not see


class Cells(NamedTuple):
    """Hold the cells with a probability worth keeping: those of pair n are `offsets[n]:offsets[n + 1]`."""

    offsets: Longs  # (pairs + 1)
    source: Ints
    target: Ints
    values: Floats


@inner
def start_distribution(n: int, weights: Floats) -> Floats:
    """Return the distribution of the first state."""
    starts = np.empty(n, np.float32)
    total = 0.0
    for k in range(n):
        starts[k] = weights[min(k, len(weights) - 1)]
        total += starts[k]
    for k in range(n):
        starts[k] /= total
    return starts


@inner
def exponentials(values: Floats) -> None:
    """Replace each value (at least −87, at most LARGEST) by its exponential, many at a time.

    With n the nearest whole number to x / log 2, exp(x) is 2ⁿ · exp(x − n log 2); the latter by a polynomial,
    the former by writing n where a number keeps its exponent.
    """
    flat = values.reshape(values.size)
    powers = np.empty(min(len(flat), 1024), np.int32)
    as_floats = powers.view(np.float32)
    for start in range(0, len(flat), 1024):
        block = flat[start : start + 1024]
        for k in range(len(block)):
            x = min(max(block[k], np.float32(-87.0)), np.float32(LARGEST))
            n = np.int32(x * np.float32(1.44269504) + np.float32(128.5)) - np.int32(128)
            r = x - np.float32(n) * np.float32(0.693147181)
            p = np.float32(1.3981999507e-3) + r * np.float32(1.9875691500e-4)
            p = np.float32(4.1665795894e-2) + r * (np.float32(8.3334519073e-3) + r * p)
            p = np.float32(5.0000001201e-1) + r * (np.float32(1.6666665459e-1) + r * p)
            block[k] = np.float32(1.0) + r * (np.float32(1.0) + r * p)
            powers[k] = np.int32((n + np.int32(127)) << np.int32(23))
        for k in range(len(block)):
            block[k] *= as_floats[k]


@inner
def _jump_chances(
    n: int, width: int, jumps: Floats, classes: Ints, mixture: float
) -> tuple[Floats, Floats, Floats]:
    """Return the chances of jumps from each of n states, and what a weight of one is worth there.

    Chances are (WIDTH, width) of each near jump, and (n, 2) of any one far jump to the left, to the right.
    """
    near = np.zeros((WIDTH, width), np.float32)
    far = np.empty((n, 2), np.float32)
    worth = np.empty(n, np.float32)
    for k in range(n):
        weights = jumps[classes[k]]
        total = weights[0] * max(k + 1 - CLIP, 0) + weights[2 * CLIP] * max(n - k - CLIP, 0)
        for d in range(max(0, NEAR - k), min(WIDTH, n + NEAR - k)):
            total += weights[d + 1]
        worth[k] = 1 / total
        share = np.float32(1.0 - mixture) / total
        for d in range(WIDTH):
            near[d, k] = weights[d + 1] * share
        far[k, 0] = weights[0] * share
        far[k, 1] = weights[2 * CLIP] * share
    return near, far, worth


@inner
def _arrivals(near: Floats, n: int) -> Floats:
    """Turn the chances of near jumps round: by the state jumped to, and from the farthest left of it on."""
    arrivals = np.zeros_like(near)
    for d in range(WIDTH):
        for k in range(max(0, NEAR - d), min(n, n + NEAR - d)):
            arrivals[d, k] = near[WIDTH - 1 - d, k + d - NEAR]
    return arrivals


@inner
def _near_jumps(values: Floats, chances: Floats, out: Floats) -> None:
    """Add to out[k] the sum over d of values[k + d] · chances[d, k]."""
    for k in range(len(out)):  # the inner loop is unrolled, so that this one is done in lanes
        total = out[k]
        for d in range(WIDTH):
            total += values[k + d] * chances[d, k]
        out[k] = total


@inner
def _jump(mass: Floats, arrivals: Floats, far: Floats, anywhere: float, out: Floats) -> None:
    """Set out[k] to the mass that jumps to k; `mass` has NEAR zeros at each end."""
    n = len(far)
    for k in range(len(out)):
        out[k] = anywhere
    total = np.float32(0.0)
    for k in range(n - CLIP):
        total += mass[NEAR + k] * far[k, 1]
        out[k + CLIP] += total
    total = np.float32(0.0)
    for k in range(n - CLIP):
        total += mass[NEAR + n - 1 - k] * far[n - 1 - k, 0]
        out[n - 1 - k - CLIP] += total
    _near_jumps(mass, arrivals, out)


@inner
def _jump_back(ahead: Floats, near: Floats, far: Floats, anywhere: float, out: Floats) -> None:
    """Set out[k] to the sum of what lies ahead of k by each jump; `ahead` has NEAR zeros at each end."""
    n = len(far)
    for k in range(len(out)):
        out[k] = anywhere
    total = np.float32(0.0)
    for k in range(CLIP, n):
        total += ahead[k - CLIP + NEAR]
        out[k] += total * far[k, 0]
    total = np.float32(0.0)
    for k in range(n - CLIP):
        total += ahead[n - 1 - k + NEAR]
        out[n - 1 - k - CLIP] += total * far[n - 1 - k - CLIP, 1]
    _near_jumps(ahead, near, out)


@inner
def chain(
    emission: Floats,
    nulls: Floats,
    prior: Prior,
    direction: int,
    classes: Ints,
    posterior: Floats,
    scales: Floats,
    jump_tally: Doubles,
    start_tally: Doubles,
) -> None:
    """Find the posteriors and scaling factors of a first-order chain by forward and backward passes.

    A word that nothing explains has the ratio 1; its state remembers the position.
    Tallies of no length are not kept.
    """
    n_steps, n = emission.shape
    kept = len(jump_tally) > 0
    width = (n + LANES - 1) // LANES * LANES  # states beyond n have the ratio 0: nothing comes of them
    near, far, worth = _jump_chances(n, width, prior.jumps[direction], classes, prior.mixture)
    arrivals = _arrivals(near, n)
    anywhere = np.float32(prior.mixture / n)
    first = start_distribution(n, prior.starts[direction])
    rows = n_steps + 1 if kept else 2  # tallies ask for all of them in the end
    masses = np.zeros((rows, width + 2 * NEAR), np.float32)  # α, linked or not, before each step
    linked = np.zeros(width, np.float32)  # α of the states that explain the word
    ratio = np.zeros(width, np.float32)
    for k in range(n):
        masses[0, NEAR + k] = linked[k] = first[k]
    for step in range(n_steps):
        before, after = masses[step % rows], masses[(step + 1) % rows]
        for k in range(n):
            ratio[k] = np.float32(1.0 - prior.null) * emission[step, k]
        if step > 0:
            _jump(before, arrivals, far, anywhere, linked)
        scale = np.float32(0.0)
        for k in range(width):
            linked[k] *= ratio[k]
            after[NEAR + k] = linked[k] + nulls[step] * before[NEAR + k]
            scale += after[NEAR + k]
        scales[step] = scale
        inverse = np.float32(1.0) / scale
        for k in range(width):
            after[NEAR + k] *= inverse
        for k in range(n):
            posterior[step, k] = linked[k] * inverse
    aheads = _chain_backward(emission, nulls, prior, near, far, posterior, scales, kept)
    if kept:
        together = np.dot(masses[1:n_steps].T, aheads[1:])  # of each state and the next
        _tally_jumps(together[NEAR:], near, far, worth, classes, jump_tally)
    if len(start_tally):
        _tally_starts(posterior[0], first, prior.starts[direction], start_tally)


@inner
def _chain_backward(
    emission: Floats,
    nulls: Floats,
    prior: Prior,
    near: Floats,
    far: Floats,
    posterior: Floats,
    scales: Floats,
    kept: bool,
) -> Floats:
    """Turn α of the states that explain each word into posteriors; return what lies ahead of each step."""
    n_steps, n = emission.shape
    width = near.shape[1]
    anywhere = prior.mixture / n
    after = np.ones(width, np.float32)  # β
    back = np.empty(width, np.float32)
    rows = n_steps if kept else 1
    aheads = np.zeros((rows, width + 2 * NEAR), np.float32)
    for step in range(n_steps - 1, -1, -1):
        ahead = aheads[step % rows]
        inverse = np.float32(1.0) / scales[step]
        linked = np.float32(1.0 - prior.null) * inverse
        total = np.float32(0.0)
        for k in range(n):
            posterior[step, k] *= after[k]
            value = linked * emission[step, k] * after[k]
            ahead[k + NEAR] = value
            total += value
        if step > 0:
            _jump_back(ahead, near, far, np.float32(anywhere * total), back)
            null = nulls[step] * inverse
            for k in range(width):
                after[k] = back[k] + after[k] * null
    return aheads


@inner
def _tally_jumps(
    together: Floats, near: Floats, far: Floats, worth: Floats, classes: Ints, tally: Doubles
) -> None:
    """Tally the expected jumps from each state, and those that could have been made.

    `together` is (state, NEAR + next state): the products of what came before and what lies ahead.
    """
    n = len(worth)
    for k in range(n):
        own = classes[k]
        left = right = np.float32(0.0)
        for to in range(k + 1 - CLIP):
            left += together[k, NEAR + to] * far[k, 0]
        for to in range(k + CLIP, n):
            right += together[k, NEAR + to] * far[k, 1]
        departures = left + right
        for d in range(WIDTH):
            jumps = together[k, k + d] * near[d, k]
            tally[0, own, d + 1] += jumps
            departures += jumps
        tally[0, own, 0] += left
        tally[0, own, 2 * CLIP] += right
        chance = departures * worth[k]
        for d in range(max(0, NEAR - k), min(WIDTH, n + NEAR - k)):
            tally[1, own, d + 1] += chance
        tally[1, own, 0] += chance * max(k + 1 - CLIP, 0)
        tally[1, own, 2 * CLIP] += chance * max(n - k - CLIP, 0)


@inner
def _tally_starts(posterior: Floats, first: Floats, starts: Floats, tally: Doubles) -> None:
    chance = np.float32(0.0)
    for k in range(len(first)):
        chance += posterior[k]
    for k in range(len(first)):
        bucket = min(k, len(starts) - 1)
        tally[0, bucket] += posterior[k]
        tally[1, bucket] += chance * first[k] / starts[bucket]


@inner
def lse(
    emission: Floats, null: float, diagonal: Floats, posterior: Floats, scales: Floats, tally: Doubles
) -> None:
    """Find the posteriors and sums of independent words, with a prior by distance to the diagonal."""
    n_steps, n = emission.shape
    buckets = len(diagonal)
    places = np.empty(n, np.int64)
    for step in range(n_steps):
        total = np.float32(0.0)
        for k in range(n):
            distance = abs((2 * step + 1) * n - (2 * k + 1) * n_steps)  # in whole numbers: exact anywhere
            places[k] = min(distance * buckets // (2 * n_steps * n), buckets - 1)
            total += diagonal[places[k]]
        scale = np.float32(null)
        for k in range(n):
            posterior[step, k] = np.float32(1.0 - null) / total * diagonal[places[k]] * emission[step, k]
            scale += posterior[step, k]
        scales[step] = scale
        chance = np.float32(0.0)
        for k in range(n):
            posterior[step, k] /= scale
            chance += posterior[step, k]
        if len(tally):
            for k in range(n):
                tally[0, places[k]] += posterior[step, k]
                tally[1, places[k]] += chance / total


@inner
def explain(
    emission: Floats,
    nulls: Floats,
    prior: Prior,
    direction: int,
    classes: Ints,
    posterior: Floats,
    scales: Floats,
    tally: Tally,
    group: int,
) -> None:
    """Find one direction's posteriors and scaling factors; a tally of no groups is not kept."""
    kept = len(tally.jumps) > 0
    if prior.chained:
        jumps = tally.jumps[group, direction] if kept else np.empty((0, 0, 0), np.float64)
        starts = tally.starts[group, direction] if kept else np.empty((0, 0), np.float64)
        chain(emission, nulls, prior, direction, classes, posterior, scales, jumps, starts)
    else:
        diagonals = tally.diagonals[group, direction] if kept else np.empty((0, 0), np.float64)
        lse(emission, prior.null, prior.diagonals[direction], posterior, scales, diagonals)


@kernel
def compose(words: Ints, rows: Ints, row_offsets: Longs, table: Floats, out: Floats) -> None:
    """Set out[n] to the vector of words[n]: the sum of its rows over the root of their number."""
    for n in range(len(words)):
        first, last = row_offsets[words[n]], row_offsets[words[n] + 1]
        for c in range(table.shape[1]):
            out[n, c] = 0.0
        for place in range(first, last):
            row = rows[place]
            for c in range(table.shape[1]):
                out[n, c] += table[row, c]
        weight = np.float32(1.0 / math.sqrt(max(last - first, 1)))
        for c in range(table.shape[1]):
            out[n, c] *= weight


@inner
def _distinct(side: Side, pairs: Longs, places: Ints) -> Ints:
    """Return the distinct words of some pairs; `places` says which of them each token is."""
    tokens, offsets = side.tokens, side.offsets
    size = 0
    for pair in pairs:
        size += offsets[pair + 1] - offsets[pair]
    slots = 1
    while slots < 2 * size:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    distinct = np.empty(size, np.int32)
    n = token = 0
    for pair in pairs:
        for at in range(offsets[pair], offsets[pair + 1]):
            word = tokens[at]
            slot = (word * 40503) & (slots - 1)
            while table[slot] >= 0 and distinct[table[slot]] != word:
                slot = (slot + 1) & (slots - 1)
            if table[slot] < 0:
                table[slot] = n
                distinct[n] = word
                n += 1
            places[token] = table[slot]
            token += 1
    return distinct[:n]


@inner
def _occurrences(side: Side, pairs: Longs, places: Ints, n_words: int) -> Floats:
    """Count each distinct word in each pair of a group."""
    counts = np.zeros((n_words, len(pairs)), np.float32)
    offsets = side.offsets
    token = 0
    for b in range(len(pairs)):
        for _ in range(offsets[pairs[b]], offsets[pairs[b] + 1]):
            counts[places[token], b] += 1.0
            token += 1
    return counts


@inner
def _negative_weights(
    ratio: Floats, others: Floats, counts: Floats, null: float, weight: float, loss: Doubles
) -> Any:
    """Return the slope of log(1 + a) for each word and each sentence of the group that is not its own."""
    aggregated = np.dot(ratio, others)
    n_words, n_pairs = counts.shape
    lost = 0.0
    for w in range(n_words):
        total = np.float32(0.0)
        for b in range(n_pairs):
            total += counts[w, b]
        for b in range(n_pairs):
            a = np.float32(null) + np.float32(1.0 - null) * aggregated[w, b]
            times = np.float32(weight) * (total - counts[w, b])
            lost += times * math.log(np.float32(1.0) + a)
            aggregated[w, b] = times * np.float32(1.0 - null) / (np.float32(1.0) + a)
    loss[0] += lost
    return aggregated


@inner
def _shares(counts: Floats) -> Floats:
    """Divide each column by its sum."""
    shares = np.empty_like(counts)
    for b in range(counts.shape[1]):
        total = np.float32(0.0)
        for w in range(counts.shape[0]):
            total += counts[w, b]
        for w in range(counts.shape[0]):
            shares[w, b] = counts[w, b] / total
    return shares


@kernel
def gradients(
    source: Side,
    target: Side,
    pairs: Longs,
    prior: Prior,
    negatives: float,
    tally: Tally,
    group: int,
    out_source: Gradient,
    out_target: Gradient,
) -> None:
    """Find the gradient of the soft margin over one group: each pair's words are negatives of all others."""
    s_places = np.empty(out_source.words.shape[0], np.int32)
    t_places = np.empty(out_target.words.shape[0], np.int32)
    s_words = _distinct(source, pairs, s_places)
    t_words = _distinct(target, pairs, t_places)
    s_vectors = np.empty((len(s_words), source.table.shape[1]), np.float32)
    t_vectors = np.empty((len(t_words), target.table.shape[1]), np.float32)
    compose(s_words, source.rows, source.row_offsets, source.table, s_vectors)
    compose(t_words, target.rows, target.row_offsets, target.table, t_vectors)
    ratio = np.dot(t_vectors, s_vectors.T)  # (target words, source words)
    exponentials(ratio)
    s_counts = _occurrences(source, pairs, s_places, len(s_words))
    t_counts = _occurrences(target, pairs, t_places, len(t_words))
    s_shares, t_shares = _shares(s_counts), _shares(t_counts)
    weight = negatives / max(len(pairs) - 1, 1)  # a pair alone has no negatives
    loss = tally.loss[group]
    t_weights = _negative_weights(ratio, s_shares, t_counts, prior.null, weight, loss)
    s_weights = _negative_weights(ratio.T.copy(), t_shares, s_counts, prior.null, weight, loss)
    slope = np.dot(t_weights, s_shares.T)  # d loss / d score
    other = np.dot(t_shares, s_weights.T)
    for t in range(ratio.shape[0]):
        for s in range(ratio.shape[1]):
            slope[t, s] = (slope[t, s] + other[t, s]) * ratio[t, s]
    s_start = t_start = 0
    for pair in pairs:
        n_source = source.offsets[pair + 1] - source.offsets[pair]
        n_target = target.offsets[pair + 1] - target.offsets[pair]
        s_own = s_places[s_start : s_start + n_source]
        t_own = t_places[t_start : t_start + n_target]
        _add_positive(ratio, slope, s_own, t_own, prior, tally, group)
        s_start += n_source
        t_start += n_target
    _put(out_target, group, t_words, np.dot(slope, s_vectors))
    _put(out_source, group, s_words, np.dot(slope.T.copy(), t_vectors))


@inner
def _put(out: Gradient, group: int, words: Ints, values: Floats) -> None:
    out_words, out_values = out.words, out.values
    start = out.starts[group]
    out.sizes[group] = len(words)
    for w in range(len(words)):
        out_words[start + w] = words[w]
        for c in range(values.shape[1]):
            out_values[start + w, c] = values[w, c]


@inner
def _add_positive(
    ratio: Floats, slope: Floats, s_own: Ints, t_own: Ints, prior: Prior, tally: Tally, group: int
) -> None:
    """Add the gradient of log(1 + 1/a) of one pair's words, both directions drawn towards agreement."""
    n_source, n_target = len(s_own), len(t_own)
    forward = np.empty((n_target, n_source), np.float32)
    backward = np.empty((n_source, n_target), np.float32)
    for t in range(n_target):
        for s in range(n_source):
            forward[t, s] = backward[s, t] = ratio[t_own[t], s_own[s]]
    t_posterior = np.empty_like(forward)
    s_posterior = np.empty_like(backward)
    t_scales = np.empty(n_target, np.float32)
    s_scales = np.empty(n_source, np.float32)
    longest = max(n_source, n_target)
    nulls = np.full(longest, prior.null, np.float32)
    classes = np.zeros(longest, np.int32)
    explain(forward, nulls, prior, 0, classes, t_posterior, t_scales, tally, group)
    explain(backward, nulls, prior, 1, classes, s_posterior, s_scales, tally, group)
    t_slopes = np.float32(1.0) / (np.float32(1.0) + t_scales)
    s_slopes = np.float32(1.0) / (np.float32(1.0) + s_scales)
    for t in range(n_target):
        for s in range(n_source):
            agreed = math.sqrt(t_posterior[t, s] * s_posterior[s, t])
            slope[t_own[t], s_own[s]] -= agreed * (t_slopes[t] + s_slopes[s])
    loss = tally.loss[group]
    for t in range(n_target):
        loss[0] += math.log(1.0 + 1.0 / t_scales[t])
    for s in range(n_source):
        loss[0] += math.log(1.0 + 1.0 / s_scales[s])
    loss[1] += n_target + n_source


@kernel
def update(
    side: Side, gradient: Gradient, adam: Adam, rate: float, stamp: Longs, scratch: Floats, decays: Floats
) -> None:
    """Apply Adam to the rows that a batch touched, and to no other; `stamp` is zero before and after.

    `decays` are the powers of both moments' decay rates.
    """
    rows, row_offsets, table = side.rows, side.row_offsets, side.table
    words, values = gradient.words, gradient.values
    firsts, seconds, steps = adam
    touched = np.empty(1024, np.int64)
    n = 0
    width = scratch.shape[1]
    for g in range(len(gradient.starts)):
        for at in range(gradient.starts[g], gradient.starts[g] + gradient.sizes[g]):
            first, last = row_offsets[words[at]], row_offsets[words[at] + 1]
            weight = np.float32(1.0 / math.sqrt(max(last - first, 1)))
            for place in range(first, last):
                row = np.uint64(rows[place])
                if stamp[row] == 0:
                    if n == len(touched):
                        touched = _longer(touched)
                    touched[n] = row
                    n += 1
                    stamp[row] = 1
                    for c in range(width):
                        scratch[row, c] = weight * values[at, c]
                else:
                    for c in range(width):
                        scratch[row, c] += weight * values[at, c]
    for place in range(n):
        row = np.uint64(touched[place])
        stamp[row] = 0
        steps[row] += 1
        power = min(steps[row], decays.shape[1] - 1)
        square = np.float32(0.0)
        for c in range(width):
            square += scratch[row, c] * scratch[row, c]
        second = decays[1, 1] * seconds[row] + (np.float32(1.0) - decays[1, 1]) * square / width
        seconds[row] = second
        deviation = math.sqrt(second / (1 - decays[1, power])) + 1e-8
        step = np.float32(rate / (deviation * (1 - decays[0, power])))
        for c in range(width):
            moment = decays[0, 1] * firsts[row, c] + (np.float32(1.0) - decays[0, 1]) * scratch[row, c]
            firsts[row, c] = moment
            table[row, c] -= step * moment


@inner
def _pick(tokens: Ints, vectors: Floats, unseen: Floats) -> Floats:
    """Return the vectors of tokens; numbers beyond the words of training are those of unseen ones."""
    picked = np.empty((len(tokens), vectors.shape[1]), np.float32)
    for place in range(len(tokens)):
        word = tokens[place]
        for c in range(vectors.shape[1]):
            picked[place, c] = vectors[word, c] if word < len(vectors) else unseen[word - len(vectors), c]
    return picked


@inner
def _facts(tokens: Ints, scales: Floats, counts: Longs, total: float, strength: float) -> Any:
    """Return of each word its scale, what one of its occurrences is worth, and what a count of it weighs.

    A word that training did not see, or counts that have no strength, weigh nothing.
    """
    own = np.ones(len(tokens), np.float32)
    worth = np.full(len(tokens), total, np.float32)
    weight = np.zeros(len(tokens), np.float32)
    for place in range(len(tokens)):
        word = tokens[place]
        if word < len(scales):
            own[place] = scales[word]
        if word < len(counts) and counts[word] > 0:
            worth[place] = total / counts[word]
            if strength > 0.0:
                weight[place] = 1.0 / (counts[word] + strength)
    return own, worth, weight


@inner
def _own_counts(counts: Counts, s_tokens: Ints, t_tokens: Ints, own: Floats) -> Floats:
    """Look up the counts of a pair's cells, (target, source), less what the pair itself added to them."""
    found = np.zeros((len(t_tokens), len(s_tokens)), np.float32)
    offsets, sources, values = counts.offsets, counts.sources, counts.values
    for t in range(len(t_tokens)):
        if t_tokens[t] + 1 >= len(offsets):  # a word that training did not see
            continue
        first, end = offsets[t_tokens[t]], offsets[t_tokens[t] + 1]
        for s in range(len(s_tokens)):
            source = s_tokens[s]
            low, high = first, end
            while low < high:
                middle = (low + high) // 2
                if sources[middle] < source:
                    low = middle + 1
                else:
                    high = middle
            if low < end and sources[low] == source:
                found[t, s] = values[low]
    if len(own):
        for t in range(len(t_tokens)):
            for s in range(len(s_tokens)):
                found[t, s] = max(found[t, s] - own[s, t], np.float32(0.0))
    return found


@inner
def _emissions(
    source: Words, target: Words, pair: int, counts: Counts, totals: tuple[float, float], own: Floats
) -> tuple[Floats, Floats]:
    """Return both directions' ratios: counts of links, less the pair's own, and the vectors' opinion.

    A word that training did not see has no counts: there the vectors and the spelling decide alone.
    """
    s_tokens = source.tokens[source.offsets[pair] : source.offsets[pair + 1]]
    t_tokens = target.tokens[target.offsets[pair] : target.offsets[pair + 1]]
    s_vectors = _pick(s_tokens, source.vectors, source.unseen)
    forward = np.dot(_pick(t_tokens, target.vectors, target.unseen), s_vectors.T)
    exponentials(forward)
    backward = np.empty((len(s_tokens), len(t_tokens)), np.float32)
    s_scales, s_worth, s_weights = _facts(s_tokens, source.scales, counts.source, totals[0], counts.strength)
    t_scales, t_worth, t_weights = _facts(t_tokens, target.scales, counts.target, totals[1], counts.strength)
    strength, likeness, twins = np.float32(counts.strength), np.float32(counts.likeness), counts.twins
    found = _own_counts(counts, s_tokens, t_tokens, own)
    for t in range(len(t_tokens)):
        twin = twins[t_tokens[t]]
        for s in range(len(s_tokens)):
            ahead, back = forward[t, s] * s_scales[s], forward[t, s] * t_scales[t]
            if twin == s_tokens[s]:
                ahead += likeness * (t_worth[t] - ahead)
                back += likeness * (s_worth[s] - back)
            if s_weights[s] * t_weights[t] > 0.0:
                ahead = (found[t, s] * t_worth[t] + strength * ahead) * s_weights[s]
                back = (found[t, s] * s_worth[s] + strength * back) * t_weights[t]
            forward[t, s] = ahead
            backward[s, t] = back
    return forward, backward


@inner
def _word_facts(side: Words, pair: int, null: float) -> tuple[Ints, Floats]:
    """Return the class of each word of a sentence, and its chance to have no link; unseen words are rare."""
    first, last = side.offsets[pair], side.offsets[pair + 1]
    classes = np.zeros(last - first, np.int32)
    nulls = np.full(last - first, null, np.float32)
    tokens, own_classes, own_nulls = side.tokens, side.classes, side.nulls
    for place in range(last - first):
        word = tokens[first + place]
        if word < len(own_classes):
            classes[place] = own_classes[word]
            nulls[place] = own_nulls[word]
    return classes, nulls


@inner
def _tally_free(side: Words, pair: int, posterior: Floats, free: Floats) -> None:
    tokens, first = side.tokens, side.offsets[pair]
    for place in range(posterior.shape[0]):
        linked = np.float32(0.0)
        for k in range(posterior.shape[1]):
            linked += posterior[place, k]
        free[tokens[first + place]] += max(np.float32(1.0) - linked, np.float32(0.0))


@inner
def _totals(counts: Counts) -> tuple[float, float]:
    source = target = 0
    for count in counts.source:
        source += count
    for count in counts.target:
        target += count
    return float(source), float(target)


@kernel
def matrices(
    source: Words, target: Words, pair: int, counts: Counts, prior: Prior, tally: Tally
) -> tuple[Floats, Floats]:
    """Return one pair's posteriors of both directions: (target, source) and (source, target)."""
    nothing = np.empty((0, 0), np.float32)
    forward, backward = _emissions(source, target, pair, counts, _totals(counts), nothing)
    t_posterior = np.empty_like(forward)
    s_posterior = np.empty_like(backward)
    s_classes, s_nulls = _word_facts(source, pair, prior.null)
    t_classes, t_nulls = _word_facts(target, pair, prior.null)
    scales = np.empty(max(forward.shape), np.float32)
    explain(forward, t_nulls, prior, 0, s_classes, t_posterior, scales, tally, 0)
    explain(backward, s_nulls, prior, 1, t_classes, s_posterior, scales, tally, 0)
    return t_posterior, s_posterior


@kernel
def posteriors(
    source: Words,
    target: Words,
    pairs: Longs,
    counts: Counts,
    known: Cells,
    prior: Prior,
    floor: float,
    tally: Tally,
    group: int,
    scores: Doubles,
    free: tuple[Floats, Floats],
) -> Cells:
    """Find the cells √(forward · backward) ≥ floor of some pairs.

    What `known` says that the pairs added to the counts is left out. `scores` gets each pair's mean log ratio
    a word, both ways; `free`, where it has room, sums by source and target word the chances to have no link.
    """
    totals = _totals(counts)
    twins, twin_tally = counts.twins, tally.twins
    offsets = np.zeros(len(pairs) + 1, np.int64)
    s_cells = np.empty(1024, np.int32)
    t_cells = np.empty(1024, np.int32)
    values = np.empty(1024, np.float32)
    n = 0
    for place in range(len(pairs)):
        n_source = source.offsets[pairs[place] + 1] - source.offsets[pairs[place]]
        n_target = target.offsets[pairs[place] + 1] - target.offsets[pairs[place]]
        scores[place] = 0.0
        offsets[place + 1] = n
        if n_source == 0 or n_target == 0:
            continue
        own = _known_cells(known, place, n_source, n_target)
        forward, backward = _emissions(source, target, pairs[place], counts, totals, own)
        t_scales = np.empty(n_target, np.float32)
        s_scales = np.empty(n_source, np.float32)
        t_posterior = np.empty_like(forward)
        s_classes, s_nulls = _word_facts(source, pairs[place], prior.null)
        t_classes, t_nulls = _word_facts(target, pairs[place], prior.null)
        explain(forward, t_nulls, prior, 0, s_classes, t_posterior, t_scales, tally, group)
        s_posterior = forward.reshape(n_source, n_target)  # the forward emissions have served: save the room
        explain(backward, s_nulls, prior, 1, t_classes, s_posterior, s_scales, tally, group)
        if len(free[0]):
            _tally_free(source, pairs[place], s_posterior, free[0])
            _tally_free(target, pairs[place], t_posterior, free[1])
        for t in range(n_target):
            scores[place] += math.log(t_scales[t])
        for s in range(n_source):
            scores[place] += math.log(s_scales[s])
        scores[place] /= n_source + n_target
        s_tokens = source.tokens[source.offsets[pairs[place]] : source.offsets[pairs[place] + 1]]
        t_tokens = target.tokens[target.offsets[pairs[place]] : target.offsets[pairs[place] + 1]]
        for s in range(n_source):
            for t in range(n_target):
                value = math.sqrt(t_posterior[t, s] * s_posterior[s, t])
                if len(twin_tally) and twins[t_tokens[t]] == s_tokens[s]:
                    twin_tally[group, 0] += value
                    twin_tally[group, 1] += 1.0
                if value >= floor:
                    if n == len(values):
                        s_cells = _longer(s_cells)
                        t_cells = _longer(t_cells)
                        values = _longer(values)
                    s_cells[n] = s
                    t_cells[n] = t
                    values[n] = value
                    n += 1
        offsets[place + 1] = n
    return Cells(offsets, s_cells[:n].copy(), t_cells[:n].copy(), values[:n].copy())


@inner
def _longer(array: Any) -> Any:
    longer = np.empty(2 * len(array), array.dtype)
    for place in range(len(array)):
        longer[place] = array[place]
    return longer


@inner
def _known_cells(known: Cells, place: int, n_source: int, n_target: int) -> Floats:
    """Lay out the cells of one pair as a matrix; none where no cells are known."""
    if len(known.offsets) == 0:
        return np.empty((0, 0), np.float32)
    own = np.zeros((n_source, n_target), np.float32)
    offsets, source, target, values = known
    for at in range(offsets[place], offsets[place + 1]):
        own[source[at], target[at]] = values[at]
    return own


@kernel
def add_counts(
    source: Words,
    target: Words,
    pairs: Longs,
    cells: Cells,
    keys: Longs,
    sums: Floats,
    size: int,
) -> tuple[Longs, Floats, int]:
    """Add cells to a hash table of word pairs; return it, grown where needed, and its size."""
    s_tokens, t_tokens = source.tokens, target.tokens
    offsets, s_cells, t_cells, values = cells
    for place in range(len(pairs)):
        s_first, t_first = source.offsets[pairs[place]], target.offsets[pairs[place]]
        for at in range(offsets[place], offsets[place + 1]):
            s_word = np.int64(s_tokens[s_first + s_cells[at]])
            t_word = np.int64(t_tokens[t_first + t_cells[at]])
            slot = _slot(keys, (t_word << 32) | s_word)
            if keys[slot] < 0:
                keys[slot] = (t_word << 32) | s_word
                size += 1
            sums[slot] += values[at]
            if 2 * size > len(keys):
                keys, sums = _grown(keys, sums)
    return keys, sums, size


@inner
def _slot(keys: Longs, key: int) -> Any:
    mask = len(keys) - 1
    mixed = key * np.int64(-7046029254386353131)
    slot = (mixed ^ (mixed >> 32)) & mask
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@inner
def _grown(keys: Longs, sums: Floats) -> tuple[Longs, Floats]:
    more_keys = np.full(2 * len(keys), -1, np.int64)
    more_sums = np.zeros(2 * len(keys), np.float32)
    for slot in range(len(keys)):
        if keys[slot] >= 0:
            place = _slot(more_keys, keys[slot])
            more_keys[place] = keys[slot]
            more_sums[place] = sums[slot]
    return more_keys, more_sums
