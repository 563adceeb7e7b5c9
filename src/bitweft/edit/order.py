"""The order in which correcting sentences teaches most: the least certain first, and no two alike."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Sequence

from bitweft.recipes.base import Inference
from bitweft.text.bitext import SentencePair


def uncertainty(pair: SentencePair, inference: Inference) -> float:
    """Measure how unsure a model is of a pair: the entropy of links, and of NULL if known, in bits.

    They are divided by the root of the number of words: of equally doubtful sentences a longer one teaches
    more, but not as much more as it is longer.
    """
    words = len(pair.source) + len(pair.target)
    unlinked = inference.unlinked or ((), ())
    chances = [*(inference.alignment.probabilities or ()), *(p for side in unlinked for _, p in side)]
    return sum(map(_entropy, chances)) / math.sqrt(words) if words else 0.0


def _entropy(p: float) -> float:
    return -sum(q * math.log2(q) for q in (p, 1 - p) if 0 < q < 1)


def teaching_order(pairs: Sequence[SentencePair], unsure: Sequence[float]) -> list[int]:
    """Order pairs by uncertainty, each weighed by how new its words are among those before it.

    A word counts half as much every time it was there before. The weight only ever falls, so a pair that is
    still the best when weighed anew is the best of all. Pairs without words on both sides come last.
    """
    words = [_words(pair) for pair in pairs]
    seen: Counter[tuple[int, str]] = Counter()

    def value(k: int) -> float:
        novelty = sum(0.5 ** min(seen[word], 60) for word in words[k]) / max(len(words[k]), 1)
        return unsure[k] * novelty

    empty = [k for k, (source, target) in enumerate(pairs) if not (len(source) and len(target))]
    heap = [(-value(k), k) for k in sorted(set(range(len(pairs))) - set(empty))]
    heapq.heapify(heap)
    order: list[int] = []
    while heap:
        _, k = heap[0]
        now = (-value(k), k)
        if len(heap) > 1 and now > min(heap[1:3]):
            heapq.heapreplace(heap, now)
            continue
        heapq.heappop(heap)
        order.append(k)
        seen.update(words[k])
    return order + empty


def _words(pair: SentencePair) -> frozenset[tuple[int, str]]:
    return frozenset(_sided(0, pair.source.tokens)) | frozenset(_sided(1, pair.target.tokens))


def _sided(side: int, tokens: Iterable[str]) -> Iterable[tuple[int, str]]:
    return ((side, token.lower()) for token in tokens)
