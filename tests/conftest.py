"""Settings and models of every test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no fault of the code: no deadline for a single example.
settings.register_profile("bitweft", deadline=None)
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
