"""CPU time of an epoch of the paper's recipe, one direction, one thread, words + diagonal.

    python benchmarks/paper_speed.py --docs     a quarter of an epoch each, on 100,000 pairs of English-French

Writes paper-speed.json and paper-speed.md; with --docs also the table of docs/results.md.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from resource import RUSAGE_SELF, getrusage
from typing import Any

import torch

from bitweft.recipes.base import Running
from bitweft.recipes.paper.config import PaperConfig
from bitweft.recipes.paper.presets import preset
from bitweft.recipes.paper.recipe import PaperRecipe
from bitweft.settings import with_settings
from bitweft.text.bitext import SentencePair
from corpora import require
from measuring import peak_mib
from paper_cells import read_pairs
from reporting import (
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

WINDOWS = ("training.word_epochs=0", "training.negatives=0", "model.target_k1=3", "model.target_k2=3")
SETTINGS = {
    "single words, three negative sentences": ("training.word_epochs=1",),
    "target 3/3, source 1/1, every second center replaced": (*WINDOWS, "training.replacement_rate=0.5"),
    "target 3/3, source 1/1, every center replaced": WINDOWS,
    "`--preset published`: source 3/3, target 1/1, a triplet a step": preset("published"),
}


def measure(pairs: Sequence[SentencePair], settings: Sequence[str], share: float) -> dict[str, Any]:
    """Train for a share of the first epoch, and tell what the whole would take."""
    config = with_settings(PaperConfig(), ("initial.words=random", *settings))
    steps = PaperRecipe(config, running=Running(threads=1)).fit(pairs)
    first = next(steps)
    began = time.process_time()
    last = first
    while last.step < share * first.total:
        last = next(steps)
    if last.step == first.step:
        raise SystemExit(f"{len(pairs):,} pairs are too few to time: take more, or a larger share")
    seconds = time.process_time() - began
    return {
        "settings": list(settings),
        "steps": last.step - first.step,
        "seconds": round(seconds, 1),
        "epoch_seconds": round(seconds / (last.step - first.step) * first.total),
        "peak_mib": round(peak_mib(getrusage(RUSAGE_SELF))),
    }


def markdown(results: dict[str, Any]) -> str:
    """Set the results as a table."""
    rows = [
        [name, f"{own['epoch_seconds']} s", str(own["peak_mib"])] for name, own in results["rows"].items()
    ]
    stands = (
        f"English-French, {results['pairs']:,} pairs, one direction, from {results['share']:.0%} "
        f"of an epoch each. {standing(results)}"
    )
    return f"{table(['', 'CPU time an epoch', 'peak MiB of the process so far'], rows)}\n\n{stands}\n"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and write the table."""
    parser = new_parser(__doc__)
    parser.add_argument("--pairs", type=int, default=100_000, metavar="N", help="training pairs (100,000)")
    parser.add_argument("--share", type=float, default=0.25, metavar="P", help="share of an epoch (0.25)")
    args = parse(parser, argv, page="docs/results.md")
    path = args.output / "paper-speed.json"
    if not args.publish:
        require(["en-fr"])
        torch.set_num_threads(1)
        pairs = read_pairs("en-fr", "train", tagged=False, limit=args.pairs)
        rows = {}
        for name, settings in SETTINGS.items():
            say(name)
            rows[name] = measure(pairs, settings, args.share)
        about = surroundings("torch")
        sizes = {"pairs": len(pairs), "share": args.share, "threads": 1}
        write_json(path, {"about": about, **sizes, "rows": rows})
    publish(path, markdown(read_results(path)), args.page)


if __name__ == "__main__":
    main()
