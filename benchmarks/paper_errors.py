"""Wrong links of each direction of the paper's recipe on all pairs, by kind, from kept cells.

    python benchmarks/paper_errors.py --docs     the block of docs/experiments.md; runs nothing

A link of a word is wrong where gold has it neither as sure nor as possible. It goes to the full stop, which
every sentence has once; to the right word at a wrong place (gold links the word to another of the same form);
it is of a word that gold leaves without a link; or it is of a word that gold links to other words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bitweft.links.alignment import Alignment, GoldAlignment
from bitweft.text.bitext import SentencePair
from corpora import gold_of
from paper_cells import links_of, read_pairs
from paper_runs import LEAST, Kept, read_kept
from paper_tables import ways_of
from published import ROWS
from reporting import RESULTS, fill_block, new_parser, parse, table, write_text

KINDS = ("the full stop", "the right word elsewhere", "of a word without links", "of a word with other links")
HEAD = ["", "", "α", "links", "wrong", *KINDS, "the commonest"]
SHOWN = 3  # pairs of words


class Wrong(NamedTuple):
    """Hold one wrong link."""

    kind: str  # one of KINDS
    word: str  # that is linked
    partner: str  # the word that was chosen for it


def wrong_links(
    pairs: Iterable[SentencePair], links: Iterable[Alignment], gold: Iterable[GoldAlignment], way: str
) -> Iterator[Wrong]:
    """Name the kind of each wrong link; forward, target words choose source words, backward the reverse."""
    for pair, found, own in zip(pairs, links, gold, strict=True):
        sides = [[word.lower() for word in side.tokens] for side in (pair.source, pair.target)]
        right = set(own.possible)
        wrong = set(found.links) - right
        if way == "backward":
            sides.reverse()
            right, wrong = ({(t, s) for s, t in each} for each in (right, wrong))
        partners, words = sides
        for s, t in sorted(wrong):
            known = {partners[place] for place, word in right if word == t}
            kinds = (partners[s] == ".", partners[s] in known, not known, True)
            yield Wrong(KINDS[kinds.index(True)], words[t], partners[s])


def errors_of(run: Kept) -> list[list[str]]:
    """Lay out the wrong links of test, each direction without a threshold and with the one chosen on dev."""
    text = run.cell.text
    best = run.words()["test"]
    pairs, gold = read_pairs(text, "test", tagged=False), gold_of(text, "test")
    lines = []
    for words, way, said in zip(best, ROWS, ways_of(text), strict=False):
        for alpha in (LEAST, run.result["results"][way]["alpha"]):
            links = links_of(words, alpha, way)
            wrong = list(wrong_links(pairs, links, gold, way))
            kinds = Counter(own.kind for own in wrong)
            common = Counter((own.word, own.partner) for own in wrong).most_common(SHOWN)
            counts = [sum(len(own.links) for own in links), len(wrong), *(kinds[kind] for kind in KINDS)]
            cut = "none" if alpha == LEAST else f"{alpha:g}"
            shown = ", ".join(f"{word} – {partner} {count}" for (word, partner), count in common)
            lines.append([run.name, said, cut, *(f"{count:,}" for count in counts), shown])
    return lines


def main(argv: Sequence[str] | None = None) -> None:
    """Write the block."""
    parser = new_parser(__doc__)
    parser.add_argument("--cells", type=Path, default=RESULTS / "cells", metavar="DIR", help="kept cells")
    args = parse(parser, argv, page="docs/experiments.md")
    runs = [run for run in read_kept(args.cells) if run.pairs is None]
    lines = [line for run in runs if run.has_words for line in errors_of(run)]
    text = table(HEAD, lines) + "\n"
    write_text(args.output / "paper-errors.md", text)
    print(text)
    if args.page is not None:
        fill_block(args.page, "paper-errors", text)


if __name__ == "__main__":
    main()
