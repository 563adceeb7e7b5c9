"""What became of the pairs of a text: counts, reasons, percentiles and a histogram, as text and as a page."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bitweft.corpus.filter import REASONS, WORST, Cut, Judgment

PERCENTILES = (1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99)
BINS = 24
WIDTH = 50  # characters of the longest bar


class Bin(NamedTuple):
    """Hold a range of qualities, and how many pairs have one in it."""

    low: float
    high: float
    kept: int
    rejected: int


@dataclass(frozen=True)
class Report:
    """Hold what is told of a filtered text."""

    names: tuple[str, ...]
    pairs: int
    kept: int
    threshold: float | None  # None: nothing was asked to be left out
    reasons: dict[str, int]  # of the rejected pairs, by the plainest reason
    percentiles: dict[int, float]
    histogram: tuple[Bin, ...]

    @classmethod
    def of(
        cls,
        names: tuple[str, ...],
        qualities: npt.NDArray[np.float32],
        judged: Iterable[tuple[Judgment, bool]],
        cut: Cut | None,
    ) -> Report:
        """Count a text: its qualities, lowest first, and each judgment with whether the pair is kept."""
        usual = qualities[qualities > WORST]
        edges = _edges(usual)
        counts = {True: np.zeros(BINS, np.int64), False: np.zeros(BINS, np.int64)}
        reasons: Counter[str] = Counter()
        for judgment, kept in judged:
            if not kept:
                reasons[judgment.reasons[0]] += 1
            if judgment.quality > WORST:
                place = int(np.searchsorted(edges, judgment.quality, "right")) - 1
                counts[kept][min(max(place, 0), BINS - 1)] += 1
        bins = map(
            Bin, edges[:-1].tolist(), edges[1:].tolist(), counts[True].tolist(), counts[False].tolist()
        )
        levels = np.percentile(usual, PERCENTILES).tolist() if len(usual) else []
        return cls(
            names,
            len(qualities),
            int(counts[True].sum()),
            None if cut is None else cut.threshold,
            {name: reasons[name] for name in REASONS if reasons[name]},
            dict(zip(PERCENTILES, levels, strict=False)),
            tuple(bins) if len(usual) else (),
        )

    @property
    def summary(self) -> str:
        """Say in one line how many pairs are kept."""
        if self.threshold is None:
            return f"{self.pairs:,} pairs scored"
        share = f" ({100 * self.kept / self.pairs:.1f} %)" if self.pairs else ""
        return (
            f"{self.pairs:,} pairs: {self.kept:,} kept{share}, {self.pairs - self.kept:,} rejected; "
            f"threshold {self.threshold:.4f}"
        )


def _edges(qualities: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Part the range of qualities evenly; the lowest hundredth is in the first part, however far it goes."""
    if not len(qualities):
        return np.linspace(0, 1, BINS + 1)
    low, high = float(np.percentile(qualities, 1)), float(qualities[-1])
    return np.linspace(low, max(high, low + 1e-3), BINS + 1)


def as_text(report: Report) -> str:
    """Write a report for the terminal."""
    lines = [f"{' and '.join(report.names)}: {report.summary}"]
    if report.reasons and report.threshold is not None:
        lines.append("why: " + ", ".join(f"{name} {count:,}" for name, count in report.reasons.items()))
    if report.percentiles:
        lines += ["", "quality below which so many of the pairs are:"]
        lines += [f"  {share:>2} %  {quality:8.3f}" for share, quality in report.percentiles.items()]
    if report.histogram:
        lines += [
            "",
            "quality   pairs   (# kept, - rejected)" if report.threshold is not None else "quality   pairs",
        ]
        tallest = max(one.kept + one.rejected for one in report.histogram)
        lines += [_bar(one, tallest, first=place == 0) for place, one in enumerate(report.histogram)]
    return "\n".join(lines) + "\n"


def _bar(one: Bin, tallest: int, *, first: bool) -> str:
    low = f"{'<' if first else ' '}{one.high if first else one.low:7.2f}"
    kept, rejected = (-(-count * WIDTH // tallest) for count in (one.kept, one.rejected))
    return f"{low} {one.kept + one.rejected:>8,}  {'-' * rejected}{'#' * kept}".rstrip()


def as_html(report: Report) -> str:
    """Write a report as a page of its own: no script, nothing to load."""
    name = html.escape(" and ".join(report.names))
    tables = []
    if report.reasons and report.threshold is not None:
        rows = [(reason, f"{count:,}") for reason, count in report.reasons.items()]
        tables.append(_table("Why pairs were rejected", ("reason", "pairs"), rows))
    rows = [(f"{share} %", f"{quality:.3f}") for share, quality in report.percentiles.items()]
    tables.append(_table("Choose a threshold", ("of the pairs are below", "quality"), rows))
    return _PAGE.format(
        name=name, summary=html.escape(report.summary), histogram=_histogram(report), tables="\n".join(tables)
    )


def _table(title: str, header: tuple[str, str], rows: Sequence[tuple[str, str]]) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<section><h2>{html.escape(title)}</h2><table><tr>{head}</tr>\n{body}</table></section>"


def _histogram(report: Report) -> str:
    tallest = max((one.kept + one.rejected for one in report.histogram), default=1)
    bars = []
    for place, one in enumerate(report.histogram):
        heights = [160 * count / tallest for count in (one.rejected, one.kept)]
        x = 10 + place * 25
        title = f"{one.low:.2f} to {one.high:.2f}: {one.kept:,} kept, {one.rejected:,} rejected"
        bars.append(
            f'<g><title>{title}</title><rect class="no" x="{x}" width="23" y="{170 - heights[0]:.1f}" '
            f'height="{heights[0]:.1f}"/><rect class="yes" x="{x}" width="23" '
            f'y="{170 - sum(heights):.1f}" height="{heights[1]:.1f}"/></g>'
        )
        if place % 4 == 0:
            bars.append(f'<text x="{x}" y="186">{one.low:.1f}</text>')
    return f'<svg viewBox="0 0 {20 + 25 * BINS} 195" role="img" aria-label="histogram">{"".join(bars)}</svg>'


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{name}: filtered pairs</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }}
h1 {{ font-size: 1.3rem }} h2 {{ font-size: 1rem }} svg {{ width: 100% }}
svg text {{ font-size: 11px; fill: #555 }}
.yes {{ fill: #2a7f62 }} .no {{ fill: #c0532f }} section {{ display: inline-block; vertical-align: top;
  margin-right: 3rem }}
th, td {{ text-align: right; padding: .1rem .8rem .1rem 0; font-variant-numeric: tabular-nums }}
@media (prefers-color-scheme: dark) {{ body {{ color: #ddd; background: #181818 }}
  svg text {{ fill: #aaa }} }}
</style></head><body>
<h1>{name}</h1>
<p>{summary}. Quality: the higher, the better. Green is kept, red is rejected.</p>
{histogram}
{tables}
</body></html>
"""
