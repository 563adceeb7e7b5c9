"""Projection measured: names of en-it/ner, tags and trees of ud-pud, by bitweft's links and by eflomal's.

    python benchmarks/projection.py --docs
    python benchmarks/projection.py --texts ner fr --pairs 20000 --systems bitweft
    python benchmarks/projection.py --texts ner --work DIR     models and eflomal's links are kept in DIR

The models learn from the measured text itself (without its annotation) and the first training pairs of the
language pair. Both systems' links go through the same rules (`bitweft project`); eflomal's are symmetrized by
every heuristic named below, and the table shows the best for it. Names: exact spans and labels, per cent of
F1. The ceiling is what the labels allow: with every name projected, as many of each label in a sentence as
both sides have; and the same when names without a counterpart are given up, too. Writes projection.json and
projection.md, where the figures of texts and systems that were not run stay; with --docs also the table of
docs/projection.md.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from bitweft.aligner import Aligner
from bitweft.corpus.project.conll import Conll
from bitweft.corpus.project.conllu import Conllu
from bitweft.corpus.project.job import matrix_of, weights_by
from bitweft.corpus.project.records import Record, Span, Weights
from bitweft.corpus.project.spans import project_spans
from bitweft.corpus.project.trees import Treebank
from bitweft.links.formats.registry import read_alignments
from bitweft.links.symmetrize import symmetrize_all
from bitweft.text.bitext import Bitext, SentencePair
from bitweft.text.lines import LineFile
from bitweft.text.tokenize import by_space
from corpora import DATA, NoDataError, lines
from reporting import new_parser, parse, publish, read_results, surroundings, table, write_json

HEURISTICS = ("intersection", "grow-diag", "grow-diag-final-and")
TEXTS = {
    "ner": "en-it",
    "fr": "en-fr",
    "it": "en-it",
    "cs": "en-cs",
}  # what is measured, where pairs are from
Matrices = list[Weights]
Figures = dict[str, dict[str, float]]  # of what, then by system


@dataclass(frozen=True)
class Measured:
    """Hold both sides of a measured text, each with its annotation made by hand."""

    source: list[Record]
    target: list[Record]

    @property
    def pairs(self) -> list[SentencePair]:
        """Give the sentences alone."""
        sides = zip(self.source, self.target, strict=True)
        return [SentencePair(source.sentence, target.sentence) for source, target in sides]

    def reversed(self) -> Measured:
        """Swap the sides."""
        return Measured(self.target, self.source)


def read(name: str, data: Path) -> Measured:
    """Read the names, or the English treebank and another."""
    format = Conll() if name == "ner" else Conllu()
    folder, ending = ("en-it/ner", "conll") if name == "ner" else ("ud-pud", "conllu")
    paths = [data / folder / f"{language}.{ending}" for language in ("en", "it" if name == "ner" else name)]
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise NoDataError(f"no file {missing}; set WEFT_DATA to the directory that holds the data")
    source, target = (list(format.annotated(LineFile(path), by_space)) for path in paths)
    return Measured(source, target)


def write_sides(name: str, measured: Measured, pairs: int, data: Path, directory: Path) -> tuple[Path, Path]:
    """Write what is learned from: the measured sentences, then training pairs."""
    text = TEXTS[name]
    paths = directory / "text.s", directory / "text.t"
    for side, (path, language) in enumerate(zip(paths, text.split("-"), strict=True)):
        with open(path, "w", encoding="utf-8", newline="\n") as stream:
            for pair in measured.pairs:
                stream.write(" ".join(token.replace(" ", "_") for token in pair[side].tokens) + "\n")
            for line in lines(data / text / f"train.{language}.xz", pairs):
                stream.write(line + "\n")
    return paths


def bitweft_links(paths: tuple[Path, Path], measured: Measured) -> dict[str, Matrices]:
    """Learn by the default recipe, and give the probability of every link."""
    kept = paths[0].with_name("model")
    if not kept.exists():
        Aligner(threads=1).fit(Bitext(*paths)).save(kept)
    aligner = Aligner.load(kept, threads=1)
    return {"posteriors": [weights_by(aligner, pair) for pair in measured.pairs]}


def eflomal_links(paths: tuple[Path, Path], measured: Measured) -> dict[str, Matrices]:
    """Align by eflomal's defaults in both directions, and symmetrize."""
    found = [paths[0].with_name(name) for name in ("forward", "backward")]
    script = Path(sys.executable).with_name("eflomal-align")
    text = ["-s", str(paths[0]), "-t", str(paths[1])]
    ends = ["-f", str(found[0]), "-r", str(found[1]), "--overwrite"]
    if not all(path.exists() for path in found):
        subprocess.run([sys.executable, str(script), *text, *ends], check=True, capture_output=True)
    forward, backward = (
        list(islice(read_alignments(path, "pharaoh"), len(measured.pairs))) for path in found
    )
    return {
        name: [
            matrix_of(links, pair)
            for links, pair in zip(symmetrize_all(forward, backward, name), measured.pairs, strict=True)
        ]
        for name in HEURISTICS
    }


SYSTEMS: dict[str, Callable[[tuple[Path, Path], Measured], dict[str, Matrices]]] = {
    "bitweft": bitweft_links,
    "eflomal": eflomal_links,
}


def f1(right: int, found: int, gold: int) -> float:
    """Give F1 in per cent."""
    return 200 * right / (found + gold) if found + gold else 0.0


def score_names(measured: Measured, matrices: Matrices) -> float:
    """Give the F1 of projected names."""
    right = found = 0
    for source, target, weights in zip(measured.source, measured.target, matrices, strict=True):
        words = source.sentence.tokens, target.sentence.tokens
        placed = [each.target for each in project_spans(source.spans, weights, *words)]
        spans = Counter(span for span in placed if span is not None)
        found += sum(spans.values())
        right += sum((spans & Counter(target.spans)).values())
    return f1(right, found, sum(len(target.spans) for target in measured.target))


def ceilings(measured: Measured) -> tuple[float, float]:
    """Give the best F1 there can be: with every name projected, and with the right ones given up."""

    def labels(spans: Sequence[Span]) -> Counter[str]:
        return Counter(span.label for span in spans)

    sides = list(zip(measured.source, measured.target, strict=True))
    both = sum(sum((labels(source.spans) & labels(target.spans)).values()) for source, target in sides)
    source, target = (sum(len(record.spans) for record in side) for side in zip(*sides, strict=True))
    return f1(both, source, target), f1(both, both, target)


def score_trees(measured: Measured, matrices: Matrices) -> tuple[float, float]:
    """Give the accuracy of projected UPOS, and the unlabeled attachment score, over all words."""
    treebank = Treebank()
    sides = list(zip(measured.source, measured.target, matrices, strict=True))
    for source, target, weights in sides:
        treebank.observe(source.source.words, target.sentence.tokens, weights)
    tags = heads = words = 0
    for source, target, weights in sides:
        found = treebank.carry(source.source.words, target.sentence.tokens, weights)
        for carried, gold in zip(found, target.source.words, strict=True):
            words += 1
            tags += carried.word.tag == gold.tag
            heads += carried.word.head == gold.head
    return 100 * tags / words, 100 * heads / words


def figures(name: str, measured: Measured, links: dict[str, dict[str, Matrices]]) -> Figures:
    """Measure one text; of several heuristics the best counts."""
    found: Figures = {}
    if name == "ner":
        for direction, side in (("en→it", measured), ("it→en", measured.reversed())):
            own = found[f"names {direction}, F1"] = {}
            for system, kinds in links.items():
                turned = [[w if side is measured else w.T for w in matrices] for matrices in kinds.values()]
                own[system] = max(score_names(side, matrices) for matrices in turned)
            own["ceiling"], own["ceiling, given up"] = ceilings(side)
        return found
    for system, kinds in links.items():
        scores = [score_trees(measured, matrices) for matrices in kinds.values()]
        for place, what in enumerate(("UPOS", "UAS")):
            found.setdefault(f"{what} en→{name}", {})[system] = max(score[place] for score in scores)
    return found


def markdown(results: Figures) -> str:
    """Write the table: a dash for what was not run."""

    def shown(own: dict[str, float], *systems: str) -> str:
        return " / ".join(f"{own[name]:.1f}" for name in systems if name in own) or "–"

    lines = [
        [what, *(shown(own, system) for system in SYSTEMS), shown(own, "ceiling", "ceiling, given up")]
        for what, own in results.items()
    ]
    return table(["", *SYSTEMS, "ceiling"], lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = new_parser(__doc__)
    parser.add_argument("--texts", nargs="+", choices=tuple(TEXTS), default=tuple(TEXTS))
    parser.add_argument("--systems", nargs="+", choices=tuple(SYSTEMS), default=tuple(SYSTEMS))
    parser.add_argument("--pairs", type=int, metavar="N", help="training pairs (50,000 for names, 25,000)")
    parser.add_argument("--data", type=Path, default=DATA, help="where the texts are")
    parser.add_argument("--work", type=Path, metavar="DIR", help="keep models and links, and use those kept")
    args = parse(parser, arguments, page="docs/projection.md")
    path = args.output / "projection.json"
    kept: Figures = read_results(path)["figures"] if path.exists() else {}
    for name in () if args.publish else args.texts:
        measured = read(name, args.data)
        pairs = args.pairs or (50_000 if name == "ner" else 25_000)
        with TemporaryDirectory() as temporary:
            directory = (args.work or Path(temporary)) / f"{name}-{pairs}"
            directory.mkdir(parents=True, exist_ok=True)
            paths = write_sides(name, measured, pairs, args.data, directory)
            links = {system: SYSTEMS[system](paths, measured) for system in args.systems}
        for what, own in figures(name, measured, links).items():
            kept[what] = {**kept.get(what, {}), **{system: round(value, 2) for system, value in own.items()}}
        write_json(path, {"figures": kept, **surroundings()})
    publish(path, markdown(read_results(path)["figures"]), args.page)


if __name__ == "__main__":
    main()
