"""What the server does with a request's text: cut it, align it, say what the model thinks of every word."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from bitweft.aligner import Aligner
from bitweft.recipes.base import Inference, Offer, Posteriors
from bitweft.server.limits import Limits
from bitweft.server.problems import Problem
from bitweft.server.schema import QUESTION, ManyPairs, Question
from bitweft.text.bitext import Bitext, Sentence, SentencePair

CELLS = 1 << 18  # word pairs that are aligned between two looks at the clock


class Task(NamedTuple):
    """Hold what a request asks for."""

    question: Question
    pairs: list[SentencePair]
    cells: int  # word pairs


class Service:
    """Answer requests with one model, which any number of threads may share."""

    def __init__(self, aligner: Aligner, directory: str | Path, limits: Limits | None = None) -> None:
        self.aligner = aligner
        self.limits = limits or Limits()
        self.about = json.dumps(_describe(aligner, Path(directory), self.limits)).encode()

    def answer(self, body: bytes) -> bytes:
        """Align what a request's body holds; raise a Problem if it cannot be done."""
        return self.compute(self.read(body))

    def read(self, body: bytes) -> Task:
        """Cut the text of a request's body into words, and refuse too much of it by a Problem."""
        question = _question(body)
        pairs = self._pairs(question)
        cells = sum(len(pair.source) * len(pair.target) for pair in pairs)
        if cells > self.limits.cells:
            detail = f"{cells:,} word pairs; at most {self.limits.cells:,} in a request: send less at a time"
            raise Problem(422, detail)
        return Task(question, pairs, cells)

    def compute(self, task: Task, gone: Event | None = None) -> bytes:
        """Align the pairs of a request, until `gone` is set or the time is over."""
        deadline = time.monotonic() + self.limits.timeout
        question = task.question
        answers: list[dict[str, Any]] = []
        for chunk in _chunks(task.pairs):
            if gone is not None and gone.is_set():
                raise Problem(400, "the client did not wait for the answer")
            if time.monotonic() > deadline:
                detail = f"this took longer than {self.limits.timeout:g} seconds; send less at a time"
                raise Problem(503, detail)
            answers += self._aligned(chunk, question.alternatives)
        found = {"pairs": answers} if isinstance(question, ManyPairs) else answers[0]
        return json.dumps(found, ensure_ascii=False, allow_nan=False).encode()

    def warm(self) -> None:
        """Align something, so that the first request need not wait for compilers and libraries."""
        self.answer(b'{"source": "a b", "target": "c", "alternatives": 1}')

    def _pairs(self, question: Question) -> list[SentencePair]:
        """Cut the texts into words, and refuse too many."""
        many = isinstance(question, ManyPairs)
        texts = question.pairs if isinstance(question, ManyPairs) else [question]
        if len(texts) > self.limits.pairs:
            detail = f"{len(texts):,} pairs; at most {self.limits.pairs:,} in a request"
            raise Problem(422, detail, [("/pairs", detail)])
        breaks = str.maketrans("\r\n", "  ")
        strings = [(each.source.translate(breaks), each.target.translate(breaks)) for each in texts]
        pairs = list(Bitext.of(strings, tokenize=question.tokenize or self.aligner.about.tokenize))
        faults = [
            (f"/pairs/{number}/{side}" if many else f"/{side}", f"{len(sentence):,} words")
            for number, pair in enumerate(pairs)
            for side, sentence in zip(("source", "target"), pair, strict=True)
            if len(sentence) > self.limits.words
        ]
        if faults:
            raise Problem(422, f"a sentence has more than {self.limits.words:,} words", faults)
        partners = question.alternatives * sum(len(sentence) for pair in pairs for sentence in pair)
        if partners > self.limits.partners:
            detail = f"these are {partners:,} alternatives; at most {self.limits.partners:,} in a request"
            raise Problem(422, detail, [("/alternatives", detail)])
        return pairs

    def _aligned(self, pairs: list[SentencePair], alternatives: int) -> Iterator[dict[str, Any]]:
        for pair, inference in zip(pairs, self.aligner.infer(pairs), strict=True):
            answer = _answer(pair, inference)
            if alternatives and Offer.POSTERIORS in self.aligner.recipe.offers:
                answer["alternatives"] = _alternatives(self.aligner.recipe.posteriors(pair), alternatives)
            yield answer


def _question(body: bytes) -> Question:
    try:
        return QUESTION.validate_json(body)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False, include_context=False)
    if faults[0]["type"] == "json_invalid":
        raise Problem(400, f"the body is no JSON: {faults[0]['msg']}")
    # The first part of a place is which kind of question it was taken for.
    errors = [(_pointer(fault["loc"][1:]), fault["msg"]) for fault in faults[:10]]
    raise Problem(422, "the request is not as the API describes it", errors)


def _pointer(place: Sequence[int | str]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in place)


def _chunks(pairs: Sequence[SentencePair]) -> Iterator[list[SentencePair]]:
    chunk: list[SentencePair] = []
    cells = 0
    for pair in pairs:
        chunk.append(pair)
        cells += len(pair.source) * len(pair.target) + 1
        if cells > CELLS:
            yield chunk
            chunk, cells = [], 0
    if chunk:
        yield chunk


def _answer(pair: SentencePair, inference: Inference) -> dict[str, Any]:
    alignment, score = inference.alignment, inference.score
    links: list[Any] = [[s, t] for s, t in alignment.links]
    if alignment.probabilities is not None:
        links = [[*link, p] for link, p in zip(alignment.links, alignment.probabilities, strict=True)]
    return {
        "source": _side(pair.source, {s for s, _ in alignment.links}),
        "target": _side(pair.target, {t for _, t in alignment.links}),
        "links": links,
        "pharaoh": str(alignment),
        "score": score if score is not None and math.isfinite(score) else None,
    }


def _side(sentence: Sentence, linked: set[int]) -> dict[str, Any]:
    return {
        "text": sentence.text,
        "tokens": sentence.tokens,
        "spans": sentence.spans,
        "unaligned": [at for at in range(len(sentence)) if at not in linked],
    }


def _alternatives(posteriors: Posteriors, most: int) -> dict[str, Any]:
    """List the best partners of every word, with the probabilities that links have."""
    links, source, target = posteriors
    return {"source": _best(links, source, most), "target": _best(links.T, target, most)}


def _best(rows: npt.NDArray[np.floating], nulls: npt.NDArray[np.floating], most: int) -> list[dict[str, Any]]:
    """Take the highest entries of each row."""
    order = np.argsort(-rows, axis=1, kind="stable")[:, :most]
    return [
        {"null": float(null), "partners": [[int(at), float(row[at])] for at in best]}
        for row, null, best in zip(rows, nulls, order, strict=True)
    ]


def _describe(aligner: Aligner, directory: Path, limits: Limits) -> dict[str, Any]:
    about = aligner.about
    source_words, target_words = aligner.recipe.vocabulary_sizes
    files = [file for file in directory.iterdir() if file.is_file()]
    return {
        "name": directory.resolve().name,
        **asdict(about),
        "alternatives": Offer.POSTERIORS in aligner.recipe.offers,
        "sizes": {
            "source_words": source_words,
            "target_words": target_words,
            "bytes": sum(file.stat().st_size for file in files),
        },
        "limits": asdict(limits),
    }
