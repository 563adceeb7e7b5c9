"""A phrase-based system of a Moses installation: KenLM's lmplz, the decoder, and MERT, as in the paper."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CONFIGURATION = """\
[input-factors]
0

[mapping]
0 T 0

[distortion-limit]
6

[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
PhraseDictionaryMemory name=TranslationModel0 num-features=4 path={phrases} input-factor=0 output-factor=0 \
table-limit=20
LexicalReordering name=LexicalReordering0 num-features=6 type=wbe-msd-bidirectional-fe-allff input-factor=0 \
output-factor=0 path={reordering}
Distortion
KENLM name=LM0 factor=0 path={language_model} order={order}

[weight]
UnknownWordPenalty0= 1
WordPenalty0= -1
PhrasePenalty0= 0.2
TranslationModel0= 0.2 0.2 0.2 0.2
LexicalReordering0= 0.3 0.3 0.3 0.3 0.3 0.3
Distortion0= 0.3
LM0= 0.5
"""


@dataclass(frozen=True)
class Moses:
    """Call the programs of a Moses installation: `bin/` and `scripts/` under one directory."""

    directory: Path
    threads: int = 1
    order: int = 5

    def missing(self) -> list[str]:
        """Name the programs that are not there."""
        programs = ("bin/moses", "bin/lmplz", "bin/mert", "bin/extractor", "scripts/training/mert-moses.pl")
        return [program for program in programs if not os.access(self.directory / program, os.X_OK)]

    def train_language_model(self, text: Path, output: Path) -> None:
        """Train an n-gram model of modified Kneser-Ney smoothing."""
        # A small text has orders without a count of counts; lmplz then wants to be told how to discount.
        command = [self._bin("lmplz"), "-o", str(self.order), "--discount_fallback"]
        self._run([*command, "--text", str(text), "--arpa", str(output)], output.with_suffix(".log"))

    def configure(self, tables: Path, language_model: Path, output: Path) -> None:
        """Write moses.ini for a directory of bitweft's tables."""
        output.write_text(
            CONFIGURATION.format(
                phrases=(tables / "phrase-table.gz").resolve(),
                reordering=(tables / "reordering-table.wbe-msd-bidirectional-fe.gz").resolve(),
                language_model=language_model.resolve(),
                order=self.order,
            ),
            encoding="utf-8",
        )

    def tune(self, configuration: Path, source: Path, reference: Path, work: Path, *, seed: int) -> Path:
        """Run MERT and return the tuned moses.ini."""
        work.mkdir(parents=True, exist_ok=True)
        command = [
            str(self.directory / "scripts/training/mert-moses.pl"),
            *(str(path.resolve()) for path in (source, reference)),
            self._bin("moses"),
            str(configuration.resolve()),
            f"--mertdir={self.directory.resolve() / 'bin'}",
            f"--rootdir={self.directory.resolve() / 'scripts'}",
            f"--working-dir={work.resolve()}",
            f"--decoder-flags=-threads {self.threads}",
            f"--mertmertargs=-r {seed}",
            "--no-filter-phrase-table",
        ]
        self._run(command, work / "mert.log")
        tuned = work / "moses.ini"
        if not tuned.is_file():
            raise RuntimeError(f"{work}: MERT ended without moses.ini; see mert.log there")
        return tuned

    def translate(self, configuration: Path, source: Path, output: Path) -> None:
        """Translate a file, one line for each line."""
        command = [self._bin("moses"), "-f", str(configuration), "-threads", str(self.threads)]
        with source.open("rb") as stdin, output.open("wb") as stdout, open(f"{output}.log", "wb") as log:
            self._check(
                command, subprocess.run(command, stdin=stdin, stdout=stdout, stderr=log).returncode, log.name
            )

    def _bin(self, program: str) -> str:
        return str(self.directory.resolve() / "bin" / program)

    def _run(self, command: Sequence[str], log: Path) -> None:
        with log.open("wb") as stream:
            self._check(command, subprocess.run(command, stdout=stream, stderr=stream).returncode, str(log))

    @staticmethod
    def _check(command: Sequence[str], code: int, log: str) -> None:
        if code != 0:
            raise RuntimeError(f"{command[0]} ended with {code}; see {log}")
