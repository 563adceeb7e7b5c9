"""The lines of a demonstration: headings, steps with the time they took, colors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

WIDTH = 78


class Screen:
    """Write the demo's lines, in color where the reader sees it."""

    def __init__(self, stream: TextIO, color: bool) -> None:
        self.stream = stream
        self.color = color

    def style(self, text: str, code: str) -> str:
        """Wrap a text in a terminal's color, if there is one."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text

    def line(self, text: str = "") -> None:
        """Write one line."""
        self.stream.write(text.rstrip() + "\n")

    def title(self, text: str) -> None:
        """Write a heading between empty lines."""
        self.line()
        self.line(f"  {self.style(text, '1')}")
        self.line()

    @contextmanager
    def step(self, text: str) -> Iterator[list[str]]:
        """Say what is being done; when it is done, the note that was put in the list, or the time it took."""
        started = time.perf_counter()
        beginning = f"  {self.style('·', '36')} {text} "
        watched = (
            self.stream.isatty()
        )  # elsewhere, messages of the step may go to the same file: they come first
        if watched:
            self.stream.write(beginning)
            self.stream.flush()
        note: list[str] = []
        yield note
        self.stream.write("\r" + beginning if watched else beginning)  # a bar may have been drawn over it
        said = note[0] if note else f"{time.perf_counter() - started:.1f} s"
        dots = self.style("." * max(3, WIDTH - len(text) - len(said) - 6), "2")
        self.line(f"{dots} {self.style(said, '1')}")
