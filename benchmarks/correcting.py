"""What corrections teach: gold links of dev played back as an annotator, AER on test after each handful.

    python benchmarks/correcting.py --model roen.weft      a model trained on the text
    python benchmarks/correcting.py                        trains one first

The annotator corrects sentences of dev in the order of `bitweft edit` (least certain first, no two alike),
or in a random one. After 5, 10, 20 … sentences the model is tuned on them, from what it was before any, and
aligns test; where that is too little for the recipe to learn from, it stays as it was. Clicks are those that
make the suggested links of a test sentence its gold links in the editor's matrix: a click makes a link, turns
it into a possible one or takes it away; a drag does so with a block. Writes correcting.json and
correcting.md; with --docs also the table of docs/performance.md.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from bitweft import Aligner
from bitweft.edit import teaching_order, uncertainty
from bitweft.errors import UsageError
from bitweft.links.alignment import Alignment, GoldAlignment, Link
from bitweft.links.evaluate import evaluate
from bitweft.recipes.base import Decoding, Offer
from bitweft.recipes.base import require as require_offer
from bitweft.text.bitext import Bitext, SentencePair
from corpora import gold_of, pairs_of, require
from reporting import (
    new_parser,
    parse,
    publish,
    read_results,
    say,
    surroundings,
    table,
    write_json,
)

STEPS = (5, 10, 20, 50, 100, 200)
SEEDS = 3

Part = tuple[list[SentencePair], list[GoldAlignment]]


def clicks(suggested: Alignment, gold: GoldAlignment) -> int:
    """Count the clicks and drags that turn suggested links, all sure, into gold links."""
    links = set(suggested.links)
    wrong, weaker = links - gold.possible, set(gold.possible - gold.sure)
    return blocks(wrong, wrong) + blocks(gold.sure - links, set(gold.sure)) + blocks(weaker, weaker)


def blocks(wanted: AbstractSet[Link], allowed: AbstractSet[Link]) -> int:
    """Count blocks of allowed cells that hold all wanted ones, at each step the one that holds the most."""
    left, found = set(wanted), 0
    candidates = list(_rectangles(allowed))
    while left:
        left -= max(candidates, key=lambda block: len(block & left))
        found += 1
    return found


def _rectangles(allowed: AbstractSet[Link]) -> Iterator[set[Link]]:
    """Give, for each first cell, the widest block of each height."""
    for top, left in allowed:
        right = max(t for _, t in allowed)
        s = top
        while (s, left) in allowed:
            right = next(t for t in range(left, right + 1) if t == right or (s, t + 1) not in allowed)
            yield {(row, t) for row in range(top, s + 1) for t in range(left, right + 1)}
            s += 1


def play(
    load: Callable[[], Aligner], dev: Part, test: Part, *, steps: Sequence[int] = STEPS, seeds: int = SEEDS
) -> dict[str, Any]:
    """Correct dev in each order, tune after every step, and measure test."""
    model = load()
    require_offer(model.recipe, Offer.TUNE, "correcting.py")
    decoding = Decoding(null=Offer.NULL in model.recipe.offers)
    unsure = [
        uncertainty(pair, each)
        for pair, each in zip(dev[0], model.infer(dev[0], decoding=decoding), strict=True)
    ]
    orders = {"certainty": [teaching_order(dev[0], unsure)], "random": []}
    for seed in range(1, seeds + 1):
        shuffled = list(range(len(dev[0])))
        random.Random(seed).shuffle(shuffled)
        orders["random"].append(shuffled)
    rows = [{"order": "none", "sentences": 0, "runs": [_measured(model, test)]}]
    for sentences in [step for step in steps if step < len(dev[0])] + [len(dev[0])]:
        for name, tries in orders.items():
            runs = []
            for order in tries if sentences < len(dev[0]) else tries[:1]:
                say(f"{sentences} sentences by {name}")
                runs.append(_tuned(load(), dev, order[:sentences], test))
            rows.append({"order": name, "sentences": sentences, "runs": runs})
    return {"rows": rows, "recipe": model.recipe.name, **surroundings()}


def _tuned(model: Aligner, dev: Part, chosen: Sequence[int], test: Part) -> dict[str, Any]:
    try:
        said = model.tune([dev[0][k] for k in chosen], [dev[1][k] for k in chosen]).chosen
    except UsageError as error:  # too little to learn from
        said = f"nothing: {error}"
    return {**_measured(model, test), "chosen": said}


def _measured(model: Aligner, test: Part) -> dict[str, Any]:
    links = [each.alignment for each in model.infer(test[0])]
    spent = [clicks(each, gold) for each, gold in zip(links, test[1], strict=True)]
    return {"aer": evaluate(links, test[1]).aer, "clicks": statistics.mean(spent)}


def markdown(results: dict[str, Any]) -> str:
    """Write AER and clicks for every number of corrected sentences, by either order."""
    by = {(row["order"], row["sentences"]): row["runs"] for row in results["rows"]}
    before = by["none", 0]
    kinds = [(what, name) for what in ("aer", "clicks") for name in ("certainty", "random")]
    lines = [["0", *(_mean(before, what) for what, _ in kinds)]]
    for sentences in sorted({number for _, number in by} - {0}):
        lines.append([str(sentences), *(_mean(by[name, sentences], what) for what, name in kinds)])
    head = ["corrected", "AER, by certainty", "at random", "clicks a sentence, by certainty", "at random"]
    return table(head, lines)


def _mean(runs: Sequence[dict[str, Any]], what: str) -> str:
    value = statistics.mean(run[what] for run in runs)
    return f"{100 * value:.2f}" if what == "aer" else f"{value:.1f}"


def part(text: str, name: str) -> Part:
    """Read the pairs and the gold links of dev or test."""
    return list(Bitext.of(pairs_of(text, name))), gold_of(text, name)


def trained(text: str, directory: Path, pairs: int | None) -> Path:
    """Train a model on a text, the sentences of dev and test (never their links) among it."""
    parts = [*pairs_of(text, "test"), *pairs_of(text, "dev"), *pairs_of(text, "train", pairs)]
    Aligner().fit(Bitext.of(parts)).save(directory)
    return directory


def main(arguments: Sequence[str] | None = None) -> None:
    """Play, and write the table."""
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("--text", default="ro-en", help="the language pair (ro-en)")
    add("--model", type=Path, metavar="DIR", help="a model of it (trains one)")
    add("--pairs", type=int, metavar="N", help="training pairs, of a model that is trained (all)")
    add("--seeds", type=int, default=SEEDS, metavar="N", help=f"random orders ({SEEDS})")
    args = parse(parser, arguments, page="docs/performance.md")
    path = args.output / "correcting.json"
    if not args.publish:
        require([args.text])
        with tempfile.TemporaryDirectory() as folder:
            model = args.model or trained(args.text, Path(folder) / "model", args.pairs)
            found = play(
                lambda: Aligner.load(model), part(args.text, "dev"), part(args.text, "test"), seeds=args.seeds
            )
        write_json(path, {"text": args.text, **found})
        say(f"{path} is written")
    publish(path, markdown(read_results(path)), args.page)


if __name__ == "__main__":
    main()
