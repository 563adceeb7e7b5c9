"""Every reader of files, as a function of three files that says how much it read.

A reader may refuse what it gets by a BitweftError; it raises AssertionError where lines were lost or added.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TypeAlias

import numpy as np

from bitweft.compat.eflomal import read_priors
from bitweft.corpus.concordance import Query
from bitweft.corpus.project.formats import FORMATS as ANNOTATIONS
from bitweft.corpus.project.formats import new_format
from bitweft.corpus.project.job import Files, Sentences, write_projection
from bitweft.corpus.project.rules import Rules
from bitweft.edit.store import GoldStore
from bitweft.links.alignment import Alignment
from bitweft.links.check import check
from bitweft.links.formats.registry import LINK_FORMATS, read_entries, write_entries
from bitweft.links.known import KnownLinks, read_lexicon
from bitweft.links.subwords import positions
from bitweft.recipes.registry import recipe_named, recipe_names
from bitweft.settings import with_settings
from bitweft.text.bitext import Bitext, tokenize
from bitweft.text.compressed import is_compressed
from bitweft.text.lines import LineFile
from bitweft.text.tags import TaggedText
from bitweft.text.tokenize import TOKENIZERS
from bitweft.text.vocabulary import Vocabulary

Three: TypeAlias = Sequence[str]  # names of files
Reader: TypeAlias = Callable[[Three], int]


def _lines(path: str) -> int | None:
    """Count the lines of a file by its bytes; None if it is compressed."""
    content = Path(path).read_bytes()
    if is_compressed(content[:6]):
        return None
    return content.count(b"\n") + (not content.endswith(b"\n") and content != b"")


def _same(found: int, path: str) -> int:
    known = _lines(path)
    assert known in (None, found), f"{found} read, but {path} has {known} lines"
    return found


def _text(files: Three, *, how: str, strict: bool) -> int:
    return _same(sum(1 for _ in Bitext(files[0], files[1], tokenize=how, strict=strict)), files[0])


def _joint(files: Three, *, format: str) -> int:
    return _same(sum(1 for _ in Bitext(files[0], format=format, strict=False)), files[0])


def _links(files: Three, *, name: str | None) -> int:
    """Read links, and write them in every format that can hold them."""
    entries = list(read_entries(files[0], name))
    for kind in LINK_FORMATS.values():
        if kind.line_a_pair and (kind.holds_possible or not any(entry.unsure for entry in entries)):
            stream = io.StringIO()
            if all(entry.pair is not None for entry in entries) or kind.name != "jsonl":
                write_entries(stream, entries, kind.name)
                assert stream.getvalue().count("\n") == len(entries), kind.name
    return (
        _same(len(entries), files[0]) if name in ("pharaoh", "possible", "scored", "talp") else len(entries)
    )


def _links_of_text(files: Three) -> int:
    text = Bitext(files[1], files[2])
    return sum(len(entry.gold().possible) for entry in read_entries(files[0], text=text))


def _known(files: Three) -> int:
    return sum(1 for _ in KnownLinks(files[0]).beside(Bitext(files[1], files[2], strict=False)))


def _tags(files: Three) -> int:
    return sum(1 for _ in TaggedText(Bitext(files[1], files[2], strict=False), source=files[0]))


def _annotation(files: Three, *, name: str) -> int:
    """Carry annotation onto the other file, by weights of every link."""
    if name == "brat":
        Path(f"{files[0]}.ann").write_bytes(Path(files[0]).read_bytes())
        Path(f"{files[0]}.txt").write_bytes(Path(files[1]).read_bytes())
        files = (f"{files[0]}.ann", files[1], files[2])
    both = Files(new_format(name), LineFile(files[0]), LineFile(files[1]), TOKENIZERS["unicode"], True)

    def weights() -> Iterator[np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
        for pair in Sentences(both):
            yield np.eye(len(pair.source), len(pair.target))

    stream = io.StringIO()
    done = 0
    for summary in write_projection(both, weights, Rules(), stream, io.StringIO()):
        done = summary.sentences
    return done


def _gold(files: Three) -> int:
    return len(GoldStore(files[0], list(Bitext.of([("a b", "c d")]))).done())


def _subwords(files: Three) -> int:
    done = 0
    for one, other in zip_longest(
        *(LineFile(file, strict=False).lines() for file in files[:2]), fillvalue=""
    ):
        try:
            found = positions(tokenize(one), tokenize(other))
        except ValueError:  # one is not made of the other
            continue
        assert len(found) == len(tokenize(one))
        done += 1
    return done


def _vectors(files: Three) -> int:
    from bitweft.recipes.paper.vectors import read_vectors

    return len(read_vectors(files[0], ("cat", "dog"), 2))


def _settings(files: Three) -> int:
    lines = list(LineFile(files[0], strict=False).lines())
    for name in recipe_names():
        with_settings(recipe_named(name).settings(), lines)
    return len(lines)


def _parsed(files: Three) -> int:
    return sum(len(Alignment.parse(line)) for line in LineFile(files[0], strict=False).lines())


def _queries(files: Three) -> int:
    return sum(len(Query.parse(line).source) for line in LineFile(files[0], strict=False).lines())


READERS: dict[str, tuple[int, Reader]] = {  # with how many of the files each reads
    **{f"text, {how}": (2, partial(_text, how=how, strict=False)) for how in TOKENIZERS},
    "text, strict": (2, partial(_text, how="space", strict=True)),
    **{f"joint, {name}": (1, partial(_joint, format=name)) for name in ("auto", "joint", "tsv", "jsonl")},
    **{f"links, {name or 'auto'}": (1, partial(_links, name=name)) for name in (None, *LINK_FORMATS)},
    "links of a text": (3, _links_of_text),
    "known links": (3, _known),
    "known words": (1, lambda files: len(read_lexicon(files[0])[0])),
    "tags": (3, _tags),
    **{f"annotation, {name}": (2, partial(_annotation, name=name)) for name in ANNOTATIONS},
    "edited gold": (1, _gold),
    "subwords": (2, _subwords),
    "priors": (1, lambda files: len(read_priors(LineFile(files[0]).lines()).lexical)),
    "vectors": (1, _vectors),
    "vocabulary": (1, lambda files: len(Vocabulary.load(Path(files[0])))),
    "settings": (1, _settings),
    "links in Python": (1, _parsed),
    "queries": (1, _queries),
    "check": (3, lambda files: len(check(*files).findings)),
}
