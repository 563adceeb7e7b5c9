"""Arrays from files, checked against what they must be: compiled code looks at no bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bitweft.recipes.default.compiled.types import CLIP, Adam, Cells, Counts, Longs, Prior, Tally
from bitweft.recipes.default.config import DefaultConfig
from bitweft.recipes.default.counts import chunks_of
from bitweft.recipes.default.learn import Learning
from bitweft.storage.model_directory import Arrays

SIDES = ("source", "target")
LARGEST = 1e4  # of a number in a table: learning stays far below, and products of these stay finite


def read_counts(arrays: Arrays, words: Counts) -> Counts:
    """Take the counts of word pairs, for the words of `words`."""
    values = arrays.take("counts.values", np.float32, (None,), low=0, high=1e12)
    size = len(values)
    sources = arrays.take("counts.sources", np.int32, (size,), low=0, high=len(words.source) - 1)
    offsets = arrays.take("counts.offsets", np.int64, words.offsets.shape, low=0, high=size)
    _check_offsets(arrays, "counts.offsets", offsets, size)
    inside = np.ones(size, bool)
    inside[offsets[:-1][offsets[:-1] < size]] = False  # where another target word begins
    if (np.diff(sources, prepend=0) <= 0)[inside].any():
        raise arrays.fault("counts.sources", "are out of order")
    return words._replace(offsets=offsets, sources=sources, values=values)


def read_prior(arrays: Arrays, config: DefaultConfig) -> Prior:
    """Take the weights of positions."""
    shapes: dict[str, tuple[int | None, ...]] = {
        "jumps": (2, None, 2 * CLIP + 1),
        "starts": (2, None),
        "diagonals": (2, None),
    }
    weights = {
        name: arrays.take(name, np.float32, shape, low=1e-9, high=1e9) for name, shape in shapes.items()
    }
    for name, array in weights.items():
        if 0 in array.shape:
            raise arrays.fault(name, f"has {array.shape[-1]} columns")
    return Prior(config.null, config.mixture, True, **weights)


def _check_offsets(arrays: Arrays, name: str, offsets: Longs, size: int) -> None:
    if offsets[0] != 0 or offsets[-1] != size or (np.diff(offsets) < 0).any():
        raise arrays.fault(name, "do not run from the first entry to the last")


def check_state(arrays: Arrays, learning: Learning) -> None:
    """Refuse a state that `learning`, which has just begun, could never have come to.

    Raises:
        ModelError: names the array, and what is wrong with it.
    """
    config = learning.config
    assert config.lse_epochs is not None and config.chain_epochs is not None and config.batch is not None
    steps = (config.lse_epochs + config.chain_epochs) * math.ceil(len(learning.sample) / config.batch)
    progress = arrays.take("progress", np.int64, (2,), low=0, high=max(steps, config.count_passes))
    if progress[0] > steps or progress[1] > config.count_passes:
        raise arrays.fault("progress", f"is beyond {steps} steps and {config.count_passes} passes")
    arrays.take("cognate_probability", np.float64, (1,), low=0, high=1)
    _check_prior(arrays, learning)
    for name, side, adam, nulls in zip(SIDES, learning.sides, learning.adams, learning.nulls, strict=True):
        arrays.take(f"{name}.table", np.float32, side.table.shape, low=-LARGEST, high=LARGEST)
        arrays.take(f"{name}.nulls", np.float32, nulls.shape, low=1e-12, high=1e6)
        for field in Adam._fields:
            own = getattr(adam, field)
            low = -math.inf if field == "first" else 0
            arrays.take(f"{name}.{field}", own.dtype.type, own.shape, low=low, high=2**62)
    for field in Tally._fields:
        own = getattr(learning.tally, field)
        arrays.take(f"tally.{field}", own.dtype.type, own.shape)
    read_counts(arrays, learning.words)
    lengths = [np.diff(text.offsets) for text in learning.texts]
    read_cells(arrays, lengths, learning.pairs if progress[1] else learning.pairs[:0])


def _check_prior(arrays: Arrays, learning: Learning) -> None:
    classes = 1 + max(int(own.max(initial=0)) for own in learning.classes)
    jumps = arrays.take("prior.jumps", np.float32, (2, None, 2 * CLIP + 1), low=1e-9, high=1e9)
    if jumps.shape[1] not in (1, classes):
        raise arrays.fault("prior.jumps", f"are of {jumps.shape[1]} classes of words, not {classes}")
    for name in ("starts", "diagonals"):
        shape = getattr(learning.prior, name).shape
        arrays.take(f"prior.{name}", np.float32, shape, low=1e-9, high=1e9)


def read_cells(arrays: Arrays, lengths: Sequence[Longs], pairs: Longs) -> list[Cells]:
    """Take what `cell_arrays` gave of some pairs; `lengths` are those of all sentences, of each side.

    Raises:
        ModelError: names the array, and what is wrong with it.
    """
    found = []
    for number, chunk in enumerate(chunks_of(pairs)):
        name = f"cells.{number}"
        offsets = arrays.take(f"{name}.offsets", np.int64, (None,), low=0)
        values = arrays.take(f"{name}.values", np.float32, (None,), low=0, high=2)
        size = len(values)
        if len(offsets) or size:  # the last pass leaves none
            if len(offsets) != len(chunk) + 1:
                raise arrays.fault(f"{name}.offsets", f"are {len(offsets)}, not {len(chunk) + 1}")
            _check_offsets(arrays, f"{name}.offsets", offsets, size)
        source, target = (arrays.take(f"{name}.{side}", np.int32, (size,), low=0) for side in SIDES)
        for side, places, own in zip(SIDES, (source, target), lengths, strict=True):
            if size and (places >= np.repeat(own[chunk], np.diff(offsets))).any():
                raise arrays.fault(f"{name}.{side}", "have positions outside their sentences")
        found.append(Cells(offsets, source, target, values))
    if f"cells.{len(found)}.offsets" in arrays:
        raise arrays.fault(f"cells.{len(found)}", "are of no pairs of the text")
    return found
