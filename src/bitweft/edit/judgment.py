"""What somebody says of one sentence pair: its links, its words without any, and a comment."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from bitweft.links.alignment import Alignment, Entry, GoldAlignment, Link, outside
from bitweft.links.formats.jsonl import format_jsonl
from bitweft.text.bitext import SentencePair

UNTOUCHED = "untouched"  # the version of a pair of which nobody has said anything yet


@dataclass(frozen=True)
class Judgment:
    """Hold what was said of a pair, by whom and when (ISO 8601)."""

    gold: GoldAlignment
    unlinked: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())  # on purpose
    comment: str = ""
    done: bool = False
    by: str = ""
    at: str = ""
    version: str = field(default=UNTOUCHED, compare=False)

    def fault(self, pair: SentencePair) -> str | None:
        """Say why this cannot be said of the pair, if it cannot."""
        found = outside(sorted(self.gold.possible), len(pair.source), len(pair.target))
        for side, (sentence, positions) in enumerate(zip(pair, self.unlinked, strict=True)):
            beyond = [at for at in positions if not 0 <= at < len(sentence)]
            linked = sorted(positions & {link[side] for link in self.gold.possible})
            name = ("source", "target")[side]
            if beyond:
                found = found or f"{name} word {beyond[0]} (zero-based) is outside {len(sentence)} words"
            if linked:
                found = found or f"{name} word {linked[0]} (zero-based) has links and is said to have none"
        return found


def to_line(pair: SentencePair, number: int, judgment: Judgment | None) -> str:
    """Write a JSON line that `bitweft evaluate` reads as gold links, with what else was said."""
    said = judgment or Judgment(GoldAlignment.of([]))
    unsure = said.gold.possible - said.gold.sure
    entry = Entry(Alignment.of(said.gold.possible), unsure, pair=pair)
    value: dict[str, Any] = json.loads(format_jsonl(entry, number))
    value["done"] = said.done
    if judgment is not None:
        for name, positions in zip(("src_unlinked", "tgt_unlinked"), said.unlinked, strict=True):
            value[name] = sorted(positions)
        value |= {"by": said.by, "at": said.at, "comment": said.comment}
    return json.dumps(value, ensure_ascii=False)


def from_line(line: str, entry: Entry) -> Judgment | None:
    """Read what `to_line` has written, of which `entry` is what the reader of links found.

    Raises:
        ValueError: one of the fields is not what it should be.
    """
    value = json.loads(line)
    if "by" not in value:
        return None
    unlinked = [_positions(value, name) for name in ("src_unlinked", "tgt_unlinked")]
    texts = [value.get(name, "") for name in ("by", "at", "comment")]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError('"by", "at" and "comment" must be texts')
    done = value.get("done", False)
    if not isinstance(done, bool):
        raise ValueError(f'"done" must be true or false, not {done!r}')
    return Judgment(
        entry.gold(), (unlinked[0], unlinked[1]), texts[2], done, texts[0], texts[1], version_of(line)
    )


def _positions(value: dict[str, Any], name: str) -> frozenset[int]:
    found = value.get(name, [])
    if not isinstance(found, list) or not all(type(at) is int for at in found):
        raise ValueError(f'"{name}" must hold positions of words, not {found!r}')
    return frozenset(found)


def version_of(line: str) -> str:
    """Give the version of a judgment: another one for anything else that is written."""
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def links_of(judgment: Judgment) -> dict[Link, str]:
    """Name each link's kind: sure or possible."""
    return {link: "sure" if link in judgment.gold.sure else "possible" for link in judgment.gold.possible}
