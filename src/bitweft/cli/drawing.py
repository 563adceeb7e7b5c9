"""Links drawn in a terminal: two rows of words, and the threads that run between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bitweft.links.alignment import Link

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
GLYPHS = {
    UP: "│", DOWN: "│", LEFT: "─", RIGHT: "─", UP | DOWN: "│", LEFT | RIGHT: "─",
    UP | RIGHT: "╰", UP | LEFT: "╯", DOWN | RIGHT: "╭", DOWN | LEFT: "╮",
    UP | DOWN | RIGHT: "├", UP | DOWN | LEFT: "┤", LEFT | RIGHT | DOWN: "┬", LEFT | RIGHT | UP: "┴",
    UP | DOWN | LEFT | RIGHT: "┼",
}  # fmt: skip
DOTTED = {"│": "┊", "─": "┄"}
PALETTE = ("36", "33", "35", "32", "34", "96", "93", "95")


@dataclass(slots=True)
class Row:
    """Hold where the words of one side begin, and from which column the thread of each leaves."""

    words: Sequence[str]
    starts: list[int]
    stems: list[int]
    gap: int

    @property
    def free(self) -> int:
        """Give the column where the next word may begin."""
        return self.width + self.gap if self.starts else 0

    @property
    def width(self) -> int:
        """Give the columns taken."""
        return self.starts[-1] + len(self.words[len(self.starts) - 1]) if self.starts else 0


@dataclass(frozen=True, slots=True)
class Thread:
    """Hold a link to be drawn in a lane, a row of its own between the words."""

    link: Link
    begin: int  # the column of its source word
    end: int  # the column of its target word

    @property
    def span(self) -> tuple[int, int]:
        """Give the columns it runs over."""
        return min(self.begin, self.end), max(self.begin, self.end)


class Canvas:
    """Hold the cells between the words: the threads that run through each, by the sides they touch."""

    def __init__(self, height: int) -> None:
        self.height = height
        self._cells: dict[tuple[int, int], list[tuple[int, int | None]]] = {}

    def run(self, cell: tuple[int, int], sides: int, color: int | None) -> None:
        """Lead a thread through a cell; one without a color is dotted."""
        self._cells.setdefault(cell, []).append((sides, color))

    def line(self, row: int, color: bool) -> str:
        """Draw one row of cells."""
        line, last = "", -1
        for cell in sorted(cell for cell in self._cells if cell[0] == row):
            glyph, number = self._look(self._cells[cell])
            line += " " * (cell[1] - last - 1) + painted(glyph, number, color)
            last = cell[1]
        return line

    def _look(self, threads: list[tuple[int, int | None]]) -> tuple[str, int | None]:
        """Choose the glyph of a cell and its color: where threads only cross, the upright one is on top."""
        shapes = {sides for sides, _ in threads}
        if shapes == {UP | DOWN, LEFT | RIGHT}:
            threads = [thread for thread in threads if thread[0] == UP | DOWN]
        together = 0
        for sides, _ in threads:
            together |= sides
        number = next((number for _, number in threads if number is not None), None)
        glyph = GLYPHS[together]
        return (DOTTED.get(glyph, glyph), None) if number is None else (glyph, number)


def draw_links(
    source: Sequence[str],
    target: Sequence[str],
    links: Iterable[Link],
    *,
    missed: Iterable[Link] = (),
    width: int = 76,
    color: bool = False,
) -> list[str]:
    """Draw the words of a pair in two rows with a thread for each link, dotted for the missed ones.

    Words in the same order on both sides stand above each other; other threads turn through lanes between.
    """
    found = set(links)
    wanted = sorted(found.union(missed))
    chain = _longest_chain(wanted)
    for gap, anchors in ((2, chain), (1, chain), (1, [])):
        top, bottom = _lay_out(source, target, anchors, gap)
        if max(top.width, bottom.width) <= width:
            break
    colors = {(s, t): s if (s, t) in found else None for s, t in wanted}
    bent = [Thread((s, t), top.stems[s], bottom.stems[t]) for s, t in wanted if (s, t) not in anchors]
    lanes = _lanes(bent)
    canvas = Canvas(max(1, len(lanes)))
    for lane, threads in enumerate(lanes):
        for thread in threads:
            for cell, sides in _path(thread, lane, canvas.height):
                canvas.run(cell, sides, colors[thread.link])
    for link in anchors:
        for row in range(canvas.height):
            canvas.run((row, top.stems[link[0]]), UP | DOWN, colors[link])
    lines = [_words(top, {s: s for s, _ in found}, color)]
    lines += [canvas.line(row, color) for row in range(canvas.height)]
    return [*lines, _words(bottom, {t: s for s, t in sorted(found, reverse=True)}, color)]


def _longest_chain(links: Sequence[Link]) -> list[Link]:
    """Find the most links that can all be drawn straight: no two of one word, none crossing."""
    chains: list[list[Link]] = []
    for s, t in links:
        before = [chain for chain in chains if chain[-1][0] < s and chain[-1][1] < t]
        chains.append([*max(before, key=len, default=[]), (s, t)])
    return max(chains, key=len, default=[])


def _lay_out(
    source: Sequence[str], target: Sequence[str], anchors: Sequence[Link], gap: int
) -> tuple[Row, Row]:
    """Place the words; threads of unanchored ones leave from even columns above and odd ones below.

    So no two threads of different words ever share a column.
    """
    top, bottom = Row(source, [], [], gap), Row(target, [], [], gap)
    for s, t in [*anchors, (len(source), len(target))]:
        for row, until, parity in ((top, s, 0), (bottom, t, 1)):
            while len(row.starts) < until:
                _place_free(row, parity)
        if s < len(source):
            halves = [(len(source[s]) - 1) // 2, (len(target[t]) - 1) // 2]
            stem = max(top.free + halves[0], bottom.free + halves[1])
            for row, half in ((top, halves[0]), (bottom, halves[1])):
                row.starts.append(stem - half)
                row.stems.append(stem)
    return top, bottom


def _place_free(row: Row, parity: int) -> None:
    start, length = row.free, len(row.words[len(row.starts)])
    stem = start + (length - 1) // 2
    if stem % 2 != parity:
        stem += 1
        start += length < 3 and stem >= start + length
    row.starts.append(start)
    row.stems.append(stem)


def _lanes(threads: Sequence[Thread]) -> list[list[Thread]]:
    """Spread threads over lanes so that those in one lane are apart or fan out from one word."""
    lanes: list[list[Thread]] = []
    for thread in sorted(threads, key=lambda thread: (thread.span[1] - thread.span[0], thread.link)):
        lane = next((lane for lane in lanes if _fits(thread, lane)), None)
        if lane is None:
            lanes.append([thread])
        else:
            lane.append(thread)
    return lanes


def _fits(thread: Thread, lane: Sequence[Thread]) -> bool:
    low, high = thread.span
    near = [other for other in lane if other.span[0] <= high and low <= other.span[1]]
    fan_out = all(other.link[0] == thread.link[0] for other in near)
    fan_in = all(other.link[1] == thread.link[1] for other in near)
    return fan_out or fan_in


def _path(thread: Thread, lane: int, height: int) -> Iterable[tuple[tuple[int, int], int]]:
    """Give the cells of a thread and the sides it touches in each."""
    begin, end = thread.begin, thread.end
    for row in range(lane):
        yield (row, begin), UP | DOWN
    yield (lane, begin), UP | (RIGHT if end > begin else LEFT if end < begin else DOWN)
    for column in range(min(begin, end) + 1, max(begin, end)):
        yield (lane, column), LEFT | RIGHT
    if begin != end:
        yield (lane, end), DOWN | (LEFT if end > begin else RIGHT)
    for row in range(lane + 1, height):
        yield (row, end), UP | DOWN


def _words(row: Row, colors: Mapping[int, int], color: bool) -> str:
    line, column = "", 0
    for place, (word, start) in enumerate(zip(row.words, row.starts, strict=True)):
        line += " " * (start - column) + painted(word, colors.get(place), color)
        column = start + len(word)
    return line


def painted(text: str, number: int | None, color: bool) -> str:
    """Give a text the color of a thread, or dim it where it has none."""
    if not color:
        return text
    code = "2" if number is None else PALETTE[number % len(PALETTE)]
    return f"\x1b[{code}m{text}\x1b[0m"
