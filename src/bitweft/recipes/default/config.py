"""The settings of the default recipe."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from bitweft.settings import Settings, setting

EPOCHS = ((1_500, (5, 3)), (10_000, (3, 2)), (300_000, (2, 1)), (math.inf, (1, 1)))  # lse, chain, by pairs
BATCHES = ((10_000, 16), (200_000, 32), (math.inf, 64))  # pairs of a step, by pairs; groups share threads
FEWEST = 30  # steps


@dataclass(frozen=True)
class DefaultConfig(Settings):
    """Hold every setting of the recipe; what is None follows from the amount of text."""

    lowercase: bool = True
    dimensions: int = setting(64, at_least=1, at_most=4096)
    lse_epochs: int | None = setting(None, at_least=0, at_most=10_000)
    chain_epochs: int | None = setting(None, at_least=0, at_most=10_000)
    count_passes: int = setting(2, at_least=0, at_most=100)
    rate: float | None = setting(None, above=0, at_most=10)
    descent_pairs: int = setting(500_000, at_least=1)  # that vectors are learned from, at most
    group: int = setting(8, at_least=2, at_most=1024)  # pairs whose sentences are each other's negatives
    batch: int | None = setting(None, at_least=1, at_most=100_000)
    null: float = setting(0.1, above=0, below=1)
    mixture: float = setting(0.05, at_least=0, below=1)  # the chance of a jump to anywhere, when counting
    negatives: float = setting(1.0, at_least=0, at_most=1e6)
    strength: float = setting(3.0, above=0, at_most=1e6)  # how many counts the vectors' prior is worth
    longest: int = setting(400, at_least=1)  # words: longer sentences are aligned, but not learned from
    refined: bool = True  # decide on links by the refiner; otherwise by both directions' posteriors alone
    links: float = setting(0.5, at_least=0, at_most=1)  # the style: 0 words, 1 phrases
    threshold: float = setting(0.5, above=0, at_most=1)  # of a link's probability

    def for_text(self, pairs: int) -> DefaultConfig:
        """Settle what follows from the number of pairs that the descent learns from."""
        lse, chained = next(epochs for most, epochs in EPOCHS if pairs < most)
        batch = next(size for most, size in BATCHES if pairs < most) if self.batch is None else self.batch
        steps = (lse + chained) * math.ceil(pairs / batch)
        times = math.ceil(FEWEST / max(steps, 1))  # a handful of pairs is read more often
        return replace(
            self,
            rate=0.02 * (batch / 16) ** (1 / 3) if self.rate is None else self.rate,
            lse_epochs=times * lse if self.lse_epochs is None else self.lse_epochs,
            chain_epochs=times * chained if self.chain_epochs is None else self.chain_epochs,
            batch=batch,
        )
