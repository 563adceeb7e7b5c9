"""Carry marked words from a text to its translation, by links on raw text and character spans."""

from __future__ import annotations

from bitweft import Aligner, Bitext
from bitweft.sample import generate
from bitweft.text.bitext import tokenize

PAIRS = 1000


def carry(aligner: Aligner, source: str, target: str, marked: tuple[int, int]) -> str:
    """Put brackets around the words of the target that translate the marked characters of the source."""
    sentences = tokenize(source, "unicode"), tokenize(target, "unicode")
    links = aligner.align(sentences[0].tokens, sentences[1].tokens).links
    start, end = marked
    chosen = {n for n, (a, b) in enumerate(sentences[0].spans) if a < end and b > start}
    spans = [sentences[1].spans[t] for s, t in links if s in chosen]
    if not spans:
        return target
    first, last = min(a for a, _ in spans), max(b for _, b in spans)
    return f"{target[:first]}[{target[first:last]}]{target[last:]}"


def main() -> None:
    """Mark two words of a sentence, and see them marked in its translation."""
    text = [(" ".join(pair.source), " ".join(pair.target)) for pair in generate(PAIRS)]
    aligner = Aligner(seed=1).fit(Bitext.of(text, tokenize="unicode"))
    source, target = "The old cat sleeps.", "Le vieux chat dort."
    marked = source.index("old"), source.index(" sleeps")
    carried = carry(aligner, source, target, marked)
    print(f"{source[: marked[0]]}[{source[slice(*marked)]}]{source[marked[1] :]}")
    print(carried)
    assert carried == "Le [vieux chat] dort."


if __name__ == "__main__":
    main()
