"""Tables and figures of benchmarks/paper.py, from its JSON: what was measured beside what was published.

A cell that was not run is shown as such.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corpora import ROOT, Row
from published import BASELINE, LANGUAGES, ROWS
from reporting import fill_block, read_results, span, table, write_text

FIGURES = ("precision", "recall", "f1", "aer")
NOT_RUN = "not run"
WAYS = {
    "gdfa": "gdfa",
    "paper": "the best of the paper's four on dev",
    "apart": "an α for each direction",
    "all": "the strict rules too",
}
NAMES = {
    "bitweft": "bitweft, default recipe",
    "hmm": "HMM (sil-thot)",
    "fast_align": "fast_align (sil-thot)",
    "thot_eflomal": "eflomal (sil-thot)",
}
TITLES = {
    "aggregations": "Test AER by aggregation",
    "features": "Test AER by features",
    "french": "Test AER of systems on English-French",
    "romanian": "Test AER of systems on Romanian-English",
    "czech": "Test AER of systems on English-Czech",
}


def row_of(
    row: Row, system: str, runs: Sequence[dict[str, Any]], published: Sequence[Sequence[float]] | None
) -> dict[str, Any]:
    """Sum up the runs of one cell: the mean and the spread of each figure, and the heuristics chosen."""
    own: dict[str, Any] = {
        "text": row.text,
        "pairs": row.pairs,
        "system": system,
        "kind": "system" if published is None else "paper",
        "runs": len(runs),
        "all_pairs": runs[0].get("all_pairs") if runs else None,
        "dates": sorted({run["date"] for run in runs if "date" in run}),
        "published": None if published is None else dict(zip(ROWS, map(list, published), strict=True)),
        "results": None,
    }
    if runs:
        own["results"] = {name: _summary([run["results"][name] for run in runs]) for name in ROWS}
        chosen = [run["results"]["choices"] for run in runs if "choices" in run["results"]]
        own["choices"] = {
            name: _summary([one[name] for one in chosen])
            for name in WAYS
            if chosen and all(name in one for one in chosen)
        }
        own["results"]["symmetrized"]["heuristics"] = Counter(
            run["results"]["symmetrized"]["heuristic"] for run in runs
        )
    return own


def _summary(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        name: {
            "mean": round(statistics.mean(own[name] for own in results), 3),
            "spread": round(statistics.stdev(own[name] for own in results), 3) if len(results) > 1 else None,
        }
        for name in FIGURES
    }


def _shown(row: dict[str, Any], way: str, figure: str) -> str:
    if row["results"] is None:
        return NOT_RUN if figure == "aer" else ""
    own = row["results"][way][figure]
    spread = "" if own["spread"] is None or figure != "aer" else f" ± {own['spread']:.1f}"
    return f"{own['mean']:.1f}{spread}"


def _heuristic(row: dict[str, Any]) -> str:
    """Name how links were symmetrized; the default recipe does so by itself."""
    if row["results"] is None or row["system"] == "bitweft":
        return ""
    return ", ".join(row["results"]["symmetrized"]["heuristics"])


def _name(row: dict[str, Any]) -> str:
    system = str(row["system"])
    return system if row["kind"] == "paper" else NAMES.get(system, system)


def _size(row: dict[str, Any]) -> str:
    return "all" if row["pairs"] is None else f"{row['pairs']:,}"


def ways_of(text: str) -> list[str]:
    one, other = text.split("-")
    return [f"{one} → {other}", f"{other} → {one}", "symmetrized"]


def error_table(rows: Sequence[dict[str, Any]]) -> str:
    """Lay out AER by direction of the cells of one text: tables 1 and 2."""
    text = rows[0]["text"]
    head = [text, "pairs", *(name for way in ways_of(text) for name in (way, "paper")), "by"]
    lines = []
    for row in rows:
        cells = []
        for way in ROWS:
            said = "" if row["published"] is None else f"{row['published'][way][-1]:.1f}"
            cells += [_shown(row, way, "aer"), said]
        lines.append([_name(row), _size(row), *cells, _heuristic(row)])
    return table(head, lines)


def full_table(rows: Sequence[dict[str, Any]]) -> str:
    """Lay out P, R, F1 and AER of the cells of one text, direction by direction: tables 3 to 5."""
    text = rows[0]["text"]
    head = ["", "system", "pairs", "P", "R", "F1", "AER", "paper's P", "R", "F1", "AER", "by"]
    lines = []
    for number, (way, title) in enumerate(zip(ROWS, ways_of(text), strict=True)):
        baseline = [f"{figure:.1f}" for figure in LANGUAGES[text][BASELINE][number]]
        lines.append([f"**{title}**", BASELINE, "", *[""] * 4, *baseline, ""])
        for row in rows:
            printed = (
                [""] * 4 if row["published"] is None else [f"{own:.1f}" for own in row["published"][way]]
            )
            measured = (_shown(row, way, name) for name in FIGURES)
            by = _heuristic(row) if way == "symmetrized" else ""
            lines.append(["", _name(row), _size(row), *measured, *printed, by])
    return table(head, lines)


def _mean_aer(summary: Mapping[str, Any] | None) -> str:
    return "" if summary is None else f"{summary['aer']['mean']:.1f}"


def choices_table(rows: Sequence[dict[str, Any]]) -> str:
    """Lay out AER of symmetrized links by what the heuristic was chosen from, where that is kept."""
    lines = [
        [_name(row), _size(row), *(_mean_aer(row["choices"].get(way)) for way in WAYS)]
        for row in rows
        if row.get("choices")
    ]
    return table([f"{rows[0]['text']}, symmetrized by", "pairs", *WAYS.values()], lines) if lines else ""


def stands_on(results: dict[str, Any]) -> str:
    """Say in sentences what a table stands on."""
    rows = results["rows"]
    dates = [date for row in rows for date in row["dates"]]
    measured = f"Measured {span(dates)}" if dates else "Nothing measured"
    versions = ", ".join(f"{name} {number}" for name, number in results["about"]["versions"].items())
    settings = " ".join(results["settings"])
    said = f" Set for every cell of the paper's recipe: `{settings}`." if settings else ""
    runs = sorted({row["runs"] for row in rows if row["runs"] > 1})
    seeds = " or ".join(map(str, runs))
    spread = f"the mean ± standard deviation of {seeds} runs, or one run" if runs else "one seed"
    return f"{measured}, {spread}; {versions}.{said}"


def markdown(results: dict[str, Any]) -> str:
    """Write the table of each text, and what it stands on."""
    lay_out = error_table if results["table"] in ("aggregations", "features") else full_table
    texts = dict.fromkeys(row["text"] for row in results["rows"])
    tables = []
    for text in texts:
        own = [row for row in results["rows"] if row["text"] == text]
        tables += [lay_out(own), choices_table(own)]
    return "\n\n".join([*filter(None, tables), stands_on(results)]) + "\n"


def publish(path: Path, *, docs: bool) -> None:
    """Make the Markdown and, on demand, the block and the figure of docs/results.md from the JSON."""
    results = read_results(path)
    text = markdown(results)
    write_text(path.with_suffix(".md"), text)
    print(text)
    if docs:
        from drawing import draw_cells, draw_sizes

        pictures = {f"{path.stem}.svg": TITLES[results["table"]]}
        draw_cells(results["rows"], ROOT / "docs" / f"{path.stem}.svg")
        sizes = f"{path.stem}-pairs.svg"
        if results["table"] == "french" and draw_sizes(results["rows"], ROOT / "docs" / sizes):
            pictures[sizes] = "Test AER against the number of pairs"
        figures = "\n\n".join(f"![{title}]({picture})" for picture, title in pictures.items())
        fill_block(ROOT / "docs" / "results.md", path.stem, f"{text}\n{figures}")
