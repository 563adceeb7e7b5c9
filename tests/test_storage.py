"""Numbers that outgrow memory: the same in a file as in memory, and through the whole of learning."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitweft.aligner import Aligner
from bitweft.sample import bitext, generate
from bitweft.storage import spill as storage
from bitweft.storage.spill import Array, ArrayBuilder, Spill, counted

BLOCKS = st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=20), max_size=10)


@given(BLOCKS, st.sampled_from([0, 64, 1 << 20]))
def test_a_growing_array_holds_its_blocks_one_after_the_other(blocks: list[list[int]], large: int) -> None:
    growing = ArrayBuilder(np.int32, large)
    for block in blocks:
        growing.extend(np.array(block, np.int32))
    numbers = growing.finish()
    flat = [number for block in blocks for number in block]
    assert numbers.tolist() == flat and numbers.dtype == np.int32
    assert type(numbers) is np.ndarray and numbers.flags.writeable
    assert growing.in_file == (bool(flat) and 4 * len(flat) > large)
    numbers[:] = 0  # in a file too, the array may be changed
    assert not numbers.any()


@given(st.lists(st.tuples(st.lists(st.integers(0, 9)), st.lists(st.floats(width=32, allow_nan=False)))))
def test_a_spill_gives_back_what_was_put_in_it(given_blocks: list[tuple[list[int], list[float]]]) -> None:
    blocks: list[tuple[Array, ...]] = [
        (np.array(a, np.int64), np.array(b, np.float32)) for a, b in given_blocks
    ]
    for large in (0, 40, 1 << 20):
        spill = Spill(large)
        for block in blocks:
            spill.append(block)
        assert len(spill) == len(blocks)
        for number, block in enumerate(blocks):
            for one, other in zip(spill[number], block, strict=True):
                assert one.dtype == other.dtype and one.tolist() == other.tolist()
                assert one.flags.writeable


def test_a_spill_has_an_end() -> None:
    with pytest.raises(IndexError):
        Spill(0)[0]


def test_words_are_counted_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "BLOCK", 3)
    assert counted(np.array([0, 2, 2, 1, 2, 0, 2], np.int32), 5).tolist() == [2, 1, 4, 0, 0]
    assert counted(np.empty(0, np.int32), 2).tolist() == [0, 0]


def test_learning_from_files_gives_the_model_that_memory_gives(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text, _ = bitext(generate(200, seed=3))
    inside = Aligner(threads=1).fit(text)
    monkeypatch.setattr(storage, "LARGE", 1000)
    monkeypatch.setattr(storage, "BLOCK", 100)
    owners = []

    def file_of(owner: object) -> IO[bytes]:
        owners.append(owner)
        return opened(owner)

    opened = storage._file_of
    monkeypatch.setattr(storage, "_file_of", file_of)
    outside = Aligner(threads=2).fit(text)
    assert [type(owner) for owner in owners] == [
        ArrayBuilder,
        ArrayBuilder,
        Spill,
    ]  # tokens of both sides, cells
    for name, aligner in (("inside", inside), ("outside", outside)):
        aligner.save(tmp_path / f"{name}.weft")
    assert [*inside.align(text)] == [*outside.align(text)]
    one, other = (tmp_path / f"{name}.weft" / "weights.safetensors" for name in ("inside", "outside"))
    assert one.read_bytes() == other.read_bytes()
