"""The benchmark of training on Ray, but for Ray: processes that are watched and killed, shards, the table."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path

import pytest

import cluster
import corpora
import processes
from bitweft.text.bitext import Bitext
from reporting import surroundings

PYTHON = sys.executable
BUSY = "import time\nwhile time.process_time() < {}: pass\n"
linux = pytest.mark.skipif(not processes.PROC.is_dir(), reason="needs Linux' /proc")


@linux
def test_the_cost_of_a_process_has_those_that_come_from_it() -> None:
    child = f"{BUSY.format(0.3)}time.sleep(9)"
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen([PYTHON, "-c", code]) as parent:
        watch = processes.Watch(parent.pid)
        until = time.monotonic() + 60
        while watch.cpu() < 0.3 and time.monotonic() < until:
            watch.look()
            time.sleep(0.01)
        for process in processes.family(parent.pid):
            os.kill(process.number, signal.SIGKILL)
    assert (
        watch.cpu() >= 0.3
        and watch.cpu("driver") < watch.cpu("Ray")
        and watch.cpu("workers") == watch.peak == 0.0
    )


@linux
def test_workers_are_killed_and_others_are_not() -> None:
    sleeping = ["-c", "import time; time.sleep(60)"]
    with (
        subprocess.Popen([processes.WORKING, *sleeping], executable=PYTHON) as worker,
        subprocess.Popen([PYTHON, *sleeping]) as other,
    ):
        killer = processes.Killer(other.pid, 1, seed=1)
        killer.look()
        assert killer.left == 1  # the worker is of another family
        killer = processes.Killer(worker.pid, 1, seed=1)
        until = time.monotonic() + 60
        while killer.left and time.monotonic() < until:
            killer.look()
            time.sleep(0.01)
        assert worker.wait() == -signal.SIGKILL
        assert other.poll() is None
        other.kill()


def test_shards_are_the_text_cut_into_equal_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(f"a{number}", f"b{number}") for number in range(10)]
    monkeypatch.setattr(corpora, "pairs_of", lambda text, part, limit=None: iter(pairs[:limit]))
    monkeypatch.setattr(corpora, "size_of", lambda text: len(pairs))
    files = cluster.shards_of(10, 3, tmp_path / "shards")
    found = [[(p.source.text, p.target.text) for p in Bitext(str(path), format="tsv")] for path in files]
    assert [len(own) for own in found] == [3, 3, 4]
    assert list(chain(*found)) == pairs


def test_text_is_grown_by_words_that_are_new_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(f"the a{number} a{number}", f"le b{number}") for number in range(4000)]
    pairs += [("the", "le")] * 10  # so that these two are common
    monkeypatch.setattr(corpora, "pairs_of", lambda text, part, limit=None: iter(pairs[:limit]))
    grown = list(corpora.grown_pairs("en-fr", 3 * len(pairs) - 5))
    assert len(grown) == 3 * len(pairs) - 5 and grown[: len(pairs)] == pairs
    again = grown[len(pairs) : 2 * len(pairs)]
    fresh = [source for source, _ in again if "~" in source]
    assert 200 < len(fresh) < 1000  # a quarter of the half that is not common
    assert all(source.split()[0] == "the" and len(set(source.split())) <= 2 for source, _ in again)
    assert not {word for source in fresh for word in source.split()[1:]} & {
        word for source, _ in grown[2 * len(pairs) :] for word in source.split()
    }


def test_the_table_tells_a_model_that_differs() -> None:
    runs = [
        {**cluster.Run(1000, *way)._asdict(), "sha256": digest * 64, "cpu": cpu, "worker": 99.6}
        for way, digest, cpu in [((), "a", 10.0), ((3, 2, 4), "a", 11.0), ((3, 2, 0), "b", 10.5)]
    ]
    results = {
        "about": surroundings("ray"),
        "threads": 1,
        "runs": {str(n): run for n, run in enumerate(runs)},
    }
    rows = cluster.to_table(results).splitlines()[2:5]
    assert rows[0] == "| 1,000 | one process |  |  | aaaaaaaaaaaa | yes | 10 |  |  |"
    assert rows[1] == "| 1,000 | 3 | 2 | 0 | bbbbbbbbbbbb | **no** | 10 | +5 % | 100 |"
    assert rows[2] == "| 1,000 | 3 | 2 | 4 | aaaaaaaaaaaa | yes | 11 | +10 % | 100 |"
