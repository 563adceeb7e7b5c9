"""A phrase-based system from links: text, tables, language model, tuning and translation, step by step.

Every step is a directory under a key of all that it depends on, so that what was stopped
goes on where it was.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bitweft.corpus.phrases import write_phrase_tables
from bitweft.links.alignment import Alignment
from bitweft.links.formats.registry import read_alignments, write_alignments
from bitweft.text.bitext import Bitext
from cells import digest, recipe_key
from mert import read_candidates, tune, write_candidates
from moses_system import Moses
from reporting import say, write_json, write_text
from smt_links import ENSEMBLE, LINKERS, Corpus, best_paper_settings
from smt_text import Task, read_lines


class Steps:
    """Keep the directory that each step makes under a key of what it depends on."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def step(self, name: str, depends: dict[str, Any], make: Callable[[Path], None]) -> Path:
        """Give the directory of a step, made now if it is not there; it appears whole or not at all."""
        path = self._directory / f"{name}-{digest(depends)}"
        if path.exists():
            return path
        with self._new(path) as partial:
            began = time.process_time()
            say(f"{name} …")
            make(partial)
            seconds = round(time.process_time() - began, 1)
            say(f"{name}: {seconds:,.0f} s of CPU time")
            write_json(partial / "step.json", {**depends, "cpu_seconds": seconds})
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


@dataclass(frozen=True)
class Experiment:
    """Hold what all systems share."""

    steps: Steps
    task: Task
    training: Path  # directories of text
    held: Path
    rounds: int
    moses: Moses | None = None

    @property
    def bitext(self) -> Bitext:
        """Open the training text."""
        return Bitext(*(self.training / f"train.{language}" for language in self.task.languages))

    @property
    def corpus(self) -> Corpus:
        """Open the training text as aligners want it, with its tags if it has any."""
        one, other = (self.training / f"train.{language}.pos" for language in self.task.languages)
        return Corpus(self.bitext, self.task.languages, (one, other) if one.exists() else None)

    def lines(self, part: str) -> tuple[list[str], list[str]]:
        """Read both sides of mt-tune or mt-test."""
        source, target = (read_lines(self.held / f"{part}.{language}") for language in self.task.languages)
        return source, target

    def links(self, name: str) -> Path:
        """Align the training text."""
        package, link = LINKERS[name]

        def make(directory: Path) -> None:
            with open(directory / "links", "w", encoding="utf-8", newline="\n") as stream:
                write_alignments(stream, link(self.corpus))

        own: dict[str, Any] = {"version": version(package)}
        if name.startswith("bitweft-"):
            own = recipe_key(name.split("-")[1])
        if name == ENSEMBLE:
            own["settings"] = best_paper_settings(self.task.languages)
        depends = {"text": self.training.name, "system": name, **own}
        return self.steps.step(f"links-{name}", depends, make) / "links"

    def tables(self, links: Path) -> Path:
        """Extract and score phrases, in Moses' formats."""

        def make(directory: Path) -> None:
            say(str(write_phrase_tables(self.bitext, _Walk(links), directory / "model")))

        depends = {"links": links.parent.name, "version": version("bitweft")}
        return self.steps.step("phrases", depends, make) / "model"

    def language_model(self) -> Path:
        """Train the language model of the target side, the same for all systems."""
        text = self.training / f"train.{self.task.target}"

        def make(directory: Path) -> None:
            if self.moses is not None:
                self.moses.train_language_model(text, directory / "lm.arpa")
                return
            from thot_system import tune_language_model, write_language_model

            write_language_model((line.split() for line in read_lines(text)), directory / "lm")
            held = [line.split() for line in self.lines("mt-tune")[1]]
            say(f"language model: perplexity {tune_language_model(directory / 'lm', held):.1f} on mt-tune")

        kind = "thot" if self.moses is None else f"kenlm of {self.moses.directory}, order {self.moses.order}"
        depends = {"text": self.training.name, "held": self.held.name, "kind": kind}
        made = self.steps.step("language-model", depends, make)
        return made / ("lm" if self.moses is None else "lm.arpa")

    def translation(self, links: Path, seed: int) -> Path:
        """Tune with a seed and translate; the directory holds `output` and `tuning.json`."""
        run = self._thot_run if self.moses is None else self._moses_run
        return run(links, self.language_model(), seed)

    def _thot_run(self, links: Path, language_model: Path, seed: int) -> Path:
        import thot_system

        source, reference = self.lines("mt-tune")
        test = self.lines("mt-test")[0]

        def make_model(directory: Path) -> None:
            wanted = thot_system.phrases_of([*source, *test])
            thot_system.write_translation_model(self.bitext, _Walk(links), wanted, directory / "tm")

        depends = {"links": links.parent.name, "held": self.held.name, "version": version("sil-thot")}
        model = self.steps.step("thot-model", depends, make_model) / "tm"

        shared = {
            "model": model.parent.name,
            "language_model": language_model.parent.name,
            "search": thot_system.SEARCH._asdict(),
            "start": thot_system.START,
        }

        def make_first(directory: Path) -> None:
            system = thot_system.ThotSystem(model, language_model)
            write_candidates(directory / "lists.json", system.candidates(source, thot_system.START))

        first = self.steps.step("thot-lists", shared, make_first)  # the same for every seed

        def make(directory: Path) -> None:
            system = thot_system.ThotSystem(model, language_model)
            weights, history = tune(
                lambda weights: system.candidates(source, weights),
                [line.split() for line in reference],
                thot_system.START,
                first=read_candidates(first / "lists.json"),
                fixed=thot_system.FIXED,
                rounds=self.rounds,
                seed=seed,
            )
            write_json(directory / "tuning.json", {"weights": weights.tolist(), "bleu": history})
            lines = system.translate(test, weights)
            write_text(directory / "output", "".join(f"{line}\n" for line in lines))

        return self.steps.step("thot-run", {**shared, "rounds": self.rounds, "seed": seed}, make)

    def _moses_run(self, links: Path, language_model: Path, seed: int) -> Path:
        moses, tables = self.moses, self.tables(links)
        assert moses is not None

        def make(directory: Path) -> None:
            moses.configure(tables, language_model, directory / "start.ini")
            source, reference = (self.held / f"mt-tune.{language}" for language in self.task.languages)
            tuned = moses.tune(directory / "start.ini", source, reference, directory / "mert", seed=seed)
            write_json(directory / "tuning.json", {"ini": tuned.read_text(encoding="utf-8")})
            moses.translate(tuned, self.held / f"mt-test.{self.task.source}", directory / "output")

        shared = {"tables": tables.parent.name, "language_model": language_model.parent.name, "seed": seed}
        return self.steps.step(
            "moses-run", {**shared, "moses": str(moses.directory), "held": self.held.name}, make
        )


class _Walk:
    """Walk a file of links as often as wanted."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Alignment]:
        return read_alignments(self._path, "pharaoh")
