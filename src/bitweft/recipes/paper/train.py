"""The training loop of the paper's recipe, as a generator of progress."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bitweft.errors import UsageError
from bitweft.progress import Progress
from bitweft.recipes.paper.aggregation import Aggregation, aggregation
from bitweft.recipes.paper.batches import Batch, Drawing, Rows, epoch
from bitweft.recipes.paper.encoder import Dropout
from bitweft.recipes.paper.features import EncodedText
from bitweft.recipes.paper.network import Network
from bitweft.recipes.paper.objective import soft_margin
from bitweft.recipes.paper.triplets import Triplets
from bitweft.settings import SettingError, Settings, setting

REPORT_EVERY = 50


@dataclass(frozen=True)
class TrainingConfig(Settings):
    """Choose how to learn. The paper is silent on epochs, rate and batches: see docs/paper.md for these."""

    aggregation: str = "lse"
    r: float = setting(1.0, above=0)
    # Adam for the layers and Adagrad for the tables; or SGD for both, as in the paper.
    optimizer: str = setting("adam", choices=("sgd", "adam"))
    rate: float = setting(0.0005, above=0, at_most=100)
    # Of the look-up tables, whose rows come up seldom.
    table_rate: float = setting(0.5, at_least=0, at_most=100)
    # Squared gradients that each number begins with: rare words make smaller steps.
    table_damping: float = setting(2e-5, at_least=0)
    # With windows of one word, before the others: quicker, and the center comes first.
    word_epochs: int = setting(2, at_least=0, at_most=10_000)
    # Of windows; single words have none where they had their own before.
    epochs: int = setting(1, at_least=0, at_most=10_000)
    # The share of both rates that is left at the end, to which they fall along a line; 1: they stay.
    final_rate: float = setting(0.0, at_least=0, at_most=1)
    # Both rates are so much smaller in the epochs that follow those of single words.
    window_rate: float = setting(0.2, at_least=0, at_most=100)
    # The share of the pairs, drawn anew for each epoch, that it goes over; and the same after single words.
    share: float = setting(1.0, above=0, at_most=1)
    window_share: float = setting(1.0, above=0, at_most=1)
    batch: int = setting(16, at_least=1, at_most=100_000)
    # Other sentences for each pair; and the same in the epochs that follow those of single words.
    negatives: int = setting(3, at_least=0, at_most=10_000)
    window_negatives: int = setting(0, at_least=0, at_most=10_000)
    # They are those of the batch, which costs nothing, or drawn from the whole text; so are new centers.
    negatives_from: str = setting("batch", choices=("batch", "text"))
    # The share of each sentence's words, or of all sentences, that give windows with another center.
    replacement_rate: float = setting(1.0, at_least=0, at_most=1)
    replacement_of: str = setting("words", choices=("words", "sentences"))
    # With any kernels, or where the windows of both sides have several words.
    replacement_where: str = setting("any", choices=("any", "both"))
    dropout: float = setting(0.0, at_least=0, below=1)  # of hidden units; the paper has none
    # Pairs with longer sentences are aligned, but nothing is learned from them.
    longest: int = setting(100, at_least=1, at_most=1_000_000)

    def __post_init__(self) -> None:
        super().__post_init__()
        replaced = self.replacement_rate > 0
        words = self.negatives >= 1 or (replaced and not self.word_epochs)
        windows = self.window_negatives >= 1 or replaced or not (self.word_epochs and self.epochs)
        if not (words and windows):
            raise SettingError("negatives", "must be 1 or greater where no words are replaced, got 0")
        if self.batch == 1 and self.negatives_from == "batch":
            raise SettingError("batch", "must be 2 or greater where negatives come from the batch, got 1")
        aggregation(self.aggregation, self.r)

    def drawing(self, rows: Rows) -> Drawing:
        """Say how negatives are drawn for the pairs of a text."""
        text = rows if self.negatives_from == "text" else None
        return Drawing(self.negatives, self.replacement_rate, text, self.replacement_of == "sentences")


def loss(network: Network, batch: Batch, aggregate: Aggregation, dropout: Dropout | None = None) -> Tensor:
    """Compute equation 3 for a batch, a sum over words divided by the number of pairs."""
    scores = network.training_scores(batch, dropout)  # (pairs, source, target + absent)
    total = aggregate(scores, batch.source.mask[:, :, None])  # (pairs, target + absent)
    mask = batch.target.mask
    count, sentences = mask.shape[1], batch.negatives.shape[1]
    others = mask[batch.negatives].flatten(1) / max(1, sentences)  # several weigh as much as one
    weight = torch.cat([others, batch.replaced_mask], 1).to(total.dtype)  # (pairs, absent)
    present = mask[: batch.pairs].to(total.dtype)
    return soft_margin(total[:, :count], total[:, count:], present, weight) / batch.pairs


class TableAdagrad(torch.optim.Optimizer):
    """Step along sparse gradients, by less the more a number has moved: common words come to rest."""

    def __init__(self, tables: Iterable[Tensor], lr: float, damping: float = 0.0) -> None:
        super().__init__(list(tables), {"lr": lr})
        for table in self.param_groups[0]["params"]:
            self.state[table]["squares"] = torch.full_like(table, damping)

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
    """Return the optimizer of the look-up tables."""
    tables = [value for name, value in network.named_parameters() if name.endswith(".weight")]
    if config.optimizer == "adam":
        return TableAdagrad(tables, lr=config.table_rate, damping=config.table_damping)
    return torch.optim.SGD(tables, lr=config.table_rate)


def layer_optimizer(network: Network, config: TrainingConfig) -> torch.optim.Optimizer:
    """Return the optimizer of the layers."""
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
    optimizers: Sequence[torch.optim.Optimizer] = (),
    epochs: Iterable[int] | None = None,
) -> Iterator[Progress]:
    """Learn from the pairs, in an order drawn from the seed; the rates fall along a line.

    `optimizers`, one of the look-up tables and one of the layers, go on with what they know. `epochs` names
    some of the epochs, so that a training can be cut and put together again.
    """
    device = str(network.distance.device)
    rows = trainable(source, target, config.longest)
    aggregate = aggregation(config.aggregation, config.r)
    count = math.ceil(config.share * len(rows))
    length = -(-count // config.batch)
    tables, layers = optimizers or (table_optimizer(network, config), layer_optimizer(network, config))
    with_rates = [(tables, config.table_rate), (layers, config.rate)]
    triplets = Triplets(network, aggregate) if in_triplets(network, config) else None
    lost, since = 0.0, 0
    for number in range(config.epochs) if epochs is None else epochs:
        dropout = _dropout(config.dropout, [seed, number], device)
        random = np.random.default_rng([seed, number])
        batches = epoch(
            source,
            target,
            rows if count == len(rows) else random.choice(rows, count, replace=False),
            config.drawing(rows),
            size=config.batch,
            random=random,
            device=device,
        )
        for step, batch in enumerate(batches, number * length):
            left = 1 - (1 - config.final_rate) * step / (length * config.epochs)
            if triplets is not None:
                lost += triplets.step(batch, config.rate * left, config.table_rate * left)
            else:
                value = loss(network, batch, aggregate, dropout)
                for one, rate in with_rates:
                    one.zero_grad()
                    one.param_groups[0]["lr"] = rate * left
                torch.autograd.backward(value)
                for one, _ in with_rates:
                    one.step()
                lost += float(value.detach())
            since += 1
            if (step + 1) % REPORT_EVERY == 0 or (step + 1) % length == 0:
                if not math.isfinite(lost):
                    raise UsageError(
                        "training diverged (the loss is NaN or infinite); lower training.rate or "
                        "training.table_rate"
                    )
                yield Progress(step + 1, length * config.epochs, phase, lost / since)
                lost, since = 0.0, 0


def in_triplets(network: Network, config: TrainingConfig) -> bool:
    """Tell whether `Triplets`, which is quicker, can take the steps."""
    plain = (
        config.optimizer == "sgd" and config.batch == 1 and not config.dropout and not config.replacement_rate
    )
    return plain and Triplets.can_learn(network)


def _dropout(rate: float, seed: Sequence[int], device: str) -> Dropout | None:
    own = int(np.random.SeedSequence(seed).generate_state(1)[0])
    return Dropout(rate, torch.Generator(device).manual_seed(own)) if rate else None


def trainable(source: EncodedText, target: EncodedText, longest: int) -> Rows:
    """Return the pairs that have words on both sides, and not too many."""
    short = (source.lengths > 0) & (target.lengths > 0)
    short &= (source.lengths <= longest) & (target.lengths <= longest)
    return np.flatnonzero(short)
