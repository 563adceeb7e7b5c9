"""Another process that compiles some functions meanwhile; whoever needs one of them waits for it to end."""

from __future__ import annotations

import atexit
import os
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

_process: subprocess.Popen[bytes] | None = None
_names: frozenset[str] = frozenset()


def compile_beside(module: str, names: Collection[str]) -> bool:
    """Run a module that compiles and keeps functions of these names; tell whether it runs.

    It is found as this process finds it, and says nothing: what it does not compile, is compiled here.
    """
    import subprocess
    import sys

    global _process, _names
    if _process is not None or not sys.executable:
        return False
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command, none = [sys.executable, "-m", module], subprocess.DEVNULL
    try:
        _process = subprocess.Popen(command, env=environment, stdin=none, stdout=none, stderr=none)
    except OSError:  # no room for another process: then this one compiles
        return False
    _names = frozenset(names)
    atexit.register(_stop)
    return True


def was_compiled_beside(name: str) -> bool:
    """Wait for the other process, if it compiles a function of this name; tell whether it has done so."""
    return _process is not None and name in _names and _process.wait() == 0


def _stop() -> None:
    """End the other process with this one."""
    if _process is not None and _process.poll() is None:
        _process.terminate()
        _process.wait()


def has_idle_core() -> bool:
    """Tell whether a core is left beside this process and those that others run."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return load + 2 <= cores() + 0.5


def cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
