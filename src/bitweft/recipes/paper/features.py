"""Words, tags, characters and induced classes as numbers: the discrete features of section 3.3.

Everything is numpy: a text is encoded once, into flat arrays with offsets, and read from there ever after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from sys import intern
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bitweft.errors import InputError, UsageError
from bitweft.recipes.paper.plugins import Registry
from bitweft.recipes.paper.vectors import cluster, hellinger_vectors
from bitweft.settings import SettingError, Settings, setting
from bitweft.text.vocabulary import RESERVED, Tokens, Vocabulary, open_text

Tagger: TypeAlias = Callable[[Sequence[Tokens]], list[list[str]]]
Feature: TypeAlias = Callable[[Tokens], Sequence[str]]  # a value for each word of a sentence
IntArray: TypeAlias = npt.NDArray[np.int32]
FEATURES: Registry[Feature] = Registry("feature")


def register_feature(name: str) -> Callable[[Feature], Feature]:
    """Make a function known as a feature: `features.source.more=NAME`; used as a decorator.

    It takes the words of a sentence, as the vocabulary knows them, and returns a value for each: a name,
    which gets a row of a look-up table of its own.
    """
    return FEATURES.register(name)


@dataclass(frozen=True)
class SideConfig(Settings):
    """Choose the features of one side.

    `tags` is `none`; `inline` for `word|TAG` tokens; `classes` for induced word classes; or a tagger,
    `spacy:MODEL` or `stanza:LANGUAGE`.
    """

    words: int = setting(30_000, at_least=1)  # 80,000 for Czech in the paper
    tags: str = "none"
    characters: bool = False
    more: str = ""  # names of registered features, with commas between

    def __post_init__(self) -> None:
        super().__post_init__()
        for feature in self.more_names:
            if FEATURES.find(feature) is None:
                known = ", ".join(FEATURES.names()) or "none"
                raise SettingError("more", f"must name registered features (known: {known}), got {feature!r}")
        kind, _, name = self.tags.partition(":")
        if kind not in {"none", "inline", "classes"} and not (kind in {"spacy", "stanza"} and name):
            names = "none, inline, classes, spacy:MODEL, stanza:LANGUAGE"
            raise SettingError("tags", f"must be one of {names}, got {self.tags!r}")

    @property
    def more_names(self) -> tuple[str, ...]:
        """Name the registered features one by one."""
        return tuple(name.strip() for name in self.more.split(",") if name.strip())


@dataclass(frozen=True)
class FeatureConfig(Settings):
    """Choose the features of both sides."""

    source: SideConfig = SideConfig()
    target: SideConfig = SideConfig()
    lowercase: bool = True
    # K of the paper: characters beyond it are not looked at; 0: as long as the longest word known.
    longest_word: int = setting(20, at_least=0, at_most=1000)
    classes: int = setting(64, at_least=1, at_most=10_000)


@dataclass(frozen=True)
class EncodedText:
    """Hold one side of a text as flat arrays; sentence `n` is `offsets[n]:offsets[n + 1]`."""

    offsets: npt.NDArray[np.int64]  # (sentences + 1)
    words: IntArray  # (tokens)
    tags: IntArray | None = None  # (tokens)
    forms: IntArray | None = None  # (tokens): rows of `spelling`
    spelling: IntArray | None = None  # (forms, longest word): rows of the character table, 0 at the end
    more: tuple[IntArray, ...] = ()  # (tokens) each

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Return the number of tokens of each sentence."""
        return np.diff(self.offsets)


class Inventory:
    """Know the words, tags and characters of one side, and turn sentences into their numbers."""

    def __init__(
        self,
        words: Vocabulary,
        *,
        tags: Vocabulary | None = None,
        classes: Mapping[str, str] | None = None,
        characters: Vocabulary | None = None,
        more: Sequence[Vocabulary] = (),
        config: FeatureConfig,
        side: SideConfig,
    ) -> None:
        self.words = words
        self.tags = tags
        self.classes = classes
        self.characters = characters
        self.more = tuple(more)
        self.config = config
        self.side = side

    @classmethod
    def of(
        cls,
        sentences: Sequence[Tokens],
        config: FeatureConfig,
        side: SideConfig,
        *,
        tagger: Tagger | None = None,
    ) -> Inventory:
        """Learn the inventory of one side from its sentences."""
        bare = [_split(tokens, config, side)[0] for tokens in sentences]
        counts = Counter(word for words in bare for word in words)
        inventory = cls(Vocabulary.of(counts, side.words), config=config, side=side)
        if side.characters:
            letters: Counter[str] = Counter()
            for word, count in counts.items():
                for letter in word[: inventory.longest_word]:
                    letters[letter] += count
            inventory.characters = Vocabulary.of(letters, 1_000)
        if side.tags == "classes":
            inventory.classes = induce_classes(bare, inventory.words, config.classes)
        if side.tags != "none":
            tagged = Counter(tag for tags in inventory.tag(sentences, tagger) for tag in tags)
            inventory.tags = Vocabulary.of(tagged, 10_000)
        inventory.more = tuple(
            Vocabulary.of(Counter(value for words in bare for value in _values(name, words)), 10_000)
            for name in side.more_names
        )
        return inventory

    @property
    def longest_word(self) -> int:
        """Return K: how many characters of a word are looked at."""
        return self.config.longest_word or max(map(len, self.words.entries), default=1)

    @property
    def character_rows(self) -> int:
        """Return the size of the character table: K·|C|, a row for each letter at each place, and padding."""
        return 1 + self.longest_word * len(self.characters) if self.characters else 0

    def bare(self, tokens: Tokens) -> list[str]:
        """Return the words of a sentence as the vocabulary knows them: without tags, in its case."""
        return _split(tokens, self.config, self.side)[0]

    def tag(self, sentences: Sequence[Tokens], tagger: Tagger | None = None) -> list[list[str]]:
        """Return the tags of the sentences: written in them, induced, or a tagger's."""
        if self.side.tags == "inline":
            return [_split(tokens, self.config, self.side)[1] for tokens in sentences]
        if self.classes is not None:
            classes = self.classes
            words = map(self.bare, sentences)
            return [[classes.get(word, "unknown") for word in sentence] for sentence in words]
        if tagger is None:
            raise UsageError(f"tags: this model needs the tagger {self.side.tags!r}")
        return tagger(sentences)

    def encode(self, sentences: Sequence[Tokens], *, tagger: Tagger | None = None) -> EncodedText:
        """Turn sentences into numbers."""
        bare = [self.bare(tokens) for tokens in sentences]
        offsets = np.zeros(len(bare) + 1, np.int64)
        np.cumsum([len(words) for words in bare], out=offsets[1:])
        flat = [word for words in bare for word in words]
        tags = None
        if self.tags is not None:
            found = self.tag(sentences, tagger)
            if any(len(words) != len(own) for words, own in zip(bare, found, strict=True)):
                raise InputError("there is not one tag for each word")
            tags = np.array(self.tags.numbers(tag for own in found for tag in own), np.int32)
        forms = spelling = None
        if self.characters is not None:
            seen = {word: row for row, word in enumerate(dict.fromkeys(flat))}
            forms = np.array([seen[word] for word in flat], np.int32)
            spelling = self.spell(list(seen))
        words = np.array(self.words.numbers(flat), np.int32)
        more = tuple(
            np.array(values.numbers(value for own in bare for value in _values(name, own)), np.int32)
            for name, values in zip(self.side.more_names, self.more, strict=True)
        )
        return EncodedText(offsets, words, tags, forms, spelling, more)

    def spell(self, words: Sequence[str]) -> IntArray:
        """Return the rows of each word's characters in their table: (k − 1)·|C| + c, after the padding."""
        assert self.characters is not None
        longest = self.longest_word
        rows = np.zeros((len(words), longest), np.int32)
        for row, word in zip(rows, words, strict=True):
            letters = self.characters.numbers(word[:longest])
            row[: len(letters)] = letters
        place = np.arange(longest, dtype=np.int32) * len(self.characters)
        return np.where(rows > 0, rows + place + 1, 0).astype(np.int32)

    def save(self, directory: Path, name: str) -> None:
        """Write the vocabularies as text beside the model's other files."""
        self.words.save(directory / f"{name}.words.txt")
        if self.tags is not None:
            self.tags.save(directory / f"{name}.tags.txt")
        if self.characters is not None:
            self.characters.save(directory / f"{name}.characters.txt")
        for feature, values in zip(self.side.more_names, self.more, strict=True):
            values.save(directory / f"{name}.more-{feature}.txt")
        if self.classes is not None:
            lines = "".join(f"{word}\t{own}\n" for word, own in self.classes.items())
            (directory / f"{name}.classes.txt").write_text(lines, encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, directory: Path, name: str, config: FeatureConfig, side: SideConfig) -> Inventory:
        """Read what `save` wrote."""
        classes = None
        if side.tags == "classes":
            with open_text(directory / f"{name}.classes.txt") as stream:
                pairs = (line.rstrip("\n").rpartition("\t") for line in stream)
                classes = {word: own for word, _, own in pairs}
        return cls(
            Vocabulary.load(directory / f"{name}.words.txt"),
            tags=Vocabulary.load(directory / f"{name}.tags.txt") if side.tags != "none" else None,
            classes=classes,
            characters=Vocabulary.load(directory / f"{name}.characters.txt") if side.characters else None,
            more=[Vocabulary.load(directory / f"{name}.more-{feature}.txt") for feature in side.more_names],
            config=config,
            side=side,
        )


def induce_classes(sentences: Sequence[Tokens], words: Vocabulary, classes: int) -> dict[str, str]:
    """Cluster the words by their neighbors: what fills the slot of tags where no tagger exists."""
    numbers = words.numbers(word for sentence in sentences for word in sentence)
    lengths = [len(sentence) for sentence in sentences]
    vectors = hellinger_vectors(numbers, lengths, len(words), dimensions=32, window=1, directed=True)
    own = cluster(vectors[RESERVED:], classes)
    return {word: f"c{number}" for word, number in zip(words.entries, own.tolist(), strict=True)}


def _values(name: str, words: Tokens) -> Sequence[str]:
    """Return a registered feature's value for each word."""
    feature = FEATURES.find(name)
    assert feature is not None  # settings were checked
    values = feature(words)
    if len(values) != len(words):
        raise UsageError(f"the feature {name!r} gave {len(values)} values for {len(words)} words")
    return values


def _split(tokens: Tokens, config: FeatureConfig, side: SideConfig) -> tuple[list[str], list[str]]:
    """Return the words as the vocabulary knows them, and the tags written behind them, if there are any."""
    tags: list[str] = []
    words = list(tokens)
    if side.tags == "inline":
        for number, token in enumerate(words):
            word, bar, tag = token.rpartition("|")
            if not bar:
                raise InputError(f"{token!r} has no tag: write word|TAG, or name files of tags (--tags)")
            words[number] = word
            tags.append(tag)
    if config.lowercase:
        words = [intern(word.lower()) for word in words]
    return words, tags
