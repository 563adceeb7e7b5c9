"""Every format of annotation by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath

from bitweft.corpus.project.brat import Brat
from bitweft.corpus.project.conll import Conll
from bitweft.corpus.project.conllu import Conllu
from bitweft.corpus.project.jsonl import Jsonl
from bitweft.corpus.project.markup import Markup
from bitweft.corpus.project.records import Format
from bitweft.errors import UsageError

FORMATS: dict[str, Callable[[], Format]] = {kind.name: kind for kind in (Conll, Conllu, Jsonl, Brat, Markup)}
_ENDINGS = {ending: kind.name for kind in (Conll, Conllu, Jsonl, Brat, Markup) for ending in kind.endings}
_COMPRESSED = (".gz", ".xz", ".zst")


def format_of(path: str) -> str | None:
    """Tell the format of a file by the ending of its name, if it is a known one."""
    name = PurePath(path)
    if name.suffix in _COMPRESSED:
        name = name.with_suffix("")
    return _ENDINGS.get(name.suffix.lower())


def new_format(name: str, *, scheme: str | None = None) -> Format:
    """Make a reader and writer of a format.

    Raises:
        UsageError: there is no such format, or it has no schemes.
    """
    if name not in FORMATS:
        raise UsageError(f"no format of annotation {name!r}; there are {', '.join(FORMATS)}")
    if scheme is None:
        return FORMATS[name]()
    if name != Conll.name:
        raise UsageError(f"--scheme is for the format {Conll.name}, not for {name}")
    return Conll(scheme)
