"""Inline markup as a tree: tags and placeholders taken out of a text, and put into another.

A text with markup is parted into the bare text and elements, which know their place in it: from `start` to
`end` for a pair of tags, `start` = `end` for a single tag or a comment. A placeholder stays in the text,
because the other text may have it too, and is an element besides. Elements are a tree. Where tags cross
(`<b>a <i>b</b> c</i>`), the inner element is parted in two at the end of the outer one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from bitweft.errors import InputError

# HTML's elements that never have an end tag.
_VOID = frozenset(
    (
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
    )
)
DEPTH = 100  # elements within one another, at most
_MARKUP = re.compile(
    r"(?P<opaque><!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>)"
    r"""|<(?P<end>/?)(?P<name>[^\W\d][\w:.-]*)(?P<rest>(?:[^<>"']|"[^"]*"|'[^']*')*)>"""
    r"|(?P<placeholder>\$?\{\{?[\w.-]*\}?\}|%(?:\(\w+\)|\d+\$)?[sd](?!\w))",
    re.DOTALL,
)


@dataclass(eq=False)
class Element:
    """Hold a pair of tags, or a single mark."""

    opening: str  # the tag, or all of a single mark
    closing: str = ""  # empty for a single mark
    name: str = ""
    start: int = 0  # characters of the bare text
    end: int = 0
    children: list[Element] = field(default_factory=list)
    spaced: tuple[bool, bool] = (False, False)  # whether a placeholder has a space before it, and after
    is_rest: bool = False  # the part of an element after the end of one that it crosses

    @property
    def is_pair(self) -> bool:
        """Tell whether it encloses something, or could."""
        return bool(self.closing)

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing in it."""
        return self.start == self.end and not self.children

    @property
    def is_placeholder(self) -> bool:
        """Tell whether it stands for a word."""
        return not self.opening.startswith("<")

    def walk(self) -> Iterator[Element]:
        """Give all elements below this one, outer ones first, in their order."""
        for child in self.children:
            yield child
            yield from child.walk()


class _Parser:
    """Read one line of markup."""

    def __init__(self, file: str | None, line: int | None) -> None:
        self._file, self._line = file, line
        self.text = ""
        self.root = Element("", name="")
        self._open = [self.root]

    def read(self, line: str) -> None:
        """Take a line apart."""
        place = 0
        for match in _MARKUP.finditer(line):
            self.text += line[place : match.start()]
            place = match.end()
            self._take(match)
        self.text += line[place:]
        self.root.end = len(self.text)
        if len(self._open) > 1:
            raise self._fault(f"{self._open[-1].opening} is never closed")

    def _take(self, match: re.Match[str]) -> None:
        whole = match.group()
        if match["placeholder"]:
            placeholder = self._add(Element(whole, name=whole))
            self.text += whole
            placeholder.end = len(self.text)
        elif match["opaque"]:
            self._add(Element(whole, name=whole[:4]))
        elif match["end"]:
            self._close(whole, match["name"])
        elif match["rest"].endswith("/") or match["name"].lower() in _VOID:
            self._add(Element(whole, name=match["name"]))
        else:
            self._begin(Element(whole, f"</{match['name']}>", match["name"]))

    def _begin(self, element: Element) -> None:
        if len(self._open) > DEPTH:
            raise self._fault(f"more than {DEPTH} elements within one another")
        self._open.append(self._add(element))

    def _add(self, element: Element) -> Element:
        element.start = element.end = len(self.text)
        self._open[-1].children.append(element)
        return element

    def _close(self, tag: str, name: str) -> None:
        """Close the innermost element of this name; those inside it that are open go on after it."""
        depth = next((n for n in range(len(self._open) - 1, 0, -1) if self._open[n].name == name), 0)
        if not depth:
            raise self._fault(f"{tag} closes nothing that is open")
        closed, crossing = self._open[depth], self._open[depth + 1 :]
        closed.end, closed.closing = len(self.text), tag
        for element in crossing:
            element.end = len(self.text)
        parents = self._open[depth:-1]
        rests: list[Element] = []
        del self._open[depth:]
        for parent, element in zip(parents, crossing, strict=True):
            rest = Element(element.opening, element.closing, element.name, is_rest=True)
            if element.is_empty:  # nothing of it is inside
                parent.children.remove(element)
                rest.is_rest = element.is_rest
            rests.append(rest)
        if closed.is_rest and closed.is_empty:
            self._open[-1].children.remove(closed)
        for rest in rests:
            self._begin(rest)

    def _fault(self, message: str) -> InputError:
        return InputError(f"not well-formed: {message}", file=self._file, line=self._line)


def parse(line: str, *, file: str | None = None, number: int | None = None) -> tuple[str, Element]:
    """Part a line into its bare text and the tree of its elements.

    Raises:
        InputError: a tag is not closed, or closes nothing; `file` and `number` say where.
    """
    parser = _Parser(file, number)
    parser.read(line)
    return parser.text, parser.root


def placeholders(text: str) -> Counter[str]:
    """Count the placeholders of a bare text."""
    return Counter(match.group() for match in _MARKUP.finditer(text) if match["placeholder"])


def serialize(text: str, root: Element) -> str:
    """Write a text with the elements of a tree whose children lie within their parents and do not cross."""

    def write(element: Element) -> Iterator[str]:
        yield element.opening
        place = element.start
        for child in sorted(element.children, key=lambda child: (child.start, child.end)):
            assert place <= child.start <= child.end <= element.end, "elements cross"
            yield text[place : child.start]
            yield from write(child)
            place = child.end
        yield text[place : element.end]
        yield element.closing

    return "".join(write(root))
