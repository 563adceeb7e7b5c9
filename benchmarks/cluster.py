"""Training on Ray: the same model whatever the shards, the workers and the kills, and what Ray costs.

    python benchmarks/cluster.py --docs               English-French, 100,000 pairs
    python benchmarks/cluster.py --docs --pairs all --shards 16 --workers 2 --kills 0
    python benchmarks/cluster.py --docs --pairs 10000000 --shards 100 --workers 2 --kills 0

Every run is a command of bitweft, its descent on one thread, and is kept when it is done: a second call goes
on. A text of more pairs than there are is grown from them, and no single process learns from it. Costs are
those of the command and of all processes that come from it, Ray's own included, as Linux' /proc tells them.
Writes cluster.json and cluster.md, of all sizes; with --docs also a table of docs/scale.md.
"""

from __future__ import annotations

import hashlib
import itertools
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from corpora import require, size_of, write_shards
from measuring import python
from processes import Killer, Watch
from reporting import (
    CACHE,
    new_parser,
    parse,
    publish,
    read_results,
    say,
    standing,
    surroundings,
    table,
    write_json,
)

LOOK = 0.5  # seconds between two looks at the processes: looking costs CPU time, too
TEXT = "en-fr"
KINDS = ("driver", "workers", "Ray")  # processes: that of the command, its workers, and Ray's own


class Run(NamedTuple):
    """Say how a text is trained on; no shards: by `bitweft train`, in one process."""

    pairs: int
    shards: int = 0
    workers: int = 0
    kills: int = 0

    def __str__(self) -> str:
        return "-".join(map(str, self))


def shards_of(pairs: int, shards: int, directory: Path) -> list[Path]:
    """Write the text, cut into equal shards, unless it is there."""
    bounds = [pairs * number // shards for number in range(shards + 1)]
    return write_shards(TEXT, pairs, (end - begin for begin, end in itertools.pairwise(bounds)), directory)


def train(run: Run, cache: Path) -> dict[str, Any]:
    """Train once; tell the digest of the weights and what it cost."""
    shards = shards_of(run.pairs, run.shards or 1, cache / f"{run.pairs}.{run.shards or 1}")
    model = cache / "model.weft"
    for leftover in (model, cache / "model.weft.parts"):
        shutil.rmtree(leftover, ignore_errors=True)
    ray = ["--shards", str(shards[0].with_name("*.zst")), "--ray", "--workers", str(run.workers)]
    given = ray if run.shards else [str(shards[0])]
    options = ["--format", "tsv", "-o", str(model), "--threads", "1", "-q"]
    began = time.perf_counter()
    with subprocess.Popen(python("-m", "bitweft", "train", *given, *options)) as driver:
        watch, killer = Watch(driver.pid), Killer(driver.pid, run.kills, seed=hash(run))
        while driver.poll() is None:
            watch.look()
            killer.look()
            time.sleep(LOOK)
    if driver.returncode or killer.left:
        raise SystemExit(f"{run}: exit code {driver.returncode}, {killer.left} kills did not come to pass")
    digest = hashlib.sha256((model / "weights.safetensors").read_bytes()).hexdigest()
    costs = {"wall": time.perf_counter() - began, "cpu": watch.cpu(), "worker": watch.peak}
    costs |= {f"cpu of {kind}": watch.cpu(kind) for kind in KINDS}
    return {**run._asdict(), "sha256": digest, **{name: round(cost, 1) for name, cost in costs.items()}}


def to_table(results: dict[str, Any]) -> str:
    """Set the runs as a table, each with its CPU time beside that of one process."""
    whole = {run["pairs"]: run for run in results["runs"].values() if not run["shards"]}
    rows = []
    for run in sorted(results["runs"].values(), key=lambda run: [run[name] for name in Run._fields]):
        cells = [f"{run['pairs']:,}", run["shards"], run["workers"], run["kills"], run["sha256"][:12]]
        if one := whole.get(run["pairs"]):
            cells += ["yes" if run["sha256"] == one["sha256"] else "**no**", f"{run['cpu']:.0f}"]
            cells += [f"{100 * run['cpu'] / one['cpu'] - 100:+.0f} %", f"{run['worker']:.0f}"]
        else:
            cells += ["", f"{run['cpu']:.0f}", "", f"{run['worker']:.0f}"]
        if not run["shards"]:
            cells[1:4], cells[-2:] = ["one process", "", ""], ["", ""]
        rows.append([str(cell) for cell in cells])
    head = ["pairs", "shards", "workers", "killed", "SHA-256 of the weights", "same", "CPU seconds"]
    head += ["against one process", "peak MiB of a worker"]
    return table(head, rows) + "\n\n" + standing(results)


def main(argv: Sequence[str] | None = None) -> None:
    """Train in all ways, and write the table."""
    parser = new_parser(__doc__)
    parser.add_argument("--pairs", default="100000", metavar="N", help="training pairs, or all (100000)")
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 3, 16], metavar="N")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], metavar="N")
    parser.add_argument(
        "--kills", type=int, nargs="+", default=[0, 4], metavar="N", help="of workers in a run"
    )
    args = parse(parser, argv, page="docs/scale.md", cache=CACHE / "cluster")
    path = args.output / "cluster.json"
    if not args.publish:
        require([TEXT])
        pairs = size_of(TEXT) if args.pairs == "all" else int(args.pairs)
        kept = read_results(path)["runs"] if path.exists() else {}
        ways = itertools.product([pairs], args.shards, args.workers, args.kills)
        alone = [Run(pairs)] if pairs <= size_of(TEXT) else []
        for run in (*alone, *itertools.starmap(Run, ways)):
            if str(run) not in kept:
                say(f"{run.pairs:,} pairs, {run.shards} shards, {run.workers} workers, {run.kills} kills")
                kept[str(run)] = train(run, args.cache)
                write_json(path, {"about": surroundings("ray"), "threads": 1, "runs": kept})
    publish(path, to_table(read_results(path)), args.page)


if __name__ == "__main__":
    main()
