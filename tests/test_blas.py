"""numba's products are loaded without the package around them, and others can import it all the same."""

from __future__ import annotations

import subprocess
import sys

PRODUCTS = """
import sys
import numpy as np
from numba import njit
from threadpoolctl import threadpool_info
from bitweft.recipes.default.blas import one_blas_thread

@njit
def product(a, b):
    return np.dot(a, b)

a = np.arange(6, dtype=np.float32).reshape(2, 3)
{before}
with one_blas_thread():
    print("scipy.linalg" in sys.modules, "scipy.linalg.cython_blas" in sys.modules)
    print((product(a, a.T) == a @ a.T).all())  # compiling imports the package
    print({{library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}})
import scipy.linalg.cython_blas
print(scipy.linalg.cython_blas.__name__, scipy.linalg.det(np.eye(2)))
"""


def printed(before: str = "") -> list[str]:
    program = PRODUCTS.format(before=before)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_products_are_loaded_alone_and_limited() -> None:
    assert printed() == ["False False", "True", "{1}", "scipy.linalg.cython_blas 1.0"]


def test_products_are_those_of_the_package_where_it_is_loaded() -> None:
    lines = printed("import scipy.linalg.cython_blas")
    assert lines == ["True True", "True", "{1}", "scipy.linalg.cython_blas 1.0"]


def test_another_numba_gets_its_products_by_name() -> None:
    lines = printed("import numba; numba._helperlib = None")
    assert lines[:3] == ["True True", "True", "{1}"]
