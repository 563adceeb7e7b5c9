"""Word alignment from parallel text alone.

The names below are loaded when they are first used: `import bitweft` is quick, and imports neither torch nor
numba.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bitweft.aligner import Aligner as Aligner
    from bitweft.corpus.project import project as project
    from bitweft.errors import BitweftError as BitweftError
    from bitweft.errors import InputError as InputError
    from bitweft.errors import MissingExtraError as MissingExtraError
    from bitweft.errors import ModelError as ModelError
    from bitweft.errors import NothingToLearnError as NothingToLearnError
    from bitweft.errors import UsageError as UsageError
    from bitweft.links.alignment import Alignment as Alignment
    from bitweft.links.alignment import GoldAlignment as GoldAlignment
    from bitweft.links.evaluate import Score as Score
    from bitweft.links.evaluate import evaluate as evaluate
    from bitweft.links.symmetrize import symmetrize as symmetrize
    from bitweft.progress import Progress as Progress
    from bitweft.recipes.base import Decoding as Decoding
    from bitweft.recipes.base import Inference as Inference
    from bitweft.text.bitext import Bitext as Bitext
    from bitweft.text.bitext import Sentence as Sentence
    from bitweft.text.bitext import SentencePair as SentencePair

__version__ = "0.2.0"

_HOMES = {
    "Aligner": "aligner",
    "Alignment": "links.alignment",
    "Bitext": "text.bitext",
    "Decoding": "recipes.base",
    "GoldAlignment": "links.alignment",
    "Inference": "recipes.base",
    "InputError": "errors",
    "MissingExtraError": "errors",
    "ModelError": "errors",
    "NothingToLearnError": "errors",
    "Progress": "progress",
    "Score": "links.evaluate",
    "Sentence": "text.bitext",
    "SentencePair": "text.bitext",
    "UsageError": "errors",
    "BitweftError": "errors",
    "evaluate": "links.evaluate",
    "project": "corpus.project",
    "symmetrize": "links.symmetrize",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bitweft' has no attribute {name!r}")
    return getattr(importlib.import_module(f"bitweft.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
