"""Filter a text by the pairs' scores: keep the pairs that look like translations."""

from __future__ import annotations

from bitweft import Aligner
from bitweft.sample import generate

PAIRS = 1000


def main() -> None:
    """Learn from a text in which every tenth pair is wrong, and find those."""
    drawn = [(" ".join(pair.source), " ".join(pair.target)) for pair in generate(PAIRS)]
    wrong = set(range(0, PAIRS - 10, 10))
    pairs = [(source, drawn[n + 10][1] if n in wrong else target) for n, (source, target) in enumerate(drawn)]
    aligner = Aligner(seed=1).fit(pairs)
    scores = [inference.score or 0.0 for _, inference in aligner.stream(pairs)]
    worst = sorted(range(PAIRS), key=lambda n: scores[n])[: len(wrong)]
    found = len(wrong.intersection(worst))
    print(f"{found} of the {len(wrong)} wrong pairs are among the {len(wrong)} of the lowest scores")
    assert found > 0.8 * len(wrong)


if __name__ == "__main__":
    main()
