"""Several annotators of one text: how far they agree, where they do not, and what most of them say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bitweft.edit.judgment import Judgment, links_of
from bitweft.links.alignment import Alignment, GoldAlignment, Link
from bitweft.links.evaluate import Counts, add_up


@dataclass(frozen=True)
class Agreement:
    """Hold how far two annotators agree on the pairs that both have done."""

    sentences: int
    f1: float  # of all links, sure and possible: twice those in common over those of both
    aer: float  # of each one's links against the other's gold, both ways together
    disputed: int  # links that they do not both have, or not both as sure


def agreement(first: Sequence[Judgment | None], second: Sequence[Judgment | None]) -> Agreement:
    """Compare two annotators pair by pair; a pair that one of them has not done does not count."""
    both = [(a, b) for a, b in zip(first, second, strict=True) if a and b and a.done and b.done]
    common = sum(len(a.gold.possible & b.gold.possible) for a, b in both)
    total = sum(len(a.gold.possible) + len(b.gold.possible) for a, b in both)
    ways = [(a, b) for pair in both for a, b in (pair, pair[::-1])]
    counts = add_up(Counts.of(Alignment.of(a.gold.possible), b.gold) for a, b in ways)
    return Agreement(
        sentences=len(both),
        f1=2 * common / total if total else 1.0,
        aer=counts.aer,
        disputed=sum(len(disputed(pair)) for pair in both),
    )


def disputed(said: Sequence[Judgment | None]) -> dict[Link, tuple[str, ...]]:
    """List the links on which those who have judged a pair differ, with what each says of it.

    What an annotator says is sure, possible, none, or – nothing was said of the pair – an empty text.
    """
    kinds = [None if each is None else links_of(each) for each in said]
    links = sorted({link for each in kinds if each for link in each})
    answers = {
        link: tuple("" if each is None else each.get(link, "none") for each in kinds) for link in links
    }
    return {link: answer for link, answer in answers.items() if len(set(answer) - {""}) > 1}


def majority(said: Sequence[Judgment | None]) -> GoldAlignment:
    """Take the links that more than half of those who judged have; sure if more than half say so."""
    votes = [links_of(each) for each in said if each is not None]
    links = {link for each in votes for link in each}

    def most(link: Link, *kinds: str) -> bool:
        return 2 * sum(each.get(link) in kinds for each in votes) > len(votes)

    sure = {link for link in links if most(link, "sure")}
    return GoldAlignment.of(sure, {link for link in links if most(link, "sure", "possible")})
