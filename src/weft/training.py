"""The training loop of the paper's recipe, as a generator of progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from weft.aggregation import Aggregation, aggregation
from weft.batches import Batch, Rows, epoch
from weft.errors import UsageError
from weft.features import EncodedText
from weft.model import Network
from weft.objective import soft_margin
from weft.progress import Progress

REPORT_EVERY = 50


@dataclass(frozen=True)
class TrainingConfig:
    """Choose how to learn. The paper is silent on epochs, rate and batches: see docs/paper.md for these."""

    aggregation: str = "lse"
    r: float = 1.0
    optimizer: str = "adam"  # for the layers, and Adagrad for the tables; or sgd for both, as in the paper
    rate: float = 0.0005
    table_rate: float = 0.5  # for the look-up tables, whose rows come up seldom
    word_epochs: int = 2  # before the others, with windows of one word: quicker, and the centre comes first
    epochs: int = 1
    window_rate: float = 0.2  # both rates are so much smaller in the epochs that follow those of single words
    batch: int = 16
    negatives: int = 1
    replacement_rate: float = 0.5
    longest: int = 100  # pairs with longer sentences are aligned, but nothing is learned from them

    def __post_init__(self) -> None:
        if self.optimizer not in {"sgd", "adam"}:
            raise UsageError(f"training.optimizer: {self.optimizer!r} is neither sgd nor adam")
        if self.batch < 2 or self.negatives < 1 or min(self.epochs, self.word_epochs) < 0:
            raise UsageError(
                "training: batches need two pairs, and pairs a negative, or there is nothing to tell apart"
            )
        aggregation(self.aggregation, self.r)


def loss(network: Network, batch: Batch, aggregate: Aggregation) -> Tensor:
    """Compute equation 3 for a batch, a sum over words divided by the number of pairs."""
    scores = network.training_scores(batch)  # (pairs, source, target + absent)
    total = aggregate(scores, batch.source.mask[:, :, None])  # (pairs, target + absent)
    present = batch.target.mask
    count, sentences = present.shape[1], batch.negatives.shape[1]
    others = present[batch.negatives].flatten(1) / max(1, sentences)  # several weigh as much as one
    weight = torch.cat([others, batch.replaced_mask], 1).to(total.dtype)  # (pairs, absent)
    summed = soft_margin(total[:, :count], total[:, count:], present.to(total.dtype), weight)
    return summed / len(batch.source.words)


class TableAdagrad(torch.optim.Optimizer):
    """Step along sparse gradients, by less the more a number has moved: common words come to rest."""

    def __init__(self, tables: Iterable[Tensor], lr: float) -> None:
        super().__init__(list(tables), {"lr": lr})
        for table in self.param_groups[0]["params"]:
            self.state[table]["squares"] = torch.zeros_like(table)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Change the rows that have a gradient."""
        for group in self.param_groups:
            for table in group["params"]:
                gradient = table.grad.coalesce()
                rows, values = gradient.indices()[0], gradient.values()  # (rows), (rows, width)
                squares = self.state[table]["squares"].index_add_(0, rows, values**2)
                table.index_add_(0, rows, values / (squares[rows].sqrt() + 1e-10), alpha=-group["lr"])


def table_optimizer(network: Network, config: TrainingConfig) -> torch.optim.Optimizer:
    """Return the optimiser of the look-up tables."""
    tables = [value for name, value in network.named_parameters() if name.endswith(".weight")]
    kind = TableAdagrad if config.optimizer == "adam" else torch.optim.SGD
    return kind(tables, lr=config.table_rate)


def layer_optimizer(network: Network, config: TrainingConfig) -> torch.optim.Optimizer:
    """Return the optimiser of the layers."""
    layers = [value for name, value in network.named_parameters() if not name.endswith(".weight")]
    if config.optimizer == "adam":
        return torch.optim.Adam(layers, lr=config.rate, fused=True)
    return torch.optim.SGD(layers, lr=config.rate)


def train(
    network: Network,
    source: EncodedText,
    target: EncodedText,
    config: TrainingConfig,
    *,
    seed: int,
    phase: str = "train",
    tables: torch.optim.Optimizer | None = None,
) -> Iterator[Progress]:
    """Learn from the pairs, in an order drawn from the seed; the rates fall to nothing along a line.

    `tables` goes on with an optimiser of the look-up tables that has made steps before.
    """
    device = str(network.distance.device)
    random = np.random.default_rng(seed)
    rows = trainable(source, target, config.longest)
    aggregate = aggregation(config.aggregation, config.r)
    steps = -(-len(rows) // config.batch) * config.epochs
    tables = tables or table_optimizer(network, config)
    with_rates = [(tables, config.table_rate), (layer_optimizer(network, config), config.rate)]
    step, lost, since = 0, 0.0, 0
    for _ in range(config.epochs):
        for batch in epoch(
            source,
            target,
            rows,
            size=config.batch,
            negatives=config.negatives,
            replacement_rate=config.replacement_rate,
            random=random,
            device=device,
        ):
            value = loss(network, batch, aggregate)
            for one, rate in with_rates:
                one.zero_grad()
                one.param_groups[0]["lr"] = rate * (1 - step / steps)
            torch.autograd.backward(value)
            for one, _ in with_rates:
                one.step()
            step, lost, since = step + 1, lost + float(value.detach()), since + 1
            if step % REPORT_EVERY == 0 or step == steps:
                yield Progress(step, steps, phase, lost / since)
                lost, since = 0.0, 0


def trainable(source: EncodedText, target: EncodedText, longest: int) -> Rows:
    """Return the pairs that have words on both sides, and not too many."""
    short = (source.lengths > 0) & (target.lengths > 0)
    short &= (source.lengths <= longest) & (target.lengths <= longest)
    return np.flatnonzero(short)
