"""Aligning and training on Ray, on a cluster of two nodes of one core each, with all that can go wrong there.

Run by `make test-ray`; skipped where Ray is not installed.
"""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

ray = pytest.importorskip("ray", reason="needs the extra ray: pip install 'bitweft[ray]'")
from ray.cluster_utils import Cluster  # noqa: E402

from bitweft.cli import main  # noqa: E402
from bitweft.cluster import align as cluster_align  # noqa: E402
from bitweft.cluster.align_batches import AlignBatches  # noqa: E402
from bitweft.cluster.engine import Ray  # noqa: E402
from bitweft.cluster.workers import packed  # noqa: E402
from bitweft.corpus.align_files import LinkOptions  # noqa: E402
from bitweft.corpus.align_shards import ShardJob, align_shards, model_digest  # noqa: E402
from bitweft.corpus.shards import Shard, find_shards  # noqa: E402
from bitweft.errors import BitweftError  # noqa: E402
from bitweft.sample import bitext, generate  # noqa: E402
from processes import Killer, working  # noqa: E402
from small import aligner  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
SHARDS, PAIRS = 6, 2000  # a shard takes some tenths of a second


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write shards of two columns; the third has a line that is not UTF-8."""
    directory = tmp_path_factory.mktemp("corpus")
    for number in range(SHARDS):
        text, _ = bitext(generate(PAIRS, seed=number))
        lines = [f"{pair.source.text}\t{pair.target.text}".encode() for pair in text]
        if number == 2:
            lines[7] = b"caf\xe9\tcaf\xe9"
        (directory / f"{number}.tsv").write_bytes(b"\n".join(lines) + b"\n")
    return directory


@pytest.fixture(scope="module")
def expected(corpus: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Align the shards by one process."""
    out = tmp_path_factory.mktemp("expected")
    for _ in align_shards(aligner(), shards(corpus, out), job(model), lambda progress: None):
        pass
    return contents(out)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """Start two nodes of one core each for all tests, and leave nothing of them."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.second = cluster.add_node(num_cpus=1)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(autouse=True)
def disconnected() -> Iterator[None]:
    """Leave the cluster after each test."""
    yield
    ray.shutdown()


def leave(nodes: Any) -> None:
    """Let the second node go; `come_back` puts another in its place."""
    nodes.remove_node(nodes.second, allow_graceful=False)


def come_back(nodes: Any) -> None:
    nodes.second = nodes.add_node(num_cpus=1)


def shards(corpus: Path, out: Path) -> list[Shard]:
    return find_shards([str(corpus / "*.tsv")], str(out), "pharaoh")


def job(model: Path, **options: bool) -> ShardJob:
    return ShardJob(model_digest(model), {"tokenize": "space", "format": "tsv"}, LinkOptions(), **options)


def contents(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


ended = threading.Event()  # of the work that goes on while something happens


def align(
    model: Path, corpus: Path, out: Path, address: str, *, meanwhile: Callable[[], None] = lambda: None
) -> list[Any]:
    """Align on a cluster, with something going on meanwhile."""
    other = threading.Thread(target=meanwhile)
    steps: list[int] = []
    found = []
    work = cluster_align.align_on_ray(
        str(model), shards(corpus, out), job(model), lambda told: steps.append(told.step), address=address
    )
    ended.clear()
    other.start()
    try:
        found = [result for _, result in work]
    finally:
        ended.set()
        other.join()
    assert max(steps, default=0) <= SHARDS * PAIRS  # nothing is counted twice
    return found


def killing(killer: Killer) -> None:
    """Kill workers until the work has ended."""
    while killer.left and not ended.wait(0.05):
        killer.look()


def test_two_nodes_give_the_bytes_of_one_process(
    nodes: Any, corpus: Path, model: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    found = align(model, corpus, tmp_path / "out", nodes.address)
    assert contents(tmp_path / "out") == expected
    assert sum(summary.pairs for summary in found) == SHARDS * PAIRS
    assert [summary.damaged for summary in found if summary.damaged] == [1]


def test_killed_workers_change_nothing(
    nodes: Any, corpus: Path, model: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    killer = Killer(os.getpid(), 4, seed=1)
    align(model, corpus, tmp_path / "out", nodes.address, meanwhile=lambda: killing(killer))
    assert killer.left < 4
    assert contents(tmp_path / "out") == expected


def test_a_node_may_leave(
    nodes: Any, corpus: Path, model: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    def going() -> None:
        while not working(os.getpid()) and not ended.is_set():
            time.sleep(0.05)
        time.sleep(0.5)
        leave(nodes)

    align(model, corpus, tmp_path / "out", nodes.address, meanwhile=going)
    come_back(nodes)
    assert contents(tmp_path / "out") == expected


def test_a_killed_driver_goes_on_with_resume(
    nodes: Any, corpus: Path, model: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "bitweft", "align", "--shards", str(corpus / "*.tsv"), "--format", "tsv"]
    command += ["--model", str(model), "--out", str(tmp_path / "out"), "--resume"]
    command += ["--ray", nodes.address]
    driver = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while not list((tmp_path / "out").glob("*.links")) and time.monotonic() < until:
        time.sleep(0.05)
    driver.kill()
    driver.wait()
    assert len(list((tmp_path / "out").glob("*.links"))) < SHARDS
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert "done before" in said and f"all {SHARDS} shards done" in said
    assert contents(tmp_path / "out") == expected


@dataclass(frozen=True)
class OneFullDisk(Ray):
    """Run on a cluster of which one node cannot write: its disk is full."""

    full: str = ""  # the node

    def run(self, work: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """Let the work of that node fail at its end."""
        full = self.full

        def tried(*given: Any) -> Any:
            if ray.get_runtime_context().get_node_id() != full:
                return work(*given)
            with mock.patch("os.fsync", side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))):
                return work(*given)

        return super().run(tried, *arguments)


@pytest.fixture
def one_full_disk(nodes: Any) -> OneFullDisk:
    """Connect to the cluster."""
    ray.init(nodes.address, log_to_driver=False)
    return OneFullDisk(full=nodes.second.node_id)


def test_a_full_disk_is_left_to_its_node(
    one_full_disk: OneFullDisk, corpus: Path, model: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    share = one_full_disk.share
    aligning = cluster_align.Aligning(share(packed(str(model))), job(model, resume=True), 1)
    files = shards(corpus, tmp_path / "out")
    tried = list(one_full_disk.run(cluster_align.align_one, files, share(aligning), lambda *news: None))
    assert sorted(number for number, _ in tried) == list(range(SHARDS))
    assert not [each for _, each in tried if isinstance(each, BitweftError)]
    assert contents(tmp_path / "out") == expected


def test_disks_that_are_full_everywhere_are_an_error(nodes: Any, tmp_path: Path) -> None:
    def work(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    ray.init(nodes.address, log_to_driver=False)
    engine = Ray()
    found = [each for _, each in engine.run(work, [1, 2], engine.share(None), lambda *news: None)]
    assert len(found) == 2 and all("No space left" in str(each) for each in found)


def test_the_error_of_one_shard_does_not_stop_the_others(
    nodes: Any, corpus: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in corpus.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    arguments = ["align", "--shards", str(tmp_path / "*.tsv"), "--model", str(model)]
    arguments += ["--format", "tsv", "--strict", "--out", str(tmp_path / "out"), "--ray", nodes.address]
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert "2.tsv:8: not UTF-8" in said and f"1 of {SHARDS} shards failed" in said
    names = {f"{number}.tsv.links{end}" for number in (0, 1, 3, 4, 5) for end in ("", ".manifest.json")}
    assert set(contents(tmp_path / "out")) == names


def test_ray_data(nodes: Any, corpus: Path, model: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra parquet")
    lines = (corpus / "0.tsv").read_text(encoding="utf-8").splitlines()
    rows = [dict(zip("st", line.split("\t"), strict=True)) for line in lines]
    ray.init(nodes.address, log_to_driver=False)
    import_module("ray.data")
    data = ray.data.from_items(rows[:300]).map_batches(
        AlignBatches,
        fn_constructor_args=[str(model), "s", "t"],
        batch_size=100,
        compute=ray.data.ActorPoolStrategy(size=1),
    )
    found = {(row["s"], row["t"]): row["links"] for row in data.take_all()}
    pairs = [(row["s"], row["t"]) for row in rows[:300]]
    assert [found[pair] for pair in pairs] == [str(links) for links in aligner().align(pairs)]


def test_no_cluster_is_an_error_in_plain_words(
    model: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_gcs_server_port_wait_time_s", "1")  # Ray waits much longer
    with pytest.raises(BitweftError, match="no cluster could be reached or begun"):
        align(model, corpus, tmp_path / "out", "127.0.0.1:1")


SETTINGS = ("descent_pairs=2000", "lse_epochs=1", "chain_epochs=1")  # counting is what is tried here
TRAIN = [*(word for setting in SETTINGS for word in ("--set", setting)), "--threads", "1"]


def train(corpus: Path, model: Path, *options: str) -> list[str]:
    """Name the command that trains on the shards."""
    command = [sys.executable, "-m", "bitweft", "train", "--shards", str(corpus / "*.tsv"), "--format", "tsv"]
    return [*command, "-o", str(model), *TRAIN, *options]


@pytest.fixture(scope="module")
def weights(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Train by one process on the whole text."""
    directory = tmp_path_factory.mktemp("whole")
    text = directory / "text.tsv"
    text.write_bytes(b"".join(path.read_bytes() for path in sorted(corpus.glob("*.tsv"))))
    command = [sys.executable, "-m", "bitweft", "train", str(text), "--format", "tsv", *TRAIN]
    subprocess.run([*command, "-o", str(directory / "model")], check=True, capture_output=True)
    return (directory / "model" / "weights.safetensors").read_bytes()


@pytest.mark.parametrize("kills", [0, 5])
def test_training_on_two_nodes_gives_the_model_of_one_process(
    nodes: Any, corpus: Path, weights: bytes, tmp_path: Path, kills: int
) -> None:
    killer = Killer(os.getpid(), kills, seed=kills)
    driver = subprocess.Popen(train(corpus, tmp_path / "model", "--ray", nodes.address, "-q"))
    while driver.poll() is None:
        killer.look()
        time.sleep(0.05)
    assert driver.returncode == 0 and not killer.left
    assert (tmp_path / "model" / "weights.safetensors").read_bytes() == weights
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_training_goes_on_after_its_driver_was_killed(
    nodes: Any, corpus: Path, weights: bytes, tmp_path: Path
) -> None:
    parts = tmp_path / "model.parts"
    command = train(corpus, tmp_path / "model", "--ray", nodes.address, "--resume", "-q")
    for reached in ("1.0000*.part", "2.0000*.part"):
        driver = subprocess.Popen(command)
        until = time.monotonic() + 240
        while not list(parts.glob(reached)) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(random.uniform(0, 0.3))
        driver.kill()
        driver.wait()
        assert list(parts.glob(reached)) and not (tmp_path / "model").exists()
    subprocess.run(command, check=True)
    assert (tmp_path / "model" / "weights.safetensors").read_bytes() == weights
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_training_survives_a_node_that_leaves(
    nodes: Any, corpus: Path, weights: bytes, tmp_path: Path
) -> None:
    driver = subprocess.Popen(train(corpus, tmp_path / "model", "--ray", nodes.address, "-q"))
    while not list(tmp_path.glob("model.parts/1.*.part")) and driver.poll() is None:
        time.sleep(0.05)
    leave(nodes)
    assert driver.wait() == 0
    come_back(nodes)
    assert (tmp_path / "model" / "weights.safetensors").read_bytes() == weights


def test_training_leaves_a_full_disk_to_its_node(
    one_full_disk: OneFullDisk, corpus: Path, weights: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bitweft.cluster.engine.Ray", lambda workers: one_full_disk)
    assert main(train(corpus, tmp_path / "model", "--ray", "-q")[3:]) == 0
    assert (tmp_path / "model" / "weights.safetensors").read_bytes() == weights
