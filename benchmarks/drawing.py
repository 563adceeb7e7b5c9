"""Figures of the benchmarks, drawn from their results as small SVGs."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from reporting import write_text
from speed_tables import SYSTEMS, races, steps

COLORS = {
    "bitweft": "#b5302a",
    "eflomal": "#3b6ea5",
    "fast_align": "#8a8a8a",
    "hmm": "#c9a227",
    "thot_eflomal": "#6aa7d6",
}
CELLS = {
    "published": "#cccccc",
    "the paper's recipe here": "#d98c3f",
    "bitweft, default": "#b5302a",
    "peers": "#3b6ea5",
}
MARKS = {"bitweft": "o", "eflomal": "s", "fast_align": "^", "hmm": "D", "thot_eflomal": "v"}


def draw_accuracy(results: dict[str, Any], path: Path, text: str = "en-fr") -> None:
    """Draw AER against the number of pairs of one language pair, with the spread over the runs."""
    figure = Figure(figsize=(5.2, 3.2))
    axes = figure.add_subplot()
    rows = sorted((row for row in results["rows"] if row["text"] == text), key=lambda row: row["pairs"])
    for system in COLORS:
        own = [
            (row["pairs"], row["systems"][system]["test"]["aer"]) for row in rows if system in row["systems"]
        ]
        _draw_line(axes, system, own)
    _finish_lines(axes, text, [row["pairs"] for row in rows])
    save(figure, path)


def draw_sizes(rows: Sequence[dict[str, Any]], path: Path) -> bool:
    """Draw the symmetrized AER of systems against the number of pairs, if there is more than one number."""
    own = [row for row in rows if row["kind"] == "system" and row["results"] is not None]
    if len({row["pairs"] for row in own}) < 2:
        return False
    figure = Figure(figsize=(5.2, 3.2))
    axes = figure.add_subplot()
    for system in COLORS:
        points = [
            (row["pairs"] or row["all_pairs"], row["results"]["symmetrized"]["aer"])
            for row in own
            if row["system"] == system
        ]
        _draw_line(axes, system, sorted(points, key=lambda point: point[0]))
    _finish_lines(axes, own[0]["text"], sorted({row["pairs"] or row["all_pairs"] for row in own}))
    save(figure, path)
    return True


def draw_tuning(runs: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw AER against the number of gold sentences tuned on; 0 is the default style.

    A text has one line, that of its largest row.
    """
    figure = Figure(figsize=(5.2, 3.4))
    axes = figure.add_subplot()
    for name, run in {run["row"].split(",")[0]: run for run in runs}.items():
        tuned = run["tuned"]
        sizes = [0, *(own["sentences"] for own in tuned)]
        rates = [run["styles"]["default"]["aer"], *(own["aer"] for own in tuned)]
        (line,) = axes.plot(sizes, rates, marker="o", markersize=3.5, label=name)
        place, color = (sizes[-1], rates[-1]), line.get_color()
        axes.annotate(name, place, (6, -3), textcoords="offset points", fontsize=9, color=color)
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xticks([0, 10, 20, 50, 100, 200, 500], ["0", "10", "20", "50", "100", "200", "500"])
    axes.set_xlim(right=1500)
    _finish(axes, "gold sentences", "test AER", legend=False)
    save(figure, path)


def _draw_line(axes: Any, system: str, points: Sequence[tuple[int, dict[str, Any]]]) -> None:
    """Draw a system's AER, with its spread over runs where there were several."""
    if points:
        pairs, scores = zip(*points, strict=True)
        means, spreads = ([score[name] or 0 for score in scores] for name in ("mean", "spread"))
        style: dict[str, Any] = {"color": COLORS[system], "marker": MARKS[system], "label": system}
        axes.errorbar(pairs, means, spreads, capsize=3, **style)


def _finish_lines(axes: Any, text: str, sizes: Sequence[int]) -> None:
    _finish(axes, f"pairs ({text})", "test AER, lower is better")
    axes.set_xscale("log")
    axes.set_xticks(sizes, map(_short, sizes))
    axes.minorticks_off()


def _short(size: int) -> str:
    return f"{size / 1e6:.1f}M" if size >= 1_000_000 else f"{size // 1000}k"


def draw_speed(results: dict[str, Any], path: Path) -> None:
    """Draw CPU seconds against the number of pairs, and against the length of sentences."""
    figure = Figure(figsize=(7.6, 3.2))
    left, right = figure.subplots(1, 2)
    for system in SYSTEMS:
        style: dict[str, Any] = {"color": COLORS[system], "marker": MARKS[system], "label": system}
        rows = sorted((row for row in races(results) if system in row), key=lambda row: row["pairs"])
        left.plot([row["pairs"] for row in rows], [row[system]["cpu"] for row in rows], **style)
        if system not in ("bitweft", "eflomal"):
            continue
        own = sorted(steps(results, "length"), key=lambda step: step["words"])
        cost = [1000 * step[system]["cpu"] / step["pairs"] for step in own]
        right.plot([step["words"] for step in own], cost, **style)
    left.set_xscale("log")
    left.set_yscale("log")
    _finish(left, "pairs", "CPU seconds, training and aligning")
    _finish(right, "words a sentence", "CPU ms a pair")
    save(figure, path)


def draw_bleu(report: dict[str, Any], path: Path) -> None:
    """Draw BLEU of each system: every run, the mean, and the deviation."""
    figure = Figure(figsize=(max(1.3 * len(report["systems"]), 4.0), 3.4), layout="constrained")
    axes = figure.add_subplot()
    for place, row in enumerate(report["systems"]):
        color = COLORS[row["system"].partition("-")[0]]
        axes.plot([place] * len(row["bleu"]), row["bleu"], ".", color=color, alpha=0.5)
        axes.errorbar(place, row["mean"], row["deviation"] or 0, color=color, marker="o", capsize=5)
    names = [row["system"].replace("-", "-\n") for row in report["systems"]]
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylabel("BLEU, higher is better")
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, path)


def draw_cells(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the symmetrized AER of each cell as a bar, beside the published one, text by text.

    Systems are shown at the size of the paper's cells.
    """
    sizes = {row["pairs"] for row in rows if row["kind"] == "paper"}
    rows = [row for row in rows if row["pairs"] in sizes]
    texts = list(dict.fromkeys(row["text"] for row in rows))
    figure = Figure(figsize=(max(1.2 + 0.42 * len(rows), 4.8), 3.6), layout="constrained")
    ratios = [sum(row["text"] == text for row in rows) for text in texts]
    panels = figure.subplots(1, len(texts), width_ratios=ratios, sharey=True, squeeze=False)[0]
    for axes, text in zip(panels, texts, strict=True):
        own = [row for row in rows if row["text"] == text]
        for place, row in enumerate(own):
            _draw_cell(axes, place, row)
        axes.set_xticks(range(len(own)), [_label(row) for row in own], rotation=60, ha="right")
        axes.set_title(text, fontsize="medium")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    panels[0].set_ylabel("test AER, symmetrized")
    handles = [Patch(color=color, label=name) for name, color in CELLS.items()]
    columns = 2 if len(texts) == 1 else len(handles)
    figure.legend(handles=handles, frameon=False, ncols=columns, loc="outside upper center", fontsize="small")
    save(figure, path)


def _draw_cell(axes: Any, place: int, row: dict[str, Any]) -> None:
    published, paper, default, peers = CELLS.values()
    beside = row["published"] is not None
    if row["published"] is not None:
        axes.bar(place - 0.2, row["published"]["symmetrized"][-1], 0.38, color=published)
    if row["results"] is None:
        axes.text(place + (0.2 if beside else 0), 0.5, "not run", rotation=90, ha="center", fontsize="small")
        return
    own = row["results"]["symmetrized"]["aer"]
    color = paper if beside else default if row["system"] == "bitweft" else peers
    axes.bar(place + (0.2 if beside else 0), own["mean"], 0.38, yerr=own["spread"], color=color, capsize=2)


def _label(row: dict[str, Any]) -> str:
    size = "" if row["kind"] == "paper" else f" {_short(row['pairs'])}" if row["pairs"] else " all"
    return f"{row['system']}{size}"


def _finish(axes: Any, across: str, up: str, *, legend: bool = True) -> None:
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylim(bottom=0 if axes.get_yscale() == "linear" else None)
    if legend:
        axes.legend(frameon=False)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as SVG, the same for the same results."""
    if figure.get_layout_engine() is None:
        figure.tight_layout()
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "bitweft", "svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", metadata={"Date": None}, transparent=False)
    write_text(path, stream.getvalue())
