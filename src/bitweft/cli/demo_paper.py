"""`bitweft demo --recipe paper`: the paper's table 1, scores and neighbors, on the embedded sample."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from bitweft.cli.progress import Meter
from bitweft.cli.screen import WIDTH, Screen
from bitweft.links.evaluate import evaluate
from bitweft.sample import SamplePair, bitext, generate, natural

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from bitweft.aligner import Aligner
    from bitweft.text.bitext import SentencePair

AGGREGATIONS = ("sum", "max", "lse")
TUNED = 200  # pairs on which α and the heuristic are chosen
SCORED = 1_000  # pairs after them that are scored
# Source windows of three words, so that they have neighbors; more epochs, as the text is small.
SETTINGS = ("model.source_k1=3", "training.word_epochs=4", "decoding.sentences=300", "decoding.negatives=50")
EXAMPLE = "We did not understand the last question ."
SHADES = " ░▒▓█"
NEIGHBORS = 7
NEXT = (
    (
        "train as the paper does",
        "bitweft train YOUR.en YOUR.fr -o m.weft --recipe paper --preset published",
    ),
    ("table 1 on the Hansards", "python benchmarks/paper.py aggregations --text en-fr --systems"),
)


def show(screen: Screen, pairs: int, seed: int) -> None:
    """Train with each aggregation, and show what the paper shows of it."""
    screen.line()
    screen.line(f"  {screen.style('bitweft', '1;36')}  the aligner of Legrand, Auli and Collobert (2016)")
    screen.line()
    drawn, written = list(generate(pairs, seed)), natural()
    text, _ = bitext([*drawn, *written])
    with screen.step("Loading PyTorch"):
        from bitweft.aligner import Aligner

        aligners = {
            name: Aligner("paper", seed=seed, settings=[*SETTINGS, f"training.aggregation={name}"])
            for name in AGGREGATIONS
        }
    tuned, gold = bitext(drawn[:TUNED])
    for name, aligner in aligners.items():
        message = f"It learns from {pairs + len(written):,} pairs, scores aggregated by {name}"
        with screen.step(message), Meter() as meter:
            aligner.fit(text, progress=meter.show)
            aligner.tune(tuned, gold)
    show_table(screen, aligners, drawn[TUNED : TUNED + SCORED] or drawn, written)
    example = next(pair for pair in written if " ".join(pair.source) == EXAMPLE)
    show_scores(screen, aligners["lse"], next(iter(bitext([example])[0])))
    show_neighbors(screen, aligners["lse"], list(text))
    screen.title("Next: docs/paper.md has the paper beside the code, and how to run each experiment")
    for purpose, command in NEXT:
        screen.line(f"    {screen.style(f'# {purpose}', '2')}")
        screen.line(f"    {screen.style(command, '36')}")
    screen.line()


def show_table(
    screen: Screen, aligners: dict[str, Aligner], drawn: Sequence[SamplePair], written: Sequence[SamplePair]
) -> None:
    """Show table 1: AER of each aggregation, by direction and symmetrized."""
    from bitweft.recipes.base import DIRECTIONS, Decoding

    screen.title(f"Table 1: AER by aggregation (alpha and heuristic chosen on {TUNED} other pairs)")
    screen.line(screen.style(f"    {'':8}{'drawn from the grammar':>34}{'written by hand':>34}", "2"))
    columns = "".join(f"{name:>11}" for name in ("en → fr", "fr → en", "symmetr."))
    screen.line(screen.style(f"    {'':8}{columns} {columns}", "2"))
    for name, aligner in aligners.items():
        line = f"    {name:8}"
        for part in (drawn, written):
            text, gold = bitext(part)
            for decoding in (*(Decoding(direction=own) for own in DIRECTIONS), Decoding()):
                line += f"{100 * evaluate(aligner.align(text, decoding=decoding), gold).aer:>11.1f}"
            line += " "
        screen.line(line)
    screen.line(screen.style("    The paper on English-French: LSE 15.1 15.8 12.8, max 18.1 20.7 14.8,", "2"))
    screen.line(screen.style("    sum 23.0 26.9 24.1.", "2"))


def show_scores(screen: Screen, aligner: Aligner, pair: SentencePair) -> None:
    """Draw one pair's scores, and what each source word has in the aggregated score of a target word."""
    import numpy as np

    scores = aligner.score_matrix(pair.source.tokens, pair.target.tokens)
    total = np.logaddexp.reduce(scores, axis=0)  # (target): LSE, r is 1
    low, high = float(scores.min()), float(scores.max())
    screen.title("One pair: scores s(i, j); and after aggregation by LSE, each source word's part in it")
    for line in side_by_side(pair, (scores - low) / max(high - low, 1e-9), np.exp(scores - total)):
        screen.line(f"    {line}")
    screen.line()
    told = f"    s is from {low:.1f} (blank) to {high:.1f} (full), parts are from 0 to 1; aggregated scores:"
    screen.line(screen.style(told, "2"))
    words = zip(pair.target.tokens, total.tolist(), strict=True)
    _list(screen, "", (f"{word} {value:.1f}" for word, value in words))


def side_by_side(
    pair: SentencePair, before: npt.NDArray[np.floating], after: npt.NDArray[np.floating]
) -> Iterator[str]:
    """Draw two matrices of numbers from 0 to 1 as shades, a row for each source word."""
    source, target = pair.source.tokens, pair.target.tokens
    width, tall, gap = max(map(len, source)), max(map(len, target)), " " * 6
    for row in range(tall):  # the target words, read downwards
        letters = "".join(f"{word.rjust(tall)[row]:2}" for word in target)
        yield f"{'':{width}}  {letters}{gap}{letters}"
    for word, *rows in zip(source, before, after, strict=True):
        shades = ("".join(shade(float(value)) * 2 for value in row) for row in rows)
        yield f"{word:>{width}}  {gap.join(shades)}"


def shade(value: float) -> str:
    """Return a sign that is the darker the larger a number from 0 to 1 is."""
    return SHADES[min(len(SHADES) - 1, int(value * len(SHADES)))]


def show_neighbors(screen: Screen, aligner: Aligner, pairs: Sequence[SentencePair]) -> None:
    """Show section 5: the source windows nearest to two common ones, and the target words that fit them."""
    screen.title("Section 5: the nearest source windows, and the target words that score highest")
    for window in common_windows(pairs, 2):
        windows, words, _ = aligner.recipe.neighbors(window, pairs, NEIGHBORS)
        screen.line(f"    {screen.style(' '.join(window), '1')}")
        for name, found in (("windows", windows), ("words", words)):
            _list(screen, f"  {name}: ", (f"{own.text} {own.value:.1f}" for own in found))


def _list(screen: Screen, name: str, items: Iterable[str]) -> None:
    """Write items after a name, on as many lines as they need."""
    indent = " " * (4 + len(name))
    text = textwrap.fill(", ".join(items), WIDTH, initial_indent=f"    {name}", subsequent_indent=indent)
    for line in text.splitlines():
        screen.line(line)


def common_windows(pairs: Sequence[SentencePair], count: int) -> list[tuple[str, ...]]:
    """Return the commonest windows of three words around a long word, each around another."""
    windows: Counter[tuple[str, ...]] = Counter()
    for pair in pairs:
        words = [word.lower() for word in pair.source.tokens]
        windows.update(zip(words, words[1:], words[2:], strict=False))
    found: dict[str, tuple[str, ...]] = {}
    for window, _ in sorted(windows.items(), key=lambda item: (-item[1], item[0])):
        if len(window[1]) > 4 and all(word.isalpha() for word in window):
            found.setdefault(window[1], window)
    return list(found.values())[:count]
