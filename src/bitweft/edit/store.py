"""The file of gold links that is written while one edits: whole at every change, never over another's."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeAlias

from bitweft.edit.judgment import UNTOUCHED, Judgment, from_line, to_line, version_of
from bitweft.errors import InputError
from bitweft.links.alignment import GoldAlignment
from bitweft.links.formats.registry import read_entries
from bitweft.storage.output import open_output
from bitweft.text.bitext import SentencePair
from bitweft.text.lines import LineFile

PATIENCE = 5.0  # seconds to wait while another process writes

Stamp: TypeAlias = tuple[int, int, int]


class ConflictError(Exception):
    """Tell that a pair was changed by somebody else meanwhile; `current` is what they said."""

    def __init__(self, current: Judgment | None) -> None:
        super().__init__("this pair was changed elsewhere meanwhile")
        self.current = current


class GoldStore:
    """Keep what is said of each pair of a text, in a file of JSON lines with a line a pair.

    Every change is on disk before `save` returns, and the file is there whole at any moment. Each pair has a
    version: a change is made only to the version that the one who makes it has seen. Several threads may
    share a store, and several processes a file.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        pairs: Sequence[SentencePair],
        *,
        now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    ) -> None:
        self.path = Path(path)
        self.pairs = pairs
        self._now = now
        self._guard = threading.RLock()
        self._lines = [to_line(pair, number, None) for number, pair in enumerate(pairs, 1)]
        self._said: list[Judgment | None] = [None] * len(pairs)
        self._revisions = [0] * len(pairs)
        self.revision = 0  # raised by every change that this store has seen
        self._stamp: Stamp | None = None
        self._refresh()

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, k: int) -> Judgment | None:
        with self._guard:
            return self._said[k]

    def done(self) -> list[int]:
        """List the pairs that are marked as done."""
        with self._guard:
            return [k for k, said in enumerate(self._said) if said is not None and said.done]

    def gold(self, chosen: Sequence[int]) -> list[GoldAlignment]:
        """Give the gold links of some pairs; none where nothing was said."""
        with self._guard:
            return [said.gold if (said := self._said[k]) else GoldAlignment.of([]) for k in chosen]

    def changed_since(self, revision: int) -> dict[int, Judgment | None]:
        """Give what is said of the pairs that have changed since then, also by other processes."""
        with self._guard:
            self._refresh()
            return {k: self._said[k] for k, at in enumerate(self._revisions) if at > revision}

    def save(self, k: int, judgment: Judgment, version: str) -> Judgment:
        """Write what is said of pair k, if `version` is still the one that is kept.

        Returns:
            The judgment with its time and its new version.

        Raises:
            ConflictError: somebody else has changed the pair since that version.
            InputError: the links lie outside the pair, or the file cannot be written.
        """
        fault = judgment.fault(self.pairs[k])
        if fault is not None:
            raise InputError(fault, file=str(self.path), line=k + 1)
        with self._guard, self._alone():
            self._refresh()
            current = self._said[k]
            if version != (current.version if current is not None else UNTOUCHED):
                raise ConflictError(current)
            return self._write({k: judgment})[k]

    def begin(self, judgments: Mapping[int, Judgment]) -> int:
        """Write what is said of those of some pairs that nobody has said anything of; return how many."""
        with self._guard, self._alone():
            self._refresh()
            fresh = {k: said for k, said in judgments.items() if self._said[k] is None}
            if fresh:
                self._write(fresh)
            return len(fresh)

    def _write(self, judgments: Mapping[int, Judgment]) -> dict[int, Judgment]:
        """Write the file with some judgments in it, and give them their time and version."""
        at = self._now().isoformat(timespec="milliseconds")
        lines = list(self._lines)
        timed = {k: replace(said, at=at) for k, said in judgments.items()}
        for k, said in timed.items():
            lines[k] = to_line(self.pairs[k], k + 1, said)
        with open_output(self.path, force=True) as stream:
            stream.writelines(f"{each}\n" for each in lines)
        self._stamp = self._stamp_now()
        self._lines = lines
        return {k: self._put(k, replace(said, version=version_of(lines[k]))) for k, said in timed.items()}

    def _put(self, k: int, said: Judgment) -> Judgment:
        self.revision += 1
        self._revisions[k] = self.revision
        self._said[k] = said
        return said

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from writing between this one's look at the file and its own writing."""
        lock = self.path.with_name(f".{self.path.name}.lock")
        until = time.monotonic() + PATIENCE
        while True:
            try:
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                break
            except FileExistsError:
                if time.monotonic() > until:
                    message = f"another process is writing it; if none is, remove {lock}"
                    raise InputError(message, file=str(self.path)) from None
                time.sleep(0.01)
            except OSError as error:
                raise InputError(f"cannot write here: {error.strerror}", file=str(self.path)) from error
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)

    def _stamp_now(self) -> Stamp | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _refresh(self) -> None:
        """Read the file if it is not as this store left it."""
        stamp = self._stamp_now()
        if stamp is None or stamp == self._stamp:
            return
        lines, said = _read(self.path, self.pairs)
        for k, each in enumerate(said):
            if each is not None and lines[k] != self._lines[k]:
                self._put(k, each)
        self._lines, self._stamp = lines, stamp


def _read(path: Path, pairs: Sequence[SentencePair]) -> tuple[list[str], list[Judgment | None]]:
    """Read a file that a store has written, and make sure that it is of this text."""
    lines = list(LineFile(path).lines())
    said: list[Judgment | None] = []
    entries = read_entries(path, "jsonl")
    for number, (line, entry) in enumerate(zip(lines, entries, strict=True), 1):
        pair = pairs[number - 1] if number <= len(pairs) else None
        if entry.pair is not None and entry.pair != pair:
            raise InputError("this is another sentence pair than the text's", file=str(path), line=number)
        try:
            found = from_line(line, entry)
        except ValueError as error:
            raise InputError(str(error), file=str(path), line=number) from error
        fault = found.fault(pair) if found is not None and pair is not None else None
        if fault is not None:
            raise InputError(fault, file=str(path), line=number)
        said.append(found)
    if len(lines) != len(pairs):
        raise InputError(f"{len(lines):,} pairs, but the text has {len(pairs):,}", file=str(path))
    return lines, said
