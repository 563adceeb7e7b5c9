"""The embedded sample: English and French sentence pairs whose links are known.

`generate` draws any number of pairs from a small bilingual grammar; `natural` gives a hundred pairs written
and linked by hand. Both are linked alike:

- Sure: words that say the same, one to one or many (not: ne, pas; of, the: du; look, for: chercher).
- Possible: idioms, word by word; auxiliaries that only one side has (will eat: mangera; ate: a mangé); do;
  to before an infinitive; se; what holds a French compound together (kitchen table: table de cuisine).
- No link: what has no counterpart (Sharks exist: les; the book she bought: que).

Tokens: l', d', qu', n' and 's stand alone; du, aujourd'hui, cannot and est-il are one word each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.resources import files
from itertools import islice
from typing import NamedTuple

from bitweft.links.alignment import GoldAlignment
from bitweft.links.formats.pharaoh import Items, entry_of
from bitweft.text.bitext import Bitext

__all__ = ["SamplePair", "bitext", "generate", "natural"]


class SamplePair(NamedTuple):
    """Hold the words of a sentence pair and their links."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    gold: GoldAlignment


def generate(pairs: int, seed: int = 1) -> Iterator[SamplePair]:
    """Draw English-French pairs from the grammar: the same ones for a seed, however many are drawn."""
    from bitweft.sample.grammar import sentences

    for en, fr, gold in islice(sentences(seed), pairs):
        yield SamplePair(tuple(en), tuple(fr), gold)


def bitext(pairs: Iterable[SamplePair]) -> tuple[Bitext, list[GoldAlignment]]:
    """Part sample pairs into a text to train on and the gold links to score with."""
    held = list(pairs)
    return Bitext.of([(" ".join(p.source), " ".join(p.target)) for p in held]), [p.gold for p in held]


def natural() -> list[SamplePair]:
    """Give the hundred hand-written pairs with their hand-made links."""
    lines = [_lines(f"natural.{side}") for side in ("en", "fr", "gold")]
    items = Items("possible", one_based=False)
    pairs = []
    for en, fr, links in zip(*lines, strict=True):
        gold = entry_of([items[link] for link in links.split()]).gold()
        pairs.append(SamplePair(tuple(en.split()), tuple(fr.split()), gold))
    return pairs


def _lines(name: str) -> list[str]:
    return files(__name__).joinpath(name).read_text(encoding="utf-8").splitlines()
