"""How the default recipe learns: steps of Adam on a soft margin over groups, then passes of counting.

`Learning` can stop after any event and go on from its arrays; threads do not change what comes out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from bitweft.progress import Progress
from bitweft.recipes.default.blas import one_blas_thread
from bitweft.recipes.default.compiled.types import (
    BUCKETS,
    CLIP,
    LARGEST,
    Adam,
    Cells,
    Counts,
    Doubles,
    Floats,
    Inputs,
    Ints,
    Longs,
    Prior,
    Side,
    Sums,
    Tally,
    Words,
    new_count_table,
    new_tally,
    no_cells,
)
from bitweft.recipes.default.compiled.vectors import compose
from bitweft.recipes.default.config import DefaultConfig
from bitweft.recipes.default.knowledge import Knowledge, merged_counts, sorted_counts, with_links
from bitweft.recipes.default.loops import Compiled, Loops, Optimizer
from bitweft.recipes.default.spelling import Spelling
from bitweft.storage.spill import Spill, counted

CHUNK = 2048  # pairs that one thread counts in a turn
FLOOR = 0.01  # of a probability that is counted
SUMMED = 1000  # commonest words that are summed over one by one
CLASSES = 50  # words so common that their jumps are learned apart


class Text(NamedTuple):
    """Hold one side of a text in numbers, and the spelling that gave them."""

    spelling: Spelling
    tokens: Ints
    offsets: Longs


class Learning:
    """Learn tables, prior and counts from a text."""

    def __init__(
        self,
        texts: Sequence[Text],
        config: DefaultConfig,
        *,
        seed: int,
        threads: int,
        knowledge: Knowledge | None = None,
        loops: Loops | None = None,
    ) -> None:
        lengths = np.array([np.diff(text.offsets) for text in texts])
        self.pairs = np.flatnonzero((lengths.min(0) > 0) & (lengths.max(0) <= config.longest))
        self.config = config.for_text(len(self.pairs))
        self.seed = seed
        self.threads = threads
        self.loops = loops or Compiled()
        self.optimizer: Optimizer | None = None
        self.texts = texts
        self.knowledge = knowledge = knowledge or Knowledge()
        generator = np.random.default_rng(seed)
        self.sides = [
            Side(text.tokens, text.offsets, *text.spelling.rows(), _first_table(text, config, generator))
            for text in texts
        ]
        if knowledge.tables is not None:
            for side, table in zip(self.sides, knowledge.tables, strict=True):
                begun = ~np.isnan(table[:, 0])
                side.table[begun] = table[begun]
        self.adams = [_adam(side.table) for side in self.sides]
        self.prior = knowledge.prior or first_prior(config.null)
        self.tally = new_tally(1)
        self.words = no_counts([text.spelling for text in texts])
        self.counts = knowledge.counts or self.words
        self.cells = Spill()  # of each chunk, as the last pass found them
        self.classes = [word_classes(text.spelling) for text in texts]
        self.nulls = [np.full(len(own), config.null, np.float32) for own in self.classes]
        self.vectors: list[Floats] = []
        self.scales: list[Floats] = []
        self.steps = 0
        self.passes = 0
        self.record: list[dict[str, Any]] = []

    def run(self) -> Iterator[Progress]:
        """Learn on from where it stands, telling how far it is; done when the iterator ends."""
        with ThreadPoolExecutor(self.threads) as pool, one_blas_thread():
            yield from self._descend(pool)
            self._compose()
            yield from self._count(pool)

    def _descend(self, pool: ThreadPoolExecutor) -> Iterator[Progress]:
        """Minimize the soft margin by Adam: epochs of lse, then of chain, the rate falling to nothing."""
        config = self.config
        assert config.lse_epochs is not None and config.chain_epochs is not None
        assert config.batch is not None and config.rate is not None
        batches = math.ceil(len(self.pairs) / config.batch)
        total = (config.lse_epochs + config.chain_epochs) * batches
        settings: dict[str, Any] = {"group": config.group, "negatives": config.negatives}
        self.optimizer = self.loops.optimizer(
            self.sides, self.adams, pool=pool, threads=self.threads, **settings
        )
        order = self.pairs
        while self.steps < total:
            epoch, batch = divmod(self.steps, batches)
            if batch == 0 or order is self.pairs:
                order = np.random.default_rng([self.seed, epoch]).permutation(self.pairs)
            self.prior = self.prior._replace(chained=epoch >= config.lse_epochs)
            own = order[batch * config.batch : (batch + 1) * config.batch]
            rate = config.rate * (1 - self.steps / total)
            _add(self.tally, self.optimizer.step(own, self.prior, rate))
            self.steps += 1
            loss = float(self.tally.loss[0, 0] / self.tally.loss[0, 1])
            phase = "chain" if self.prior.chained else "lse"
            if batch + 1 == batches:
                self._settle(phase, loss=loss)
            yield Progress(self.steps, total, phase, loss)
        self.optimizer.store()

    def _settle(self, phase: str, **facts: float) -> None:
        """Set the prior by what was tallied, and begin a new tally."""
        self.prior = _updated(self.prior, self.tally)
        self.tally = new_tally(1)
        self.record.append({"phase": phase, **facts})

    def _count(self, pool: ThreadPoolExecutor) -> Iterator[Progress]:
        """Count expected links over the text, each pass from the counts of the last less the pair's own."""
        classes = 1 + max(int(own.max(initial=0)) for own in self.classes)
        self.prior = with_classes(self.prior, classes)._replace(mixture=self.config.mixture)
        chunks = [self.pairs[start : start + CHUNK] for start in range(0, len(self.pairs), CHUNK)]
        while self.passes < self.config.count_passes:
            yield from self._count_once(pool, chunks)

    def _count_once(self, pool: ThreadPoolExecutor, chunks: Sequence[Longs]) -> Iterator[Progress]:
        source, target = self._words()
        inputs = Inputs(source, target, self.counts, self.prior)
        tally = new_tally(len(chunks), self.prior.jumps.shape[1])
        unlinked = [np.zeros(len(nulls)) for nulls in self.nulls]

        def work(chunk: int) -> tuple[Cells, tuple[Floats, Floats]]:
            own = chunks[chunk]
            known = Cells(*self.cells[chunk]) if len(self.cells) else no_cells()
            nulls = np.zeros_like(self.nulls[0]), np.zeros_like(self.nulls[1])
            sums = Sums(tally, chunk, np.empty(len(own)), nulls)
            found = self.loops.posteriors(inputs, own, known, FLOOR, sums)
            return with_links(found, own, self.knowledge.links), nulls

        fresh = Spill()
        last = self.passes + 1 == self.config.count_passes  # nobody will ask for these cells
        table = new_count_table()
        for own, (found, nulls) in zip(chunks, pool.map(work, range(len(chunks))), strict=True):
            table = self.loops.add_counts(source, target, own, found, table)
            for total, added in zip(unlinked, nulls, strict=True):
                total += added
            fresh.append(no_cells() if last else found)
            done = self.passes * len(chunks) + len(fresh)
            yield Progress(done, self.config.count_passes * len(chunks), "count")
        self.cells = fresh
        counts = sorted_counts(self.words, table.keys, table.sums, self.config.strength)
        linked, met = tally.cognates.sum(0)
        counts = merged_counts(counts, self.knowledge.counts)
        self.counts = counts._replace(cognate_probability=min(linked / max(met, 1), 0.9))
        self.nulls = [
            _null_probabilities(own, counted(text.tokens, len(own)), self.config.null)
            for own, text in zip(unlinked, self.texts, strict=True)
        ]
        self.passes += 1
        self.tally = new_tally(1, tally.jumps.shape[3])
        _add(self.tally, tally)
        self._settle("count", entries=len(self.counts.values))

    def _compose(self) -> None:
        """Settle the vectors of words, and what makes their ratios sum to one."""
        self.vectors = [
            word_vectors(text.spelling, side.table) for text, side in zip(self.texts, self.sides, strict=True)
        ]
        self.scales = word_scales(self.vectors, [text.spelling.counts for text in self.texts])

    def _words(self) -> list[Words]:
        none = np.empty((0, self.config.dimensions), np.float32)
        return [
            Words(side.tokens, side.offsets, classes, nulls, scales, vectors, none)
            for side, classes, nulls, scales, vectors in zip(
                self.sides, self.classes, self.nulls, self.scales, self.vectors, strict=True
            )
        ]

    def arrays(self) -> dict[str, Any]:
        """Return everything that `restore` needs, as arrays."""
        if self.optimizer is not None:
            self.optimizer.store()
        arrays: dict[str, Any] = {f"prior.{name}": getattr(self.prior, name) for name in _PRIOR}
        for name, side, adam, nulls in zip(_SIDES, self.sides, self.adams, self.nulls, strict=True):
            arrays[f"{name}.table"] = side.table
            arrays[f"{name}.nulls"] = nulls
            arrays |= {f"{name}.{field}": value for field, value in zip(Adam._fields, adam, strict=True)}
        arrays |= {f"tally.{name}": value for name, value in zip(Tally._fields, self.tally, strict=True)}
        arrays |= {f"counts.{name}": getattr(self.counts, name) for name in _COUNTS}
        for number in range(len(self.cells)):
            named = zip(Cells._fields, self.cells[number], strict=True)
            arrays |= {f"cells.{number}.{field}": value for field, value in named}
        return arrays | {
            "progress": np.array([self.steps, self.passes]),
            "cognate_probability": np.array([self.counts.cognate_probability]),
        }

    def restore(self, arrays: Mapping[str, Any], record: list[dict[str, Any]]) -> None:
        """Go back to where `arrays` was called."""
        self.steps, self.passes = (int(number) for number in arrays["progress"])
        self.record = record
        self.prior = self.prior._replace(**{name: arrays[f"prior.{name}"] for name in _PRIOR})
        self.prior = self.prior._replace(chained=self._descended())
        self.nulls = [arrays[f"{name}.nulls"] for name in _SIDES]
        for name, side, adam in zip(_SIDES, self.sides, self.adams, strict=True):
            side.table[:] = arrays[f"{name}.table"]
            for field in Adam._fields:
                getattr(adam, field)[:] = arrays[f"{name}.{field}"]
        self.tally = Tally(*(arrays[f"tally.{name}"] for name in Tally._fields))
        if self.passes:
            self.counts = self.words._replace(
                **{name: arrays[f"counts.{name}"] for name in _COUNTS},
                strength=self.config.strength,
                cognate_probability=float(arrays["cognate_probability"][0]),
            )
        number = 0
        self.cells = Spill()
        while f"cells.{number}.offsets" in arrays:
            self.cells.append(Cells(*(arrays[f"cells.{number}.{field}"] for field in Cells._fields)))
            number += 1

    def _descended(self) -> bool:
        assert self.config.lse_epochs is not None and self.config.batch is not None
        return self.steps > self.config.lse_epochs * math.ceil(len(self.pairs) / self.config.batch)


_SIDES = ("source", "target")
_PRIOR = ("jumps", "starts", "diagonals")
_COUNTS = ("offsets", "sources", "values")


def _first_table(text: Text, config: DefaultConfig, generator: np.random.Generator) -> Floats:
    table = generator.standard_normal((text.spelling.size, config.dimensions), np.float32)
    return table * np.float32(0.1 / math.sqrt(config.dimensions))


def first_prior(null: float) -> Prior:
    """Expect small jumps forwards, and the diagonal."""
    jumps = np.exp(-0.3 * np.abs(np.arange(-CLIP, CLIP + 1) - 1))
    starts = np.exp(-0.3 * np.arange(CLIP + 1))
    diagonals = np.exp(-4.0 * np.arange(BUCKETS) / BUCKETS)
    both = (np.stack([weights, weights]).astype(np.float32) for weights in (jumps[None], starts, diagonals))
    return Prior(null, 0.0, False, *both)


def with_classes(prior: Prior, classes: int) -> Prior:
    """Give each class of words the jumps that all have had so far, unless classes have their own."""
    if prior.jumps.shape[1] == classes:
        return prior
    return prior._replace(jumps=np.repeat(prior.jumps, classes, axis=1))


def word_classes(spelling: Spelling) -> Ints:
    """Class words by how they jump: the commonest each by itself, the others by order of frequency."""
    counts = spelling.counts
    classes = (np.log2(np.clip(counts, 1, 1 << 15)) // 3).astype(np.int32)
    common = np.argsort(-counts, kind="stable")[:CLASSES]
    common = common[counts[common] >= 100]
    classes[common] = 6 + np.arange(len(common))
    return classes


def _null_probabilities(unlinked: Doubles, counts: Longs, null: float) -> Floats:
    """Return each word's prior of no link: that of all, times how much oftener than others it had none."""
    mean = max(unlinked.sum() / max(counts.sum(), 1), 1e-3)
    probabilities: Floats = (null * (unlinked + 20 * mean) / (counts + 20) / mean).astype(np.float32)
    return probabilities


def _add(total: Tally, tally: Tally) -> None:
    for own, added in zip(total, tally, strict=True):
        own[0] += added.sum(0)


def _updated(prior: Prior, tally: Tally) -> Prior:
    """Set each weight to how often it was taken, of all the times that it could have been."""
    if not prior.chained:
        return prior._replace(diagonals=_weights(tally.diagonals[0, :, 0], tally.diagonals[0, :, 1]))
    taken, chances = tally.jumps[0, :, 0], tally.jumps[0, :, 1]  # (direction, classes, jumps)
    jumps = _weights(taken.sum(1, keepdims=True), chances.sum(1, keepdims=True))
    if taken.shape[1] > 1:  # a class begins with 50 jumps such as all words make
        common = 50 * taken.sum(1, keepdims=True) / np.maximum(taken.sum((1, 2), keepdims=True), 1)
        jumps = _weights(taken + common, chances + common / jumps, 1e-3)
    return prior._replace(jumps=jumps, starts=_weights(tally.starts[0, :, 0], tally.starts[0, :, 1]))


def _weights(taken: Doubles, chances: Doubles, more: float = 1.0) -> Floats:
    fresh = (taken + more) / (chances + more)
    floored: Floats = np.maximum(fresh / fresh.max(-1, keepdims=True), 1e-3).astype(np.float32)
    return floored


def _adam(table: Floats) -> Adam:
    rows = len(table)
    return Adam(np.zeros_like(table), np.zeros(rows, np.float32), np.zeros(rows, np.int64))


def no_counts(spellings: Sequence[Spelling]) -> Counts:
    """Make counts that leave every decision to the vectors."""
    source, target = (spelling.counts for spelling in spellings)
    offsets = np.zeros(len(target) + 1, np.int64)
    none = (np.empty(0, np.int32), np.empty(0, np.float32))
    return Counts(offsets, *none, source, target, 0.0, cognates(*spellings), 0.0)


def cognates(source: Spelling, target: Spelling) -> Ints:
    """Return, for each target word, the source word that is spelled alike, or −1."""
    reserved = len(target.words) - len(target.words.entries)
    known = source.words.known
    return np.array([-1] * reserved + [known.get(word, -1) for word in target.words.entries], np.int32)


def word_scales(vectors: Sequence[Floats], counts: Sequence[Longs]) -> list[Floats]:
    """Return for each word 1 / Σ p(other) · exp(score): the ratios of its translations then sum to one.

    The sum is over the commonest words of the other side, and a sample that stands for the rest.
    """
    scales: list[Floats] = []
    for own, other, frequency in zip(vectors, vectors[::-1], counts[::-1], strict=True):
        order = np.argsort(-frequency, kind="stable")
        order = order[frequency[order] > 0]
        rest = np.random.default_rng(0).permutation(order[SUMMED:])[:SUMMED]
        weights = np.concatenate([frequency[order[:SUMMED]], frequency[rest]]).astype(np.float32)
        weights[SUMMED:] *= frequency[order[SUMMED:]].sum() / max(frequency[rest].sum(), 1)
        weights /= max(frequency.sum(), 1)
        words = other[np.concatenate([order[:SUMMED], rest])].T
        sums = np.empty(len(own), np.float32)
        for start in range(0, len(own), 2048):
            scores = own[start : start + 2048] @ words
            np.exp(np.minimum(scores, LARGEST, out=scores), out=scores)
            sums[start : start + 2048] = scores @ weights
        scales.append((1 / np.maximum(sums, 1e-6)).astype(np.float32))
    return scales


def word_vectors(spelling: Spelling, table: Floats) -> Floats:
    """Return the vector of each word."""
    vectors = np.empty((len(spelling.words), table.shape[1]), np.float32)
    compose(np.arange(len(vectors), dtype=np.int32), *spelling.rows(), table, vectors)
    return vectors
