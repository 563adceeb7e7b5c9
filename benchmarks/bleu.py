"""BLEU of phrase-based systems that differ in their word alignments alone (the paper's table 6).

    python benchmarks/bleu.py                              100,000 pairs, sil-thot's decoder
    python benchmarks/bleu.py --pairs 2000 --runs 1 --systems eflomal fast_align
    python benchmarks/bleu.py --moses ~/mosesdecoder       Moses' decoder and MERT, as in the paper

Each system: links of the training text, weft's phrase tables, a language model of the target side, weights
tuned on mt-tune as often as --runs says (each run with its own seed), mt-test translated, sacreBLEU. Every
step is kept under a key of all that it depends on, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from mert import tune
from moses_system import Moses
from smt_links import eflomal_links, fast_align_links
from weft.alignment import Alignment
from weft.dialects import read_alignments, write_alignments
from weft.lexicon import Lexicon
from weft.phrases import escape, unescape, write_phrase_tables
from weft.text import Bitext

ROOT = Path(__file__).resolve().parents[1]
LONGEST, RATIO = 80, 9  # what Moses' clean-corpus-n.perl keeps
LANGUAGES = ("en", "fr")


def weft_links(recipe: str) -> Callable[[Bitext], Iterator[Alignment]]:
    """Give the function that trains weft on a text by the named recipe and aligns it."""

    def links(text: Bitext) -> Iterator[Alignment]:
        from weft.aligner import Aligner  # here, because it brings PyTorch

        return Aligner(recipe, seed=1).fit(text).align(text)

    return links


LINKERS: dict[str, tuple[str, Callable[[Bitext], Iterator[Alignment]]]] = {
    "weft-default": ("weft", weft_links("default")),
    "weft-paper": ("weft", weft_links("paper")),
    "eflomal": ("eflomal", eflomal_links),
    "fast_align": ("sil-thot", fast_align_links),
}


class Cache:
    """Keep the directory that each step makes under a key of what it depends on."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def step(self, name: str, depends: dict[str, Any], make: Callable[[Path], None]) -> Path:
        """Give the directory of a step, made now if it is not there; it appears whole or not at all."""
        key = hashlib.sha256(json.dumps(depends, sort_keys=True, default=str).encode()).hexdigest()[:16]
        path = self._directory / f"{name}-{key}"
        if path.exists():
            return path
        with self._new(path) as partial:
            began = time.perf_counter()
            say(f"{name} …")
            make(partial)
            say(f"{name}: {time.perf_counter() - began:,.0f} s")
            (partial / "step.json").write_text(json.dumps(depends, indent=1, default=str), encoding="utf-8")
        return path

    @contextmanager
    def _new(self, path: Path) -> Iterator[Path]:
        self._directory.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=self._directory))
        try:
            yield partial
            os.replace(partial, path)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def say(text: str) -> None:
    """Tell on standard error what goes on."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def prepare(data: Path, pairs: int, held: int | None, output: Path) -> None:
    """Write lower-cased text with Moses' escapes: training pairs that are not too long, tune and test."""
    with (
        lzma.open(data / "train.en.xz", "rt", encoding="utf-8", newline="\n") as source,
        lzma.open(data / "train.fr.xz", "rt", encoding="utf-8", newline="\n") as target,
        open(output / "train.en", "w", encoding="utf-8", newline="\n") as first,
        open(output / "train.fr", "w", encoding="utf-8", newline="\n") as second,
    ):
        lines = islice(zip(source, target, strict=True), pairs)
        for s, t in filter(_fits, ((_escaped(s), _escaped(t)) for s, t in lines)):
            first.write(s + "\n")
            second.write(t + "\n")
    for part in ("mt-tune", "mt-test"):
        for language in LANGUAGES:
            lines_of = (data / f"{part}.{language}").read_text(encoding="utf-8").split("\n")[:-1][:held]
            text = "".join(_escaped(line) + "\n" for line in lines_of)
            (output / f"{part}.{language}").write_text(text, encoding="utf-8", newline="\n")


def _escaped(line: str) -> str:
    return " ".join(escape(word) for word in line.lower().split())


def _fits(pair: tuple[str, str]) -> bool:
    short, long = sorted(len(side.split()) for side in pair)
    return short > 0 and long <= LONGEST and long <= RATIO * short


def read_lines(path: Path) -> list[str]:
    """Read the lines of a text."""
    return path.read_text(encoding="utf-8").split("\n")[:-1]


@dataclass(frozen=True)
class Experiment:
    """Hold what all systems share."""

    cache: Cache
    text: Path
    runs: int
    rounds: int
    moses: Moses | None

    @property
    def bitext(self) -> Bitext:
        """Open the training text."""
        return Bitext(*(self.text / f"train.{language}" for language in LANGUAGES))

    def links(self, name: str) -> Path:
        """Align the training text."""
        package, link = LINKERS[name]

        def make(directory: Path) -> None:
            with open(directory / "links", "w", encoding="utf-8", newline="\n") as stream:
                write_alignments(stream, link(self.bitext))

        depends = {"text": self.text, "system": name, "version": version(package)}
        return self.cache.step(f"links-{name}", depends, make) / "links"

    def tables(self, links: Path) -> Path:
        """Extract and score phrases."""

        def make(directory: Path) -> None:
            say(str(write_phrase_tables(self.bitext, _Walk(links), directory / "model")))

        return self.cache.step("phrases", {"links": links, "version": version("weft")}, make) / "model"

    def language_model(self) -> Path:
        """Train the language model of the target side, the same for all systems."""
        text = self.text / "train.fr"

        def make(directory: Path) -> None:
            if self.moses is not None:
                self.moses.train_language_model(text, directory / "lm.arpa")
            else:
                from thot_system import tune_language_model, write_language_model

                write_language_model((line.split() for line in read_lines(text)), directory / "lm")
                held = [line.split() for line in read_lines(self.text / "mt-tune.fr")]
                say(
                    f"language model: perplexity {tune_language_model(directory / 'lm', held):.1f} on mt-tune"
                )

        kind = "thot" if self.moses is None else f"kenlm of {self.moses.directory}, order {self.moses.order}"
        made = self.cache.step("language-model", {"text": text, "kind": kind, "tuned": True}, make)
        return made / ("lm" if self.moses is None else "lm.arpa")

    def translations(self, links: Path) -> list[Path]:
        """Tune and translate, once for each run; each directory holds `output` and `tuning.json`."""
        system = self._moses_run if self.moses is not None else self._thot_run
        return system(links, self.tables(links), self.language_model())

    def _thot_run(self, links: Path, tables: Path, language_model: Path) -> list[Path]:
        import thot_system

        def make_model(directory: Path) -> None:
            lexicon = Lexicon.count(self.bitext, _Walk(links))
            pairs = [(pair.source.tokens, pair.target.tokens) for pair in self.bitext]
            table = tables / "phrase-table.gz"
            thot_system.write_translation_model(table, lexicon, pairs, directory / "tm")

        depends = {"tables": tables, "version": version("sil-thot")}
        model = self.cache.step("thot-model", depends, make_model) / "tm"
        source, reference = (read_lines(self.text / f"mt-tune.{language}") for language in LANGUAGES)

        def run(directory: Path, seed: int) -> None:
            system = thot_system.ThotSystem(model, language_model)
            weights, history = tune(
                lambda weights: system.candidates(source, weights),
                [line.split() for line in reference],
                thot_system.START,
                fixed=thot_system.FIXED,
                rounds=self.rounds,
                seed=seed,
            )
            record = {"weights": weights.tolist(), "bleu": history}
            (directory / "tuning.json").write_text(json.dumps(record), encoding="utf-8")
            lines = system.translate(read_lines(self.text / "mt-test.en"), weights)
            (directory / "output").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

        shared = {
            "model": model,
            "language_model": language_model,
            "rounds": self.rounds,
            "text": self.text,
            "start": thot_system.START,
        }
        return self._each_run("thot-run", shared, run)

    def _moses_run(self, links: Path, tables: Path, language_model: Path) -> list[Path]:
        moses = self.moses
        assert moses is not None

        def run(directory: Path, seed: int) -> None:
            moses.configure(tables, language_model, directory / "start.ini")
            source, reference = (self.text / f"mt-tune.{language}" for language in LANGUAGES)
            tuned = moses.tune(directory / "start.ini", source, reference, directory / "mert", seed=seed)
            (directory / "tuning.json").write_text(json.dumps({"ini": tuned.read_text()}), encoding="utf-8")
            moses.translate(tuned, self.text / "mt-test.en", directory / "output")

        shared = {"tables": tables, "language_model": language_model, "moses": moses.directory}
        return self._each_run("moses-run", {**shared, "text": self.text}, run)

    def _each_run(self, name: str, shared: dict[str, Any], run: Callable[[Path, int], None]) -> list[Path]:
        def step(seed: int) -> Path:
            return self.cache.step(name, {**shared, "seed": seed}, lambda directory: run(directory, seed))

        return [step(seed) for seed in range(1, self.runs + 1)]


class _Walk:
    """Walk a file of links as often as wanted."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Alignment]:
        return read_alignments(self._path, "pharaoh")


def score(outputs: Sequence[Sequence[str]], references: Sequence[str]) -> tuple[list[float], str]:
    """Compute sacreBLEU of each output, and its signature; the text is tokenised already."""
    from sacrebleu.metrics.bleu import BLEU

    plain = [unescape(line) for line in references]
    scores = []
    for lines in outputs:
        metric = BLEU(tokenize="none", force=True)
        scores.append(metric.corpus_score([unescape(line) for line in lines], [plain]).score)
    return scores, str(metric.get_signature())


def measure(experiment: Experiment, name: str) -> dict[str, Any]:
    """Train, tune, translate and score one system."""
    links = experiment.links(name)
    directories = experiment.translations(links)
    references = read_lines(experiment.text / "mt-test.fr")
    outputs = [read_lines(directory / "output") for directory in directories]
    for directory, lines in zip(directories, outputs, strict=True):
        if len(lines) != len(references):
            raise RuntimeError(f"{directory}: {len(lines)} lines for {len(references)} sentences")
    scores, signature = score(outputs, references)
    deviation = statistics.stdev(scores) if len(scores) > 1 else None
    say(f"{name}: BLEU {statistics.mean(scores):.2f}")
    return {
        "system": name,
        "version": version(LINKERS[name][0]),
        "bleu": scores,
        "mean": statistics.mean(scores),
        "deviation": deviation,
        "signature": signature,
    }


def markdown(report: dict[str, Any]) -> str:
    """Set the results as a table, with what they stand on."""
    rows = [
        f"| {row['system']} | {row['mean']:.2f} | "
        + ("" if row["deviation"] is None else f"{row['deviation']:.2f}")
        + f" | {', '.join(f'{value:.2f}' for value in row['bleu'])} |"
        for row in report["systems"]
    ]
    return "\n".join(
        [
            f"English-French, {report['kept']:,} of the first {report['pairs']:,} pairs, lower-cased;",
            f"{report['decoder']}; {report['runs']} tuning runs; {report['date']}.",
            f"sacreBLEU `{report['systems'][0]['signature']}`",
            "",
            "| links | BLEU | deviation | runs |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = os.environ.get("WEFT_DATA", ROOT.parent / "shared" / "data")
    parser.add_argument(
        "--data", type=Path, default=Path(data), help="directory that holds en-fr (WEFT_DATA)"
    )
    parser.add_argument("--pairs", type=int, default=100_000, help="training pairs (%(default)s)")
    parser.add_argument("--held", type=int, help="sentences of mt-tune and mt-test to use (all)")
    parser.add_argument("--runs", type=int, default=5, help="tuning runs (%(default)s)")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of tuning at most (%(default)s)")
    parser.add_argument("--systems", nargs="+", choices=LINKERS, default=list(LINKERS), help="links (all)")
    parser.add_argument("--moses", type=Path, metavar="DIR", help="use this Moses installation")
    parser.add_argument("--threads", type=int, default=1, help="threads of Moses' decoder (%(default)s)")
    parser.add_argument("--cache", type=Path, default=ROOT / "benchmarks" / "cache" / "bleu")
    parser.add_argument("-o", "--output", type=Path, metavar="PREFIX", help="write PREFIX.json and PREFIX.md")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and report as Markdown and JSON."""
    args = arguments(argv)
    moses = None if args.moses is None else Moses(args.moses, threads=args.threads)
    if moses is not None and (missing := moses.missing()):
        say(f"{args.moses}: not a Moses installation, without {', '.join(missing)}")
        return 1
    if not (args.data / "en-fr" / "mt-test.fr").exists():
        say(f"{args.data / 'en-fr'}: no such text; name its directory with --data or WEFT_DATA")
        return 1
    cache = Cache(args.cache)
    depends = {"data": args.data.resolve(), "pairs": args.pairs, "held": args.held}
    text = cache.step("text", depends, lambda path: prepare(args.data / "en-fr", args.pairs, args.held, path))
    experiment = Experiment(cache, text, args.runs, args.rounds, moses)
    report = {
        "pairs": args.pairs,
        "kept": len(read_lines(text / "train.en")),
        "runs": args.runs,
        "decoder": f"sil-thot {version('sil-thot')}" if moses is None else f"Moses in {args.moses}",
        "date": time.strftime("%Y-%m-%d"),
        "systems": [measure(experiment, name) for name in args.systems],
    }
    print(markdown(report))
    if args.output is not None:
        Path(f"{args.output}.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        Path(f"{args.output}.md").write_text(markdown(report), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
