"""Turn entries of links into others: the other direction, without possible links, of another tokenization."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from bitweft.errors import InputError, UsageError
from bitweft.links.alignment import Alignment, Entry, Unlinked
from bitweft.links.subwords import positions
from bitweft.storage.lockstep import lockstep
from bitweft.text.bitext import Bitext, SentencePair


def convert(
    entries: Iterable[Entry],
    *,
    possible: str | None = None,
    onto: Onto | None = None,
    inverse: bool = False,
) -> Iterator[Entry]:
    """Change entries as they pass: `keep` possible links as links or `drop` them, remap, swap the sides."""
    if possible not in (None, "keep", "drop"):
        raise UsageError(f"possible must be keep or drop, got {possible!r}")
    if onto is not None:
        entries = onto.carry(entries)
    for entry in entries:
        if possible == "drop":
            entry = replace(entry, alignment=entry.alignment.without(entry.unsure))
        if possible is not None:
            entry = replace(entry, unsure=frozenset())
        yield entry.inverse() if inverse else entry


@dataclass
class Onto:
    """Carry links over to another tokenization of the same text, by where the characters stand.

    A word in pieces gives its links to every piece; pieces of one word give it all of theirs, each with its
    best probability. A pair whose two texts do not match (`bitweft.links.subwords`) gets no links, and is
    kept in `unmatched`; or, if `strict`, is an error.
    """

    pieces: Bitext | Iterable[SentencePair]
    strict: bool = False
    unmatched: list[str] = field(default_factory=list)  # file, line, and what does not match

    @property
    def name(self) -> str:
        """Name the file of pieces, or the first of two, as messages do."""
        return self._file(0)

    def carry(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Carry entries over, one by one.

        Raises:
            UsageError: an entry does not have its text.
            InputError: the two differ in their number of lines; a pair does not match and this is strict.
        """
        both = lockstep(entries, self.pieces, names=("links", self.name))
        for line, (entry, pair) in enumerate(both, 1):
            yield self.carried(entry, pair, line)

    def carried(self, entry: Entry, pair: SentencePair, line: int) -> Entry:
        """Carry one entry over."""
        if entry.pair is None:
            raise UsageError(
                "to carry links over, the text that they belong to is needed: --source, --target"
            )
        found = []
        for side, (own, other) in enumerate(zip(entry.pair, pair, strict=True)):
            try:
                found.append(positions(own, other))
            except ValueError as error:
                if self.strict:
                    raise InputError(str(error), file=self._file(side), line=line) from error
                self.unmatched.append(f"{self._file(side)}:{line}: {error}")
                return replace(entry, alignment=Alignment(), unsure=frozenset(), pair=pair, unlinked=None)
        return _carried(entry, pair, found[0], found[1])

    def _file(self, side: int) -> str:
        names = self.pieces.names if isinstance(self.pieces, Bitext) else ("pieces",)
        return names[min(side, len(names) - 1)]


def _carried(entry: Entry, pair: SentencePair, source: list[list[int]], target: list[list[int]]) -> Entry:
    probabilities = entry.alignment.probabilities or (1.0,) * len(entry.alignment)
    items = [
        ((new_s, new_t), (s, t) in entry.unsure, probability)
        for (s, t), probability in zip(entry.alignment.links, probabilities, strict=True)
        for new_s in source[s]
        for new_t in target[t]
    ]
    links = [link for link, _, _ in items]
    known = [probability for _, _, probability in items] if entry.alignment.probabilities else None
    sure = {link for link, unsure, _ in items if not unsure}
    alignment = Alignment.of(links, known)
    return replace(
        entry,
        alignment=alignment,
        unsure=frozenset(links) - sure,
        pair=pair,
        unlinked=entry.unlinked and _carried_unlinked(entry.unlinked, alignment, (source, target)),
    )


def _carried_unlinked(
    unlinked: tuple[Unlinked, Unlinked], alignment: Alignment, places: tuple[list[list[int]], list[list[int]]]
) -> tuple[Unlinked, Unlinked]:
    """Carry over the words without a link; a piece that two of them share has the higher chance of none."""
    carried: list[Unlinked] = []
    for side, own in enumerate(unlinked):
        linked = {link[side] for link in alignment.links}
        chances: dict[int, float] = {}
        for word, chance in own:
            for piece in places[side][word]:
                if piece not in linked:
                    chances[piece] = max(chance, chances.get(piece, 0.0))
        carried.append(tuple(sorted(chances.items())))
    return carried[0], carried[1]
