"""Shards aligned on Ray: each whole, with its manifest, by the code that aligns shards on one machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bitweft.aligner import Aligner
from bitweft.cluster.engine import Tasks, connected, run
from bitweft.corpus.align_files import Summary
from bitweft.corpus.align_shards import Pace, ShardJob, align_shard, check_free
from bitweft.corpus.shards import Shard
from bitweft.errors import BitweftError, OccupiedError
from bitweft.progress import Progress

if TYPE_CHECKING:
    from ray import ObjectRef

PATIENCE = 60.0  # seconds to wait for a writer of whom the cluster says that it is dead
EVERY = 1.0  # seconds between two words of a worker


def align_on_ray(
    model: str,
    shards: Sequence[Shard],
    job: ShardJob,
    tell: Callable[[Progress], None],
    *,
    address: str,
    threads: int = 1,
    workers: int | None = None,
) -> Iterator[tuple[Shard, Summary | BitweftError | None]]:
    """Align shards on a cluster; give each as it is done: its summary, its error, or None if done before.

    The model goes to the workers through Ray's object store; each loads it once. The shards must have the
    same names on all nodes: on a file system that they share, or at URLs. The error of a shard is given like
    any result, and does not keep the others from being done.

    Arguments:
        model: the model's directory.
        shards: to be done, in any order.
        job: how they are read and written.
        tell: is called with how far all of them are, in pairs.
        address: of the cluster, or `local`.
        threads: of one worker.
        workers: how many at a time; None for as many as the cluster has cores for.

    Raises:
        InputError: an output exists and neither `force` nor a manifest with `resume` allows to replace it.
        BitweftError: the cluster cannot be reached, or gives up.
    """
    for shard in shards:
        check_free(shard, job)
    pace = Pace(shards)
    # A shard whose worker died behind its last line is done: retries pass over it.
    again = replace(job, resume=True)
    with connected(address):
        import ray

        work: Tasks[Shard, Summary | None] = Tasks(
            _align, [ray.put(packed(model)), ray.put((again, threads))], threads, workers
        )
        for number, found in run(work, shards, lambda *news: tell(pace.told(*news))):
            if found is None:
                pace.leave_out(number)
            yield shards[number], found


def packed(directory: str) -> dict[str, npt.NDArray[np.uint8]]:
    """Read the files of a model; as arrays, the workers of a node share one copy."""
    return {
        path.name: np.fromfile(path, np.uint8) for path in sorted(Path(directory).iterdir()) if path.is_file()
    }


@lru_cache(maxsize=1)
def loaded(files: ObjectRef, threads: int) -> Aligner:
    """Load a model, once in a worker."""
    import ray

    with TemporaryDirectory(prefix="bitweft-") as directory:
        for name, content in ray.get(files).items():
            content.tofile(Path(directory) / name)
        return Aligner.load(directory, threads=threads)


def _align(
    shard: Shard, model: ObjectRef, job: ObjectRef, tell: Callable[[int, int], None]
) -> Summary | None:
    """Align one shard, in a worker."""
    import ray

    how, threads = ray.get(job)
    aligner = loaded(model, threads)
    last = -EVERY

    def told(done: int, total: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last >= EVERY:
            last = time.monotonic()
            tell(done, total)

    until = time.monotonic() + PATIENCE
    while True:
        try:
            return align_shard(aligner, shard, how, told)
        except OccupiedError:
            if time.monotonic() > until:
                raise
            time.sleep(1)
