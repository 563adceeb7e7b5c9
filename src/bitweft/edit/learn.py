"""Learning from the sentences that are done, judged on sentences that were not learned from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bitweft.aligner import Aligner
from bitweft.errors import UsageError
from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.links.evaluate import evaluate
from bitweft.recipes.base import Offer, require
from bitweft.text.bitext import SentencePair

FOLDS = 5
LEAST = 2  # sentences: one to learn from, one to judge by


@dataclass(frozen=True)
class Lesson:
    """Hold a tuned model, and the AER before and after, each sentence judged by a model tuned on others."""

    aligner: Aligner
    sentences: int
    before: float
    after: float
    chosen: str


def learn(
    load: Callable[[], Aligner],
    pairs: Sequence[SentencePair],
    gold: Sequence[GoldAlignment],
    *,
    folds: int = FOLDS,
) -> Lesson:
    """Tune a model on pairs with gold links, beginning from the kept one, and cross-validate.

    `load` gives the kept model, a new one at every call: what is judged never saw the sentence.

    Raises:
        UsageError: the recipe has nothing to tune, or too little to learn from.
    """
    if len(pairs) < LEAST:
        raise UsageError(f"learning takes {LEAST} sentences that are done, or more; there are {len(pairs)}")
    kept = load()
    require(kept.recipe, Offer.TUNE, "learning from corrections")
    before = evaluate(_links(kept, pairs), gold)
    unseen: dict[int, Alignment] = {}
    for fold in range(min(folds, len(pairs))):
        held = range(fold, len(pairs), min(folds, len(pairs)))
        others = [k for k in range(len(pairs)) if k not in held]
        model = load()
        try:
            model.tune([pairs[k] for k in others], [gold[k] for k in others])
        except UsageError as error:
            message = (
                f"{len(pairs)} sentences are too few to learn from some and judge by the others: {error}"
            )
            raise UsageError(message) from error
        unseen.update(zip(held, _links(model, [pairs[k] for k in held]), strict=True))
    after = evaluate([unseen[k] for k in range(len(pairs))], gold)
    tuning = kept.tune(list(pairs), gold)
    return Lesson(kept, len(pairs), before.aer, after.aer, tuning.chosen)


def _links(aligner: Aligner, pairs: Sequence[SentencePair]) -> list[Alignment]:
    return [inference.alignment for inference in aligner.infer(pairs)]
