"""How the inner loops are compiled, and how compiled code is kept from one run to the next.

numba's own cache notices a change in the file of a function, not in the files of those that it calls; it
raises where it has no place to write, and believes what it reads. `Kept` wraps it: a change in any file of a
function's folder counts, damaged files are replaced, and without a cache everything works, after one line.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import pickle
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core import caching

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: dict[str, Any] = {
    "nogil": True,  # threads share the work
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
    "error_model": "numpy",  # a check of every division would keep loops from being done in lanes
}


def compiled(*, entry: bool = False) -> Callable[[Function], Function]:
    """Compile a function when it is first called, and keep what was compiled.

    Args:
        entry: Whether Python calls the function; without an entry from Python, code is compiled in half the
            time.
    """
    options = OPTIONS if entry else {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

    def decorate(function: Function) -> Function:
        dispatcher: Any = njit(**options)(function)
        if isinstance(getattr(dispatcher, "_cache", None), caching.NullCache):
            dispatcher._cache = Kept(function)
        return dispatcher  # type: ignore[no-any-return]

    return decorate


def is_compiled(function: Callable[..., Any]) -> bool:
    """Tell whether a function has compiled code, in memory or kept; a kept form may be of other types."""
    kept = getattr(function, "_cache", None)
    return not isinstance(kept, Kept) or bool(getattr(function, "overloads", ())) or kept.has_any()


def write_notice(text: str) -> None:
    """Write a line to standard error, if there is one."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"bitweft: {text}\n")


notice: Callable[[str], None] = write_notice  # who shows a line of progress may put their own in its place


_said: list[str] = []


def _say_not_kept(why: str) -> None:
    """Say once per process that compiled code is not kept."""
    if not _said:
        _said.append(why)
        notice(f"compiled code is not kept, so every run compiles anew: {why}")


def _advice(problem: str) -> str:
    return f"{problem}; set NUMBA_CACHE_DIR to a directory that can be written to"


@cache
def source_stamp(folder: Path) -> str:
    """Hash all source files of a folder; compiled code is of no use once one of them has changed."""
    total = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        content = file.read_bytes()
        total.update(f"{file.name} {len(content)}\n".encode() + content)
    return total.hexdigest()


class _SealedFile(caching.IndexDataCacheFile):
    """Keep compiled code with a digest of it and of what it was compiled from."""

    def save(self, key: Any, data: Any) -> None:
        payload = self._dump(data)  # type: ignore[no-untyped-call]
        super().save(key, (self._digest(key, payload), payload))  # type: ignore[no-untyped-call]

    def load(self, key: Any) -> Any:
        sealed = super().load(key)  # type: ignore[no-untyped-call]
        if sealed is None:
            return None
        digest, payload = sealed
        if digest != self._digest(key, payload):
            raise pickle.UnpicklingError("the compiled code is damaged, or of an earlier version")
        return pickle.loads(payload)

    def _digest(self, key: Any, payload: bytes) -> str:
        return hashlib.sha256(f"{self._source_stamp} {key}\n".encode() + payload).hexdigest()


class Kept(caching._Cache):
    """Keep the compiled forms of one function on disk, where that is possible.

    The place is looked for when the function is first compiled, so that importing writes nothing.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        # At once: what is compiled later are the files as they are now.
        self._stamp = source_stamp(Path(inspect.getfile(function)).parent)
        self._opened = False
        self._on_disk: Any = None

    def _open(self) -> Any:
        """Return numba's cache with our stamp; none where there is no place for it, or numba is another."""
        if not self._opened:
            self._opened = True
            try:
                on_disk: Any = caching.FunctionCache(self._function)  # type: ignore[no-untyped-call]
                file = on_disk._cache_file
                base = file._index_name.removesuffix(".nbi")
                sealed = _SealedFile(file._cache_path, base, self._stamp)  # type: ignore[no-untyped-call]
                on_disk._cache_file = sealed
                self._on_disk = on_disk
            except AttributeError:
                _say_not_kept("this version of numba has another cache than bitweft knows")
            except RuntimeError:  # numba's "no locator available"
                _say_not_kept(_advice("no directory for it can be written to"))
            except OSError as error:
                _say_not_kept(_advice(str(error)))
        return self._on_disk

    def has_any(self) -> bool:
        """Tell whether compiled code of this source is kept."""
        on_disk = self._open()
        try:
            return on_disk is not None and bool(on_disk._cache_file._load_index())
        except Exception:  # damaged: anything may go wrong
            return False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled form for some types, or None; what is damaged is emptied."""
        on_disk = self._open()
        if on_disk is None:
            return None
        try:
            return on_disk.load_overload(sig, target_context)
        except Exception:  # damaged: unpickling may raise anything
            self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled form, if that is possible."""
        on_disk = self._open()
        if on_disk is not None:
            with self._giving_up():
                on_disk.save_overload(sig, data)

    def flush(self) -> None:
        """Forget all that is kept."""
        on_disk = self._open()
        if on_disk is not None:
            with self._giving_up():
                on_disk.flush()

    @contextlib.contextmanager
    def _giving_up(self) -> Any:
        """Go on without a cache where writing it fails."""
        try:
            yield
        except Exception as error:
            self._on_disk = None
            _say_not_kept(_advice(str(error)))

    @property
    def cache_path(self) -> str | None:
        """Return the directory of the cache."""
        on_disk = self._open()
        return None if on_disk is None else on_disk.cache_path

    def enable(self) -> None:
        """Do nothing: the cache is always on."""

    def disable(self) -> None:
        """Do nothing: the cache is always on."""
