"""The recipe of Legrand, Auli and Collobert (2016): two directions trained, thresholded, symmetrised."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from sys import intern
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from bitweft.errors import InputError, ModelError, UsageError
from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.evaluate import evaluate
from bitweft.links.symmetrize import symmetrize_all
from bitweft.progress import Progress
from bitweft.recipes.paper.decode import (
    BestWords,
    DecodingConfig,
    NegativeScores,
    best_words,
    negative_scores,
)
from bitweft.recipes.paper.features import (
    RESERVED,
    EncodedText,
    FeatureConfig,
    IntArray,
    Inventory,
    Tagger,
    Tokens,
    Vocabulary,
)
from bitweft.recipes.paper.network import ModelConfig, Network
from bitweft.recipes.paper.stages import Stages
from bitweft.recipes.paper.train import TrainingConfig, layer_optimizer, table_optimizer, train
from bitweft.recipes.paper.vectors import FloatArray, hellinger_vectors, read_vectors
from bitweft.settings import from_mapping, to_mapping
from bitweft.text.bitext import Sentence, SentencePair
from bitweft.text.lines import LineFile
from bitweft.text.tags import load_tagger

ALPHAS = tuple(round(-1 + 0.25 * step, 2) for step in range(21))
HEURISTICS = (  # the paper chose from the first four, by whatever definition its tools had
    "intersection",
    "grow-diag",
    "grow-diag-final",
    "grow-diag-final-and",
    "strict-grow-diag",
    "strict-grow-diag-final",
)


@dataclass(frozen=True)
class InitialConfig:
    """Choose where word vectors start: from a `pca` of co-occurrences, as the paper has it, or at `random`.

    These are counted in the training text or, where one is named, in another text. A file of vectors, in the
    text format of word2vec and fastText, comes before both.
    """

    words: str = "pca"
    source_text: str = ""
    target_text: str = ""
    source_vectors: str = ""
    target_vectors: str = ""

    def __post_init__(self) -> None:
        if self.words not in {"random", "pca"}:
            raise UsageError(f"initial.words: {self.words!r} is neither random nor pca")


@dataclass(frozen=True)
class PaperConfig:
    """Hold every setting of the recipe."""

    features: FeatureConfig = field(default_factory=FeatureConfig)
    initial: InitialConfig = field(default_factory=InitialConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    members: int = 1

    def __post_init__(self) -> None:
        if self.members < 1:
            raise UsageError(f"members: an ensemble of {self.members} cannot be")


@dataclass
class Direction:
    """Hold what aligns in one direction: each target word to a source word."""

    networks: list[Network]
    negative: NegativeScores

    def best(self, source: EncodedText, target: EncodedText) -> list[BestWords]:
        """Find the best source word of each target word."""
        return best_words(self.networks, self.negative, source, target)


class PaperRecipe:
    """Train and apply the paper's aligner."""

    revision: ClassVar[int] = 1  # raised by hand when results change: tests/test_revision.py tells

    def __init__(
        self,
        config: PaperConfig | None = None,
        *,
        seed: int = 1,
        threads: int | None = None,
        device: str = "cpu",
        checkpoints: Path | None = None,
    ) -> None:
        self.config = config or PaperConfig()
        self.seed = seed
        self.threads = threads
        self.device = device
        self.checkpoints = (
            checkpoints  # a directory for finished stages: an interrupted `fit` goes on from there
        )
        self.inventories: tuple[Inventory, Inventory] | None = None
        self.directions: list[Direction] = []
        self.record: list[dict[str, Any]] = []
        self.text: list[str] = []  # the files it learned from
        self._taggers: list[Tagger | None] | None = None

    def fit(self, bitext: Iterable[SentencePair]) -> Iterator[Progress]:
        """Learn both directions from the pairs, telling how far it is; done when the iterator ends."""
        self._set_threads()
        sides = self._sentences(bitext)
        self.text = list(getattr(bitext, "names", ()))
        self.inventories = self._learn_inventories(sides)
        texts = self._encode(sides)
        if not np.any((texts[0].lengths > 0) & (texts[1].lengths > 0)):
            raise InputError("there is no pair with words on both sides to learn from")
        vectors = [self._initial_vectors(side, texts[side]) for side in (0, 1)]
        finished = Stages(self.checkpoints, self._about(texts))
        self.directions, self.record = [], []
        for number, (s, t) in enumerate(((0, 1), (1, 0))):
            networks: list[Network] = []
            for member in range(self.config.members):
                seeds = _seeds(self.seed, number, member)
                network = Network(self.inventories[s], self.inventories[t], self.config.model, seed=seeds[0])
                network.set_words(vectors[s], vectors[t])
                phase = f"{('forward', 'backward')[number]} {member + 1}/{self.config.members}"
                yield from self._learn(network.to(self.device), (texts[s], texts[t]), seeds, phase, finished)
                networks.append(network)
            seed = _seeds(self.seed, number, self.config.members)[0]
            negative = negative_scores(networks, texts[s], texts[t], self.config.decoding, seed=seed)
            self.directions.append(Direction([network.double() for network in networks], negative))

    def _learn_inventories(self, sides: tuple[list[Tokens], list[Tokens]]) -> tuple[Inventory, Inventory]:
        features = self.config.features
        taggers = self._load_taggers()
        return (
            Inventory.of(sides[0], features, features.source, tagger=taggers[0]),
            Inventory.of(sides[1], features, features.target, tagger=taggers[1]),
        )

    def _learn(
        self,
        network: Network,
        texts: tuple[EncodedText, EncodedText],
        seeds: Sequence[int],
        phase: str,
        finished: Stages,
    ) -> Iterator[Progress]:
        """Train a network: first, if so configured, one that sees single words, from which it then begins."""
        config = self.config.training
        tables = table_optimizer(network, config)
        stage = partial(self._stage, texts=texts, tables=tables, finished=finished)
        if not config.word_epochs:
            yield from stage(network, config, seed=seeds[1] + 1, phase=phase)
            return
        if not finished.epochs(phase):
            single = network.of_single_words()
            words = replace(config, epochs=config.word_epochs, word_epochs=0, replacement_rate=0.0)
            yield from stage(single, words, seed=seeds[1], phase=f"{phase} words")
            network.begin_from(single)
        if not network.config.single_words:
            slow = config.window_rate
            windows = replace(config, word_epochs=0, negatives=config.window_negatives)
            windows = replace(windows, rate=slow * config.rate, table_rate=slow * config.table_rate)
            yield from stage(network, windows, seed=seeds[1] + 1, phase=phase)

    def _stage(
        self,
        network: Network,
        config: TrainingConfig,
        *,
        texts: tuple[EncodedText, EncodedText],
        seed: int,
        phase: str,
        tables: torch.optim.Optimizer,
        finished: Stages,
    ) -> Iterator[Progress]:
        """Go on after the epochs that are finished, and keep each as it is."""
        optimizers = (tables, layer_optimizer(network, config))
        begin = finished.load(phase, network, optimizers)
        last = None
        for epoch in range(begin, config.epochs):
            for last in train(
                network, *texts, config, seed=seed, phase=phase, optimizers=optimizers, epochs=[epoch]
            ):
                yield last
            finished.save(phase, epoch + 1, network, optimizers)
        if last is not None:
            self.record.append({"phase": last.phase, "steps": last.total, "loss": last.loss})

    def _about(self, texts: Sequence[EncodedText]) -> dict[str, Any]:
        """Say what a training is of, to know its checkpoints by."""
        words = [crc32(text.words.tobytes()) for text in texts]
        return {"config": to_mapping(self.config), "seed": self.seed, "text": words}

    def align(
        self, pairs: Sequence[SentencePair], *, heuristic: str | None = None, direction: str | None = None
    ) -> list[Alignment]:
        """Align each pair by itself: in both directions, symmetrised, or in one, `forward` or `backward`."""
        forward, backward = _links(*self.best(pairs), self.config.decoding)
        if direction is not None:
            return forward if direction == "forward" else backward
        return list(symmetrize_all(forward, backward, heuristic or self.config.decoding.heuristic))

    def best(self, pairs: Sequence[SentencePair]) -> tuple[list[BestWords], list[BestWords]]:
        """Find the best words of both directions, of which links are made."""
        if len(self.directions) != 2:
            raise UsageError("this aligner has learned nothing yet")
        self._set_threads()
        source, target = self._encode(self._sentences(pairs))
        return self.directions[0].best(source, target), self.directions[1].best(target, source)

    def tune(self, pairs: Sequence[SentencePair], gold: Sequence[GoldAlignment]) -> DecodingConfig:
        """Choose α and the heuristic that have the lowest AER on pairs with gold links, and keep them.

        One α serves both directions: dev sets are small, and a choice of two of them follows their accidents.
        """
        best = self.best(pairs)
        start = self.config.decoding

        def choices() -> Iterator[tuple[float, DecodingConfig]]:
            for alpha in ALPHAS:
                links = _links(*best, replace(start, alpha=alpha, backward_alpha=alpha))
                for heuristic in HEURISTICS:
                    found = evaluate(symmetrize_all(*links, heuristic), gold, names=("the text", "the gold"))
                    yield found.aer, replace(start, alpha=alpha, backward_alpha=alpha, heuristic=heuristic)

        _, chosen = min(choices(), key=itemgetter(0))
        self.config = replace(self.config, decoding=chosen)
        return chosen

    def save(self, directory: Path) -> None:
        """Write the model into an existing directory."""
        if self.inventories is None or len(self.directions) != 2:
            raise UsageError("this aligner has learned nothing yet")
        for name, inventory in zip(("source", "target"), self.inventories, strict=True):
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
        about = {
            "config": to_mapping(self.config),
            "seed": self.seed,
            "text": self.text,
            "record": self.record,
        }
        text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
        (directory / "paper.json").write_text(text, encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, directory: Path, *, threads: int | None = None, device: str = "cpu") -> PaperRecipe:
        """Read what `save` wrote."""
        try:
            about = json.loads((directory / "paper.json").read_text(encoding="utf-8"))
            recipe = cls(
                from_mapping(PaperConfig, about["config"]), seed=about["seed"], threads=threads, device=device
            )
            recipe.text, recipe.record = about["text"], about["record"]
        except (OSError, ValueError, KeyError, TypeError, UsageError) as error:
            raise ModelError(f"{directory}: paper.json cannot be used: {error}") from error
        features = recipe.config.features
        inventories = (
            Inventory.load(directory, "source", features, features.source),
            Inventory.load(directory, "target", features, features.target),
        )
        recipe.inventories = inventories
        for name, (s, t) in (("forward", (0, 1)), ("backward", (1, 0))):
            try:
                tensors = load_file(directory / f"{name}.safetensors", device=device)
                recipe.directions.append(_direction(tensors, inventories[s], inventories[t], recipe.config))
            except (OSError, SafetensorError, KeyError, RuntimeError) as error:
                raise ModelError(f"{directory}: {name}.safetensors cannot be used: {error}") from error
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
        return hellinger_vectors(numbers, lengths, len(words), dimensions=self.config.model.words)


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


def _seeds(*path: int) -> list[int]:
    """Draw two seeds, for weights and for order."""
    return [int(seed) for seed in np.random.SeedSequence(path).generate_state(2)]


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


def _direction(
    tensors: dict[str, Tensor], source: Inventory, target: Inventory, config: PaperConfig
) -> Direction:
    networks = []
    for member in range(config.members):
        network = Network(source, target, config.model, seed=0)
        prefix = f"{member}."
        network.load_state_dict(
            {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
        )
        networks.append(network.double())
    return Direction(networks, NegativeScores(tensors["negative.mean"], tensors["negative.deviation"]))
