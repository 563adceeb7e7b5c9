"""What workers share: a model that each loads once, and patience with a forerunner that is not quite dead."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from bitweft.aligner import Aligner
from bitweft.cluster.engine import Shared
from bitweft.errors import OccupiedError
from bitweft.storage.places import fetched, is_remote

Files: TypeAlias = dict[str, npt.NDArray[np.uint8]]  # of a model, by their names
Result = TypeVar("Result")

PATIENCE = 60.0  # seconds to wait for a writer of whom the cluster says that it is dead


def packed(directory: str) -> Files:
    """Read the files of a model; as arrays, the workers of a node share one copy."""
    if is_remote(directory):
        with fetched(directory) as copy:
            return packed(str(copy))
    return {
        path.name: np.fromfile(path, np.uint8) for path in sorted(Path(directory).iterdir()) if path.is_file()
    }


@lru_cache(maxsize=1)
def loaded(files: Shared[Files], threads: int) -> Aligner:
    """Load a model, once in a worker."""
    with TemporaryDirectory(prefix="bitweft-") as directory:
        for name, content in files.get().items():
            (Path(directory) / name).write_bytes(content.data)  # unlike tofile, it tells why it fails
        return Aligner.load(directory, threads=threads)


def patiently(work: Callable[[], Result]) -> Result:
    """Do something again as long as another process is writing its output."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except OccupiedError:
            if time.monotonic() > until:
                raise
            time.sleep(1)
