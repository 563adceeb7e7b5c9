"""The recipe of Legrand, Auli and Collobert (2016): two directions trained, thresholded, symmetrized."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from sys import intern

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import save_file

from bitweft.errors import InputError, ModelError, UsageError
from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.evaluate import Score, evaluate
from bitweft.links.symmetrize import symmetrize_all
from bitweft.progress import Progress
from bitweft.recipes.base import (
    NO_EXTRAS,
    NOT_LEARNED,
    Decoding,
    FitExtras,
    Inference,
    Neighborhood,
    Offer,
    Recipe,
    Record,
    Running,
    Tuning,
    check_learnable,
)
from bitweft.recipes.devices import check_device
from bitweft.recipes.paper.batches import padded
from bitweft.recipes.paper.config import PaperConfig
from bitweft.recipes.paper.decode import (
    CHOICES,
    BestWords,
    DecodingConfig,
    FloatMatrix,
    NegativeScores,
    best_words,
    mean_scores,
)
from bitweft.recipes.paper.features import EncodedText, IntArray, Inventory, Tagger
from bitweft.recipes.paper.fitting import Fitting, fit_here
from bitweft.recipes.paper.neighbors import Space
from bitweft.recipes.paper.network import Network
from bitweft.recipes.paper.processes import fit_beside, processes
from bitweft.recipes.paper.taggers import load_tagger
from bitweft.recipes.paper.vectors import FloatArray, hellinger_vectors, read_vectors
from bitweft.settings import Settings, from_mapping, settings_of
from bitweft.storage.model_directory import About, Arrays
from bitweft.text.bitext import Sentence, SentencePair
from bitweft.text.lines import LineFile
from bitweft.text.vocabulary import RESERVED, Tokens, Vocabulary


@dataclass
class Direction:
    """Hold what aligns in one direction: each target word to a source word."""

    networks: list[Network]
    negative: NegativeScores

    def best(self, source: EncodedText, target: EncodedText) -> list[BestWords]:
        """Find the best source word of each target word."""
        return best_words(self.networks, self.negative, source, target)

    def to(self, device: str) -> Direction:
        """Move everything to a device."""
        networks = [network.to(device) for network in self.networks]
        negative = NegativeScores(self.negative.mean.to(device), self.negative.deviation.to(device))
        return Direction(networks, negative)


class PaperRecipe(Recipe):
    """Train and apply the paper's aligner."""

    name = "paper"
    revision = 3
    offers = frozenset(
        {
            Offer.CHECKPOINT,
            Offer.CHECKPOINT_EVERY,
            Offer.NEIGHBORS,
            Offer.SCORE_MATRIX,
            Offer.TAGS,
            Offer.TUNE,
        }
    )
    settings = PaperConfig
    config: PaperConfig

    def __init__(
        self, config: Settings | None = None, *, seed: int = 1, running: Running | None = None
    ) -> None:
        running = running or Running()
        check_device(running.device)
        self.config = settings_of(PaperConfig, config)
        self.seed = seed
        self.threads = running.threads
        self.device = running.device
        self.inventories: tuple[Inventory, Inventory] | None = None
        self.directions: list[Direction] = []
        self.record: list[Record] = []
        self._taggers: list[Tagger | None] | None = None

    @property
    def vocabulary_sizes(self) -> tuple[int, int]:
        """Tell how many words of the source and of the target language it knows."""
        source, target = self._learned()
        return len(source.words), len(target.words)

    @property
    def takes_tags(self) -> bool:
        """Tell whether it has learned with tags that come with the text."""
        return "inline" in (self.config.features.source.tags, self.config.features.target.tags)

    def _learned(self) -> tuple[Inventory, Inventory]:
        if self.inventories is None or len(self.directions) != 2:
            raise UsageError(NOT_LEARNED)
        return self.inventories

    def fit(self, text: Iterable[SentencePair], extras: FitExtras = NO_EXTRAS) -> Iterator[Progress]:
        """Learn both directions from the pairs, telling how far it is; done when the iterator ends.

        From a large text, networks are trained in processes of their own, one for each thread.
        """
        self._set_threads()
        sides = self._sentences(text)
        lengths = (map(len, side) for side in sides)
        check_learnable(zip(*lengths, strict=True), self.config.training.longest, "training.longest")
        self.inventories = self._learn_inventories(sides)
        texts = self._encode(sides)
        vectors = [self._initial_vectors(side, texts[side]) for side in (0, 1)]
        fitting = Fitting(self.config, self.seed, self.inventories, tuple(texts), tuple(vectors), self.device)
        self.directions, self.record = [], []
        run = fit_beside if processes(fitting, self.threads) > 1 else fit_here
        for own in (yield from run(fitting, extras.checkpoint, self.threads)):
            self.directions.append(Direction([network.double() for network in own.networks], own.negative))
            self.record += own.record

    def _learn_inventories(self, sides: tuple[list[Tokens], list[Tokens]]) -> tuple[Inventory, Inventory]:
        features = self.config.features
        taggers = self._load_taggers()
        return (
            Inventory.of(sides[0], features, features.source, tagger=taggers[0]),
            Inventory.of(sides[1], features, features.target, tagger=taggers[1]),
        )

    def infer(self, pairs: Sequence[SentencePair], decoding: Decoding) -> list[Inference]:
        """Align each pair by itself: in both directions, symmetrized, or in one."""
        forward, backward = _links(*self.best(pairs), self.config.decoding)
        if decoding.direction is not None:
            links = forward if decoding.direction == "forward" else backward
        else:
            heuristic = decoding.heuristic or self.config.decoding.heuristic
            links = list(symmetrize_all(forward, backward, heuristic))
        return [Inference(alignment) for alignment in links]

    def best(self, pairs: Sequence[SentencePair]) -> tuple[list[BestWords], list[BestWords]]:
        """Find the best words of both directions, of which links are made."""
        self._learned()
        self._set_threads()
        source, target = self._encode(self._sentences(pairs))
        return self.directions[0].best(source, target), self.directions[1].best(target, source)

    def score_matrix(self, pair: SentencePair) -> FloatMatrix:
        """Return s(s, t) of the direction forward for each source and target word of a pair (equation 1)."""
        self._learned()
        texts = self._encode(self._sentences([pair]))
        source, target = (padded(text, np.arange(1), self.device) for text in texts)
        return np.asarray(mean_scores(self.directions[0].networks, source, target)[0].cpu(), np.float64)

    def tune(self, pairs: Sequence[SentencePair], gold: Sequence[GoldAlignment]) -> Tuning:
        """Choose α and the heuristic that have the lowest AER on pairs with gold links, and keep them.

        One α serves both directions, unless each is to have the one that is best for it alone: dev sets are
        small, and a choice of two of them follows their accidents.
        """
        best = self.best(pairs)
        start = self.config.decoding

        def scored(decoding: DecodingConfig, way: int | None = None) -> Score:
            links = _links(*best, decoding)
            found = symmetrize_all(*links, decoding.heuristic) if way is None else links[way]
            return evaluate(found, gold, names=("the text", "the gold"))

        if start.one_alpha:
            alphas = [(alpha, alpha) for alpha in start.alphas]
        else:
            by_alpha = [replace(start, alpha=alpha, backward_alpha=alpha) for alpha in start.alphas]
            own = [min(by_alpha, key=lambda choice: scored(choice, way).aer).alpha for way in (0, 1)]
            alphas = [(own[0], own[1])]
        choices = [
            replace(start, alpha=ahead, backward_alpha=back, heuristic=heuristic)
            for ahead, back in alphas
            for heuristic in CHOICES[start.choose_from] or (start.heuristic,)
        ]
        scores = [scored(choice) for choice in choices]
        lowest = min(range(len(choices)), key=lambda choice: scores[choice].aer)
        chosen = choices[lowest]
        self.config = replace(self.config, decoding=chosen)
        both = dict.fromkeys(f"{alpha:g}" for alpha in (chosen.alpha, chosen.backward_alpha))
        said = f"{chosen.heuristic}, alpha {' and '.join(both)}"
        return Tuning(scored(start), scores[lowest], said)

    def neighbors(self, window: Sequence[str], text: Iterable[SentencePair], count: int) -> Neighborhood:
        """List the source windows of a text nearest to one, and the target words that fit it best."""
        space = Space(self.directions[0].networks, self._learned(), self._load_taggers())
        return space.neighborhood(window, *self._sentences(text), count)

    def save(self, directory: Path) -> None:
        """Write the model into an existing directory."""
        for name, inventory in zip(("source", "target"), self._learned(), strict=True):
            inventory.save(directory, name)
        for name, direction in zip(("forward", "backward"), self.directions, strict=True):
            tensors = {
                "negative.mean": direction.negative.mean,
                "negative.deviation": direction.negative.deviation,
            }
            for member, network in enumerate(direction.networks):
                for key, value in network.state_dict().items():
                    tensors[f"{member}.{key}"] = value.float()
            save_file(
                {key: value.contiguous().cpu() for key, value in tensors.items()},
                directory / f"{name}.safetensors",
            )

    @classmethod
    def load(cls, directory: Path, about: About, running: Running) -> PaperRecipe:
        """Read what `save` wrote; nothing of it is believed unchecked."""
        try:
            recipe = cls(from_mapping(PaperConfig, about.config), seed=about.seed, running=running)
        except UsageError as error:
            raise ModelError(f"{directory}: the model cannot be used: {error}") from error
        recipe.record = about.record
        features = recipe.config.features
        inventories = (
            Inventory.load(directory, "source", features, features.source),
            Inventory.load(directory, "target", features, features.target),
        )
        recipe.inventories = inventories
        for name, (s, t) in (("forward", (0, 1)), ("backward", (1, 0))):
            arrays = Arrays(directory / f"{name}.safetensors")
            direction = _direction(arrays, inventories[s], inventories[t], recipe.config)
            recipe.directions.append(direction.to(running.device))
        return recipe

    def _sentences(self, pairs: Iterable[SentencePair]) -> tuple[list[Tokens], list[Tokens]]:
        """Part the pairs into sides."""
        features = self.config.features
        inline = [side.tags == "inline" for side in (features.source, features.target)]
        sides: tuple[list[Tokens], list[Tokens]] = ([], [])
        for pair in pairs:
            for own, sentence, tagged in zip(sides, pair, inline, strict=True):
                own.append(_tokens(sentence, inline=tagged))
        return sides

    def _set_threads(self) -> None:
        if self.threads is not None:
            torch.set_num_threads(self.threads)

    def _load_taggers(self) -> list[Tagger | None]:
        if self._taggers is None:
            features = self.config.features
            self._taggers = [load_tagger(side.tags) for side in (features.source, features.target)]
        return self._taggers

    def _encode(self, sides: tuple[list[Tokens], list[Tokens]]) -> list[EncodedText]:
        assert self.inventories is not None
        taggers = self._load_taggers()
        return [
            inventory.encode(sentences, tagger=tagger)
            for inventory, sentences, tagger in zip(self.inventories, sides, taggers, strict=True)
        ]

    def _initial_vectors(self, side: int, text: EncodedText) -> FloatArray | None:
        initial = self.config.initial
        assert self.inventories is not None
        words = self.inventories[side].words
        file = (initial.source_vectors, initial.target_vectors)[side]
        if file:
            return _vectors_of_file(file, words, self.config.model.words)
        if initial.words == "random":
            return None
        other = (initial.source_text, initial.target_text)[side]
        numbers, lengths = text.words, text.lengths
        if other:
            numbers, lengths = _numbered(other, words, lowercase=self.config.features.lowercase)
        return hellinger_vectors(
            numbers,
            lengths,
            len(words),
            dimensions=self.config.model.words,
            window=initial.window,
            contexts=initial.contexts,
        )


def _tokens(sentence: Sentence, *, inline: bool) -> Tokens:
    """Return the words, as `word|TAG` if so wanted; each is held once however often it comes."""
    if not inline or sentence.tags is None:
        return tuple(map(intern, sentence.tokens))
    return tuple(intern(f"{word}|{tag}") for word, tag in zip(sentence.tokens, sentence.tags, strict=True))


def _links(
    forward: Sequence[BestWords], backward: Sequence[BestWords], decoding: DecodingConfig
) -> tuple[list[Alignment], list[Alignment]]:
    """Make links of the best words of each direction."""
    ahead = [best.links(decoding.alpha) for best in forward]
    return ahead, [best.links(decoding.backward_alpha).inverse() for best in backward]


def _numbered(file: str, words: Vocabulary, *, lowercase: bool) -> tuple[IntArray, npt.NDArray[np.int64]]:
    """Read a text as numbers of words, and how many each line has."""
    numbers, lengths = array("i"), array("q")
    for line in LineFile(file).lines():
        own = (line.lower() if lowercase else line).split()
        numbers.extend(words.numbers(own))
        lengths.append(len(own))
    return np.frombuffer(numbers, np.int32), np.frombuffer(lengths, np.int64)


def _vectors_of_file(file: str, words: Vocabulary, dimensions: int) -> FloatArray:
    """Put a file's vectors at their words; a word without one gets zeros, and with that a random start."""
    vectors = np.zeros((len(words), dimensions), np.float32)
    for word, vector in read_vectors(file, words.entries, dimensions).items():
        vectors[words.number(word)] = vector
    if not vectors[RESERVED:].any():
        raise InputError("none of the text's words is in it", file=file)
    return vectors


def _direction(arrays: Arrays, source: Inventory, target: Inventory, config: PaperConfig) -> Direction:
    """Take the networks of a direction out of a file whose arrays have the shapes that settings ask for."""
    with torch.device("meta"):  # shapes are compared before anything of their size is made
        shape = Network(source, target, config.model, seed=None).state_dict()
    networks = []
    for member in range(config.members):
        weights = {
            key: torch.from_numpy(arrays.take(f"{member}.{key}", np.float32, tuple(value.shape)))
            for key, value in shape.items()
        }
        network = Network(source, target, config.model, seed=None)
        network.load_state_dict(weights)
        networks.append(network.double())
    mean, deviation = (
        torch.from_numpy(arrays.take(f"negative.{name}", np.float64, (len(target.words),), low=low))
        for name, low in (("mean", -np.inf), ("deviation", 0.0))
    )
    return Direction(networks, NegativeScores(mean, deviation))
