"""The default recipe: one symmetric score, learned by soft margin, then counted; posterior decoding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bitweft.errors import ModelError, UsageError
from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.evaluate import evaluate
from bitweft.links.known import WordPair
from bitweft.links.table import LinkTable
from bitweft.progress import Progress
from bitweft.recipes.base import (
    NO_EXTRAS,
    NOT_LEARNED,
    Decoding,
    FitExtras,
    Inference,
    LearnedText,
    Offer,
    Posteriors,
    Recipe,
    Record,
    Running,
    Sizes,
    Tuning,
    check_learnable,
)
from bitweft.recipes.beside import compile_beside, cores, has_idle_core
from bitweft.recipes.compile import can_be_kept
from bitweft.recipes.default.checkpoints import with_checkpoints
from bitweft.recipes.default.coding import Coded, code_held, code_lines, code_pairs
from bitweft.recipes.default.compiled import needs_compiling
from bitweft.recipes.default.compiled.counting import add_counts, add_unlinked
from bitweft.recipes.default.compiled.refine import Deciding, look, refine
from bitweft.recipes.default.compiled.types import (
    NONE_COMMON,
    Cells,
    Counts,
    Doubles,
    Floats,
    Ints,
    Longs,
    Sums,
    common_counts,
    new_tally,
    no_cells,
)
from bitweft.recipes.default.config import DefaultConfig
from bitweft.recipes.default.counts import State
from bitweft.recipes.default.knowledge import (
    Knowledge,
    Renumbering,
    both_counts,
    counts_of_lexicon,
    lower_cased,
    word_counts,
)
from bitweft.recipes.default.learn import (
    Learning,
    Text,
    first_prior,
    no_counts,
    word_classes,
)
from bitweft.recipes.default.loops import choose
from bitweft.recipes.default.model_files import load_model, save_model
from bitweft.recipes.default.parts import DefaultParts
from bitweft.recipes.default.posterior import (
    Matrix,
    agreement,
    best_words,
    calibrated,
    links_by_direction,
    null_probabilities,
    pair_posteriors,
    uncalibrated,
    unlinked,
    with_probabilities,
)
from bitweft.recipes.default.reading import read
from bitweft.recipes.default.refine.memory import Meeting
from bitweft.recipes.default.refine.refiner import Refiner, between, shipped, threshold_of
from bitweft.recipes.default.refine.tune import Cells as RefinedCells
from bitweft.recipes.default.refine.tune import Tuned, cells_of, logit, tune, untuned
from bitweft.recipes.default.spelling import Spelling
from bitweft.settings import Settings, from_mapping, settings_of
from bitweft.storage.model_directory import About
from bitweft.text.bitext import Lines, SentencePair

NO_ROOM = np.empty(0, np.float32)
COMPILING = "compiling the inner loops, once per installation; this takes up to a minute"


class DefaultRecipe(Recipe):
    """Train and apply the default aligner."""

    name = "default"
    revision = 4
    offers = frozenset(
        {
            Offer.SCORES,
            Offer.POSTERIORS,
            Offer.THRESHOLD,
            Offer.NULL,
            Offer.LEXICON,
            Offer.KNOWN_LINKS,
            Offer.CONTINUE,
            Offer.CHECKPOINT,
            Offer.CHECKPOINT_EVERY,
            Offer.TUNE,
            Offer.STYLE,
            Offer.PARTS,
        }
    )
    settings = DefaultConfig
    config: DefaultConfig

    def __init__(
        self, config: Settings | None = None, *, seed: int = 1, running: Running | None = None
    ) -> None:
        running = running or Running()
        self.config = settings_of(DefaultConfig, config)
        self.loops = choose(running.kernels, running.device)
        self.seed = seed
        self.threads = running.threads or cores()
        self.record: list[Record] = []
        self.spellings: list[Spelling] = []
        self.tables: list[Floats] = []
        self.prior = first_prior(self.config.null)
        self.counts: Counts | None = None
        self.vectors: list[Floats] = []
        self.classes: list[Ints] = []
        self.nulls: list[Floats] = []
        self.scales: list[Floats] = []
        self.signs: list[Floats] = []
        self.refiner: Refiner = shipped()
        self.tuned: Tuned | None = None
        self.texts: Sequence[Text] | None = None  # what was learned from, if it is held
        self.common = NONE_COMMON
        self.before: State | None = None  # in parts: what the last pass went by, if there is one to come

    @property
    def workers(self) -> int:
        """Tell in how many threads to align at once."""
        return self.threads

    @property
    def vocabulary_sizes(self) -> tuple[int, int]:
        """Tell how many words of the source and of the target language it knows."""
        self.learned_counts()
        source, target = (len(spelling.words) for spelling in self.spellings)
        return source, target

    @property
    def word_counts(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """Return how often it has seen each word of the source and of the target language."""
        self.learned_counts()
        source, target = (spelling.words.counts for spelling in self.spellings)
        return source, target

    @property
    def facts(self) -> Iterator[tuple[Ints, Floats, Floats, Floats]]:
        """Give classes, nulls, scales and vectors of the words of each side."""
        return zip(self.classes, self.nulls, self.scales, self.vectors, strict=True)

    def preparation(self, *, learning: bool = False) -> str | None:
        """Say so if the inner loops are to be compiled first."""
        return COMPILING if needs_compiling(learning=learning or self.counts is None) else None

    @classmethod
    def prepare_aligning(cls) -> bool:
        """Compile what aligning needs in another process, if there is an idle core for it."""
        if not (has_idle_core() and can_be_kept(refine) and needs_compiling(learning=False)):
            return False
        names = [loop.__name__ for loop in (add_counts, add_unlinked, refine)]
        return compile_beside("bitweft.recipes.default.ahead", names)

    def fit(self, text: Iterable[SentencePair], extras: FitExtras = NO_EXTRAS) -> Iterator[Progress]:
        """Learn from the pairs, telling how far it is; done when the iterator ends."""
        lexicon = lower_cased(extras.lexicon) if self.config.lowercase else list(extras.lexicon)
        source, target, links = yield from read(
            text, lowercase=self.config.lowercase, threads=self.threads, known=extras.known_links
        )
        more = [Counter(own) for own in word_counts(lexicon)]
        if extras.continue_training:
            self.learned_counts()
            for own, spelling in zip(more, self.spellings, strict=True):
                own.update(spelling.words.counts)
        texts = [Text(*source.finish(more[0])), Text(*target.finish(more[1]))]
        config, knowledge = self._knowledge(texts, lexicon, links, extras.continue_training)
        learning = Learning(
            texts, config, seed=self.seed, threads=self.threads, knowledge=knowledge, loops=self.loops
        )
        if not len(learning.pairs):
            lengths = (np.diff(text.offsets).tolist() for text in texts)
            check_learnable(zip(*lengths, strict=True), config.longest, "longest")
        checkpoint = extras.checkpoint
        yield from learning.run() if checkpoint is None else with_checkpoints(learning, checkpoint)
        self.take(learning, extras.continue_training)
        self.texts = texts if extras.hold_text else None

    def in_parts(self) -> DefaultParts:
        """Return what learns from a text in parts."""
        return DefaultParts(self)

    def _knowledge(
        self, texts: list[Text], lexicon: list[WordPair], links: dict[int, Alignment], continuing: bool
    ) -> tuple[DefaultConfig, Knowledge]:
        """Gather what is known before learning, and the configuration to learn by."""
        spellings = [text.spelling for text in texts]
        words = no_counts(spellings)._replace(strength=self.config.strength)
        counts = counts_of_lexicon(lexicon, words, spellings) if lexicon else None
        if not continuing:
            return self.config, Knowledge(counts, links)
        numbers = Renumbering(self.spellings, spellings)
        counts = both_counts(numbers.counts(self.learned_counts(), words), counts)
        jumps = self.prior.jumps.mean(1, keepdims=True)
        prior = self.prior._replace(mixture=0.0, chained=False, jumps=jumps)
        config = replace(self.config, lse_epochs=None, chain_epochs=None, batch=None, rate=None)
        return config, Knowledge(counts, links, numbers.tables(self.tables), prior)

    def take(self, learning: Learning, continuing: bool = False) -> None:
        """Take over what was learned; of words that the new text does not have, the old is kept."""
        spellings = [text.spelling for text in learning.texts]
        nulls = learning.nulls
        if continuing:
            numbers = Renumbering(self.spellings, spellings)
            nulls = numbers.of_absent(self.nulls, nulls, [text.tokens for text in learning.texts])
        self.config = learning.config
        self.tuned = None  # words have other numbers now, and numbers of cells another scale
        self.before = None
        self.record = [*self.record, *learning.record] if continuing else learning.record
        self.set_words(spellings, [side.table for side in learning.sides], learning.vectors)
        self.prior = learning.prior._replace(chained=True)
        self.set_counts(learning.counts)
        self.nulls = nulls
        self.scales = learning.scales

    def set_counts(self, counts: Counts) -> None:
        """Take over counts, with those of common words in another order."""
        self.counts = counts
        self.common = common_counts(counts)

    def set_words(self, spellings: list[Spelling], tables: list[Floats], vectors: list[Floats]) -> None:
        """Take over words: their spelling, the tables of its parts, and their vectors."""
        self.spellings = spellings
        self.tables = tables
        self.vectors = vectors
        self.classes = [word_classes(spelling) for spelling in spellings]
        self.signs = [spelling.signs() for spelling in spellings]

    def infer(self, pairs: Sequence[SentencePair], decoding: Decoding) -> list[Inference]:
        """Align each pair by itself; pairs share nothing but the call."""
        self.learned_counts()
        if not pairs:
            return []
        coded = code_pairs(self, pairs)
        threshold = decoding.threshold
        if decoding.by_direction and self.config.refined:
            threshold = 0.0  # links are chosen otherwise; they have their probabilities all the same
        inferences = self._by_threshold(coded, len(pairs), threshold, decoding.style)
        if decoding.by_direction or decoding.null:
            inferences = self._with_choice(coded, pairs, inferences, decoding)
        if decoding.unrefined is not None:
            cells = self._unrefined(coded, len(pairs), decoding.unrefined, np.empty(len(pairs)))
            links = LinkTable(*cells).alignments()
            inferences = [replace(own, unrefined=left) for own, left in zip(inferences, links, strict=True)]
        return inferences

    def _by_threshold(
        self, coded: Coded, pairs: int, threshold: float | None, style: float | None
    ) -> list[Inference]:
        scores = np.empty(pairs)
        cells = self._cells(coded, pairs, threshold, style, scores)
        return list(map(Inference, LinkTable(*cells).alignments(), scores.tolist()))

    def link_table(self, pairs: Sequence[SentencePair], decoding: Decoding) -> LinkTable:
        """Return the links of each pair as arrays."""
        if decoding.by_direction or not pairs:
            return super().link_table(pairs, decoding)
        self.learned_counts()
        return self._table(code_pairs(self, pairs), len(pairs), decoding)

    def sized_table(self, pairs: Sequence[SentencePair], decoding: Decoding) -> tuple[Sizes, LinkTable]:
        """Return the words of each pair, and the links as arrays; lines are numbered as they are."""
        if decoding.by_direction or not isinstance(pairs, Lines):
            return super().sized_table(pairs, decoding)
        self.learned_counts()
        coded = code_lines(self, pairs)
        sizes = np.stack([np.diff(coded.source.offsets), np.diff(coded.target.offsets)], 1)
        if sizes.max(initial=0) > decoding.longest:
            return super().sized_table(pairs, decoding)
        return sizes, self._table(coded, len(pairs), decoding)

    def _table(self, coded: Coded, pairs: int, decoding: Decoding) -> LinkTable:
        return LinkTable(*self._cells(coded, pairs, decoding.threshold, decoding.style, np.empty(pairs)))

    def held_table(self, texts: Sequence[Text], pairs: Longs, decoding: Decoding) -> LinkTable:
        """Return the links of pairs of a text that it has learned from, as arrays."""
        return self._table(code_held(self, texts, pairs), len(pairs), decoding)

    def learned_text(self) -> LearnedText | None:
        """Return the text that it has just learned from, if it was asked to hold it."""
        return None if self.texts is None else _Held(self, self.texts)

    def _cells(
        self, coded: Coded, pairs: int, threshold: float | None, style: float | None, scores: Doubles
    ) -> Cells:
        """Find the cells that are links, with their probabilities, and the scores of the pairs."""
        if not self.config.refined:
            least = self.config.threshold if threshold is None else threshold
            return self._unrefined(coded, pairs, least, scores)
        tuned = self._tuned(style)
        bound = logit(tuned.threshold if threshold is None else threshold)
        deciding = Deciding(self.refiner.trees, *between(tuned.style), tuned.trees, tuned.memory, bound)
        return refine(coded.inputs(self.prior), pairs, coded.signs, new_tally(0), deciding, scores)

    def _unrefined(self, coded: Coded, pairs: int, threshold: float, scores: Doubles) -> Cells:
        """Find the cells that both directions together find so probable, and the scores of the pairs."""
        sums = Sums(new_tally(0), 0, scores, (NO_ROOM, NO_ROOM))
        inputs, floor = coded.inputs(self.prior), uncalibrated(threshold)
        found = self.loops.posteriors(inputs, np.arange(pairs), no_cells(), floor, sums)
        return found._replace(values=calibrated(found.values).astype(np.float32))

    def _tuned(self, style: float | None) -> Tuned:
        """Return what decides on links: as asked for, as tuned, or as set."""
        if self.tuned is not None and style is None:
            return self.tuned
        style = self.config.links if style is None else style
        return untuned(style, threshold_of(style, self.config.threshold))

    def _with_choice(
        self, coded: Coded, pairs: Sequence[SentencePair], found: list[Inference], decoding: Decoding
    ) -> list[Inference]:
        """Choose links by direction, and look at the words that have none, as asked."""
        chosen, chances = [], []
        for number, pair in enumerate(pairs):
            matrices = self._matrices(coded, number) if all(map(len, pair)) else None
            if decoding.by_direction:
                chosen.append(best_words(*matrices) if matrices else (Alignment(), Alignment()))
            chances.append(null_probabilities(*matrices) if matrices and decoding.null else None)
        links = [inference.alignment for inference in found]
        if decoding.by_direction:
            by_direction = links_by_direction(chosen, decoding)
            if self.config.refined:
                by_direction = [with_probabilities(*own) for own in zip(by_direction, links, strict=True)]
            links = by_direction
        return [
            Inference(own, inference.score, unlinked(own, left) if left else None)
            for own, inference, left in zip(links, found, chances, strict=True)
        ]

    def posteriors(self, pair: SentencePair) -> Posteriors:
        """Return the probability of every link of a pair."""
        posteriors = pair_posteriors(*self.direction_posteriors(pair))
        if not self.config.refined or not all(map(len, pair)):
            return posteriors
        links = np.zeros_like(posteriors.links)
        found = self._by_threshold(code_pairs(self, [pair]), 1, 0.0, None)[0].alignment
        for link, chance in zip(found.links, found.probabilities or (), strict=True):
            links[link] = chance
        return posteriors._replace(links=links)

    def soft_links(self, pair: SentencePair) -> Matrix:
        """Return what both directions say of every link, without the refiner, which knows styles of gold."""
        return agreement(*self.direction_posteriors(pair))

    def look(self, pairs: Sequence[SentencePair], gold: Sequence[GoldAlignment]) -> RefinedCells:
        """Return the cells that the refiner looks at, held against gold links."""
        coded = code_pairs(self, pairs)
        looked = look(coded.inputs(self.prior), len(pairs), coded.signs, new_tally(0))
        pair = np.repeat(np.arange(len(pairs)), np.diff(looked.offsets))
        words = [
            side.tokens[side.offsets[pair] + places].astype(np.int64)
            for side, places in ((coded.source, looked.source), (coded.target, looked.target))
        ]
        seen = [np.where(own < size, own, -1) for own, size in zip(words, self.vocabulary_sizes, strict=True)]
        return cells_of(looked, Meeting(*seen), gold)

    def tune(self, pairs: Sequence[SentencePair], gold: Sequence[GoldAlignment]) -> Tuning:
        """Learn from gold links which links their guidelines ask for, and keep that if it helps.

        Raises:
            UsageError: there are too few gold links, or links are not refined.
        """
        self.learned_counts()
        if not self.config.refined:
            raise UsageError("tune needs refined links: the model has the setting refined=false")
        before = evaluate(self.align(pairs), gold, names=("the text", "the gold"))
        now = self._tuned(None)
        tuned, expected = tune(self.look(pairs, gold), self.refiner, now, self.vocabulary_sizes)
        if tuned is now:
            return Tuning(before, before, "nothing: no choice was surely better", expected)
        self.tuned = tuned
        after = evaluate(self.align(pairs), gold, names=("the text", "the gold"))
        return Tuning(before, after, str(tuned), expected)

    def direction_posteriors(self, pair: SentencePair) -> tuple[Floats, Floats]:
        """Return both directions' posteriors of one pair, as (source, target) matrices."""
        self.learned_counts()
        if not len(pair.source) or not len(pair.target):
            empty = np.zeros((len(pair.source), len(pair.target)), np.float32)
            return empty, empty
        return self._matrices(code_pairs(self, [pair]), 0)

    def _matrices(self, coded: Coded, number: int) -> tuple[Floats, Floats]:
        forward, backward = self.loops.matrices(coded.inputs(self.prior), number, new_tally(0))
        return forward.T, backward

    def learned_counts(self) -> Counts:
        """Return the counts of linked words, once there are any."""
        if self.counts is None:
            raise UsageError(NOT_LEARNED)
        return self.counts

    def save(self, directory: Path) -> None:
        """Write the model into an existing directory."""
        self.learned_counts()
        save_model(self, directory)

    @classmethod
    def load(cls, directory: Path, about: About, running: Running) -> DefaultRecipe:
        """Read what `save` wrote."""
        try:
            recipe = cls(from_mapping(DefaultConfig, about.config), seed=about.seed, running=running)
        except (ValueError, OverflowError, UsageError) as error:
            raise ModelError(f"{directory}: the model cannot be used: {error}") from error
        recipe.record = about.record
        load_model(recipe, directory)
        return recipe


class _Held(LearnedText):
    """Align a text by the numbers that learning has made of it."""

    def __init__(self, recipe: DefaultRecipe, texts: Sequence[Text]) -> None:
        self._recipe = recipe
        self._texts = texts
        self.sizes = np.stack([np.diff(text.offsets) for text in texts], 1)

    def link_table(self, pairs: Longs, decoding: Decoding) -> LinkTable:
        """Return the links of some pairs, by number, as arrays."""
        return self._recipe.held_table(self._texts, pairs, decoding)
