"""How the default recipe learns: steps of Adam on a soft margin over groups, then passes of counting.

`Learning` can stop after any event and go on from its arrays; threads do not change what comes out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitweft.progress import Progress
from bitweft.recipes.default.blas import one_blas_thread
from bitweft.recipes.default.compiled.types import (
    BUCKETS,
    CLIP,
    LARGEST,
    Adam,
    Cells,
    Counts,
    Floats,
    Ints,
    Longs,
    Prior,
    Side,
    Tally,
    new_tally,
    no_cells,
)
from bitweft.recipes.default.compiled.vectors import compose
from bitweft.recipes.default.config import DefaultConfig
from bitweft.recipes.default.counts import (
    Counting,
    Shard,
    State,
    cell_arrays,
    chunks_of,
    learnable,
    merge,
    state_by,
    updated,
)
from bitweft.recipes.default.knowledge import Knowledge
from bitweft.recipes.default.loops import Compiled, Loops, Optimizer
from bitweft.recipes.default.spelling import Spelling
from bitweft.storage.spill import Spill
from bitweft.text.vocabulary import RESERVED

STEPS = 32  # of learning between two events
SUMMED = 1000  # commonest words that are summed over one by one
BLOCK = 2048  # words whose scores with those are held at a time
CLASSES = 50  # words so common that their jumps are learned apart


def sampled(pairs: Longs, most: int, seed: int) -> Longs:
    """Choose pairs by a hash of their numbers, `most` of them if there are as many, in their order."""
    if len(pairs) <= most:
        return pairs
    return np.sort(pairs[np.argpartition(pair_hashes(pairs, seed), most)[:most]])


def pair_hashes(pairs: Longs, seed: int) -> npt.NDArray[np.uint64]:
    """Hash the numbers of pairs, no two alike (splitmix64): those with the least are the sample."""
    mixed = pairs.astype(np.uint64) + np.uint64((seed * 0x9E3779B97F4A7C15) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


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
        self.pairs = learnable([text.offsets for text in texts], config.longest)
        self.sample = sampled(self.pairs, config.descent_pairs, seed)
        self.config = config.for_text(len(self.sample))
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
            yield from self._count(pool)
            if not self.passes:  # none was wanted
                self._take(self.state())

    def descend(self) -> Iterator[Progress]:
        """Learn the vectors alone; `state` is then what the first pass of counting goes by."""
        with ThreadPoolExecutor(self.threads) as pool, one_blas_thread():
            yield from self._descend(pool)

    def _descend(self, pool: ThreadPoolExecutor) -> Iterator[Progress]:
        """Minimize the soft margin by Adam: epochs of lse, then of chain, the rate falling to nothing."""
        config = self.config
        assert config.lse_epochs is not None and config.chain_epochs is not None
        assert config.batch is not None and config.rate is not None
        batches = math.ceil(len(self.sample) / config.batch)
        total = (config.lse_epochs + config.chain_epochs) * batches
        settings: dict[str, Any] = {"group": config.group, "negatives": config.negatives}
        self.optimizer = self.loops.optimizer(
            self.sides, self.adams, pool=pool, threads=self.threads, **settings
        )
        order = self.sample
        while self.steps < total:
            epoch, batch = divmod(self.steps, batches)
            if batch == 0 or order is self.sample:
                order = np.random.default_rng([self.seed, epoch]).permutation(self.sample)
            self.prior = self.prior._replace(chained=epoch >= config.lse_epochs)
            last = min(batches, (batch // STEPS + 1) * STEPS)  # the same wherever learning was interrupted
            own = [order[n * config.batch : (n + 1) * config.batch] for n in range(batch, last)]
            rates = [config.rate * (1 - (self.steps + n) / total) for n in range(len(own))]
            _add(self.tally, self.optimizer.steps(own, self.prior, rates))
            self.steps += len(own)
            loss = float(self.tally.loss[0, 0] / self.tally.loss[0, 1])
            phase = "chain" if self.prior.chained else "lse"
            if last == batches:
                self._settle(phase, loss=loss)
            yield Progress(self.steps, total, phase, loss)
        self.optimizer.store()
        self._compose(pool)

    def _settle(self, phase: str, **facts: float) -> None:
        """Set the prior by what was tallied, and begin a new tally."""
        self.prior = updated(self.prior, self.tally)
        self.tally = new_tally(1)
        self.record.append({"phase": phase, **facts})

    def _count(self, pool: ThreadPoolExecutor) -> Iterator[Progress]:
        """Count expected links over the text, each pass from the counts of the last less the pair's own."""
        while self.passes < self.config.count_passes:
            yield from self._count_once(pool)

    def _count_once(self, pool: ThreadPoolExecutor) -> Iterator[Progress]:
        state = self.state()
        source, target = ((side.tokens, side.offsets) for side in self.sides)
        counting = Counting(
            state, Shard(source, target, self.pairs), links=self.knowledge.links, loops=self.loops
        )
        chunks = chunks_of(self.pairs)

        def work(chunk: int) -> Cells:
            return counting.add(chunks[chunk], Cells(*self.cells[chunk]) if len(self.cells) else no_cells())

        fresh = Spill()
        last = self.passes + 1 == self.config.count_passes  # nobody will ask for these cells
        for found in pool.map(work, range(len(chunks))):
            fresh.append(no_cells() if last else found)
            done = self.passes * len(chunks) + len(fresh)
            yield Progress(done, self.config.count_passes * len(chunks), "count")
        self.cells = fresh
        self._take(merge(state, [counting.part()], self.knowledge.counts))
        self.passes += 1
        self.record.append({"phase": "count", "entries": len(self.counts.values)})

    def state(self) -> State:
        """Return what the next pass of counting goes by, once the descent is done."""
        facts = zip(self.classes, self.nulls, self.scales, self.vectors, strict=True)
        return state_by(facts, self.counts, self.prior, self.config)

    def _take(self, state: State) -> None:
        """Go on from a state."""
        self.prior, self.counts = state.prior, state.counts
        self.nulls = [state.source.nulls, state.target.nulls]

    def _compose(self, pool: ThreadPoolExecutor) -> None:
        """Settle the vectors of words, and what makes their ratios sum to one."""
        self.vectors = [word_vectors(side) for side in self.sides]
        self.scales = word_scales(self.vectors, [text.spelling.counts for text in self.texts], pool)

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
        arrays |= cell_arrays(Cells(*self.cells[number]) for number in range(len(self.cells)))
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
        return self.steps > self.config.lse_epochs * math.ceil(len(self.sample) / self.config.batch)


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


def word_classes(spelling: Spelling) -> Ints:
    """Class words by how they jump: the commonest each by itself, the others by order of frequency."""
    counts = spelling.counts
    classes = (np.log2(np.clip(counts, 1, 1 << 15)) // 3).astype(np.int32)
    common = np.argsort(-counts, kind="stable")[:CLASSES]
    common = common[counts[common] >= 100]
    classes[common] = 6 + np.arange(len(common))
    return classes


def _add(total: Tally, tally: Tally) -> None:
    for own, added in zip(total, tally, strict=True):
        own[0] += added.sum(0)


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
    known = source.words.known
    return np.array([-1] * RESERVED + [known.get(word, -1) for word in target.words.entries], np.int32)


def word_scales(vectors: Sequence[Floats], counts: Sequence[Longs], pool: ThreadPoolExecutor) -> list[Floats]:
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
        blocks = [own[start : start + BLOCK] for start in range(0, len(own), BLOCK)]
        sums = np.concatenate(list(pool.map(_sums_of_ratios, blocks, repeat(words), repeat(weights))))
        scales.append((1 / np.maximum(sums, 1e-6)).astype(np.float32))
    return scales


def _sums_of_ratios(own: Floats, words: Floats, weights: Floats) -> Floats:
    """Return for each word Σ weight · exp(score); `words` are the others' vectors, (dimensions, words)."""
    scores = own @ words
    np.exp(np.minimum(scores, LARGEST, out=scores), out=scores)
    sums: Floats = (scores @ weights).astype(np.float32, copy=False)
    return sums


def word_vectors(side: Side) -> Floats:
    """Return the vector of each word."""
    vectors = np.empty((len(side.row_offsets) - 1, side.table.shape[1]), np.float32)
    words = np.arange(len(vectors), dtype=np.int32)
    compose(words, side.rows, side.row_offsets, side.table, vectors)
    return vectors
