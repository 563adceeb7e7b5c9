"""Matrix products on one thread each: bitweft's own threads share the work, and must not change a result.

numba's products are scipy's, which it finds by the name of their module, `scipy.linalg.cython_blas`. The
module is one small file, but importing it by its name takes a tenth of a second, for all of `scipy.linalg`.
So it is loaded by itself, and left to others to import as if it were not.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

PACKAGE = "scipy.linalg"
MODULE = f"{PACKAGE}.cython_blas"

_lock = threading.Lock()
_users = 0
_limit: Any = None


@cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    _load_products()  # they must be loaded to be limited
    return ThreadpoolController()


def _load_products() -> None:
    """Load scipy's products, with the package around them only if it is there or the short way is barred."""
    import importlib
    import sys

    if PACKAGE in sys.modules or not _load_alone():
        importlib.import_module(MODULE)


def _load_alone() -> bool:
    """Load the module of the products by itself, and let numba find those of single precision.

    numba keeps their addresses. Any other product it looks up by name, and so imports the package.
    """
    import sys
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    import numba
    import scipy

    helpers = getattr(getattr(numba, "_helperlib", None), "c_helpers", {})
    spec = PathFinder.find_spec(MODULE, [f"{folder}/linalg" for folder in scipy.__path__])
    if spec is None or spec.loader is None or not helpers.keys() >= {"xxdot", "xxgemv", "xxgemm"}:
        return False
    module = module_from_spec(spec)
    sys.modules[MODULE] = module
    try:
        spec.loader.exec_module(module)
        return _multiply(helpers) == [6.0, 6.0, 6.0]
    finally:
        sys.modules.pop(MODULE, None)  # left there, the package would lack it for whoever imports it


def _multiply(helpers: Mapping[str, int]) -> list[float]:
    """Multiply 2 by 3 by numba's products: of vectors, of a matrix and a vector, of matrices."""
    from ctypes import CFUNCTYPE, byref, c_char, c_float, c_int, c_ssize_t

    single, plain, size = c_char(b"s"), c_char(b"n"), c_ssize_t(1)
    one, zero, two, three, *out = map(c_float, (1, 0, 2, 3, 0, 0, 0))
    a, b, (dot, gemv, gemm) = byref(two), byref(three), map(byref, out)
    matrices = (byref(one), a, size, b)
    calls = {
        "xxdot": (single, c_char(0), size, a, b, dot),
        "xxgemv": (single, plain, size, size, *matrices, byref(zero), gemv),
        "xxgemm": (single, plain, plain, size, size, size, *matrices, size, byref(zero), gemm, size),
    }
    for name, arguments in calls.items():
        CFUNCTYPE(c_int)(helpers[name])(*arguments)
    return [product.value for product in out]


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
