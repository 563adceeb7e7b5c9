"""Training and aligning in parts: what each step costs, how the counts grow, and what follows for more text.

    python benchmarks/scale.py --docs       English-French, all pairs; each shard doubles the text

Every step is a command of bitweft, one thread, and is kept when it is done: a second call goes on. Writes
scale.json and scale.md; with --docs also the tables of docs/scale.md.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bitweft.storage.part_file import read_part
from corpora import ROOT, pairs_of, require, write_shards
from measuring import measure, python
from reporting import (
    CACHE,
    fill_block,
    new_parser,
    parse,
    read_results,
    say,
    standing,
    surroundings,
    table,
    write_json,
    write_text,
)

FIRST = 10_000  # pairs of the first shard, and of the second; then each is as large as all before it
FITTED = 4  # of the largest sizes: the growth that is extrapolated
LARGER = (10_000_000, 100_000_000, 1_000_000_000)
CORES = 8 * 32
PASSES = 2


def doubling() -> Iterator[int]:
    """Give the sizes of shards that double the text each."""
    yield FIRST
    yield from (FIRST << number for number in itertools.count())


class Steps:
    """Run commands of bitweft, each once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "costs.json"
        self.costs: dict[str, list[float]] = json.loads(self.path.read_text()) if self.path.exists() else {}

    def run(self, name: str, *arguments: str) -> None:
        """Run a command, unless it was run before."""
        if name in self.costs:
            return
        say(name)
        cost = measure(python("-m", "bitweft", *arguments), log=self.directory / "log")
        self.costs[name] = list(cost)
        write_json(self.path, self.costs)


def run_steps(steps: Steps, shards: Sequence[Path]) -> None:
    """Begin a model, count the shards by it and merge them, twice, and align the last shard."""
    model = [str(steps.directory / f"{number}.weft") for number in range(PASSES + 1)]
    text = str(shards[0].parent / "*.zst")
    steps.run("begin", "train", "--shards", text, "--begin", "-o", model[0], "--threads", "1", "--force")
    for number in range(PASSES):
        parts = [str(steps.directory / f"{number}.{shard.stem}.part") for shard in shards]
        for place, (shard, part) in enumerate(zip(shards, parts, strict=True)):
            steps.run(f"count {number} {place:02}", "count", model[number], str(shard), "-o", part)
        options = ("--from", model[number], "-o", model[number + 1], "--force")
        steps.run(f"merge {number}", "merge", *parts, *options)
    links = str(steps.directory / "links")
    aligning = ("--model", model[-1], "-o", links, "--force", "--threads", "1")
    for place, shard in list(enumerate(shards))[-3:]:
        steps.run(f"align {place:02}", "align", str(shard), *aligning)


def growth(steps: Steps, shards: Sequence[Path], number: int) -> list[int]:
    """Tell how many word pairs the first shards have linked, for each number of them."""
    seen: Any = np.empty(0, np.int64)
    sizes = []
    for shard in shards:
        keys = read_part(str(steps.directory / f"{number}.{shard.stem}.part"))[0]["keys"]
        seen = np.union1d(seen, keys)
        sizes.append(len(seen))
    return sizes


def words_of(text: str, sizes: Sequence[int]) -> list[int]:
    """Tell how many different words both sides have together, for each size of the text."""
    source: set[str] = set()
    target: set[str] = set()
    found = []
    for number, (s, t) in enumerate(pairs_of(text, "train", sizes[-1]), 1):
        source.update(s.split())
        target.update(t.split())
        if number in sizes:
            found.append(len(source) + len(target))
    return found


def power_law(sizes: Sequence[int], values: Sequence[int]) -> Callable[[float], float]:
    """Fit values ~ a · size^b to the largest sizes."""
    slope, offset = np.polyfit(np.log(sizes[-FITTED:]), np.log(values[-FITTED:]), 1)
    return lambda size: math.exp(offset) * size**slope


def line_through(sizes: Sequence[int], values: Sequence[float]) -> tuple[float, float]:
    """Fit values = a · size + b."""
    slope, offset = np.polyfit(sizes, values, 1)
    return float(slope), float(offset)


def results_of(text: str, steps: Steps, shards: Sequence[Path]) -> dict[str, Any]:
    """Gather what was measured."""
    own = [read_part(str(steps.directory / f"0.{shard.stem}.part"))[1]["pairs"] for shard in shards]
    sizes = np.cumsum(own).tolist()
    return {
        "about": surroundings(),
        "threads": 1,
        "text": text,
        "shards": own,
        "pairs": sizes,
        "words": words_of(text, sizes),
        "entries": [growth(steps, shards, number) for number in range(PASSES)],
        "part_bytes": [(steps.directory / f"0.{shard.stem}.part").stat().st_size for shard in shards],
        "model_bytes": sum(path.stat().st_size for path in (steps.directory / f"{PASSES}.weft").iterdir()),
        "costs": steps.costs,
    }


def measured(results: dict[str, Any]) -> str:
    """Set what was measured as tables."""
    costs, own = results["costs"], results["shards"]
    rows = [_row("`train --shards --begin`", [costs["begin"]], results["pairs"][-1:])]
    for number in range(PASSES):
        counted = [costs[f"count {number} {shard:02}"] for shard in range(len(own))]
        rows.append(_row(f"`count`, pass {number + 1}", counted, own))
        rows.append(_row(f"`merge`, pass {number + 1}", [costs[f"merge {number}"]], results["pairs"][-1:]))
    last = [number for number in range(len(own)) if f"align {number:02}" in costs]
    rows.append(_row("`align`", [costs[f"align {number:02}"] for number in last], [own[n] for n in last]))
    head = ["step", "pairs", "CPU seconds", "µs a pair", "peak MiB of a process"]
    grown = zip(results["pairs"], results["words"], *results["entries"], strict=True)
    sizes = [[f"{value:,}" for value in row] for row in grown]
    return "\n\n".join(
        [
            table(head, rows),
            table(["pairs", "words", "word pairs, pass 1", "word pairs, pass 2"], sizes),
            standing(results),
        ]
    )


def _row(name: str, costs: Sequence[Sequence[float]], pairs: Sequence[int]) -> list[str]:
    cpu, total = sum(cost[1] for cost in costs), sum(pairs)
    memory = max(cost[2] for cost in costs)
    return [name, f"{total:,}", f"{cpu:.0f}", f"{1e6 * cpu / total:.0f}", f"{memory:,.0f}"]


def extrapolated(results: dict[str, Any]) -> str:
    """Set what follows for more text as a table."""
    sizes, own, costs = results["pairs"], results["shards"], results["costs"]
    entries = power_law(sizes, results["entries"][0])
    words = power_law(sizes, results["words"])
    scale = results["model_bytes"] / (8 * results["entries"][1][-1] + WORD * results["words"][-1])
    counting = [
        line_through(own, [costs[f"count {number} {shard:02}"][1] for shard in range(len(own))])[0]
        for number in range(PASSES)
    ]
    last = [number for number in range(len(own)) if f"align {number:02}" in costs]
    aligning = line_through([own[n] for n in last], [costs[f"align {n:02}"][1] for n in last])[0]
    kept = results["entries"][1][-1] / results["entries"][0][-1]
    part = results["part_bytes"][-1] / own[-1]
    rows = []
    for size in LARGER:
        model = scale * (8 * kept * entries(size) + WORD * words(size))
        train, align = size * sum(counting) / 3600, size * aligning / 3600
        rows.append(
            [
                f"{size:,}",
                f"{words(size) / 1e6:.1f} M",
                f"{entries(size) / 1e6:,.0f} M",
                f"{model / 1e9:.1f} GB",
                f"{part * size / 1e9:,.0f} GB",
                f"{train:,.0f} h",
                f"{align:,.0f} h",
                f"{(train + align) / CORES:.1f} h",
            ]
        )
    head = ["pairs", "words", "word pairs, pass 1", "model", "parts of a pass"]
    return table([*head, "CPU of counting", "CPU of aligning", f"both on {CORES} cores"], rows)


WORD = 64 * 4 * 2.5  # bytes of a word in a model: its vector, its row, and its share of the affixes' rows


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and write the tables."""
    parser = new_parser(__doc__)
    parser.add_argument("--text", default="en-fr", help="the language pair (en-fr)")
    parser.add_argument("--pairs", type=int, metavar="N", help="training pairs (all)")
    args = parse(parser, argv, page="docs/scale.md", cache=CACHE / "scale")
    path = args.output / "scale.json"
    if not args.publish:
        require([args.text])
        shards = write_shards(args.text, args.pairs, doubling(), args.cache / "shards")
        steps = Steps(args.cache)
        run_steps(steps, shards)
        write_json(path, results_of(args.text, steps, shards))
    results = read_results(path)
    texts = {"scale": measured(results), "scale-larger": extrapolated(results)}
    write_text(path.with_suffix(".md"), "\n\n".join(texts.values()) + "\n")
    for name, text in texts.items():
        print(text)
        if args.docs:
            fill_block(ROOT / "docs" / "scale.md", name, text)


if __name__ == "__main__":
    main()
