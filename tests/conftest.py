"""Settings and models of every test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from chromium import Chromium, Open

# A busy machine is no fault of the code: no deadline for a single example.
# Where a change is judged (CI), a property meets the same examples each time; elsewhere, new ones.
settings.register_profile("bitweft", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("bitweft")
# Several processes test at a time: each has one thread, where a test does not ask for more.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep the small model, and give its directory; tests must not change it."""
    from small import aligner

    directory = tmp_path_factory.mktemp("models") / "small.weft"
    aligner().save(directory, languages=("en", "fr"), note="made for tests")
    return directory


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the directory of a model of the default recipe, learned from 300 pairs of the sample."""
    from bitweft import sample
    from bitweft.aligner import Aligner

    directory = tmp_path_factory.mktemp("models") / "small.weft"
    text, _ = sample.bitext(sample.generate(300))
    Aligner(threads=1).fit(text).save(directory, languages=("English", "French"))
    return directory


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Let PyTorch have one thread."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    """Start a browser."""
    from chromium import started

    yield from started()


@pytest.fixture
def show(chromium: Chromium, tmp_path: Path) -> Iterator[Open]:
    """Give a function that opens the page of some links in the browser; complaints are failures."""
    from chromium import shown

    yield from shown(chromium, tmp_path)
