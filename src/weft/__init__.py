"""Word alignment from parallel text alone.

The names below are loaded when they are first used: `import weft` is quick, and imports neither torch nor
numba.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.aligner import Aligner as Aligner
    from weft.alignment import Alignment as Alignment
    from weft.alignment import GoldAlignment as GoldAlignment
    from weft.errors import InputError as InputError
    from weft.errors import MissingExtraError as MissingExtraError
    from weft.errors import ModelError as ModelError
    from weft.errors import NothingToLearnError as NothingToLearnError
    from weft.errors import UsageError as UsageError
    from weft.errors import WeftError as WeftError
    from weft.evaluation import Score as Score
    from weft.evaluation import evaluate as evaluate
    from weft.posterior import Decoding as Decoding
    from weft.posterior import Inference as Inference
    from weft.progress import Progress as Progress
    from weft.symmetrization import symmetrize as symmetrize
    from weft.text import Bitext as Bitext
    from weft.text import Sentence as Sentence
    from weft.text import SentencePair as SentencePair

__version__ = "0.1.0"

_HOMES = {
    "Aligner": "aligner",
    "Alignment": "alignment",
    "Bitext": "text",
    "Decoding": "posterior",
    "GoldAlignment": "alignment",
    "Inference": "posterior",
    "InputError": "errors",
    "MissingExtraError": "errors",
    "ModelError": "errors",
    "NothingToLearnError": "errors",
    "Progress": "progress",
    "Score": "evaluation",
    "Sentence": "text",
    "SentencePair": "text",
    "UsageError": "errors",
    "WeftError": "errors",
    "evaluate": "evaluation",
    "symmetrize": "symmetrization",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    return getattr(importlib.import_module(f"weft.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
