"""The settings of the paper's recipe, those of its parts among them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from bitweft.recipes.paper.decode import DecodingConfig
from bitweft.recipes.paper.encoder import ModelConfig
from bitweft.recipes.paper.features import FeatureConfig
from bitweft.recipes.paper.train import TrainingConfig
from bitweft.settings import Settings, setting


@dataclass(frozen=True)
class InitialConfig(Settings):
    """Choose where word vectors start: from a `pca` of co-occurrences, as the paper has it, or at `random`.

    These are counted in the training text or, where one is named, in another text. A file of vectors, in the
    text format of word2vec and fastText, comes before both.
    """

    words: str = setting("pca", choices=("random", "pca"))
    source_text: str = ""
    target_text: str = ""
    source_vectors: str = ""
    target_vectors: str = ""
    window: int = setting(5, at_least=1, at_most=1000)  # words on either side that a word occurs with
    contexts: int = setting(1_000, at_least=1, at_most=100_000)  # the commonest words, which are counted


@dataclass(frozen=True)
class PaperConfig(Settings):
    """Hold every setting of the recipe."""

    features: FeatureConfig = field(default_factory=FeatureConfig)
    initial: InitialConfig = field(default_factory=InitialConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    members: int = setting(1, at_least=1, at_most=1000)  # of the ensemble

    @property
    def learning(self) -> TrainingConfig:
        """Return how to learn with these kernels: some have no centers replaced."""
        replaced = self.training.replacement_where == "any" or self.model.both_wide
        return self.training if replaced else replace(self.training, replacement_rate=0.0)
