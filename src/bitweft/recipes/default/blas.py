"""Matrix products on one thread each: bitweft's own threads share the work, and must not change a result."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any

from threadpoolctl import ThreadpoolController

PRODUCTS = "scipy.linalg.cython_blas"

_lock = threading.Lock()
_users = 0
_limit: Any = None


def _load_products() -> None:
    """Load the module that numba's matrix products call, without the package around it: 0.3 s less."""
    import scipy

    folders = [os.path.join(path, "linalg") for path in scipy.__path__]
    spec = PathFinder.find_spec(PRODUCTS, folders)
    if PRODUCTS in sys.modules or spec is None or spec.loader is None:
        import_module(PRODUCTS)
        return
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[PRODUCTS] = module


@cache
def _controller() -> ThreadpoolController:
    _load_products()  # they must be loaded to be limited
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
