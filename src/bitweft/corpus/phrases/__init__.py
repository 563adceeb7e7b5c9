"""Phrase tables from text and links: extraction, scores both ways, and reordering, in Moses' formats.

`extract_phrases` gives the phrase pairs of one sentence pair; `write_phrase_tables` makes a directory of
tables from a whole text, sorting on disk, so that its memory does not grow with the number of phrases.
"""

from bitweft.corpus.phrases.extraction import Orientation, PhraseSpan, extract_phrases, orientations
from bitweft.corpus.phrases.sorting import SortedCounts
from bitweft.corpus.phrases.tables import (
    FILES,
    PhraseOptions,
    PhraseSummary,
    escape,
    unescape,
    write_phrase_tables,
)

__all__ = [
    "FILES",
    "Orientation",
    "PhraseOptions",
    "PhraseSpan",
    "PhraseSummary",
    "SortedCounts",
    "escape",
    "extract_phrases",
    "orientations",
    "unescape",
    "write_phrase_tables",
]
