"""A function over many items, by Ray, on this machine or a cluster: Ray places, runs and retries.

When a worker is killed or a node leaves, Ray runs the task again elsewhere, so the function must come to the
same however often it is begun. A disk that is full is a fault of its node: the item goes to another one.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bitweft.errors import BitweftError
from bitweft.extras import needs

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.actor import ActorHandle

Item = TypeVar("Item")
Result = TypeVar("Result")

LOCAL = "local"  # the address of a cluster of this machine alone, begun and ended with the work
RETRIES = 10  # of an item whose workers die
AHEAD = 2  # items given out for each core, so that none waits for the driver
ASKED = 0.5  # seconds between two looks at how far the workers are
_FULL = {errno.ENOSPC, errno.EDQUOT}


@dataclass(frozen=True)
class Failed:
    """Hold the error that an item met, and whether it is the node's: its disk is full."""

    error: BitweftError
    node: str
    full: bool


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Connect to a running cluster, or begin one on this machine, for as long as the block takes.

    Raises:
        BitweftError: there is no cluster at this address.
        MissingExtraError: Ray is not installed.
    """
    with needs("ray"):
        import ray
    if ray.is_initialized():  # by whoever calls this from a program of theirs
        yield
        return
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # otherwise Ray warns of its future
    address = os.environ.get("RAY_ADDRESS", LOCAL) if address == LOCAL else address
    own: dict[str, Any] = {"include_dashboard": False} if address == LOCAL else {}
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise BitweftError(f"--ray {address}: no cluster could be reached: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


@dataclass(frozen=True)
class Tasks(Generic[Item, Result]):
    """Say what to do with each item: `work(item, *shared, tell)`, where `tell` takes the pairs done and all.

    `shared` are objects of the cluster that a worker asks for when it needs them.
    """

    work: Callable[..., Result]
    shared: Sequence[ObjectRef]
    cores: int = 1  # of one item
    workers: int | None = None  # items at a time; None: as many as the cluster has cores for


def run(
    tasks: Tasks[Item, Result], items: Sequence[Item], told: Callable[[int, int, int], None]
) -> Iterator[tuple[int, Result | BitweftError]]:
    """Work on the items; give the number of each with its result, or its error, as they are done.

    `told` is called with an item's number and how many of its pairs are done, and there are.

    Raises:
        BitweftError: an item's workers died again and again.
    """
    import ray

    board = _board()
    attempt = ray.remote(_attempt)
    waiting = list(range(len(items)))[::-1]
    full: set[str] = set()  # nodes
    running: dict[ObjectRef, int] = {}
    while waiting or running:
        while waiting and len(running) < _room(tasks):
            number = waiting.pop()
            placed = attempt.options(num_cpus=tasks.cores, max_retries=RETRIES, **_elsewhere(full))
            running[placed.remote(tasks.work, items[number], list(tasks.shared), board, number)] = number
        done, _ = ray.wait(list(running), timeout=ASKED)
        for number, pairs in ray.get(board.news.remote()).items():
            told(number, *pairs)
        for ref in done:
            number = running.pop(ref)
            answer = _answer(ref)
            if isinstance(answer, Failed) and answer.full:
                full.add(answer.node)
                if _others(full):
                    waiting.append(number)
                    continue
            yield number, answer.error if isinstance(answer, Failed) else answer


def _room(tasks: Tasks[Item, Result]) -> int:
    """Tell how many items to give out at a time; the cluster may grow and shrink meanwhile."""
    import ray

    if tasks.workers is not None:
        return tasks.workers
    return max(1, AHEAD * int(ray.cluster_resources().get("CPU", 1)) // tasks.cores)


def _elsewhere(full: set[str]) -> Mapping[str, Any]:
    """Ask for a node that is none of these."""
    return {"label_selector": {"ray.io/node-id": f"!in({','.join(sorted(full))})"}} if full else {}


def _others(full: set[str]) -> bool:
    import ray

    return any(node["Alive"] and node["NodeID"] not in full for node in ray.nodes())


def _answer(ref: ObjectRef) -> Any:
    import ray
    from ray.exceptions import RayError, RayTaskError

    try:
        return ray.get(ref)
    except RayTaskError:  # a fault of ours: shown as it is
        raise
    except RayError as error:
        raise BitweftError(f"the cluster gave up on an item after {RETRIES} retries: {error}") from error


def _attempt(
    work: Callable[..., Result], item: Item, shared: list[ObjectRef], board: ActorHandle, number: int
) -> Result | Failed:
    """Work on an item, in a worker."""
    import ray

    def tell(done: int, total: int) -> None:
        board.put.remote(number, done, total)

    try:
        return work(item, *shared, tell)
    except (BitweftError, OSError) as error:
        node = ray.get_runtime_context().get_node_id()
        told = error if isinstance(error, BitweftError) else BitweftError(str(error))
        return Failed(told, node, is_full_disk(error))


def is_full_disk(error: BaseException | None) -> bool:
    """Tell whether an error comes from a disk that has no room left."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        error = error.__cause__
    return False


def _board() -> ActorHandle:
    """Make the place on the driver's node where workers write how far they are."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    made: ActorHandle = (
        ray.remote(Board).options(num_cpus=0, max_restarts=-1, scheduling_strategy=here).remote()
    )
    return made


class Board:
    """Hold the latest word on each item: a retry writes over what its forerunner wrote."""

    def __init__(self) -> None:
        self._news: dict[int, tuple[int, int]] = {}

    def put(self, number: int, done: int, total: int) -> None:
        """Take note of an item."""
        self._news[number] = done, total

    def news(self) -> dict[int, tuple[int, int]]:
        """Give what is new since the last time."""
        news, self._news = self._news, {}
        return news
