"""Phrases that are linked as a whole, as entries of a dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bitweft.corpus.lexicon import Unit, Units, unlinked_words
from bitweft.corpus.phrases.extraction import extract_phrases
from bitweft.corpus.project.characters import is_sign
from bitweft.links.alignment import Alignment


def linked_phrases(longest: int) -> Units:
    """Make what gives the phrase pairs of at most so many words a side, then the unlinked words.

    A phrase pair has no link from inside to outside, and begins and ends with linked words on both sides.
    One of several words holds no punctuation.
    """

    def units(source: Sequence[str], target: Sequence[str], alignment: Alignment) -> Iterator[Unit]:
        s_linked, t_linked = ({link[side] for link in alignment.links} for side in (0, 1))
        s_signs, t_signs = ({n for n, word in enumerate(side) if is_sign(word)} for side in (source, target))
        for span in extract_phrases(alignment.links, len(source), len(target), max_length=longest):
            s, s_end, t, t_end = span
            tight = {s, s_end - 1} <= s_linked and {t, t_end - 1} <= t_linked
            single = s_end - s == t_end - t == 1
            plain = s_signs.isdisjoint(range(s, s_end)) and t_signs.isdisjoint(range(t, t_end))
            if tight and (single or plain):
                yield Unit(*span)
        yield from unlinked_words(source, target, alignment)

    return units
