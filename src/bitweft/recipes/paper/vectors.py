"""Word vectors to start from: Hellinger PCA of co-occurrences (Lebret and Collobert, 2014), or a file's."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bitweft.errors import InputError

FloatArray = npt.NDArray[np.float32]


def hellinger_vectors(
    words: npt.ArrayLike,
    lengths: npt.ArrayLike,
    size: int,
    *,
    dimensions: int = 128,
    window: int = 5,
    contexts: int = 1_000,
    directed: bool = False,
) -> FloatArray:
    """Return a vector for each of `size` words: the PCA of the square roots of p(context | word).

    `words` holds the numbers of all sentences' words, `lengths` their lengths. Contexts are the most common
    words within `window`; `directed` tells those before from those after. A word that does not occur, such
    as the padding, has no vector: zeros.
    """
    flat = np.asarray(words, np.int64)
    lengths = np.asarray(lengths, np.int64)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    frequency = np.bincount(flat, minlength=size)
    context = np.full(size, -1, np.int64)
    common = np.argsort(-frequency, kind="stable")[:contexts]
    context[common] = np.arange(len(common))
    width = len(common) * (2 if directed else 1)
    counts = np.zeros((size, width), np.float32)
    for distance in range(1, min(window, len(flat) - 1) + 1):
        together = owner[:-distance] == owner[distance:]
        before, after = flat[:-distance][together], flat[distance:][together]
        _count(counts, after, context[before])
        _count(counts, before, context[after], shift=len(common) if directed else 0)
    roots = np.sqrt(counts / np.maximum(counts.sum(1, keepdims=True), 1))
    roots -= np.average(roots, axis=0, weights=np.maximum(frequency, 1e-9)).astype(np.float32)
    values, directions = np.linalg.eigh(roots.T @ roots)
    best = directions[:, np.argsort(-values, kind="stable")[:dimensions]]
    vectors = np.zeros((size, dimensions), np.float32)
    vectors[:, : best.shape[1]] = roots @ best
    vectors[frequency == 0] = 0.0
    return vectors


def _count(
    counts: FloatArray, words: npt.NDArray[np.int64], contexts: npt.NDArray[np.int64], shift: int = 0
) -> None:
    """Add one for each word beside a context; contexts below zero are none."""
    known = contexts >= 0
    cells, times = np.unique(words[known] * counts.shape[1] + contexts[known] + shift, return_counts=True)
    counts.reshape(-1)[cells] += times.astype(np.float32)


def cluster(vectors: FloatArray, clusters: int, *, rounds: int = 20, seed: int = 0) -> npt.NDArray[np.int64]:
    """Return the cluster of each vector: k-means on the unit sphere."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    if len(unit) <= clusters:
        return np.arange(len(unit))
    centers = _spread(unit, clusters, np.random.default_rng(seed))
    for _ in range(rounds):
        own = np.argmax(unit @ centers.T, axis=1)
        sums = np.zeros_like(centers)
        np.add.at(sums, own, unit)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        centers = np.where(norms > 0, sums / np.maximum(norms, 1e-9), centers)  # an empty cluster stays
    return np.asarray(np.argmax(unit @ centers.T, axis=1), np.int64)


def _spread(unit: FloatArray, count: int, random: np.random.Generator) -> FloatArray:
    """Draw centers far from one another (k-means++)."""
    chosen = [int(random.integers(len(unit)))]
    far = 1 - unit @ unit[chosen[0]]
    for _ in range(count - 1):
        weights = np.maximum(far, 0).astype(np.float64) + 1e-12
        chosen.append(int(random.choice(len(unit), p=weights / weights.sum())))
        far = np.minimum(far, 1 - unit @ unit[chosen[-1]])
    return unit[chosen]


def read_vectors(
    path: str | os.PathLike[str], wanted: Sequence[str], dimensions: int
) -> dict[str, FloatArray]:
    """Read the vectors of the wanted words from a file in the text format of word2vec and fastText."""
    name = os.fspath(path)
    keep = set(wanted)
    found: dict[str, FloatArray] = {}
    try:
        with open(name, encoding="utf-8", newline="\n", errors="surrogateescape") as stream:
            for number, line in enumerate(stream, 1):
                fields = line.rstrip().split(" ")
                if number == 1 and len(fields) == 2:
                    continue  # the header: how many, how long
                if len(fields) != dimensions + 1:
                    raise InputError(
                        f"a word and {dimensions} numbers were expected, not {len(fields)} fields",
                        file=name,
                        line=number,
                    )
                if fields[0] in keep:
                    found[fields[0]] = _numbers(fields[1:], name, number)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=name) from error
    return found


def _numbers(fields: Sequence[str], name: str, line: int) -> FloatArray:
    try:
        return np.array([float(field) for field in fields], np.float32)
    except ValueError as error:
        raise InputError(f"not a number: {error}", file=name, line=line) from error
