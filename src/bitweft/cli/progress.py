"""Progress on standard error: a bar with rate and time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TextIO, TypeVar

from bitweft.progress import Progress

Item = TypeVar("Item")

REDRAW = 0.1  # seconds between two drawings of the bar
LINE = 30.0  # seconds between two lines
NAMES = {"lse": "learning words", "chain": "learning order", "count": "counting links"}


class Meter:
    """Show how far a job is; use as a context, so that the bar is wiped off in the end."""

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._clock = clock
        self._bar = self._stream.isatty()
        self._began = self._shown = clock()
        self._last = Progress(0, -1, "")
        self._start = 0  # the step at which this phase was first seen
        self._drawn = 0

    def __enter__(self) -> Meter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wipe()

    def show(self, progress: Progress) -> None:
        """Take note of the progress, and show it if it is time to."""
        now = self._clock()
        last, self._last = self._last, progress
        if progress.phase != last.phase or progress.step < last.step:  # a total may be an estimate
            self._start = progress.step  # what came before took time that was not seen
            self._began = now
            if not self._bar:
                self._shown = min(self._shown, now)
        if self._quiet or now - self._shown < (REDRAW if self._bar else LINE):
            return
        self._shown = now
        text = self._text(progress, now - self._began)
        if self._bar:
            width = shutil.get_terminal_size().columns - 1
            self._draw(self._with_bar(progress, text, width)[:width])
        else:
            self._stream.write(f"bitweft: {text}\n")
        self._stream.flush()

    def watch(self, items: Iterable[Item], phase: str, total: int = 0) -> Iterator[Item]:
        """Give the items on, counting them; a total of 0 is not known."""
        for step, item in enumerate(items, 1):
            yield item
            self.show(Progress(step, total, phase))

    def say(self, text: str) -> None:
        """Write a message on a line of its own."""
        self.wipe()
        self._stream.write(f"bitweft: {text}\n")
        self._stream.flush()

    def wipe(self) -> None:
        """Take the bar off the screen."""
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
            self._drawn = 0

    def _draw(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._drawn))
        self._drawn = len(text)

    def _text(self, progress: Progress, elapsed: float) -> str:
        done = progress.step - self._start
        rate = done / elapsed if elapsed > 0 else 0.0
        parts = [NAMES.get(progress.phase, progress.phase)]
        if progress.total:
            parts.append(f"{100 * progress.step / progress.total:3.0f} %")
        speed = f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"
        parts.append(speed if progress.total else f"{progress.step:,} done, {speed}")
        if progress.total and rate:
            parts.append(f"{duration((progress.total - progress.step) / rate)} left")
        if progress.loss is not None:
            parts.append(f"loss {progress.loss:.3f}")
        return "  ".join(parts)

    def _with_bar(self, progress: Progress, text: str, width: int) -> str:
        room = min(30, width - len(text) - 4)
        if not progress.total or room < 5:
            return text
        full = room * progress.step // progress.total
        return f"[{'=' * full}{' ' * (room - full)}]  {text}"


def duration(seconds: float) -> str:
    """Write a time as 0:07, 12:34 or 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
