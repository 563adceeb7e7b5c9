"""Run bitweft and its peers (all from PyPI) on the same files, each as a process of its own; score the links.

    python benchmarks/peers.py fast_align|hmm COUNT SOURCE TARGET FORWARD BACKWARD

is the child process for sil-thot: it learns from all pairs, and writes the links of the first COUNT.

Peers have their defaults, and learn both directions; their links are symmetrized by every heuristic that
bitweft knows, and the best on test is what a table shows: the choice favors them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from bitweft.links.alignment import Alignment
from bitweft.links.evaluate import Score, evaluate
from bitweft.links.formats.registry import read_alignments, write_alignments
from bitweft.links.symmetrize import HEURISTICS, symmetrize_all
from bitweft.storage.output import open_output
from bitweft.text.bitext import Bitext
from cells import recipe_key
from corpora import MEASURED, Sample, gold_of, part_of
from measuring import Cost, measure, python
from reporting import INSTALL, NOT_INSTALLED, installed_version
from smt_links import thot_directions

PACKAGES = {"eflomal": "eflomal", "fast_align": "sil-thot", "hmm": "sil-thot", "thot_eflomal": "sil-thot"}
SYSTEMS = ("bitweft", *PACKAGES)
DIRECTIONS = ("forward", "backward")


@dataclass(frozen=True)
class Run:
    """Hold what a run of a system made, and what it cost."""

    cost: Cost
    links: dict[str, list[Alignment]]  # by heuristic; bitweft's own are `default`
    directions: dict[str, list[Alignment]] = field(default_factory=dict)  # of peers


def system_key(system: str) -> dict[str, Any]:
    """Give what the links of a system depend on besides text and seed."""
    return recipe_key() if system == "bitweft" else {"version": installed_version(PACKAGES[system])}


def installed(system: str) -> bool:
    """Tell whether a system can be run here."""
    return system == "bitweft" or installed_version(PACKAGES[system]) != NOT_INSTALLED


def require_installed(systems: Iterable[str]) -> None:
    """Make sure that systems can be run, before anything runs; end the script, saying how, if not."""
    missing = [system for system in systems if not installed(system)]
    if missing:
        said = ", ".join(f"{system} (package {PACKAGES[system]})" for system in missing)
        raise SystemExit(f"not installed: {said}. {INSTALL}")


def command(
    system: str,
    sample: Sample,
    directory: Path,
    *,
    seed: int,
    threads: int,
    count: int | None = None,
    bitweft: Sequence[str] = (),
) -> list[str]:
    """Give the command that aligns a text, all of it or (sil-thot) so many pairs, by a system's defaults."""
    links = [str(directory / name) for name in DIRECTIONS]
    if system == "bitweft":
        options = ["-q", "--force", "--seed", str(seed), "--threads", str(threads), "-o", links[0]]
        return [*(bitweft or python("-m", "bitweft")), "align", *sample.files, *options]
    if system == "eflomal":
        script = Path(sys.executable).with_name("eflomal-align")
        source, target = sample.files
        ends = ["-f", links[0], "-r", links[1], "--overwrite"]
        return python(str(script), "-s", source, "-t", target, *ends)
    return python(__file__, system, str(count or sample.pairs), *sample.files, *links)


def run(
    system: str,
    sample: Sample,
    directory: Path,
    *,
    seed: int = 1,
    threads: int = 1,
    resume: bool = False,
    bitweft: Sequence[str] = (),
) -> Run:
    """Align a text by a system in a process of its own; keep the links of test and dev.

    `bitweft` is how bitweft is called, if not as usual.

    With `resume`, when its cost is of no interest, sil-thot does not align what is not measured, nor do again
    what a run that was stopped has left in the directory.
    """
    directory.mkdir(parents=True, exist_ok=True)
    measured = sample.parts["train"].start
    count = measured if resume and PACKAGES.get(system) == "sil-thot" else sample.pairs
    names = DIRECTIONS[:1] if system == "bitweft" else DIRECTIONS
    for name in () if resume else names:
        (directory / name).unlink(missing_ok=True)
    order = command(system, sample, directory, seed=seed, threads=threads, count=count, bitweft=bitweft)
    cost = measure(order, threads=threads, log=directory / f"{system}.log")
    found = [_first(directory / name, measured, count) for name in names]
    if system == "bitweft":
        return Run(cost, {"default": found[0]})
    forward, backward = found
    links = {name: list(symmetrize_all(forward, backward, name)) for name in HEURISTICS}
    return Run(cost, links, dict(zip(DIRECTIONS, found, strict=True)))


def _first(path: Path, count: int, lines: int) -> list[Alignment]:
    """Read the first links of a file that must have a line for each pair."""
    with open(path, "rb") as stream:
        number = sum(1 for _ in stream)
    if number != lines:
        raise RuntimeError(f"{path}: {number:,} lines for {lines:,} pairs")
    return list(islice(read_alignments(path, "pharaoh"), count))


def warm_up(sample: Sample, directory: Path) -> None:
    """Let bitweft compile its inner loops, as it does once per installation, before anything is timed."""
    run("bitweft", sample, directory)


def figures(score: Score) -> dict[str, float]:
    """Give what tables show of a score, in per cent."""
    return {name: round(100 * getattr(score, name), 3) for name in ("aer", "precision", "recall", "f1")}


def scores(found: Run, sample: Sample, text: str) -> dict[str, Any]:
    """Score test and dev by each heuristic."""
    return {
        part: {
            heuristic: figures(evaluate(part_of(links, sample, part), gold_of(text, part)))
            for heuristic, links in found.links.items()
        }
        for part in MEASURED
    }


def best_heuristic(cells: Sequence[dict[str, Any]]) -> str:
    """Find the heuristic that has the lowest mean AER on test over the seeds of one row."""
    names: dict[str, Any] = cells[0]["scores"]["test"]
    return min(names, key=lambda name: sum(cell["scores"]["test"][name]["aer"] for cell in cells))


def main(arguments: Sequence[str]) -> None:
    """Write the links of both directions of a peer from sil-thot; one that is there already is left alone."""
    system, count, source, target, *outputs = arguments
    ways = thot_directions(Bitext(source, target), system)
    for path, links in zip(outputs, ways, strict=True):
        if not Path(path).exists():
            with open_output(path) as stream:
                write_alignments(stream, islice(links, int(count)))


if __name__ == "__main__":
    main(sys.argv[1:])
