"""Learn from a few thousand pairs, keep the model, and align a pair that was not among them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bitweft import Aligner
from bitweft.sample import bitext, generate

PAIRS = 1000


def main() -> None:
    """Learn, save, load, align."""
    text, _ = bitext(generate(PAIRS))
    with tempfile.TemporaryDirectory() as directory:
        model = Path(directory) / "enfr.weft"
        Aligner(seed=1).fit(text).save(model, languages=("en", "fr"))
        aligner = Aligner.load(model)
    source, target = "the old cat sleeps .", "le vieux chat dort ."
    alignment = aligner.align(source, target)
    words = source.split(), target.split()
    assert alignment.probabilities is not None
    for (s, t), probability in zip(alignment.links, alignment.probabilities, strict=True):
        print(f"{words[0][s]:10} {words[1][t]:10} {probability:.2f}")
    print(f"score of the pair: {aligner.score(source, target):.2f}")


if __name__ == "__main__":
    main()
