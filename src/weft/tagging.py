"""Part-of-speech tags: from files beside the text, or from spaCy or Stanza."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from weft.errors import InputError, MissingExtraError, UsageError
from weft.features import Tagger, Tokens
from weft.lines import LineFile
from weft.lockstep import lockstep
from weft.text import Path, Sentence, SentencePair


class TaggedText:
    """Walk sentence pairs whose words carry the tags of files beside the text, as `word|TAG`."""

    def __init__(
        self, pairs: Iterable[SentencePair], *, source: Path | None = None, target: Path | None = None
    ) -> None:
        self.pairs = pairs
        self.files = (source, target)

    def __iter__(self) -> Iterator[SentencePair]:
        sides = [_tagged(map(itemgetter(side), self.pairs), file) for side, file in enumerate(self.files)]
        for source, target in zip(*sides, strict=True):
            yield SentencePair(source, target)


def _tagged(sentences: Iterable[Sentence], path: Path | None) -> Iterator[Sentence]:
    if path is None:
        yield from sentences
        return
    file = LineFile(path)
    for number, (sentence, line) in enumerate(
        lockstep(sentences, file.lines(), names=("the text", file.name)), 1
    ):
        tags = line.split()
        if len(tags) != len(sentence):
            raise InputError(
                f"{len(tags)} tags for {len(sentence)} words; write one for each", file=file.name, line=number
            )
        tokens = [f"{word}|{tag}" for word, tag in zip(sentence.tokens, tags, strict=True)]
        yield Sentence(tokens, " ".join(tokens))


def load_tagger(name: str) -> Tagger | None:
    """Return the tagger `spacy:MODEL` or `stanza:LANGUAGE`; the other kinds of tags need none."""
    kind, _, model = name.partition(":")
    if kind == "spacy":
        return _spacy(model)
    if kind == "stanza":
        return _stanza(model)
    return None


def _import(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingExtraError(package, package) from error


def _spacy(model: str) -> Tagger:
    spacy = _import("spacy")
    try:
        pipeline = spacy.load(model, disable=["parser", "ner", "lemmatizer"])
    except OSError as error:
        raise UsageError(f"spaCy has no model {model!r}: python -m spacy download {model}") from error
    document = importlib.import_module("spacy.tokens").Doc

    def tag(sentences: Sequence[Tokens]) -> list[list[str]]:
        documents = (document(pipeline.vocab, words=list(tokens)) for tokens in sentences)
        return [[token.pos_ for token in found] for found in pipeline.pipe(documents)]

    return tag


def _stanza(language: str) -> Tagger:
    stanza = _import("stanza")
    pipeline = stanza.Pipeline(language, processors="tokenize,pos", tokenize_pretokenized=True, verbose=False)

    def tag(sentences: Sequence[Tokens]) -> list[list[str]]:
        filled = [list(tokens) for tokens in sentences if len(tokens)]
        found = iter(pipeline(filled).sentences if filled else ())
        return [[word.upos for word in next(found).words] if len(tokens) else [] for tokens in sentences]

    return tag
