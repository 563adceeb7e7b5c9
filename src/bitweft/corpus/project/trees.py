"""Tags and trees of words, by direct correspondence, weighted by the probability of links.

*Tags.* The source words vote for each target word's tag, with the square of the link's probability. Votes
for one form are pooled over the text (Yarowsky & Ngai 2001): they decide where a word has no counterpart or
a doubtful one. Signs have one vote for PUNCT.

*Heads.* For every source word s with head g, the target gets the edge h → t with the weight p(g, h)² · p(s,
t)² (Hwa et al. 2005, made soft as by Agić et al. 2016). The tree is the one with the highest sum; so it is
always a tree, with one root, whatever the links. What the source leaves open is repaired by weaker weights:
how often words of this tag stand so far before or after a head of that tag, counted over the text where
both have counterparts; and nearness.

*Relations* are those of the counterpart, if it has the tag that was chosen; otherwise the most frequent for
the tags of word and head. Features come with the tag. Lemmas are not carried.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bitweft.corpus.project.arborescence import Scores, best_tree
from bitweft.corpus.project.characters import is_sign
from bitweft.corpus.project.records import Weights

LINKED = 0.3  # from here on a word has a counterpart
_POOL = 6.0  # what all votes of a form weigh, against 1 for a certain link
_HABIT = 2.0  # what habits of tags weigh
_NEAR = 0.02  # what the next word weighs as a head, at a distance of one
_SMOOTH = 5.0  # words that a tag's habits are based on before they count half

Kind: TypeAlias = tuple[str, str]  # UPOS, features


class Word(NamedTuple):
    """Hold what a word of a tree is."""

    form: str
    tag: str
    features: str = "_"
    head: int | None = None  # counted from 1; 0 is the root; None: there is no tree
    relation: str = "_"


class Carry(NamedTuple):
    """Hold the annotation of a target word, and which source word it is from, if any."""

    word: Word
    probability: float
    source: int | None


class Treebank:
    """Carry tags and trees; what was observed of a text helps where links leave something open."""

    def __init__(self) -> None:
        self._votes: defaultdict[str, defaultdict[Kind, float]] = defaultdict(_tally)
        self._habits: defaultdict[str, defaultdict[tuple[str, int], float]] = defaultdict(_tally)
        self._relations: defaultdict[tuple[str, str], defaultdict[str, float]] = defaultdict(_tally)

    def observe(self, source: Sequence[Word], target: Sequence[str], weights: Weights) -> None:
        """Count the votes for forms, and the habits of tags, of one sentence."""
        if not source or not target:
            return
        for form, votes in zip(target, _votes(source, weights), strict=True):
            for kind, weight in votes.items():
                self._votes[form.lower()][kind] += weight
        places, best = weights.argmax(1), weights.max(1) ** 2
        for s, word in enumerate(source):
            if word.head is None:
                continue
            if word.head == 0:
                self._habits[word.tag]["", 0] += best[s]
                continue
            g = word.head - 1
            weight = float(best[s] * best[g])
            self._relations[word.tag, source[g].tag][word.relation] += weight
            if places[s] != places[g]:
                self._habits[word.tag][source[g].tag, _step(int(places[g] - places[s]))] += weight

    def carry(self, source: Sequence[Word], target: Sequence[str], weights: Weights) -> list[Carry]:
        """Annotate the words of the target."""
        if not target:
            return []
        if not source:
            weights = np.zeros((1, len(target)))
            source = [Word("", "X")]
        kinds = [self._kind(form, votes) for form, votes in zip(target, _votes(source, weights), strict=True)]
        partners = [_partner(source, kind, weights[:, t]) for t, kind in enumerate(kinds)]
        tags = [kind[0] for kind in kinds]
        has_tree = all(word.head is not None for word in source)
        heads: Sequence[int | None] = self._heads(source, tags, weights) if has_tree else [None] * len(target)
        return [
            Carry(
                Word(form, *kind, head, self._relation(source, tags, t, head, s)),
                float(weights[:, t].max()),
                s,
            )
            for t, (form, kind, head, s) in enumerate(zip(target, kinds, heads, partners, strict=True))
        ]

    def _kind(self, form: str, votes: Mapping[Kind, float]) -> Kind:
        """Choose a tag, then features among those that go with it."""
        pool: Mapping[Kind, float] = self._votes.get(form.lower(), {})
        total = sum(pool.values()) or 1.0
        scores = defaultdict(float, votes)
        for kind, weight in pool.items():
            scores[kind] += _POOL * weight / total
        if is_sign(form):
            scores["PUNCT", "_"] += 1.0
        tags: defaultdict[str, float] = defaultdict(float)
        for (tag, _), weight in scores.items():
            tags[tag] += weight
        if not tags:
            return "X", "_"
        best = max(tags, key=lambda tag: (tags[tag], tag))
        return max((kind for kind in scores if kind[0] == best), key=lambda kind: (scores[kind], kind))

    def _heads(self, source: Sequence[Word], tags: Sequence[str], weights: Weights) -> list[int]:
        sure = weights**2
        heads = np.array([word.head for word in source])
        below = heads > 0
        scores = np.zeros((len(tags) + 1, len(tags) + 1))
        scores[1:, 1:] = sure[heads[below] - 1].T @ sure[below]
        scores[0, 1:] = sure[~below].sum(0)
        return best_tree(scores + self._repairs(tags))

    def _repairs(self, tags: Sequence[str]) -> Scores:
        """Weigh every edge by the habits of the tags of its words, and by nearness."""
        length = len(tags)
        steps = np.arange(length)[:, None] - np.arange(length)[None, :]
        repairs = np.zeros((length + 1, length + 1))
        repairs[1:, 1:] = _NEAR / np.maximum(np.abs(steps), 1)
        rough = np.sign(steps) * np.searchsorted(_BOUNDS, np.abs(steps), "right")
        of_tag = {tag: np.flatnonzero([tag == other for other in tags]) for tag in set(tags)}
        for tag, words in of_tag.items():
            habits: Mapping[tuple[str, int], float] = self._habits.get(tag, {})
            total = sum(habits.values()) + _SMOOTH
            for (head, step), weight in habits.items():
                if not head:
                    repairs[0, words + 1] += _HABIT * weight / total
                elif head in of_tag:
                    rows, columns = np.ix_(of_tag[head], words)
                    repairs[rows + 1, columns + 1] += _HABIT * weight / total * (rough[rows, columns] == step)
        return repairs

    def _relation(
        self, source: Sequence[Word], tags: Sequence[str], t: int, head: int | None, partner: int | None
    ) -> str:
        if head is None:
            return "_"
        if head == 0:
            return "root"
        if partner is not None and source[partner].relation not in ("root", "_"):
            return source[partner].relation
        common: Mapping[str, float] = self._relations.get((tags[t], tags[head - 1]), {})
        return max(common, key=lambda name: (common[name], name), default="dep")


_BOUNDS = (1, 2, 3, 4, 7)  # where steps of like length begin


def _tally() -> defaultdict[Any, float]:
    return defaultdict(float)


def _step(distance: int) -> int:
    """Put distances into few classes: 1, 2, 3, 4-6, more; negative ones are to the left."""
    size = int(np.searchsorted(_BOUNDS, abs(distance), "right"))
    return size if distance > 0 else -size


def _votes(source: Sequence[Word], weights: Weights) -> list[dict[Kind, float]]:
    """Let the source words vote for the kind of each target word."""
    kinds = sorted({word[1:3] for word in source})
    which = np.array([kinds.index(word[1:3]) for word in source])
    votes = np.zeros((len(kinds), weights.shape[1]))
    np.add.at(votes, which, weights**2)
    return [
        {kinds[k]: float(votes[k, t]) for k in np.flatnonzero(votes[:, t] > 1e-3)}
        for t in range(weights.shape[1])
    ]


def _partner(source: Sequence[Word], kind: Kind, weights: Weights) -> int | None:
    """Find the counterpart of a word among those that have its tag."""
    own = [(float(weights[s]), -s) for s, word in enumerate(source) if word.tag == kind[0]]
    best, place = max(own, default=(0.0, 0))
    return -place if best >= LINKED else None
