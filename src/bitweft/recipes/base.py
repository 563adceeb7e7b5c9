"""The contract of a recipe: what it offers, what it is asked, what it answers.

A recipe learns from text and gives links. `Aligner`, the command line and the server know recipes by this
contract alone: they ask `offers` before they ask for something that not every recipe has, and `require`
refuses it, naming the option that the user gave.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

from bitweft.errors import InputError, NothingToLearnError, UsageError
from bitweft.links.alignment import Alignment, GoldAlignment, Unlinked
from bitweft.links.evaluate import Score
from bitweft.links.known import KnownLinks, WordPair
from bitweft.links.symmetrize import HEURISTICS
from bitweft.links.table import LinkTable
from bitweft.progress import Progress
from bitweft.settings import Settings
from bitweft.storage.checkpoint import Checkpoint
from bitweft.text.bitext import SentencePair

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self

    from bitweft.recipes.parts import PartTraining
    from bitweft.storage.model_directory import About

    Matrix: TypeAlias = npt.NDArray[np.floating]

Sizes: TypeAlias = "npt.NDArray[np.int64]"  # (pairs, 2): words of the source and of the target sentence
Record: TypeAlias = dict[str, "str | int | float | None"]  # what one phase of learning came to

PRECISE = 0.75  # the threshold of --precision
COMPLETE = 0.25  # the threshold of --recall
LONGEST = 5_000  # words of a sentence: a pair with a longer one gets no links
DIRECTIONS = ("forward", "backward")
STYLES = {"words": 0.0, "default": 0.5, "phrases": 1.0}  # of links: single words, whole phrases
NOT_LEARNED = "this aligner has not learned anything yet: call fit, or load a model"


class Offer(Enum):
    """Name what a recipe may offer beyond learning from text and giving links."""

    SCORES = "scores of pairs"
    POSTERIORS = "the probability of every link"
    SCORE_MATRIX = "the score of every link"
    THRESHOLD = "links from a probability on"
    NULL = "the probability that a word has no link"
    LEXICON = "known word pairs"
    KNOWN_LINKS = "known links"
    CONTINUE = "learning on from a kept model"
    CHECKPOINT = "checkpoints"
    CHECKPOINT_EVERY = "checkpoints every so many seconds"
    TAGS = "part-of-speech tags"
    TUNE = "tuning on gold links"
    STYLE = "a style of links"
    NEIGHBORS = "neighbors of a source window"
    PARTS = "learning in parts"


@dataclass(frozen=True)
class Running:
    """Say how to compute; nothing of it changes what is learned, and none of it is kept with a model."""

    threads: int | None = None  # None: all cores
    device: str = "cpu"
    kernels: str = "auto"  # inner loops: compiled on the CPU, PyTorch's elsewhere, unless named

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise UsageError(f"threads must be 1 or greater, got {self.threads}")


@dataclass(frozen=True)
class FitExtras:
    """Hold what may be given beside the text to learn from."""

    lexicon: Sequence[WordPair] = ()
    known_links: KnownLinks | None = None
    checkpoint: Checkpoint | None = None
    continue_training: bool = False  # learn on from what was learned before
    hold_text: bool = False  # it is aligned next: what the recipe made of it need not be made again


NO_EXTRAS = FitExtras()
EXTRAS = {
    "lexicon": Offer.LEXICON,
    "known_links": Offer.KNOWN_LINKS,
    "checkpoint": Offer.CHECKPOINT,
    "continue_training": Offer.CONTINUE,
}


@dataclass(frozen=True, slots=True)
class Decoding:
    """Say how links are chosen: by a threshold (the model's, unless given), a heuristic, or one direction.

    `null` asks for the probability that a word without a link has none. A pair with a sentence of more than
    `longest` words gets no links. A `style` from 0, single words, to 1, whole phrases, stands in the place of
    the model's own. `unrefined` asks also for the links that are so probable before a style decides on them.
    """

    threshold: float | None = None
    heuristic: str | None = None
    direction: str | None = None
    null: bool = False
    longest: int = LONGEST
    style: float | None = None
    unrefined: float | None = None

    def __post_init__(self) -> None:
        chosen = [value for value in (self.threshold, self.heuristic, self.direction) if value is not None]
        if len(chosen) > 1:
            raise UsageError("give only one of threshold, heuristic and direction")
        for name, value in (("threshold", self.threshold), ("unrefined", self.unrefined)):
            if value is not None and not 0 < value <= 1:
                raise UsageError(f"{name} must be greater than 0 and at most 1, got {value}")
        if self.heuristic is not None and self.heuristic not in HEURISTICS:
            raise UsageError(f"heuristic must be one of {', '.join(HEURISTICS)}, got {self.heuristic!r}")
        if self.direction is not None and self.direction not in DIRECTIONS:
            raise UsageError(f"direction must be forward or backward, got {self.direction!r}")
        if self.longest < 1:
            raise UsageError(f"the longest sentence must have 1 word or more, got {self.longest}")
        if self.style is not None and not 0 <= self.style <= 1:
            raise UsageError(f"style must be between 0 (words) and 1 (phrases), got {self.style:g}")

    @property
    def by_direction(self) -> bool:
        """Tell whether each direction chooses its links by itself."""
        return self.heuristic is not None or self.direction is not None


@dataclass(frozen=True, slots=True)
class Inference:
    """Hold what a model says of one pair: its links, and what else was asked for and the recipe offers."""

    alignment: Alignment
    score: float | None = None  # of the pair: higher is better, 0 is what unrelated sentences have
    unlinked: tuple[Unlinked, Unlinked] | None = None  # of the source, of the target
    too_long: bool = False
    unrefined: Alignment | None = None


class LearnedText(ABC):
    """Align the text that a model was just learned from, by what learning has made of it."""

    sizes: Sizes

    @abstractmethod
    def link_table(self, pairs: npt.NDArray[np.int64], decoding: Decoding) -> LinkTable:
        """Return the links of some pairs, by number, as arrays."""


class Posteriors(NamedTuple):
    """Hold the probabilities of one pair."""

    links: Matrix  # (source, target): of each link
    source_null: Matrix  # (source): that the word has no link
    target_null: Matrix  # (target)


class Expected(NamedTuple):
    """Hold what cross-validation expects of tuning: AER before and after, the 95 % interval of its change."""

    before: float
    after: float
    low: float
    high: float


@dataclass(frozen=True)
class Tuning:
    """Hold what tuning on gold links came to."""

    before: Score
    after: Score  # on the same pairs; a recipe that learns from them says what it expects of others
    chosen: str  # what was chosen, for people
    expected: Expected | None = None


class Neighbor(NamedTuple):
    """Hold a source window or a target word, and its distance or score."""

    text: str
    value: float


class Neighborhood(NamedTuple):
    """Hold what a model puts close to a source window."""

    windows: list[Neighbor]  # of the source text, nearest first
    words: list[Neighbor]  # of the target text, best first
    note: str = ""  # what to know of the list


class Recipe(ABC):
    """Learn from parallel text, and align any.

    A subclass names itself and says what it offers; the methods below that raise NotImplementedError are
    asked only of recipes that offer them. Settings are held by `config`, and change by learning at most
    where they were left open.
    """

    name: ClassVar[str]
    revision: ClassVar[int]  # raised by hand when the same text and seed give other results
    offers: ClassVar[frozenset[Offer]] = frozenset()
    settings: ClassVar[type[Settings]]  # the class of its configuration

    config: Settings
    record: list[Record]

    @abstractmethod
    def __init__(
        self, config: Settings | None = None, *, seed: int = 1, running: Running | None = None
    ) -> None:
        """Make a recipe that has learned nothing yet."""

    @abstractmethod
    def fit(self, text: Iterable[SentencePair], extras: FitExtras = NO_EXTRAS) -> Iterator[Progress]:
        """Learn from the pairs, telling how far it is; done when the iterator ends.

        Raises:
            NothingToLearnError: no pair has words on both sides.
        """

    @abstractmethod
    def infer(self, pairs: Sequence[SentencePair], decoding: Decoding) -> list[Inference]:
        """Align each pair by itself; any pair may be without words, none is longer than asked for."""

    def align(self, pairs: Sequence[SentencePair], decoding: Decoding | None = None) -> list[Alignment]:
        """Return the links of each pair, and nothing else."""
        return [inference.alignment for inference in self.infer(pairs, decoding or Decoding())]

    def link_table(self, pairs: Sequence[SentencePair], decoding: Decoding) -> LinkTable:
        """Return the links of each pair as arrays; for recipes that have them so, this is quicker."""
        return LinkTable.of(self.align(pairs, decoding))

    def sized_table(self, pairs: Sequence[SentencePair], decoding: Decoding) -> tuple[Sizes, LinkTable]:
        """Return the words of each pair, and the links as arrays; pairs that are too long have none.

        Of `Lines`, a recipe may take the lines instead of the sentences.
        """
        import numpy as np

        sizes = np.array([(len(pair.source), len(pair.target)) for pair in pairs], np.int64).reshape(-1, 2)
        too_long = sizes.max(1) > decoding.longest
        short = [pair for pair, left_out in zip(pairs, too_long, strict=True) if not left_out]
        return sizes, self.link_table(short, decoding).with_empty(too_long)

    def learned_text(self) -> LearnedText | None:
        """Return the text that it has just learned from, if it was asked to hold it and can align it."""
        return None

    @abstractmethod
    def save(self, directory: Path) -> None:
        """Write what was learned into an existing directory; `model.json` is not the recipe's."""

    @classmethod
    @abstractmethod
    def load(cls, directory: Path, about: About, running: Running) -> Self:
        """Read what `save` wrote, believing nothing unchecked.

        Raises:
            ModelError: a file is missing, damaged, or does not fit the others.
        """

    def in_parts(self) -> PartTraining:
        """Return what learns from a text in parts, beginning anew or going on from what was learned."""
        raise NotImplementedError

    @property
    @abstractmethod
    def vocabulary_sizes(self) -> tuple[int, int]:
        """Tell how many words of the source and of the target language it knows."""

    @property
    def word_counts(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """Return how often it has seen each word of the source and of the target language (Offer.SCORES)."""
        raise NotImplementedError

    @property
    def workers(self) -> int:
        """Tell in how many threads to align at once."""
        return 1

    @property
    def takes_tags(self) -> bool:
        """Tell whether it has learned with tags that come with the text."""
        return False

    def preparation(self, *, learning: bool = False) -> str | None:
        """Say what takes long before the first use on this machine, if anything does.

        Args:
            learning: Whether it is to learn on. One that has learned nothing is to learn anyway.
        """
        return None

    @classmethod
    def prepare_aligning(cls) -> bool:
        """Let another process prepare what aligning needs while this one learns; tell whether one does.

        Only a program that is bitweft's alone asks for it: it starts Python anew.
        """
        return False

    def posteriors(self, pair: SentencePair) -> Posteriors:
        """Return the probability of every link of a pair (Offer.POSTERIORS)."""
        raise NotImplementedError

    def score_matrix(self, pair: SentencePair) -> Matrix:
        """Return the score of every link of a pair, (source, target), undecided (Offer.SCORE_MATRIX)."""
        raise NotImplementedError

    def soft_links(self, pair: SentencePair) -> Matrix:
        """Return how much of each word is in each link, before links are decided on (Offer.POSTERIORS).

        What is carried along links weighs them by this: (source, target), from 0 to 1.
        """
        return self.posteriors(pair).links

    def tune(self, pairs: Sequence[SentencePair], gold: Sequence[GoldAlignment]) -> Tuning:
        """Fit what it can to pairs with gold links, and keep that (Offer.TUNE)."""
        raise NotImplementedError

    def neighbors(self, window: Sequence[str], text: Iterable[SentencePair], count: int) -> Neighborhood:
        """List what is close to a source window in a text (Offer.NEIGHBORS)."""
        raise NotImplementedError


def require(recipe: Recipe | type[Recipe], offer: Offer, asked: str) -> None:
    """Refuse what a recipe does not offer, by the name under which it was asked for.

    Raises:
        UsageError: the recipe does not offer it.
    """
    if offer not in recipe.offers:
        raise UsageError(f"{asked} is not supported by the recipe {recipe.name!r}")


def parse_style(text: str) -> float:
    """Read a style: a name, or a number from 0 to 1."""
    if text in STYLES:
        return STYLES[text]
    try:
        style = float(text)
    except ValueError:
        style = -1.0
    if not 0 <= style <= 1:
        raise UsageError(f"links must be {', '.join(STYLES)} or a number from 0 to 1, got {text!r}")
    return style


def check_learnable(lengths: Iterable[tuple[int, int]], longest: int, setting: str) -> None:
    """Refuse a text without a pair to learn from, and say why there is none.

    Arguments:
        lengths: of the two sentences of each pair.
        longest: how many words a sentence may have to be learned from.
        setting: the name under which that can be changed.

    Raises:
        NothingToLearnError: no pair has words on both sides.
        InputError: those that have are all too long.
    """
    with_words = [max(pair) for pair in lengths if min(pair) > 0]
    if not with_words:
        raise NothingToLearnError("no pair has words on both sides: there is nothing to learn from")
    if min(with_words) > longest:
        raise InputError(
            f"every pair has a sentence of more than {longest:,} words, too many to learn from: "
            f"split the lines into sentences, or give --set {setting}=N (the shortest pair needs "
            f"{min(with_words):,})"
        )
