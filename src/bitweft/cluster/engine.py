"""A function over many items: here, one after the other, or by Ray, on this machine or a cluster.

Ray places, runs and retries. When a worker is killed or a node leaves, Ray runs the task again elsewhere, so
the function must come to the same however often it is begun. A disk that is full is a fault of its node: the
item goes to another one.
"""

from __future__ import annotations

import errno
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from bitweft.errors import BitweftError
from bitweft.extras import needs

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.actor import ActorHandle

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")
Told = Callable[[int, int, int], None]  # the number of an item, its pairs that are done, and all of them

LOCAL = "local"  # the address of a cluster of this machine alone, begun and ended with the work
RETRIES = 10  # of an item whose workers die
AHEAD = 2  # items given out for each core, so that none waits for the driver
ASKED = 0.5  # seconds between two looks at how far the workers are
_FULL = {errno.ENOSPC, errno.EDQUOT}


class Shared(ABC, Generic[Value]):
    """Stand for a value that all workers need; each asks for it when it does."""

    @abstractmethod
    def get(self) -> Value:
        """Return the value."""


class Engine(Protocol):
    """Run `work(item, shared, tell)` over items; `tell` takes the pairs that are done, and all of them."""

    def share(self, value: Value) -> Shared[Value]:
        """Make a value known to the workers."""

    def run(
        self, work: Callable[..., Result], items: Sequence[Item], shared: Shared[Any], told: Told
    ) -> Iterator[tuple[int, Result | BitweftError]]:
        """Give the number of each item with its result, or its error, as they are done."""


@dataclass(frozen=True, eq=False)
class _Held(Shared[Value]):
    value: Value

    def get(self) -> Value:
        return self.value


class Here:
    """Run in this process, one item after the other."""

    def share(self, value: Value) -> Shared[Value]:
        """Hold the value."""
        return _Held(value)

    def run(
        self, work: Callable[..., Result], items: Sequence[Item], shared: Shared[Any], told: Told
    ) -> Iterator[tuple[int, Result | BitweftError]]:
        """Work on the items in their order; an error is raised."""
        for number, item in enumerate(items):
            yield number, work(item, shared, lambda *pairs, number=number: told(number, *pairs))


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
    except Exception as error:  # Ray's are of many kinds
        raise BitweftError(f"--ray {address}: no cluster could be reached or begun: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


@dataclass(frozen=True)
class _Stored(Shared[Value]):
    """Stand for a value in Ray's object store."""

    ref: ObjectRef

    def get(self) -> Value:
        import ray

        value: Value = ray.get(self.ref)
        return value


@dataclass(frozen=True)
class Ray:
    """Run on the cluster that is `connected`."""

    cores: int = 1  # of one item
    workers: int | None = None  # items at a time; None: as many as the cluster has cores for

    def share(self, value: Value) -> Shared[Value]:
        """Put the value into the object store."""
        import ray

        return _Stored(ray.put(value))

    def run(
        self, work: Callable[..., Result], items: Sequence[Item], shared: Shared[Any], told: Told
    ) -> Iterator[tuple[int, Result | BitweftError]]:
        """Work on the items, in any order.

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
            room = self._room()
            while waiting and len(running) < room:
                number = waiting.pop()
                placed = attempt.options(num_cpus=self.cores, max_retries=RETRIES, **_elsewhere(full))
                running[placed.remote(work, items[number], shared, board, number)] = number
            done, _ = ray.wait(list(running), timeout=ASKED)
            for number, pairs in _news(board).items():
                told(number, *pairs)
            for ref in done:
                number = running.pop(ref)
                answer = _answer(ref)
                if isinstance(answer, _Failed) and answer.full:
                    full.add(answer.node)
                    if _others(full):
                        waiting.append(number)
                        continue
                yield number, answer.error if isinstance(answer, _Failed) else answer

    def _room(self) -> int:
        """Tell how many items to give out at a time; the cluster may grow and shrink meanwhile."""
        import ray

        if self.workers is not None:
            return self.workers
        return max(1, AHEAD * int(ray.cluster_resources().get("CPU", 1)) // self.cores)


def _elsewhere(full: set[str]) -> Mapping[str, Any]:
    """Ask for a node that is none of these."""
    return {"label_selector": {"ray.io/node-id": f"!in({','.join(sorted(full))})"}} if full else {}


def _others(full: set[str]) -> bool:
    import ray

    return any(node["Alive"] and node["NodeID"] not in full for node in ray.nodes())


@dataclass(frozen=True)
class _Failed:
    """Hold the error that an item met, and whether it is the node's: its disk is full."""

    error: BitweftError
    node: str
    full: bool


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
    work: Callable[..., Result], item: Item, shared: Shared[Any], board: ActorHandle, number: int
) -> Result | _Failed:
    """Work on an item, in a worker."""
    import ray

    def tell(done: int, total: int) -> None:
        board.put.remote(number, done, total)

    try:
        return work(item, shared, tell)
    except (BitweftError, OSError) as error:
        node = ray.get_runtime_context().get_node_id()
        told = error if isinstance(error, BitweftError) else BitweftError(str(error))
        return _Failed(told, node, is_full_disk(error))


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


def _news(board: ActorHandle) -> dict[int, tuple[int, int]]:
    """Ask how far the workers are; while the board's node is away, nobody knows."""
    import ray
    from ray.exceptions import RayActorError

    try:
        found: dict[int, tuple[int, int]] = ray.get(board.news.remote())
    except RayActorError:
        return {}
    return found


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
