"""How well are pairs told from damaged ones? bitweft's quality and score, eflomal's scores, lengths.

    python benchmarks/filtering.py --docs
    python benchmarks/filtering.py en-fr:50k --systems bitweft length

Blocks of 20 lines of the training text are held out, one of 25; systems learn from the rest. Each held pair
is damaged in every way of `DAMAGES`, as the trainers of filters do. ROC-AUC is the chance that a good pair
is ranked above a damaged one; false accepts are the damaged pairs left when 95 % of the good ones are kept.

eflomal learns from the same text, makes priors of its links, and scores good and damaged pairs together, by
these priors; its two directions are averaged. Writes filtering.json and filtering.md, where the figures of
rows and systems that were not run stay; with --docs also the table of docs/filtering.md.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import numpy as np
from scipy.stats import rankdata

from bitweft.aligner import Aligner
from bitweft.corpus.filter import Judge
from corpora import Row, pairs_of, require
from peers import require_installed
from reporting import new_parser, parse, publish, read_results, say, surroundings, write_json
from reporting import table as markdown_table

Words: TypeAlias = list[str]
Pair: TypeAlias = tuple[Words, Words]
RowFigures: TypeAlias = dict[str, dict[str, dict[str, float]]]  # by column, then by damage
Damage: TypeAlias = Callable[[random.Random, "Text", int], Pair]

BLOCK, EVERY, HELD = 20, 25, 12
RECALL = 0.95
ROWS = ("ro-en", "en-fr:50k", "en-cs:50k", "grc-en")
COLUMNS = ("bitweft quality", "bitweft score", "eflomal", "length ratio")


@dataclass(frozen=True)
class Text:
    """Hold the text to learn from, and the pairs held out of it."""

    train: list[Pair]
    held: list[Pair]

    @classmethod
    def of(cls, row: Row) -> Text:
        """Part a language pair."""
        train: list[Pair] = []
        held: list[Pair] = []
        for number, (source, target) in enumerate(pairs_of(row.text, "train", row.pairs)):
            pair = (source.split(), target.split())
            if all(pair):
                (held if number // BLOCK % EVERY == HELD else train).append(pair)
        return cls(train, held)


def cut(draw: random.Random, text: Text, place: int) -> Pair:
    """Keep 30 to 70 % of one side: its beginning or its end."""
    pair = list(text.held[place])
    side = draw.randrange(2)
    words = pair[side]
    size = max(1, round(len(words) * draw.uniform(0.3, 0.7)))
    start = draw.choice((0, len(words) - size))
    pair[side] = words[start : start + size]
    return pair[0], pair[1]


def replaced(draw: random.Random, text: Text, place: int) -> Pair:
    """Put words of other sentences for 30 to 70 % of the target words."""
    source, target = text.held[place]
    size = max(1, round(len(target) * draw.uniform(0.3, 0.7)))
    changed = list(target)
    for n in draw.sample(range(len(target)), size):
        changed[n] = draw.choice(draw.choice(text.train)[1])
    return source, changed


def neighbors(draw: random.Random, text: Text, place: int) -> Pair:
    """Take the target of a line nearby."""
    step = draw.choice((-3, -2, -1, 1, 2, 3))
    other = place + step if 0 <= place + step < len(text.held) else place - step
    return text.held[place][0], text.held[other][1]


def wrong(draw: random.Random, text: Text, place: int) -> Pair:
    """Take a target of like length from anywhere."""
    source, target = text.held[place]
    drawn = (draw.choice(text.held)[1] for _ in range(200))
    others = [other for other in drawn if other != target]
    return source, min(others, key=lambda other: abs(len(other) - len(target)))


def copies(draw: random.Random, text: Text, place: int) -> Pair:
    """Put one side on both."""
    words = text.held[place][draw.randrange(2)]
    return words, words


def shuffled(draw: random.Random, text: Text, place: int) -> Pair:
    """Shuffle the target words."""
    source, target = text.held[place]
    return source, draw.sample(target, len(target))


DAMAGES: dict[str, Damage] = {
    "cut": cut,
    "replaced words": replaced,
    "neighboring lines": neighbors,
    "wrong partners": wrong,
    "copies": copies,
    "shuffled words": shuffled,
}


def damaged(text: Text, seed: int = 1) -> dict[str, list[Pair]]:
    """Damage every held pair in every way."""
    found = {}
    for name, damage in DAMAGES.items():
        draw = random.Random(f"{seed} {name}")
        found[name] = [damage(draw, text, place) for place in range(len(text.held))]
    return found


def auc(good: Sequence[float], bad: Sequence[float]) -> float:
    """Return the chance that a good pair has the higher score; half of the ties count."""
    ranks = rankdata(np.concatenate([good, bad]))[: len(good)]
    return float((ranks.sum() - len(good) * (len(good) + 1) / 2) / (len(good) * len(bad)))


def false_accepts(good: Sequence[float], bad: Sequence[float]) -> float:
    """Return the share of bad pairs that are kept with 95 % of the good ones."""
    return float((np.asarray(bad) >= np.quantile(good, 1 - RECALL)).mean())


Scores: TypeAlias = dict[str, tuple[list[float], list[float]]]  # by damage: of the good, of the damaged


def by_bitweft(text: Text, bad: dict[str, list[Pair]]) -> dict[str, Scores]:
    """Score by a model of bitweft."""
    judge = Judge(Aligner(seed=1, threads=1).fit(text.train))
    good = list(judge.judge(text.held))
    found: dict[str, Scores] = {"bitweft quality": {}, "bitweft score": {}}
    for name, pairs in bad.items():
        own = list(judge.judge(pairs))
        found["bitweft quality"][name] = [one.quality for one in good], [one.quality for one in own]
        found["bitweft score"][name] = [one.score for one in good], [one.score for one in own]
    return found


def by_length(text: Text, bad: dict[str, list[Pair]]) -> dict[str, Scores]:
    """Score by the ratio of the lengths in characters, against that of the text."""
    usual = np.median([_log_ratio(pair) for pair in text.train])
    scores = {
        name: [-abs(_log_ratio(pair) - usual) for pair in pairs]
        for name, pairs in {"": text.held, **bad}.items()
    }
    return {"length ratio": {name: (scores[""], scores[name]) for name in bad}}


def _log_ratio(pair: Pair) -> float:
    source, target = (1 + sum(map(len, words)) for words in pair)
    return float(np.log(target / source))


def by_eflomal(text: Text, bad: dict[str, list[Pair]]) -> dict[str, Scores]:
    """Score by eflomal, with priors from the text: lower is better there, so the sign is changed."""
    with TemporaryDirectory() as directory:
        return {"eflomal": _eflomal_scores(text, bad, Path(directory))}


def _eflomal_scores(text: Text, bad: dict[str, list[Pair]], directory: Path) -> Scores:
    commands = Path(sys.executable).parent
    files = _write(text.train, directory / "train")
    links = [str(directory / name) for name in ("forward", "backward")]
    priors = str(directory / "priors")
    ends = ["-f", links[0], "-r", links[1]]
    _run(commands / "eflomal-align", "-s", files[0], "-t", files[1], *ends, "--overwrite")
    _run(commands / "eflomal-makepriors", "-s", files[0], "-t", files[1], *ends, "-p", priors)
    found: Scores = {}
    for name, pairs in bad.items():
        files = _write([*text.held, *pairs], directory / "scored")
        ends = ["-F", links[0], "-R", links[1], "-p", priors, "--overwrite"]
        _run(commands / "eflomal-align", "-s", files[0], "-t", files[1], *ends)
        both = [np.array(Path(path).read_text(encoding="utf-8").split(), float) for path in links]
        scores = (-(both[0] + both[1]) / 2).tolist()
        found[name] = scores[: len(text.held)], scores[len(text.held) :]
    return found


def _write(pairs: Sequence[Pair], path: Path) -> list[str]:
    paths = [path.with_suffix(f".{side}") for side in ("source", "target")]
    for side, own in enumerate(paths):
        own.write_text("".join(" ".join(pair[side]) + "\n" for pair in pairs), encoding="utf-8")
    return [str(own) for own in paths]


def _run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


SYSTEMS: dict[str, Callable[[Text, dict[str, list[Pair]]], dict[str, Scores]]] = {
    "bitweft": by_bitweft,
    "eflomal": by_eflomal,
    "length": by_length,
}


def measure(row: Row, systems: Sequence[str]) -> RowFigures:
    """Measure systems on every damage: column -> damage -> figures."""
    text = Text.of(row)
    bad = damaged(text)
    return {
        column: {
            name: {"auc": round(auc(*scores), 4), "false_accepts": round(false_accepts(*scores), 4)}
            for name, scores in own.items()
        }
        for system in systems
        for column, own in SYSTEMS[system](text, bad).items()
    }


def table(results: Mapping[str, RowFigures]) -> str:
    """Write the figures as a table: AUC, and false accepts in per cent; a dash for what was not run."""
    columns = [name for name in COLUMNS if any(name in own for own in results.values())]

    def shown(figures: dict[str, float] | None) -> str:
        return f"{figures['auc']:.4f}, {100 * figures['false_accepts']:.1f} %" if figures else "–"

    lines = [
        [row, damage, *(shown(own.get(column, {}).get(damage)) for column in columns)]
        for row, own in results.items()
        for damage in DAMAGES
    ]
    return markdown_table(["text", "damage", *columns], lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the rows asked for, print the table, and keep it."""
    parser = new_parser(__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"en-fr, en-fr:50k ({' '.join(ROWS)})")
    parser.add_argument("--systems", nargs="+", choices=tuple(SYSTEMS), default=tuple(SYSTEMS))
    args = parse(parser, arguments, page="docs/filtering.md")
    path = args.output / "filtering.json"
    kept: dict[str, RowFigures] = read_results(path)["figures"] if path.exists() else {}
    rows = [] if args.publish else [Row.parse(name) for name in args.rows or ROWS]
    require(row.text for row in rows)
    require_installed({"eflomal"} & set(args.systems) if rows else ())
    for row in rows:
        say(f"{row}: {', '.join(args.systems)}")
        kept[str(row)] = {**kept.get(str(row), {}), **measure(row, args.systems)}
        write_json(path, {"figures": kept, **surroundings()})
    publish(path, table(read_results(path)["figures"]), args.page)


if __name__ == "__main__":
    main()
