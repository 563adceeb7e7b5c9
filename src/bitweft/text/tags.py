"""Part-of-speech tags from files beside the text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from bitweft.errors import InputError
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
        self.names: Sequence[str] = getattr(pairs, "names", ())  # of the text's files
        self.files = (source, target)

    @property
    def tag_names(self) -> tuple[str | None, str | None]:
        """Name the files of tags; None for a side without."""
        source, target = (None if file is None else os.fspath(file) for file in self.files)
        return source, target

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
