"""A component of spaCy that links the words of a document to those of its translation.

>>> import spacy, bitweft.compat.spacy
>>> nlp = spacy.blank("en")
>>> nlp.add_pipe("bitweft", config={"model": "enfr.weft"})
>>> doc = nlp.make_doc("the house")
>>> doc._.translation = spacy.blank("fr")("la maison")
>>> [(doc[s], doc._.translation[t]) for s, t in nlp(doc)._.links]

A document without a translation passes as it is. What has a translation is a `Doc`: cut it as you like.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from bitweft.aligner import Aligner
from bitweft.errors import UsageError
from bitweft.extras import needs

with needs("spacy"):
    from spacy.language import Language
    from spacy.tokens import Doc

if TYPE_CHECKING:
    from bitweft.links.alignment import Alignment

BATCH = 256  # documents that are aligned together

for _name in ("translation", "links"):
    if not Doc.has_extension(_name):
        Doc.set_extension(_name, default=None)


class LinkTranslation:
    """Fill in `doc._.links`, an `Alignment` of the document's tokens and those of `doc._.translation`."""

    def __init__(self, aligner: Aligner) -> None:
        self.aligner = aligner

    def __call__(self, doc: Doc) -> Doc:
        """Link one document."""
        return next(iter(self.pipe([doc])))

    def pipe(self, stream: Iterable[Doc], batch_size: int = BATCH) -> Iterator[Doc]:
        """Link documents as they come, some at a time."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            linked = [doc for doc in batch if doc._.translation is not None]
            found: Iterable[Alignment] = self.aligner.align([_words(doc) for doc in linked])
            for doc, alignment in zip(linked, found, strict=True):
                doc._.links = alignment
            yield from batch


def _words(doc: Doc) -> tuple[list[str], list[str]]:
    translation = doc._.translation
    if not isinstance(translation, Doc):
        raise UsageError(f"doc._.translation must be a Doc, got {type(translation).__name__}")
    source, target = ([token.text for token in side] for side in (doc, translation))
    return source, target


@Language.factory("bitweft", default_config={"model": None})  # type: ignore[untyped-decorator]
def make_component(nlp: Language, name: str, model: str | None) -> LinkTranslation:
    """Make the component of a pipeline, from the directory of a model.

    Raises:
        UsageError: no model is named.
    """
    if model is None:
        raise UsageError(f"the component {name!r} needs a model: config={{'model': 'enfr.weft'}}")
    return LinkTranslation(Aligner.load(model))
