"""How the inner loops are compiled, and how compiled code is kept from one run to the next.

numba's own cache notices a change in the file of a function, not in the files of those that it calls; it
raises where it has no place to write, and believes what it reads. `Kept` wraps it: a change in any file of a
function's folder counts, and in those that say how to compile; damaged files are replaced, and without a
cache everything works, after one line.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

from bitweft.recipes import libraries
from bitweft.recipes.beside import was_compiled_beside

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: dict[str, Any] = {
    "nogil": True,  # threads share the work
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
    "error_model": "numpy",  # a check of every division would keep loops from being done in lanes
}

INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(*, entry: bool = False) -> Callable[[Function], Function]:
    """Compile a function when it is first called.

    Args:
        entry: Whether Python calls the function. Then what was compiled is kept; of all others, those that
            call them hold a copy.
    """
    options = OPTIONS if entry else {**OPTIONS, **INNER}

    def decorate(function: Function) -> Function:
        dispatcher: Any = njit(**options, pipeline_class=libraries.LinkingCompiler)(function)
        if entry and hasattr(dispatcher, "_cache"):
            dispatcher._cache = Kept(function)
        return dispatcher  # type: ignore[no-any-return]

    return decorate


def is_compiled(function: Callable[..., Any]) -> bool:
    """Tell whether a function has compiled code, in memory or kept; a kept form may be of other types."""
    kept = getattr(function, "_cache", None)
    return not isinstance(kept, Kept) or bool(getattr(function, "overloads", ())) or kept.has_any()


def can_be_kept(function: Callable[..., Any]) -> bool:
    """Tell whether there is a place to keep a function's compiled code."""
    kept = getattr(function, "_cache", None)
    return isinstance(kept, Kept) and kept.cache_path is not None


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
    """Hash all source files of a folder, and those that say how to compile them.

    Compiled code is of no use once one of them has changed.
    """
    total = hashlib.sha256()
    for file in (*sorted(folder.glob("*.py")), Path(__file__), Path(libraries.__file__)):
        content = file.read_bytes()
        total.update(f"{file.name} {len(content)}\n".encode() + content)
    return total.hexdigest()


class _Sealed:
    """Write compiled code with a digest of it and of what it was compiled from; refuse what has another.

    numba writes its index before the code: a stop in between would leave one that names older code.
    """

    def __init__(self, file: Any, stamp: str) -> None:
        if not hasattr(file, "_source_stamp"):
            raise AttributeError("numba marks the source of its cache in another way")
        file._source_stamp = stamp
        self.file = file
        self._stamp = stamp

    def save(self, key: Any, data: Any) -> None:
        payload = self.file._dump(data)
        self.file.save(key, (self._digest(key, payload), payload))

    def load(self, key: Any) -> Any:
        sealed = self.file.load(key)
        if sealed is None:
            return None
        digest, payload = sealed
        if digest != self._digest(key, payload):
            raise pickle.UnpicklingError("the compiled code is damaged, or of an earlier version")
        return pickle.loads(payload)

    def flush(self) -> None:
        self.file.flush()

    def _digest(self, key: Any, payload: bytes) -> str:
        return hashlib.sha256(f"{self._stamp} {key}\n".encode() + payload).hexdigest()


class Kept:
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
                from numba.core.caching import FunctionCache

                on_disk: Any = FunctionCache(self._function)  # type: ignore[no-untyped-call]
                on_disk._cache_file = _Sealed(on_disk._cache_file, self._stamp)
                self._on_disk = on_disk
            except (ImportError, AttributeError):
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
            return on_disk is not None and bool(on_disk._cache_file.file._load_index())
        except Exception:  # damaged: anything may go wrong
            return False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled form for some types, or None; what is damaged is emptied."""
        found = self._load(sig, target_context)
        if found is None and was_compiled_beside(self._function.__name__):
            found = self._load(sig, target_context)
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        on_disk = self._open()
        if on_disk is None:
            return None
        try:
            return libraries.load(on_disk, sig, target_context)
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
    def _giving_up(self) -> Iterator[None]:
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
