"""What the editing page asks for: pairs with suggestions, and to save, compare, learn and export."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations, repeat
from typing import Any

from bitweft.aligner import Aligner
from bitweft.edit import Judgment, agreement, disputed, majority, teaching_order, uncertainty
from bitweft.edit.learn import LEAST, learn
from bitweft.edit.store import GoldStore
from bitweft.errors import UsageError
from bitweft.links.alignment import Alignment, Entry, GoldAlignment, Link
from bitweft.links.formats.registry import LINK_FORMATS, write_entries
from bitweft.recipes.base import Decoding, Inference, Offer
from bitweft.text.bitext import SentencePair
from bitweft.viewer.page import View, packed

EXPORTS = tuple(name for name, link_format in LINK_FORMATS.items() if link_format.holds_possible)


@dataclass(frozen=True)
class Names:
    """Hold what the page says of its text, and who edits."""

    title: str
    note: str
    by: str


@dataclass
class Session:
    """Edit one text: its pairs, what is suggested, the file of gold links, and other annotators' judgments.

    `load` gives the model that suggests, a new one at every call; without it nothing can be learned.
    """

    store: GoldStore
    names: Names
    suggested: list[Inference]
    annotators: Mapping[str, Sequence[Judgment | None]] = field(default_factory=dict)
    load: Callable[[], Aligner] | None = None
    tuned: str | os.PathLike[str] | None = None  # where a tuned model is kept

    def __post_init__(self) -> None:
        self._learning = threading.Lock()
        self.order = self._order()
        offers = self.load().recipe.offers if self.load is not None else frozenset()
        self.can_learn = Offer.TUNE in offers

    @property
    def pairs(self) -> Sequence[SentencePair]:
        """Give the pairs of the text."""
        return self.store.pairs

    def state(self) -> dict[str, Any]:
        """Describe everything, for a page that has just been opened."""
        records = self.store.changed_since(0)
        return {
            "about": {
                "threshold": 0.0,
                "first": 1,
                "gold": False,
                "compare": None,
                "edit": asdict(self.names)
                | {"learn": self.can_learn, "least": LEAST, "annotators": list(self.annotators)},
            },
            "pairs": [packed(View(pair, each.alignment)) for pair, each in self._suggestions()],
            "records": {str(k): _record(said) for k, said in records.items() if said is not None},
            "order": self.order,
            "revision": self.store.revision,
            "disputed": self._disputed(),
            "agreement": self._agreement(),
        }

    def save(self, k: int, judgment: Judgment, version: str) -> dict[str, Any]:
        """Save what the page says of pair k.

        Raises:
            ConflictError: it was changed elsewhere meanwhile.
            InputError: it does not fit the pair, or cannot be written.
        """
        saved = self.store.save(k, judgment, version)
        return {"record": _record(saved), "revision": self.store.revision}

    def accept(self, chosen: Sequence[int], threshold: float) -> dict[str, Any]:
        """Take the suggestions from a probability up as sure, of pairs that nobody has begun."""
        found = {}
        for k in chosen:
            alignment = self.suggested[k].alignment
            chances = alignment.probabilities or repeat(1.0)
            links = [link for link, p in zip(alignment.links, chances, strict=False) if p >= threshold]
            found[k] = Judgment(GoldAlignment.of(links), by=self.names.by)
        return {"accepted": self.store.begin(found), "revision": self.store.revision}

    def changes(self, since: int) -> dict[str, Any]:
        """Tell what was changed since a revision, by whatever page or process."""
        changed = self.store.changed_since(since)
        return {
            "revision": self.store.revision,
            "records": {str(k): _record(said) for k, said in changed.items() if said is not None},
        }

    def learn(self) -> dict[str, Any]:
        """Learn from the pairs that are done, and suggest anew for the others.

        Raises:
            UsageError: the recipe has nothing to tune, too little is done, or it is being done already.
        """
        if self.load is None or not self.can_learn:
            raise UsageError("this model's recipe cannot learn from corrections")
        if not self._learning.acquire(blocking=False):
            raise UsageError("it is being learned already; wait for the result")
        try:
            done = self.store.done()
            lesson = learn(self.load, [self.pairs[k] for k in done], self.store.gold(done))
            self.suggested = suggest(lesson.aligner, self.pairs)
            self.order = self._order()
            if self.tuned is not None:
                lesson.aligner.save(self.tuned, force=True)
        finally:
            self._learning.release()
        return {
            "sentences": lesson.sentences,
            "before": lesson.before,
            "after": lesson.after,
            "chosen": lesson.chosen,
            "pairs": [packed(View(pair, each.alignment)) for pair, each in self._suggestions()],
            "order": self.order,
        }

    def export(self, link_format: str) -> str:
        """Write the gold links of the pairs that are done, in a format that holds possible links."""
        done = self.store.done()
        stream = io.StringIO()
        entries = (
            Entry(Alignment.of(gold.possible), gold.possible - gold.sure, pair=self.pairs[k])
            for k, gold in zip(done, self.store.gold(done), strict=True)
        )
        write_entries(stream, entries, link_format)
        return stream.getvalue()

    def _suggestions(self) -> list[tuple[SentencePair, Inference]]:
        return list(zip(self.pairs, self.suggested, strict=True))

    def _order(self) -> list[int]:
        return teaching_order(self.pairs, [uncertainty(pair, each) for pair, each in self._suggestions()])

    def _disputed(self) -> dict[str, list[Any]]:
        found = {}
        for k in range(len(self.pairs)):
            links = disputed([said[k] for said in self.annotators.values()])
            if links:
                found[str(k)] = [[*link, *answers] for link, answers in links.items()]
        return found

    def _agreement(self) -> list[dict[str, Any]]:
        names = combinations(self.annotators, 2)
        return [
            {"names": pair, **asdict(agreement(self.annotators[pair[0]], self.annotators[pair[1]]))}
            for pair in names
        ]


def suggest(aligner: Aligner, pairs: Sequence[SentencePair]) -> list[Inference]:
    """Align the pairs, with the probability of NULL where the recipe has one."""
    return aligner.infer(pairs, decoding=Decoding(null=Offer.NULL in aligner.recipe.offers))


def most_say(annotators: Mapping[str, Sequence[Judgment | None]], number: int) -> list[Inference]:
    """Suggest what most annotators say, to whom settles their disagreements."""
    found = []
    for k in range(number):
        said = [each[k] for each in annotators.values()]
        links = sorted({link for each in said if each is not None for link in each.gold.possible})
        judged = sum(each is not None for each in said)
        votes = [sum(each is not None and link in each.gold.possible for each in said) for link in links]
        kept = majority(said).possible
        chosen = [(link, n / judged) for link, n in zip(links, votes, strict=True) if link in kept]
        found.append(Inference(Alignment.of([link for link, _ in chosen], [share for _, share in chosen])))
    return found


def judgment_of(
    sure: Sequence[Link],
    possible: Sequence[Link],
    unlinked: tuple[Sequence[int], Sequence[int]],
    *,
    comment: str,
    done: bool,
    by: str,
) -> Judgment:
    """Make a judgment of what the page sends."""
    sides = (frozenset(unlinked[0]), frozenset(unlinked[1]))
    return Judgment(GoldAlignment.of(sure, possible), sides, comment, done, by)


def _record(said: Judgment | None) -> dict[str, Any] | None:
    if said is None:
        return None
    return {
        "sure": sorted(said.gold.sure),
        "possible": sorted(said.gold.possible - said.gold.sure),
        "unlinked": [sorted(side) for side in said.unlinked],
        "comment": said.comment,
        "done": said.done,
        "by": said.by,
        "at": said.at,
        "version": said.version,
    }
