"""Figures of the benchmarks, drawn from their results as small SVGs."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from cells import write_text
from speed_tables import races, steps

COLOURS = {"weft": "#b5302a", "eflomal": "#3b6ea5", "fast_align": "#8a8a8a", "hmm": "#c9a227"}
MARKS = {"weft": "o", "eflomal": "s", "fast_align": "^", "hmm": "D"}


def draw_accuracy(results: dict[str, Any], path: Path, text: str = "en-fr") -> None:
    """Draw AER against the number of pairs of one language pair, with the spread over the runs."""
    figure = Figure(figsize=(5.2, 3.2))
    axes = figure.add_subplot()
    rows = sorted((row for row in results["rows"] if row["text"] == text), key=lambda row: row["pairs"])
    for system in COLOURS:
        own = [
            (row["pairs"], row["systems"][system]["test"]["aer"]) for row in rows if system in row["systems"]
        ]
        if own:
            pairs, scores = zip(*own, strict=True)
            means, spreads = ([score[name] for score in scores] for name in ("mean", "spread"))
            axes.errorbar(
                pairs, means, spreads, color=COLOURS[system], marker=MARKS[system], capsize=3, label=system
            )
    _finish(axes, f"pairs ({text})", "test AER, lower is better")
    axes.set_xscale("log")
    save(figure, path)


def draw_speed(results: dict[str, Any], path: Path) -> None:
    """Draw CPU seconds against the number of pairs, and against the length of sentences."""
    figure = Figure(figsize=(7.6, 3.2))
    left, right = figure.subplots(1, 2)
    for system in ("weft", "eflomal"):
        style: dict[str, Any] = {"color": COLOURS[system], "marker": MARKS[system], "label": system}
        rows = sorted(races(results), key=lambda row: row["pairs"])
        left.plot([row["pairs"] for row in rows], [row[system]["cpu"] for row in rows], **style)
        own = sorted(steps(results, "length"), key=lambda step: step["words"])
        cost = [1000 * step[system]["cpu"] / step["pairs"] for step in own]
        right.plot([step["words"] for step in own], cost, **style)
    left.set_xscale("log")
    left.set_yscale("log")
    _finish(left, "pairs", "CPU seconds, training and aligning")
    _finish(right, "words a sentence", "CPU ms a pair")
    save(figure, path)


def _finish(axes: Any, across: str, up: str) -> None:
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylim(bottom=0 if axes.get_yscale() == "linear" else None)
    axes.legend(frameon=False)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as SVG, the same for the same results."""
    figure.tight_layout()
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "weft", "svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", metadata={"Date": None}, transparent=False)
    write_text(path, stream.getvalue())
