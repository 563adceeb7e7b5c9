"""The first layer's tanh: of any numbers, and of every source word at every distance to the diagonal.

`words` (words, units) is what the layer makes of the words, `distances` (buckets, units) what it makes of the
distances; `hidden` (words, buckets, units) is the tanh of their sums.
"""

from __future__ import annotations

import numpy as np

from bitweft.recipes.compile import compiled
from bitweft.recipes.paper.compiled.products import Floats

# tanh as a quotient of polynomials, within 4e-7, where it is not ±1 in 32 bits: from the highest power down.
ABOVE = tuple(
    np.float32(factor)
    for factor in (
        -2.76076847742355e-16,
        2.00018790482477e-13,
        -8.60467152213735e-11,
        5.12229709037114e-08,
        1.48572235717979e-05,
        6.37261928875436e-04,
        4.89352455891786e-03,
    )
)
BELOW = tuple(
    np.float32(factor)
    for factor in (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)
)
LARGEST = np.float32(7.90531110763549805)


@compiled()
def _tanh(value: np.float32) -> np.float32:
    x = min(max(value, -LARGEST), LARGEST)
    square = x * x
    above, below = ABOVE[0], BELOW[0]
    for factor in ABOVE[1:]:
        above = above * square + factor
    for factor in BELOW[1:]:
        below = below * square + factor
    return x * above / below


@compiled(entry=True)
def tanh(values: Floats, result: Floats) -> None:
    """Write the tanh of all values to `result`."""
    flat, into = values.reshape(values.size), result.reshape(result.size)
    for place in range(flat.size):
        into[place] = _tanh(flat[place])


@compiled(entry=True)
def in_buckets(words: Floats, distances: Floats, hidden: Floats) -> None:
    """Write the tanh of each word at each distance to `hidden`."""
    units = words.shape[1]
    for word in range(words.shape[0]):
        for bucket in range(distances.shape[0]):
            for unit in range(units):
                hidden[word, bucket, unit] = _tanh(words[word, unit] + distances[bucket, unit])


@compiled(entry=True)
def bucket_gradients(hidden: Floats, gradient: Floats, words: Floats, distances: Floats) -> None:
    """Add the gradients of words and distances, given that of `hidden`."""
    units = words.shape[1]
    for word in range(hidden.shape[0]):
        for bucket in range(hidden.shape[1]):
            for unit in range(units):
                value = hidden[word, bucket, unit]
                change = gradient[word, bucket, unit] * (np.float32(1.0) - value * value)
                words[word, unit] += change
                distances[bucket, unit] += change
