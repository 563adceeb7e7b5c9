"""Where the time of the default recipe goes, on one thread: its phases, and its matrix products alone.

    python benchmarks/products.py SOURCE TARGET        prints JSON
    python benchmarks/products.py SOURCE TARGET N      phases alone, in wall seconds on N threads

Phases are timed by the events of a training. Products are counted from the recipe's equations, over the
distinct words of groups drawn as the recipe draws them, and timed alone: the same products of the same sizes
by the same library, called from compiled code, with nothing between them. Peak is a product of 1024 × 1024.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from bitweft import Aligner, Bitext
from bitweft.corpus.align_files import LinkOptions, write_links
from bitweft.recipes.base import FitExtras
from bitweft.recipes.default.blas import one_blas_thread

GROUPS = 400  # drawn to count and to time
PEAK = 1024


class Size(NamedTuple):
    """Hold the sizes of what is multiplied: words on both sides, and the pairs of a group."""

    target: int
    source: int
    pairs: int


def group_flop(size: Size, dimensions: int) -> int:
    """Count the operations of a group's products: scores, two sums over sentences and back, two gradients."""
    return size.target * size.source * (3 * 2 * dimensions + 4 * 2 * size.pairs)


def pair_flop(size: Size, dimensions: int) -> int:
    """Count the operations of a pair's product when links are counted or found: its scores."""
    return 2 * size.target * size.source * dimensions


def _group(t_vectors: Any, s_vectors: Any, t_shares: Any, s_shares: Any) -> Any:
    ratio = np.dot(t_vectors, s_vectors.T)
    t_weights = np.dot(ratio, s_shares)
    s_weights = np.dot(ratio.T, t_shares)
    slope = np.dot(t_weights, s_shares.T)
    other = np.dot(t_shares, s_weights.T)
    t_gradient = np.dot(slope, s_vectors)
    s_gradient = np.dot(other.T, t_vectors)
    return t_gradient[0, 0] + s_gradient[0, 0]


def _pair(t_vectors: Any, s_vectors: Any) -> Any:
    return np.dot(t_vectors, s_vectors.T)[0, 0]


def draw(text: Sequence[tuple[set[str], set[str]]], group: int) -> list[Size]:
    """Draw groups of pairs and count their distinct words."""
    generator = np.random.default_rng(1)
    order = generator.permutation(len(text))[: GROUPS * group]
    sizes = []
    for start in range(0, len(order) - group + 1, group):
        own = [text[place] for place in order[start : start + group]]
        source, target = (set().union(*words) for words in zip(*own, strict=True))
        sizes.append(Size(len(target), len(source), group))
    return sizes


def cpu(work: Callable[[], Any], least: float = 0.3) -> float:
    """Give the CPU seconds of a call, from as many as take some time."""
    work()
    times, began = 0, time.process_time()
    while time.process_time() - began < least:
        work()
        times += 1
    return (time.process_time() - began) / times


def peak_flops() -> float:
    """Find the operations a second of a large single-precision product: the best of several."""
    from scipy.linalg.blas import sgemm

    one = np.asfortranarray(np.random.default_rng(1).random((PEAK, PEAK), np.float32))
    return 2 * PEAK**3 / min(cpu(lambda: sgemm(1.0, one, one), 0.1) for _ in range(5))


def _random(*shape: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(1).random(shape, np.float32)


def products(groups: Sequence[Size], pairs: Sequence[Size], dimensions: int) -> dict[str, float]:
    """Time the products of some groups and of some pairs alone; give operations and seconds of one."""
    group, pair = njit(cache=True)(_group), njit(cache=True)(_pair)
    of_groups = [
        (
            _random(size.target, dimensions),
            _random(size.source, dimensions),
            _random(size.target, size.pairs),
            _random(size.source, size.pairs),
        )
        for size in groups
    ]
    of_pairs = [(_random(size.target, dimensions), _random(size.source, dimensions)) for size in pairs]
    return {
        "group_flop": sum(group_flop(size, dimensions) for size in groups) / len(groups),
        "group_seconds": cpu(lambda: [group(*own) for own in of_groups]) / len(groups),
        "pair_flop": sum(pair_flop(size, dimensions) for size in pairs) / len(pairs),
        "pair_seconds": cpu(lambda: [pair(*own) for own in of_pairs]) / len(pairs),
    }


def phases(
    text: Bitext, *, threads: int = 1, clock: Callable[[], float] = time.process_time
) -> tuple[Aligner, dict[str, float]]:
    """Train and align as the command line does; give the seconds of each phase."""
    aligner = Aligner(seed=1, threads=threads)
    spent = {"reading": 0.0}
    begun = False  # what stands between the last event of reading and the first of learning is reading too
    last = clock()
    for progress in aligner.train(text, FitExtras(hold_text=True)):
        now = clock()
        phase = progress.phase if begun else "reading"
        begun = begun or progress.phase != "reading"
        spent[phase] = spent.get(phase, 0.0) + now - last
        last = now
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        for _ in write_links(aligner, text, nowhere, LinkOptions()):
            pass
    spent["aligning"] = clock() - last
    return aligner, spent


def main(source: str, target: str, threads: str | None = None) -> None:
    """Measure one text."""
    text = Bitext(source, target)
    if threads is not None:
        print(json.dumps(phases(text, threads=int(threads), clock=time.perf_counter)[1]))
        return
    aligner, spent = phases(text)
    config: Any = aligner.recipe.config
    words = [[[word.lower() for word in side.tokens] for side in pair] for pair in text]
    learned = [pair for pair in words if all(0 < len(side) <= config.longest for side in pair)]
    groups = draw([(set(source), set(target)) for source, target in learned], config.group)
    pairs = [Size(len(target), len(source), 1) for source, target in learned[:: len(learned) // GROUPS + 1]]
    with one_blas_thread():
        alone = products(groups, pairs, config.dimensions)
        peak = peak_flops()
    epochs = {"lse": config.lse_epochs, "chain": config.chain_epochs, "count": config.count_passes}
    result = {
        "pairs": len(words),
        "learned": len(learned),
        "sampled": min(len(learned), config.descent_pairs),
        "epochs": epochs,
        "group": config.group,
        "dimensions": config.dimensions,
        "seconds": spent,
        "products": alone,
        "peak_flops": peak,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
