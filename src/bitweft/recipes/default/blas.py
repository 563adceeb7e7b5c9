"""Matrix products on one thread each: bitweft's own threads share the work, and must not change a result."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_users = 0
_limit: Any = None


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg.cython_blas  # noqa: F401  numba's products call it: it must be loaded to be limited

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep matrix products single-threaded while anyone is inside; the last to leave restores what was."""
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()
