"""Taggers of other packages: spaCy and Stanza."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType

from bitweft.errors import UsageError
from bitweft.extras import needs
from bitweft.recipes.paper.features import Tagger
from bitweft.text.vocabulary import Tokens


def load_tagger(name: str) -> Tagger | None:
    """Return the tagger `spacy:MODEL` or `stanza:LANGUAGE`; the other kinds of tags need none."""
    kind, _, model = name.partition(":")
    if kind == "spacy":
        return _spacy(model)
    if kind == "stanza":
        return _stanza(model)
    return None


def _import(package: str) -> ModuleType:
    with needs(package):
        return importlib.import_module(package)


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
