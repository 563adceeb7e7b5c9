"""Part-of-speech tags: from files beside the text, or from spaCy or Stanza."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bitweft.errors import InputError, MissingExtraError, UsageError
from bitweft.recipes.paper.features import Tagger, Tokens
from bitweft.storage.lockstep import lockstep
from bitweft.text.bitext import Path, Sentence, SentencePair
from bitweft.text.lines import LineFile


class TaggedText:
    """Walk sentence pairs with the tags of files beside the text, as often as the text can be walked."""

    def __init__(
        self, pairs: Iterable[SentencePair], *, source: Path | None = None, target: Path | None = None
    ) -> None:
        self.pairs = pairs
        self.tokenize: str = getattr(pairs, "tokenize", "space")
        self.files = (source, target)

    def __iter__(self) -> Iterator[SentencePair]:
        pairs: Iterable[SentencePair] = self.pairs
        for side, file in enumerate(self.files):
            if file is not None:
                pairs = _tagged(pairs, side, LineFile(file))
        yield from pairs


def _tagged(pairs: Iterable[SentencePair], side: int, file: LineFile) -> Iterator[SentencePair]:
    """Give the sentences of one side their tags."""
    beside = lockstep(pairs, file.lines(), names=("the text", file.name))
    for number, (pair, line) in enumerate(beside, 1):
        tags, sentence = line.split(), pair[side]
        if len(tags) != len(sentence):
            raise InputError(
                f"{len(tags)} tags for {len(sentence)} words; write one for each", file=file.name, line=number
            )
        tagged = Sentence(sentence.tokens, sentence.text, tags)
        yield SentencePair(tagged, pair.target) if side == 0 else SentencePair(pair.source, tagged)


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
