"""Word vectors to start from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bitweft.errors import InputError
from bitweft.recipes.paper.vectors import cluster, hellinger_vectors, read_vectors


def test_hellinger_vectors_by_hand() -> None:
    # a b | b c: with window 1, a sees b; b sees a and c; c sees b.
    vectors = hellinger_vectors([0, 1, 1, 2], [2, 2], 3, dimensions=2, window=1)
    roots = np.array([[0, 1, 0], [np.sqrt(0.5), 0, np.sqrt(0.5)], [0, 1, 0]])
    centered = roots - np.average(roots, axis=0, weights=[1, 2, 1])
    assert np.allclose(vectors @ vectors.T, centered @ centered.T, atol=1e-6)  # one dimension is enough here


def test_distances_are_those_of_hellinger_when_all_dimensions_are_kept() -> None:
    random = np.random.default_rng(2)
    words = random.integers(0, 6, 200)
    vectors = hellinger_vectors(words, [50] * 4, 6, dimensions=6, window=2)
    counts = np.zeros((6, 6))
    for start in range(0, 200, 50):
        for here in range(start, start + 50):
            for there in range(max(start, here - 2), min(start + 50, here + 3)):
                if here != there:
                    counts[words[here], words[there]] += 1
    roots = np.sqrt(counts / counts.sum(1, keepdims=True))
    for one in range(6):
        for other in range(6):
            expected = np.linalg.norm(roots[one] - roots[other])
            assert np.linalg.norm(vectors[one] - vectors[other]) == pytest.approx(expected, abs=1e-4)


def test_directed_contexts_tell_before_from_after() -> None:
    both = hellinger_vectors([0, 1, 2, 0], [2, 2], 3, dimensions=3, window=1)
    directed = hellinger_vectors([0, 1, 2, 0], [2, 2], 3, dimensions=3, window=1, directed=True)
    assert np.allclose(both[1], both[2], atol=1e-6)  # 1 and 2 have 0 beside them
    assert not np.allclose(directed[1], directed[2], atol=1e-3)  # one of them before, the other after


def test_no_words_give_zeros() -> None:
    assert not hellinger_vectors([], [0], 3, dimensions=2).any()


def test_clusters() -> None:
    vectors = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9], [0, 0.5]], np.float32)
    first, second, third, fourth, fifth = cluster(vectors, 2).tolist()
    assert first == second != third == fourth == fifth
    assert cluster(vectors[:2], 5).tolist() == [0, 1]


def test_vectors_are_read_with_and_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("2 3\nchat 1 2 3\nété -1 0.5 1e-3 \n", encoding="utf-8")
    found = read_vectors(path, ["été", "chien"], 3)
    assert list(found) == ["été"]
    assert found["été"].tolist() == pytest.approx([-1, 0.5, 1e-3])
    path.write_text("chat 1 2 3\n", encoding="utf-8")
    assert read_vectors(path, ["chat"], 3)["chat"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("line", "message"), [("chat 1 2", "3 numbers were expected"), ("chat 1 x 3", "not a number")]
)
def test_bad_vectors_name_the_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(f"1 3\n{line}\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"vectors.txt:2: .*{message}"):
        read_vectors(path, ["chat"], 3)
    with pytest.raises(InputError, match="cannot be read"):
        read_vectors(tmp_path / "none", ["chat"], 3)
