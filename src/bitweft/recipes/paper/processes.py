"""Networks that are trained side by side, each in a process of its own with one thread.

They do not depend on one another, so the result is that of training them in turns. The parent writes what all
need into a directory, once; a child, `python -m` this module, tells its progress in lines of JSON and leaves
its result there. Checkpoints are written by the parent alone.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

import torch

from bitweft.errors import BitweftError, UsageError
from bitweft.progress import Progress
from bitweft.recipes.base import Record
from bitweft.recipes.paper.aggregation import AGGREGATIONS
from bitweft.recipes.paper.decode import NegativeScores
from bitweft.recipes.paper.fitting import Fitting, Learned
from bitweft.recipes.paper.network import Network
from bitweft.recipes.paper.stages import Stages
from bitweft.storage.checkpoint import Arrays, Checkpoint, Facts

LARGE = 20_000  # pairs times epochs, from which on processes are worth their start

Job = tuple[str, int, int]  # `network`, direction and member; or `negative`, direction and 0


class _Shared(NamedTuple):
    """Hold what every child needs."""

    fitting: Fitting
    checkpoint: tuple[str, float] | None  # the directory to resume from, and how often to keep a state


class _Trained(NamedTuple):
    """Hold a child's network, and what its stages came to."""

    network: Network
    record: list[Record]


def processes(fitting: Fitting, threads: int | None) -> int:
    """Tell how many processes to train in: one for each network, as threads allow; 1 for small text."""
    config = fitting.config.training
    if AGGREGATIONS.is_local(config.aggregation) or fitting.device != "cpu":
        return 1
    if len(fitting.texts[0]) * (config.word_epochs + config.epochs) < LARGE:
        return 1
    return min(threads or os.cpu_count() or 1, 2 * fitting.config.members)


def fit_beside(
    fitting: Fitting, checkpoint: Checkpoint | None, threads: int | None
) -> Generator[Progress, None, list[Learned]]:
    """Train networks side by side, then score their negatives; return what was learned of each direction."""
    members = range(fitting.config.members)
    learned = []
    with tempfile.TemporaryDirectory(prefix="bitweft-") as name:
        directory = Path(name)
        kept = None
        if checkpoint is not None:
            kept = (str(checkpoint.directory) if checkpoint.resume else "", checkpoint.every)
        (directory / "shared").write_bytes(pickle.dumps(_Shared(fitting, kept)))
        count = processes(fitting, threads)
        networks: list[Job] = [("network", way, member) for way in (0, 1) for member in members]
        yield from _Children(directory, checkpoint, count).run(networks)
        yield from _Children(directory, None, count).run([("negative", 0, 0), ("negative", 1, 0)])
        for way in (0, 1):
            trained = [_read(directory, ("network", way, member)) for member in members]
            record = [own for one in trained for own in one.record]
            negative: NegativeScores = _read(directory, ("negative", way, 0))
            learned.append(Learned([one.network for one in trained], negative, record))
    return learned


class _Children:
    """Run jobs in processes, some at a time, and pass on what they tell."""

    def __init__(self, directory: Path, checkpoint: Checkpoint | None, count: int) -> None:
        self.directory = directory
        self.checkpoint = checkpoint
        self.count = count
        self.told: SimpleQueue[tuple[subprocess.Popen[str], str | None]] = SimpleQueue()
        self.running: list[subprocess.Popen[str]] = []

    def run(self, jobs: Sequence[Job]) -> Iterator[Progress]:
        """Run all jobs; where one fails, or nobody listens any more, all are stopped."""
        waiting = list(jobs)
        try:
            while waiting or self.running:
                while waiting and len(self.running) < self.count:
                    self._start(waiting.pop(0))
                child, line = self.told.get()
                if line is None:
                    self.running.remove(child)
                    if child.wait():
                        raise BitweftError(f"a process of training ended with exit code {child.returncode}")
                else:
                    yield from self._heard(json.loads(line))
        finally:
            for child in self.running:
                child.kill()
                child.wait()

    def _start(self, job: Job) -> None:
        module = [sys.executable, "-m", "bitweft.recipes.paper.processes"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
        order = [*module, str(self.directory), *map(str, job)]
        child = subprocess.Popen(order, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment)
        self.running.append(child)
        Thread(target=self._listen, args=(child,), daemon=True).start()

    def _listen(self, child: subprocess.Popen[str]) -> None:
        assert child.stdout is not None
        with child.stdout as lines:
            for line in lines:
                self.told.put((child, line))
        self.told.put((child, None))

    def _heard(self, message: dict[str, Any]) -> Iterator[Progress]:
        """Do what a child asks for: show progress, keep a state, or fail."""
        if "failed" in message:
            raise UsageError(message["failed"])
        if "keep" in message:
            assert self.checkpoint is not None
            path = self.directory / message["keep"]
            self.checkpoint.keep(*pickle.loads(path.read_bytes()))
            path.unlink()
        else:
            yield Progress(**message)


class _Relay(Checkpoint):
    """Be a checkpoint that reads by itself, and has its parent write."""

    def __init__(self, place: Path, kept: tuple[str, float]) -> None:
        directory, every = kept
        super().__init__(directory or place / "none", every=every, resume=bool(directory))
        self.place = place

    def keep(self, arrays: Arrays, facts: Facts, name: str = "state") -> None:
        """Hand a state to the parent."""
        (self.place / f"kept-{name}").write_bytes(pickle.dumps((dict(arrays), dict(facts), name)))
        _tell({"keep": f"kept-{name}"})


def _tell(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()  # a parent that is gone is noticed here


def _read(directory: Path, job: Job) -> Any:
    return pickle.loads((directory / "-".join(map(str, job))).read_bytes())


def child(directory: Path, job: Job) -> None:
    """Do one job, and leave its result in the directory."""
    torch.set_num_threads(1)
    shared: _Shared = pickle.loads((directory / "shared").read_bytes())
    fitting, (kind, way, member) = shared.fitting, job
    result: _Trained | NegativeScores
    if kind == "network":
        kept = None if shared.checkpoint is None else _Relay(directory, shared.checkpoint)
        network = fitting.network(way, member)
        learning = fitting.learn(way, member, network, Stages(kept, fitting.about()))
        for progress in learning:
            _tell(asdict(progress))
        result = _Trained(network, learning.record)
    else:
        members = range(fitting.config.members)
        result = fitting.negative(way, [_read(directory, ("network", way, own)).network for own in members])
    (directory / "-".join(map(str, job))).write_bytes(pickle.dumps(result))


def main(arguments: Sequence[str]) -> None:
    """Be a child."""
    directory, kind, way, member = arguments
    try:
        child(Path(directory), (kind, int(way), int(member)))
    except BitweftError as error:
        _tell({"failed": str(error)})


if __name__ == "__main__":
    from bitweft.recipes.paper import processes as own  # what it pickles must not be of `__main__`

    own.main(sys.argv[1:])
