"""Training over shards: a survey, a descent on a sample, and passes of counting, whose parts are files.

What comes out is what `bitweft train` learns from the shards one after the other, bit for bit.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import bitweft
from bitweft.aligner import Aligner
from bitweft.cluster.engine import Engine, Shared
from bitweft.cluster.parts import Beside, Numbering, count_shard, merge_parts
from bitweft.cluster.workers import Files, loaded, packed, patiently
from bitweft.corpus.align_shards import Pace, model_digest
from bitweft.errors import BitweftError, InputError, ModelError
from bitweft.progress import Progress
from bitweft.recipes.base import Offer, require
from bitweft.recipes.parts import Part, Survey
from bitweft.storage import places
from bitweft.storage.model_directory import digest, read_about
from bitweft.storage.output import clear_leftovers, json_bytes, write_bytes

Tell = Callable[[Progress], None]
Inputs = tuple[str, ...]  # the files of one shard
Value = TypeVar("Value")
JOB = "job.json"


@dataclass(frozen=True)
class Corpus:
    """Name the files of all shards, in the order of the text, and say how they are read."""

    shards: Sequence[Inputs]
    reading: Mapping[str, Any]  # arguments of Bitext


@dataclass(frozen=True)
class Training:
    """Hold what training over shards goes by."""

    corpus: Corpus
    engine: Engine
    tell: Tell  # is called with how far it is

    def begin(self, aligner: Aligner, directory: str | None = None) -> None:
        """Learn what comes before counting; the model can then be saved, and counted by.

        Arguments:
            aligner: with the settings to learn by.
            directory: where shards are kept in numbers, which all workers reach, or its URL.

        Raises:
            UsageError: the recipe does not learn in parts.
            NothingToLearnError: no pair has words on both sides.
        """
        require(aligner.recipe, Offer.PARTS, "--shards")
        began = time.perf_counter()
        training = aligner.recipe.in_parts()
        shards, reading = self.corpus.shards, self.corpus.reading
        numbering, numbers = Numbering(training.numberer(), reading), self.numbers(directory)
        cost = [-time.process_time()]
        surveying = Numbers(numbering, training.surveyor())
        named = list(zip(shards, numbers, strict=True))
        survey = Survey()
        sizes = [0] * len(shards)
        for number, own in self._each(survey_one, named, surveying, "surveying", cost):
            sizes[number] = own.pairs
            survey.add(own)
        firsts = accumulate(sizes[:-1], initial=0)
        items = list(zip(shards, numbers, firsts, strict=True))
        choosing = Numbers(numbering, training.chooser(survey))
        samples = dict(self._each(choose_one, items, choosing, "sampling", cost))
        for progress in training.descend(survey, [samples.pop(number) for number in range(len(items))]):
            self.tell(progress)
        source, target = (sum(own.values()) for own in survey.words)
        seconds = time.perf_counter() - began, sum(cost) + time.process_time()
        names = tuple(name for inputs in shards for name in inputs)
        aligner.has_learned(survey.pairs, (source, target), seconds, names)
        aligner.about = replace(aligner.about, tokenize=reading.get("tokenize") or "space")

    def parts(self, name: int | str, directory: str) -> list[str]:
        """Name a file for each shard, in a directory: the number of a pass, or what else it is of."""
        return [places.join(directory, f"{name}.{n:05}.part") for n in range(len(self.corpus.shards))]

    def numbers(self, directory: str | None) -> Sequence[str | None]:
        """Name the files of the shards in numbers; without a directory, there are none."""
        return [None] * len(self.corpus.shards) if directory is None else self.parts("text", directory)

    def count(
        self, aligner: Aligner, model: str, number: int, directory: str, last: str | None = None
    ) -> None:
        """Count all shards by a model in a pass of this number, into a part each, and merge them.

        `last` is the digest of the model of the last pass.
        """
        began = time.perf_counter()
        paths = self.parts(number, directory)
        traces = self.parts(_trace_of(number - 1), directory), self.parts(_trace_of(number), directory)
        cost = [-time.process_time()]
        counted_by = model_digest(model)
        counting = Counting(self.engine.share(packed(model)), counted_by, self.corpus.reading)
        beside = (
            Beside(numbers, before if last else None, last, after)
            for numbers, before, after in zip(self.numbers(directory), *traces, strict=True)
        )
        items = list(zip(self.corpus.shards, paths, beside, strict=True))
        for _ in self._each(count_one, items, counting, "count", cost):
            pass
        merge_parts(aligner, counted_by, paths)
        learned = aligner.about.training
        assert learned is not None
        seconds = time.perf_counter() - began, sum(cost) + time.process_time()
        total = learned.seconds + seconds[0], learned.cpu_seconds + seconds[1]
        aligner.has_learned(learned.pairs, learned.words, total, learned.files)

    def _each(
        self,
        work: Callable[..., tuple[Value, int]],
        items: Sequence[Any],
        shared: object,
        phase: str,
        cost: list[float],
    ) -> Iterator[tuple[int, Value]]:
        """Do something with each shard; give its number and what that came to, and note the CPU seconds."""
        pace = Pace(self.corpus.shards, phase)
        timed: Timed[Value] = Timed(work)
        for number, answer in self.engine.run(timed, items, self.engine.share(shared), lambda *news: None):
            if isinstance(answer, BitweftError):
                raise answer
            found, pairs, seconds = answer
            cost.append(seconds)
            self.tell(pace.told(number, pairs, pairs))
            yield number, found


@dataclass(frozen=True)
class Timed(Generic[Value]):
    """Do something in a worker; return what it came to, of how many pairs, and its CPU seconds."""

    work: Callable[..., tuple[Value, int]]

    def __call__(self, item: Any, shared: Shared[Any], tell: object) -> tuple[Value, int, float]:
        began = time.process_time()
        result, pairs = self.work(item, shared)
        return result, pairs, time.process_time() - began


class Numbers(NamedTuple):
    """Hold how shards are put into numbers, and what is done with these."""

    numbering: Numbering
    work: Callable[..., Any]


class Counting(NamedTuple):
    """Hold the model that shards are counted by, and how they are read."""

    model: Shared[Files]
    digest: str
    reading: Mapping[str, Any]


def survey_one(item: tuple[Inputs, str | None], shared: Shared[Numbers]) -> tuple[Survey, int]:
    """Survey a shard, in a worker."""
    numbering, survey = shared.get()
    shard = patiently(lambda: numbering(*item))
    return survey(shard), shard.pairs


def choose_one(item: tuple[Inputs, str | None, int], shared: Shared[Numbers]) -> tuple[Part, int]:
    """Choose the sample of a shard, in a worker."""
    (inputs, numbers, first), (numbering, choose) = item, shared.get()
    shard = patiently(lambda: numbering(inputs, numbers))
    return choose(shard, first), shard.pairs


def count_one(item: tuple[Inputs, str, Beside], shared: Shared[Counting]) -> tuple[None, int]:
    """Count a shard, in a worker."""
    (inputs, path, beside), (model, counted_by, reading) = item, shared.get()
    aligner = loaded(model, 1)
    return None, patiently(lambda: count_shard(aligner, counted_by, inputs, reading, path, beside))


class Kept:
    """Keep models on their way in a directory, to go on from after a stop."""

    def __init__(self, directory: str, about: Mapping[str, Any], *, resume: bool) -> None:
        """Take a directory that is not there, is empty, or was begun with the same text and settings.

        Raises:
            InputError: it holds something else, or `resume` is not set.
            ModelError: it is of another text, or of other settings.
        """
        self.directory = Path(directory)
        self._job = self.directory / JOB
        self.directory.mkdir(parents=True, exist_ok=True)
        if self._job.exists() and not resume:
            message = "there are parts of earlier training: give --resume to go on, or remove it"
            raise InputError(message, file=directory)
        if not self._job.exists() and any(self.directory.iterdir()):
            raise InputError("holds what is no training in parts: remove it", file=directory)
        self._about = about
        if self._job.exists():
            self._check(json.loads(json_bytes(about)))
        else:
            write_bytes(self._job, json_bytes(about))

    def _check(self, about: Mapping[str, Any]) -> None:
        try:
            known = json.loads(self._job.read_bytes())
            differing = [key for key in about if known[key] != about[key]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{self._job}: cannot be used: {error!r}; remove the directory") from error
        if differing:
            raise ModelError(
                f"{self._job}: the parts are of another {differing[0]}; give the same text and options "
                "again, or remove the directory"
            )

    def path(self, passes: int) -> str:
        """Name the model after so many passes."""
        return str(self.directory / f"{passes}.weft")

    def latest(self) -> tuple[int, str | None]:
        """Tell after how many passes the model is that is furthest, and name it, if there is one."""
        passes = max((int(path.stem) for path in self.directory.glob("*.weft")), default=-1)
        return max(passes, 0), None if passes < 0 else self.path(passes)

    def finish(self, result: str) -> None:
        """Note which model the training came to, before that is saved: `is_saved` goes by it."""
        write_bytes(self._job, json_bytes({**self._about, "result": result}))

    def remove(self) -> None:
        """Remove all that was kept, and the directory if nothing else is in it."""
        for path in self.directory.glob("*.weft"):
            shutil.rmtree(path)
        self._job.unlink()
        if not any(self.directory.iterdir()):
            self.directory.rmdir()


def is_saved(directory: str, output: str) -> bool:
    """Tell whether the model of what is kept in a directory was saved: only the clearing up is left."""
    try:
        result = json.loads((Path(directory) / JOB).read_bytes())["result"]
        return bool(result == digest(read_about(Path(output))))
    except (OSError, ValueError, KeyError, TypeError, ModelError):
        return False


def about_job(aligner: Aligner, corpus: Corpus) -> dict[str, Any]:
    """Say what a model on its way is made of."""
    return {
        "bitweft": bitweft.__version__,
        "recipe": aligner.about.recipe,
        "settings": aligner.about.config,
        "seed": aligner.about.seed,
        "reading": dict(corpus.reading),
        "text": [[name, places.size(name)] for inputs in corpus.shards for name in inputs],
    }


def train_on_shards(
    aligner: Aligner,
    training: Training,
    kept: Kept,
    finish: Callable[[Aligner], None],
    *,
    parts: str | None = None,
    threads: int | None = None,
) -> None:
    """Learn from shards, going on from what was kept.

    Arguments:
        aligner: with the settings to learn by.
        training: the text, and who does the work.
        kept: where models on their way are kept; removed in the end.
        finish: is called with the aligner that has learned, to save it.
        parts: a directory for parts that all workers reach, or its URL; that of `kept` by default.
        threads: of this process, which learns from the sample.
    """
    passes, model = kept.latest()
    directory = parts or str(kept.directory)
    places.make_directory(directory)
    if model is None:
        model = kept.path(0)
        training.begin(aligner, directory)
        aligner.save(model)
    aligner = Aligner.load(model, threads=threads)
    while aligner.recipe.in_parts().passes_left:
        passes += 1
        last = model_digest(kept.path(passes - 2)) if passes > 1 else None
        training.count(aligner, model, passes, directory, last)
        if aligner.recipe.in_parts().passes_left:
            model = kept.path(passes)
            aligner.save(model)
    kept.finish(digest(aligner.about))
    finish(aligner)
    clear_up(training, kept, passes, parts)


def _trace_of(number: int) -> str:
    return f"{number}.trace"


def clear_up(training: Training, kept: Kept, passes: int, parts: str | None = None) -> None:
    """Remove the shards in numbers, the parts of all passes, and what else was kept."""
    numbers = range(1, passes + 1)
    for name in ("text", *numbers, *map(_trace_of, numbers)):
        for path in training.parts(name, parts or str(kept.directory)):
            clear_leftovers(path)
            places.remove(path)
    kept.remove()
