"""Links of bitweft, and of its peers from PyPI: fast_align (in sil-thot) and eflomal, symmetrized."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from bitweft.links.alignment import Alignment
from bitweft.links.formats.registry import read_alignments
from bitweft.links.symmetrize import symmetrize_all
from bitweft.recipes.base import Decoding
from bitweft.text.bitext import Bitext, SentencePair
from bitweft.text.tags import TaggedText
from reporting import INSTALL, NOT_INSTALLED, installed_version, say

BLOCK = 1000  # pairs given to thot at a time
GDFA = Decoding(heuristic="grow-diag-final-and")
SIDES = ("source", "target")
ITERATIONS = 5  # fast_align's default, and how often each model of the HMM's is trained


class Corpus(NamedTuple):
    """Hold the text to align, its languages, and the files of its tags, where it has any."""

    text: Bitext
    languages: tuple[str, str] = ("en", "fr")
    tags: tuple[Path, Path] | None = None


def bitweft_links(
    recipe: str, decoding: Decoding | None = None, settings: Sequence[str] = ()
) -> Callable[[Corpus], Iterator[Alignment]]:
    """Give the function that trains bitweft on a text by the named recipe and aligns it."""

    def links(corpus: Corpus) -> Iterator[Alignment]:
        from bitweft.aligner import Aligner

        text = corpus.text
        return Aligner(recipe, seed=1, settings=settings).fit(text).align(text, decoding=decoding)

    return links


def best_paper_settings(languages: tuple[str, str]) -> list[str]:
    """Give the settings of the paper's best model of a language pair, with POS: what its tables 3 to 5 have.

    Four members; for Czech 80,000 words and characters. Source windows of one word: those of five, which the
    paper has for Romanian and Czech, are level on dev (32.5 and 32.9, 16.9 and 16.5 with 20,000 pairs), and
    take five times as long to align. An epoch of single words and a quarter of one of windows
    (docs/results.md says what that costs).
    """
    settings = ["members=4", "training.word_epochs=1", "training.window_share=0.25", "training.dropout=0.2"]
    settings += [f"features.{side}.tags=inline" for side in SIDES]
    if "cs" in languages:
        settings.append(f"features.{SIDES[languages.index('cs')]}.words=80000")
        settings += [f"features.{side}.characters=true" for side in SIDES]
    return settings


def best_paper_links(corpus: Corpus) -> Iterator[Alignment]:
    """Align with the paper's best model of a language pair: POS, an ensemble of four, by gdfa."""
    from bitweft.aligner import Aligner

    if corpus.tags is None:
        raise SystemExit(f"{ENSEMBLE} needs tags of the training text: train.{{language}}.pos.xz")
    text = TaggedText(corpus.text, source=corpus.tags[0], target=corpus.tags[1])
    aligner = Aligner("paper", seed=1, settings=best_paper_settings(corpus.languages))
    return aligner.fit(text).align(text, decoding=GDFA)


def eflomal_links(corpus: Corpus) -> Iterator[Alignment]:
    """Align with eflomal's defaults in both directions, and symmetrize (grow-diag-final-and)."""
    import eflomal

    text = corpus.text
    with tempfile.TemporaryDirectory() as directory:
        names = [str(Path(directory) / name) for name in ("forward", "reverse")]
        eflomal.Aligner().align(
            [" ".join(pair.source.tokens) + "\n" for pair in text],
            [" ".join(pair.target.tokens) + "\n" for pair in text],
            links_filename_fwd=names[0],
            links_filename_rev=names[1],
        )
        forward, reverse = (read_alignments(name, "pharaoh") for name in names)
        yield from symmetrize_all(forward, reverse)


def fast_align_links(corpus: Corpus) -> Iterator[Alignment]:
    """Align with sil-thot's fast_align in both directions, and symmetrize (grow-diag-final-and)."""
    return symmetrize_all(*thot_directions(corpus.text, "fast_align"))


def thot_directions(text: Bitext, system: str) -> tuple[Iterator[Alignment], Iterator[Alignment]]:
    """Align with sil-thot's fast_align, HMM or eflomal, both ways; links are (source, target) in both."""
    backward = (alignment.inverse() for alignment in _thot(text.reversed(), system))
    return _thot(text, system), backward


def _thot(text: Bitext, system: str) -> Iterator[Alignment]:
    from thot.alignment import EflomalAlignmentModel, FastAlignModel, HmmAlignmentModel, Ibm1AlignmentModel

    first = {"fast_align": FastAlignModel, "hmm": Ibm1AlignmentModel, "thot_eflomal": EflomalAlignmentModel}
    model: Any = first[system]()
    for pair in text:
        model.add_sentence_pair(list(pair.source.tokens), list(pair.target.tokens))
    _train(model)
    if system == "hmm":
        model = HmmAlignmentModel(model)
        _train(model)
    model.end_training()
    pairs = iter(text)
    while block := list(islice(pairs, BLOCK)):
        yield from _best(model.get_best_alignments(*_sides(block)))


def _train(model: Any) -> None:
    model.start_training()
    iterations = getattr(
        model, "scheduled_iterations", ITERATIONS
    )  # sil-thot's eflomal sets them by the text
    for number in range(1, iterations + 1):
        model.train()
        say(f"{type(model).__name__}: {number} of {iterations} iterations")


def _sides(block: Sequence[SentencePair]) -> tuple[list[list[str]], list[list[str]]]:
    return [list(pair.source.tokens) for pair in block], [list(pair.target.tokens) for pair in block]


def _best(results: Sequence[tuple[float, object]]) -> Iterator[Alignment]:
    for _, matrix in results:
        rows, columns = matrix.to_numpy().nonzero()  # type: ignore[attr-defined]
        yield Alignment.of(zip(rows.tolist(), columns.tolist(), strict=True))


# By name: the package whose version they depend on, and the function.
ENSEMBLE = "bitweft-paper-ensemble-gdfa"
LINKERS: dict[str, tuple[str, Callable[[Corpus], Iterator[Alignment]]]] = {
    "bitweft-default": ("bitweft", bitweft_links("default")),
    "bitweft-default-gdfa": ("bitweft", bitweft_links("default", GDFA)),
    "bitweft-paper": ("bitweft", bitweft_links("paper")),
    ENSEMBLE: ("bitweft", best_paper_links),
    "eflomal": ("eflomal", eflomal_links),
    "fast_align": ("sil-thot", fast_align_links),
}


def require_linkers(names: Iterable[str]) -> None:
    """Make sure that aligners are installed, before anything runs; end the script, saying how, if not."""
    missing = [name for name in names if installed_version(LINKERS[name][0]) == NOT_INSTALLED]
    if missing:
        said = ", ".join(f"{name} (package {LINKERS[name][0]})" for name in missing)
        raise SystemExit(f"not installed: {said}. {INSTALL}")
