"""Align a data set of Hugging Face's `datasets` with `map`. Needs: pip install 'bitweft[datasets]'."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from bitweft import Aligner
from bitweft.errors import MissingExtraError
from bitweft.sample import bitext, generate

PAIRS = 300


class AlignBatch:
    """Align batches of `translation` objects; a copy in another process loads the model by itself."""

    def __init__(self, model: str, languages: tuple[str, str]) -> None:
        self.model = model
        self.languages = languages
        self._aligner: Aligner | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "languages": self.languages, "_aligner": None}

    def __call__(self, batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """Add links as text, and the score of each pair."""
        if self._aligner is None:
            self._aligner = Aligner.load(self.model)
        source, target = self.languages
        pairs = [(item[source], item[target]) for item in batch["translation"]]
        found = self._aligner.infer(pairs)
        return {"links": [str(own.alignment) for own in found], "score": [own.score for own in found]}


def main() -> None:
    """Learn from a text, then map a data set."""
    try:
        from datasets import Dataset
    except ImportError as error:
        raise MissingExtraError("datasets", "datasets") from error
    text, _ = bitext(generate(PAIRS))
    with tempfile.TemporaryDirectory() as directory:
        model = Path(directory) / "enfr.weft"
        Aligner(seed=1).fit(text).save(model)
        rows = [{"en": pair.source.text, "fr": pair.target.text} for pair in text]
        data = Dataset.from_dict({"translation": rows})
        aligned = data.map(AlignBatch(str(model), ("en", "fr")), batched=True, batch_size=100)
    print(aligned[0]["translation"]["en"], aligned[0]["translation"]["fr"], aligned[0]["links"], sep="\n")
    assert len(aligned) == PAIRS and aligned[0]["links"].startswith("0-0")


if __name__ == "__main__":
    main()
