"""Training as a whole: which networks there are, the stages of each, and the statistics of its negatives."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
import torch

from bitweft.progress import Progress
from bitweft.recipes.base import Record
from bitweft.recipes.paper.config import PaperConfig
from bitweft.recipes.paper.decode import NegativeScores, negative_scores
from bitweft.recipes.paper.features import EncodedText, Inventory
from bitweft.recipes.paper.network import Network
from bitweft.recipes.paper.stages import Stages
from bitweft.recipes.paper.train import TrainingConfig, layer_optimizer, table_optimizer, train, trainable
from bitweft.recipes.paper.vectors import FloatArray
from bitweft.settings import to_mapping
from bitweft.storage.checkpoint import Checkpoint

DIRECTIONS = ("forward", "backward")


@dataclass
class Learned:
    """Hold what was learned of one direction: its networks, and what their negatives score."""

    networks: list[Network]
    negative: NegativeScores
    record: list[Record]


@dataclass(frozen=True)
class Fitting:
    """Know all that training needs; a direction is 0, forward, or 1, backward."""

    config: PaperConfig
    seed: int
    inventories: tuple[Inventory, Inventory]
    texts: tuple[EncodedText, ...]
    vectors: tuple[FloatArray | None, ...]
    device: str = "cpu"

    def _sides(self, direction: int) -> tuple[int, int]:
        return (0, 1) if direction == 0 else (1, 0)

    def _texts(self, direction: int) -> tuple[EncodedText, EncodedText]:
        s, t = self._sides(direction)
        return self.texts[s], self.texts[t]

    def about(self) -> dict[str, Any]:
        """Say what a training is of, to know its checkpoints by.

        A network does not depend on how many there are, nor on how it is decoded: an ensemble goes on from
        fewer members, and other ways to decode need no new training.
        """
        words = [crc32(text.words.tobytes()) for text in self.texts]
        config = to_mapping(self.config)
        del config["members"], config["decoding"]
        return {"config": config, "seed": self.seed, "text": words}

    def network(self, direction: int, member: int) -> Network:
        """Make a network that has learned nothing yet."""
        s, t = self._sides(direction)
        seed = _seeds(self.seed, direction, member)[0]
        network = Network(self.inventories[s], self.inventories[t], self.config.model, seed=seed)
        network.set_words(self.vectors[s], self.vectors[t])
        return network.to(self.device)

    def learn(self, direction: int, member: int, network: Network, finished: Stages) -> _Learning:
        """Train a network: first, if so configured, one that sees single words, from which it begins."""
        phase = f"{DIRECTIONS[direction]} {member + 1}/{self.config.members}"
        seed = _seeds(self.seed, direction, member)[1]
        return _Learning(self.config.learning, self._texts(direction), seed, phase, network, finished)

    def negative(self, direction: int, networks: Sequence[Network]) -> NegativeScores:
        """Estimate what the negatives of a direction score."""
        seed = _seeds(self.seed, direction, self.config.members)[0]
        texts = self._texts(direction)
        rows = trainable(*texts, self.config.training.longest)
        with _one_thread():
            return negative_scores(networks, *texts, rows, self.config.decoding, seed=seed)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let PyTorch use one thread: how it parts sums of such sizes depends on their number."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@dataclass
class _Learning:
    """Train one network, stage by stage; `record` says what each stage came to."""

    config: TrainingConfig
    texts: tuple[EncodedText, EncodedText]
    seed: int
    phase: str
    network: Network
    finished: Stages
    record: list[Record] = field(default_factory=list)

    def __iter__(self) -> Iterator[Progress]:
        config, network = self.config, self.network
        stage = partial(self._stage, tables=table_optimizer(network, config))
        if not config.word_epochs:
            yield from stage(network, config, seed=self.seed + 1, phase=self.phase)
            return
        words_phase = f"{self.phase} words"
        if self.finished.epochs(self.phase):
            self._note(self.finished.record(words_phase))
        else:
            single = network.of_single_words()
            words = replace(config, epochs=config.word_epochs, word_epochs=0, replacement_rate=0.0)
            yield from stage(single, words, seed=self.seed, phase=words_phase)
            network.begin_from(single)
        if not network.config.single_words:
            slow = config.window_rate
            windows = replace(config, word_epochs=0, negatives=config.window_negatives)
            windows = replace(windows, rate=slow * config.rate, table_rate=slow * config.table_rate)
            windows = replace(windows, share=config.window_share)
            yield from stage(network, windows, seed=self.seed + 1, phase=self.phase)

    def _stage(
        self,
        network: Network,
        config: TrainingConfig,
        *,
        seed: int,
        phase: str,
        tables: torch.optim.Optimizer,
    ) -> Iterator[Progress]:
        """Go on after the epochs that are finished, and keep each as it is."""
        optimizers = (tables, layer_optimizer(network, config))
        begin = self.finished.load(phase, network, optimizers)
        record = self.finished.record(phase)
        for epoch in range(begin, config.epochs):
            steps = train(
                network, *self.texts, config, seed=seed, phase=phase, optimizers=optimizers, epochs=[epoch]
            )
            for last in steps:
                record = {"phase": last.phase, "steps": last.total, "loss": last.loss}
                yield last
            ended = epoch + 1 == config.epochs
            self.finished.save(phase, epoch + 1, (network, optimizers), record, last=ended)
        self._note(record)

    def _note(self, record: Record | None) -> None:
        """Add what a stage came to, unless it had nothing to learn from."""
        if record is not None:
            self.record.append(record)


def fit_here(
    fitting: Fitting, checkpoint: Checkpoint | None, threads: int | None
) -> Generator[Progress, None, list[Learned]]:
    """Train all networks one after the other; return what was learned of each direction."""
    finished = Stages(checkpoint, fitting.about())
    learned = []
    for direction in (0, 1):
        networks: list[Network] = []
        record: list[Record] = []
        for member in range(fitting.config.members):
            network = fitting.network(direction, member)
            learning = fitting.learn(direction, member, network, finished)
            yield from learning
            networks.append(network)
            record += learning.record
        learned.append(Learned(networks, fitting.negative(direction, networks), record))
    return learned


def _seeds(*path: int) -> list[int]:
    """Draw two seeds, for weights and for order."""
    return [int(seed) for seed in np.random.SeedSequence(path).generate_state(2)]
