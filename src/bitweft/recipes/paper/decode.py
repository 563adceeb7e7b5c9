"""From scores to links (section 2.3): the best source word, if it stands out from the negatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bitweft.links.alignment import Alignment
from bitweft.links.symmetrize import HEURISTICS
from bitweft.recipes.paper.aggregation import posteriors
from bitweft.recipes.paper.batches import Rows, Sentences, padded
from bitweft.recipes.paper.features import EncodedText
from bitweft.recipes.paper.network import Network
from bitweft.settings import Settings, setting

FloatMatrix: TypeAlias = npt.NDArray[np.float64]  # (source, target)
CELLS = 16_000_000  # how many numbers a tensor of scores may hold at once
BATCH = 64
PADDED = 1 << 20  # word pairs of a batch, padding included; one pair may have more
BESIDE = 25  # source sentences of them that are scored at a time: their numbers stay in the cache
DECIMALS = 6  # of a score: sums in another order, as other batches have them, then decide alike


PAPER_HEURISTICS = ("intersection", "grow-diag", "grow-diag-final", "grow-diag-final-and")
STRICT_HEURISTICS = ("strict-grow-diag", "strict-grow-diag-final")
CHOICES: dict[str, tuple[str, ...]] = {
    "all": PAPER_HEURISTICS + STRICT_HEURISTICS,
    "paper": PAPER_HEURISTICS,
    "none": (),
}


@dataclass(frozen=True)
class DecodingConfig(Settings):
    """Choose how scores become links."""

    alpha: float = setting(1.5, at_least=-1000, at_most=1000)  # of links from source to target
    # Of the other direction, whose scores are another network's.
    backward_alpha: float = setting(1.5, at_least=-1000, at_most=1000)
    heuristic: str = setting("strict-grow-diag", choices=HEURISTICS)
    # What tuning on gold links chooses from: the heuristics of the paper and the strict ones, the paper's, or
    # none but the one that is set; and whether one α serves both directions, or each has its own.
    choose_from: str = setting("all", choices=tuple(CHOICES))
    one_alpha: bool = True
    spread: str = setting("deviation", choices=("deviation", "variance"))  # σ⁻; the paper's words: variance
    sentences: int = setting(1_000, at_least=1, at_most=100_000_000)  # for the statistics of negatives
    negatives: int = setting(100, at_least=1, at_most=1_000_000)  # source sentences for each of them
    # Sentences of one length, at most, that share their negatives, which is quicker; 1: each has its own.
    sharing: int = setting(32, at_least=1, at_most=1_000_000)
    alpha_step: float = setting(0.25, at_least=0.001, at_most=1)  # of the α that tuning tries

    @property
    def alphas(self) -> tuple[float, ...]:
        """Return what tuning chooses α from: −1 to 4."""
        return tuple(round(-1 + self.alpha_step * step, 3) for step in range(int(5 / self.alpha_step) + 1))


@dataclass(frozen=True)
class NegativeScores:
    """Hold mean and deviation of each target word's scores with source words it has nothing to do with."""

    mean: Tensor  # (words)
    deviation: Tensor  # (words)


@dataclass(frozen=True)
class BestWords:
    """Hold the best source word of each word of a target sentence, and what decides whether it is linked."""

    source: npt.NDArray[np.int64]  # (target)
    score: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]  # μ⁻
    deviation: npt.NDArray[np.float64]  # σ⁻
    probability: npt.NDArray[np.float64]  # the source word's part in the scores of all

    def links(self, alpha: float) -> Alignment:
        """Link the words whose best score is above μ⁻ + α σ⁻ (equation 5)."""
        kept = np.flatnonzero(self.score > np.round(self.mean + alpha * self.deviation, DECIMALS))
        links = zip(self.source[kept].tolist(), kept.tolist(), strict=True)
        return Alignment.of(list(links), self.probability[kept].tolist())


@torch.no_grad()
def mean_scores(networks: Sequence[Network], source: Sentences, target: Sentences) -> Tensor:
    """Average the scores of an ensemble, in pieces that fit into memory."""
    config = networks[0].config
    cost = source.words.numel() * (config.hidden if config.source_k1 > 1 else config.buckets)
    step = max(1, CELLS // cost)
    total: Tensor | None = None
    for network in networks:
        words = network.encode_target(target)
        parts = [
            network.scores(source, words.part(at, at + step)) for at in range(0, words.mask.shape[1], step)
        ]
        scores = torch.cat(parts, -1)
        total = scores if total is None else total + scores
    assert total is not None
    return total / len(networks)  # (pairs, source, target)


@torch.no_grad()
def negative_scores(
    networks: Sequence[Network],
    source: EncodedText,
    target: EncodedText,
    rows: Rows,
    config: DecodingConfig,
    *,
    seed: int,
) -> NegativeScores:
    """Estimate μ⁻ and σ⁻ from random target sentences and random source sentences that are not their own.

    `rows` are the pairs of training. Sentences of one length are taken together, and share their negatives:
    the words at one place have the same distance to the diagonal, so that it costs little to score them all.
    Words that were not met get zeros.
    """
    device = str(networks[0].distance.device)
    random = np.random.default_rng(seed)
    size = networks[0].target.words.num_embeddings
    sums = torch.zeros(3, size, dtype=torch.float64, device=device)  # how many, their sum, their squares
    chosen = random.permutation(rows)[: config.sentences]
    for length in np.unique(target.lengths[chosen]):
        alike = chosen[target.lengths[chosen] == length]
        for at in range(0, len(alike), config.sharing):
            own = alike[at : at + config.sharing]
            others = random.choice(rows, min(config.negatives, len(rows)), replace=False)
            others = others[np.argsort(source.lengths[others], kind="stable")]  # hardly any padding
            for start in range(0, len(others), BESIDE):
                _add_scores(sums, networks, (source, target), others[start : start + BESIDE], own)
    count = sums[0].clamp(min=1)
    mean = sums[1] / count
    variance = (sums[2] / count - mean**2).clamp(min=0)
    return NegativeScores(mean, variance if config.spread == "variance" else variance.sqrt())


def _add_scores(
    sums: Tensor,
    networks: Sequence[Network],
    texts: tuple[EncodedText, EncodedText],
    others: Rows,
    own: Rows,
) -> None:
    """Add the scores of target sentences of one length, `own`, with the words of other source sentences."""
    device = str(sums.device)
    beside, sentences = padded(texts[0], others, device), padded(texts[1], own, device)
    strange = torch.from_numpy(others[:, None] != own).to(device)  # (others, own)
    mask = (beside.mask[:, :, None] & strange[:, None, :]).double()  # (others, source, own)
    count = mask.sum((0, 1))
    places = zip(*(network.crossed(beside, sentences) for network in networks), strict=True)
    for t, scores in enumerate(places):
        mean = sum(scores[1:], scores[0]).double() / len(networks) * mask  # (others, source, own)
        added = torch.stack([count, mean.sum((0, 1)), mean.square().sum((0, 1))])
        sums.index_add_(1, sentences.words[:, t], added)


def _batches(rows: Rows, source: Rows, target: Rows) -> Iterator[Rows]:
    """Part pairs into batches of like lengths on both sides: PADDED cells at most, a fourth filled."""
    buckets = [np.ceil(np.log2(lengths[rows])) for lengths in (source, target)]
    rows = rows[np.lexsort((source[rows], target[rows], *buckets))]
    sizes = zip(source[rows].tolist(), target[rows].tolist(), strict=True)
    start, filled, widest = 0, 0, (0, 0)
    for at, (s, t) in enumerate(sizes):
        wider = max(widest[0], s), max(widest[1], t)
        cells = (at - start + 1) * wider[0] * wider[1]
        if at > start and (at - start == BATCH or cells > min(PADDED, 4 * (filled + s * t))):
            yield rows[start:at]
            start, filled, wider = at, 0, (s, t)
        filled, widest = filled + s * t, wider
    if start < len(rows):
        yield rows[start:]


def best_words(
    networks: Sequence[Network], negative: NegativeScores, source: EncodedText, target: EncodedText
) -> list[BestWords]:
    """Find the best source word of every target word of every pair; a sentence without a partner has none."""
    device = str(networks[0].distance.device)
    nothing = BestWords(np.zeros(0, np.int64), *(np.zeros(0) for _ in range(4)))
    found = [nothing] * len(source)
    rows = np.flatnonzero((source.lengths > 0) & (target.lengths > 0))
    for own in _batches(rows, source.lengths, target.lengths):
        one, other = padded(source, own, device), padded(target, own, device)
        scores = mean_scores(networks, one, other).double().round(decimals=DECIMALS)
        scores = scores.masked_fill(~one.mask[:, :, None], -torch.inf)
        best = torch.from_numpy(scores.cpu().numpy().argmax(1)).to(device)  # the first of equals, by promise
        score = scores.gather(1, best[:, None]).squeeze(1)  # (pairs, target)
        probability = posteriors(scores, one.mask[:, :, None]).gather(1, best[:, None]).squeeze(1)
        probability = probability.round(decimals=DECIMALS)
        columns = (best, score, negative.mean[other.words], negative.deviation[other.words], probability)
        arrays = [column.cpu().numpy() for column in columns]
        for pair, length in enumerate(other.lengths.tolist()):
            found[own[pair]] = BestWords(*(array[pair, :length] for array in arrays))
    return found
