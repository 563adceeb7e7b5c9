"""Shards in numbers and what they count, as files: each made by anyone, counts merged in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import bitweft
from bitweft.aligner import Aligner
from bitweft.corpus.shards import base_name
from bitweft.errors import InputError, ModelError, UsageError
from bitweft.recipes.base import Offer, require
from bitweft.recipes.parts import Numbered, Part, PartTraining, Trace
from bitweft.storage import places
from bitweft.storage.part_file import part_facts, read_part, write_part
from bitweft.text.bitext import Bitext, SentencePair


@dataclass(frozen=True)
class Numbering:
    """Put shards into numbers, of which a file is kept; by it, their text is read once."""

    number: Callable[[Iterable[SentencePair]], Numbered]
    reading: Mapping[str, Any]  # arguments of Bitext

    def __call__(self, inputs: Sequence[str], path: str | None) -> Numbered:
        """Give a shard in numbers: as the file has them, if it is of this text, and otherwise from the text.

        Raises:
            InputError: the text cannot be read, or the file cannot be written.
        """
        made_of = {"numbered": repr(self.number), **_made_of(inputs, self.reading)}
        if path is not None and places.is_file(path):
            with suppress(ModelError, ValueError, KeyError):
                arrays, known = read_part(path)
                if known.items() >= made_of.items():
                    return Numbered.of(arrays)
        found = self.number(Bitext(*inputs, **self.reading))
        if path is not None:
            write_part(path, found.arrays(), made_of)
        return found


class Beside(NamedTuple):
    """Name files beside a part, or their URLs, that spare work; without them, it is done again."""

    numbers: str | None = None  # the shard in numbers
    before: str | None = None  # what its pairs added in the last pass
    last: str | None = None  # the digest of the model that they were counted by in that one
    after: str | None = None  # where to keep what they add in this one


def count_shard(
    aligner: Aligner,
    model: str,
    inputs: Sequence[str],
    reading: Mapping[str, Any],
    path: str,
    beside: Beside = Beside(),  # noqa: B008 (a tuple)
) -> int:
    """Count a shard by a model that is on its way, into a file; one that is there already is kept.

    Arguments:
        aligner: of the model.
        model: the digest of its files.
        inputs: the files of the shard.
        reading: arguments of Bitext.
        path: the file to write, or its URL.
        beside: files that spare work.

    Returns:
        How many pairs the shard has.

    Raises:
        UsageError: the recipe does not learn in parts, or the model has learned all that it can.
        InputError: a word is new to the model.
    """
    training = _unfinished(aligner, "count")
    made_of = {"model": model, **_made_of(inputs, reading)}
    known = part_facts(path)
    if known is not None and known.items() >= made_of.items():
        return int(known["pairs"])
    shard = Numbering(training.numberer(), reading)(inputs, beside.numbers)
    try:
        part, trace = training.counter()(shard, _trace(beside, made_of))
    except InputError as error:
        raise InputError(str(error), file=inputs[0]) if error.file is None else error from error
    if trace and beside.after is not None:
        write_part(beside.after, trace, made_of)
    write_part(path, part, {**made_of, "pairs": shard.pairs})
    return shard.pairs


def _trace(beside: Beside, made_of: Mapping[str, Any]) -> Trace | None:
    """Read what the pairs of a shard added in the last pass, if it is there, and whole."""
    if beside.before is not None and places.is_file(beside.before):
        with suppress(ModelError):
            arrays, known = read_part(beside.before)
            if known == {**made_of, "model": beside.last}:
                return arrays
    return None


def _made_of(inputs: Sequence[str], reading: Mapping[str, Any]) -> dict[str, Any]:
    """Say by which program a part is made, and from which text."""
    return {
        "bitweft": bitweft.__version__,
        "reading": {key: value for key, value in reading.items() if value is not None},
        "inputs": [[base_name(name), places.digest(name)] for name in inputs],
    }


def merge_parts(aligner: Aligner, model: str, paths: Sequence[str]) -> None:
    """Take over what all shards of the text have added in one pass, in any order.

    Arguments:
        aligner: of the model that the parts were counted by.
        model: the digest of its files.
        paths: the files of the parts, or their URLs.

    Raises:
        ModelError: a part is damaged, missing, there twice, or counted by another model.
    """
    training = _unfinished(aligner, "merge")
    learned = aligner.about.training
    assert learned is not None
    training.merge(_checked(paths, model, learned.pairs))
    aligner.has_learned(learned.pairs, learned.words, (learned.seconds, learned.cpu_seconds), learned.files)


def _unfinished(aligner: Aligner, verb: str) -> PartTraining:
    require(aligner.recipe, Offer.PARTS, verb)
    training = aligner.recipe.in_parts()
    if not training.passes_left:
        raise UsageError(f"{verb}: the model has learned all; `bitweft train --shards … --begin` begins one")
    return training


def _checked(paths: Sequence[str], model: str, pairs: int) -> Iterator[Part]:
    """Read part after part; after the last, refuse those that are not all of the text."""
    seen: dict[str, str] = {}
    found = 0
    for path in paths:
        arrays, facts = read_part(path)
        if facts.get("model") != model:
            raise ModelError(f"{path}: counted by another model, or before a merge: count this shard again")
        shard = str(facts["inputs"])
        if shard in seen:
            raise ModelError(f"{path}: the same shard as in {seen[shard]}: give each once")
        seen[shard] = path
        found += int(facts["pairs"])
        yield arrays
    if found != pairs:
        raise ModelError(
            f"the parts are of {found:,} pairs, but the text has {pairs:,}: give those of all shards"
        )
