"""Shards aligned on Ray: each whole, with its manifest, by the code that aligns shards on one machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from bitweft.cluster.engine import Ray, Shared, connected
from bitweft.cluster.workers import Files, loaded, packed, patiently
from bitweft.corpus.align_files import Summary
from bitweft.corpus.align_shards import Pace, ShardJob, align_shard, check_free
from bitweft.corpus.shards import Shard
from bitweft.errors import BitweftError
from bitweft.progress import Progress

EVERY = 1.0  # seconds between two words of a worker


class Aligning(NamedTuple):
    """Hold what all workers need."""

    model: Shared[Files]
    job: ShardJob
    threads: int


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
    pace = Pace([shard.inputs for shard in shards])
    with connected(address):
        engine = Ray(threads, workers)
        # A shard whose worker died behind its last line is done: retries pass over it.
        aligning = Aligning(engine.share(packed(model)), replace(job, resume=True), threads)
        found = engine.run(align_one, shards, engine.share(aligning), lambda *news: tell(pace.told(*news)))
        for number, result in found:
            if result is None:
                pace.leave_out(number)
            yield shards[number], result


def align_one(shard: Shard, shared: Shared[Aligning], tell: Callable[[int, int], None]) -> Summary | None:
    """Align one shard, in a worker."""
    model, job, threads = shared.get()
    aligner = loaded(model, threads)
    last = -EVERY

    def told(done: int, total: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last >= EVERY:
            last = time.monotonic()
            tell(done, total)

    return patiently(lambda: align_shard(aligner, shard, job, told))
