"""Inline markup: a translation gets the tags and placeholders of its source.

Words and spaces of the translation stay as they are; no tag is lost, and none is there twice unless it
crossed another. A pair of tags goes around the counterpart of what it enclosed; an outer one is widened to
hold its inner ones. A pair without a counterpart, or without words, becomes an empty one, and goes, like
single tags and placeholders, where the words beside it went. A placeholder that the translation has already
is not put in again.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from bitweft.corpus.project.characters import Place, characters_of, words_of
from bitweft.corpus.project.inline import DEPTH, Element, parse, placeholders, serialize
from bitweft.corpus.project.records import Carried, Cut, Format, Item, Outcome, Record, Span, Weights
from bitweft.corpus.project.rules import Rules
from bitweft.corpus.project.spans import NO_WORD, project_spans
from bitweft.text.bitext import Sentence
from bitweft.text.lines import LineFile

LINKED = 0.3  # a word with no better link does not tell where a mark belongs


class Markup(Format):
    """Carry tags and placeholders."""

    name = "markup"
    endings = (".html", ".xml")
    raw = True

    def annotated(self, file: LineFile, cut: Cut) -> Iterator[Record]:
        """Read lines with markup; words are those of the text without it."""
        for number, line in enumerate(file.lines(), 1):
            text, root = parse(line, file=file.name, number=number)
            yield Record(Sentence(cut_words(text, root, cut), text), number, (), root)

    def bare(self, file: LineFile, cut: Cut, *, lines: bool) -> Iterator[Record]:
        """Read lines."""
        for number, line in enumerate(file.lines(), 1):
            yield Record(Sentence(cut(line), line), number)

    def carry(self, source: Record, target: Record, weights: Weights, rules: Rules) -> Carried:
        """Write the target's line with the source's markup."""
        transfer = _Transfer(source.sentence, target.sentence, weights, rules)
        text, items = transfer.run(source.source)
        return Carried(text + "\n", tuple(items))


def cut_words(text: str, root: Element, cut: Cut) -> list[str]:
    """Cut a text into words; a single tag parts two (`one<br/>two`), as do a placeholder's ends."""
    marks = [element for element in root.walk() if not element.is_pair]
    edges = sorted({0, len(text), *(place for mark in marks for place in (mark.start, mark.end))})
    return [word for start, end in itertools.pairwise(edges) for word in cut(text[start:end])]


class _Transfer:
    """Carry the markup of one sentence."""

    def __init__(self, source: Sentence, target: Sentence, weights: Weights, rules: Rules) -> None:
        self._source, self._target = source, target
        self._source_places, self._target_places = source.spans, target.spans
        self._weights = weights
        self._rules = rules

    def run(self, root: Element) -> tuple[str, list[Item]]:
        """Give the target's text with the elements, and say what became of each."""
        self._pin(root)
        self._best = self._weights.max(1, initial=0.0)  # of each source word
        pairs = [element for element in root.walk() if element.is_pair]
        spans = [Span(*words_of(pair.start, pair.end, self._source_places), pair.name) for pair in pairs]
        found = dict(zip(map(id, pairs), self._project(spans), strict=True))
        items: list[Item] = []
        placed = Element("", end=len(self._target.text))
        placed.children = self._place(root.children, found, placeholders(self._target.text), items)
        _arrange(placed)
        for mark in placed.walk():
            self._separate(mark)
        return serialize(self._target.text, placed), items

    def _pin(self, root: Element) -> None:
        """Link placeholders that both sides have, in their order."""
        after: dict[str, int] = {}
        self._weights = self._weights.copy()
        for mark in (element for element in root.walk() if element.is_placeholder):
            start = self._target.text.find(mark.opening, after.get(mark.opening, 0))
            if start >= 0:
                after[mark.opening] = end = start + len(mark.opening)
                s = slice(*words_of(mark.start, mark.end, self._source_places))
                t = slice(*words_of(start, end, self._target_places))
                self._weights[s, :] = 0.0
                self._weights[:, t] = 0.0
                self._weights[s, t] = 1.0

    def _project(self, spans: Sequence[Span]) -> list[Outcome]:
        """Project pairs; one around everything stays around everything."""
        words = self._source.tokens, self._target.tokens
        if not all(map(len, words)):
            return [Outcome(span, None, 0.0, NO_WORD) for span in spans]
        outcomes = project_spans(spans, self._weights, *words, self._rules)
        whole = 0, len(words[0])
        return [
            Outcome(span, Span(0, len(words[1]), span.label), 1.0) if span[:2] == whole else outcome
            for span, outcome in zip(spans, outcomes, strict=True)
        ]

    def _place(
        self, elements: Sequence[Element], found: dict[int, Outcome], kept: Counter[str], items: list[Item]
    ) -> list[Element]:
        """Copy elements into the target: where their words went, or to the words beside them."""
        placed = []
        for element in elements:
            text = self._source.text[element.start : element.end]
            outcome = found.get(id(element))
            copy = Element(element.opening, element.closing, element.name)
            if element.is_placeholder:
                source = self._source.text
                copy.spaced = source[: element.start][-1:].isspace(), source[element.end :][:1].isspace()
            if element.is_placeholder and kept[element.opening] > 0:
                kept[element.opening] -= 1
                continue
            if outcome is not None and outcome.target is not None:
                copy.start, copy.end = self._around(element, outcome.target, text)
                there = self._target.text[copy.start : copy.end]
                items.append(Item(element.name, text, there, outcome.probability))
            else:
                copy.start = copy.end = self._point(element)
                if outcome is not None and text.strip():
                    items.append(Item(element.name, text, None, outcome.probability, outcome.reason))
                else:
                    items.append(Item(element.name, element.opening, "", 1.0))
            copy.children = self._place(element.children, found, kept, items)
            placed.append(copy)
        return placed

    def _around(self, element: Element, words: Span, text: str) -> Place:
        """Find the characters of an element with words, and as many spaces at its edges as it had."""
        start, end = characters_of(words, self._target, text.strip() or text)
        before = self._target_places[words.start - 1][1] if words.start else 0
        following = self._target_places[words.end : words.end + 1]
        after = following[0][0] if following else len(self._target.text)
        head, tail = len(text) - len(text.lstrip()), len(text) - len(text.rstrip())
        return max(start - head, min(before, start)), min(end + tail, max(after, end))

    def _point(self, element: Element) -> int:
        """Find the character before which something without words of its own goes."""
        text, places = self._target.text, self._target_places
        left, right = self._slots(element)
        source = self._source.text
        before = len(source[: element.start]) - len(source[: element.start].rstrip())
        after = len(source[element.end :]) - len(source[element.end :].lstrip())
        lost_left, lost_right = self._crossed(element, left, right)
        by_left = left == right or (lost_left, before) <= (lost_right, after)
        slot = left if by_left else right
        gap = places[slot - 1][1] if slot else 0, places[slot][0] if slot < len(places) else len(text)
        if (by_left and slot) or slot == len(places):
            return min(gap[0] + before, gap[1])
        return max(gap[1] - after, gap[0])

    def _slots(self, element: Element) -> tuple[int, int]:
        """Find the places that the words on either side tell, as numbers of the target words after them."""
        first, _ = words_of(element.start, element.start, self._source_places)
        _, last = words_of(element.end, element.end, self._source_places)
        length = len(self._target_places)
        best = self._best
        left = next((s for s in range(first - 1, -1, -1) if best[s] >= LINKED), None)
        right = next((s for s in range(last, len(best)) if best[s] >= LINKED), None)
        return (
            0 if left is None else int(self._weights[left].argmax()) + 1,
            length if right is None else int(self._weights[right].argmax()),
        )

    def _crossed(self, element: Element, left: int, right: int) -> tuple[float, float]:
        """Tell what mass of links a mark would be on the wrong side of at either place alone."""
        first, _ = words_of(element.start, element.start, self._source_places)
        between = self._weights[:, min(left, right) : max(left, right)]
        before, after = float(between[:first].sum()), float(between[first:].sum())
        return (before, after) if left < right else (after, before)

    def _separate(self, copy: Element) -> None:
        """Set a placeholder off by spaces where it was in the source, and the text has none there."""
        text, place = self._target.text, copy.start
        if copy.spaced[0] and text[:place][-1:].strip():
            copy.opening = " " + copy.opening
        if copy.spaced[1] and text[place : place + 1].strip():
            copy.opening += " "


def _arrange(parent: Element, depth: int = 1) -> None:
    """Bring the elements below one in order: inner ones inside outer ones, none crossing another.

    Pairs around the same words go inside each other; one that would be too deep becomes an empty one.
    """
    for child in parent.children:
        _widen(child)
    last: Element | None = None
    kept: list[Element] = []
    for child in sorted(parent.children, key=lambda child: (child.start, child.end)):
        _clip(child, parent.start, parent.end)
        if last is None or child.start >= last.end:
            kept.append(child)
        elif not child.is_pair or (child.end <= last.end and depth >= DEPTH):
            _clip(child, last.end, last.end)
            kept.append(child)
        elif child.end <= last.end:
            last.children.append(child)
        else:
            _clip(child, last.end, parent.end)
            kept.append(child)
        last = kept[-1] if kept[-1].start < kept[-1].end else last
    parent.children = kept
    for child in kept:
        _arrange(child, depth + 1)


def _widen(element: Element) -> None:
    """Let a pair with words of its own hold all pairs below it that have words."""
    for child in element.children:
        _widen(child)
        if child.is_pair and child.start < child.end:
            if element.start == element.end:
                element.start, element.end = child.start, child.end
            element.start, element.end = min(element.start, child.start), max(element.end, child.end)


def _clip(element: Element, start: int, end: int) -> None:
    for each in (element, *element.walk()):
        each.start = min(max(each.start, start), end)
        each.end = min(max(each.end, start), end)
