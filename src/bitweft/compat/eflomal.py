"""The names that users of eflomal import: `from bitweft.compat import eflomal` in place of `import eflomal`.

The aligner behind them is bitweft's. What that changes:

- priors: the word pairs (LEX) count as seen linked so often. Those with `<NULL>`, jumps (HMMF, HMMR) and
  fertilities (FERF, FERR) have no counterpart here: they are read, written, and left out of learning,
  which is logged.
- scores: lower is better, as there. Both files hold the same number, for bitweft's score is of both
  directions: the mean log ratio a word, with its sign changed. 0 is what unrelated words have.
- `model`, `score_model`, `n_iterations`, `n_samplers`, `rel_iterations`, `null_prior` and `use_gdb` are
  accepted and do nothing; `seed` is new, and the same input always gives the same output.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeAlias

from bitweft.errors import InputError, NothingToLearnError
from bitweft.links.alignment import Alignment, Link, outside
from bitweft.links.known import HEAVIEST, WordPair
from bitweft.storage.output import AnyPath, open_output

if TYPE_CHECKING:
    from bitweft.recipes.base import Inference

logger = logging.getLogger(__name__)

NULL = "<NULL>"
Words: TypeAlias = list[str]
LexicalCounts: TypeAlias = Mapping[tuple[str, str], float]
FertilityCounts: TypeAlias = Mapping[tuple[str, int], float]
JumpCounts: TypeAlias = Mapping[int, float]


class LineError(InputError, ValueError):
    """Report a line at fault; eflomal's users expect a ValueError."""


class PriorCounts(NamedTuple):
    """Hold what links come to, in the order of eflomal's functions."""

    lexical: Counter[tuple[str, str]]
    forward_jumps: Counter[int]
    reverse_jumps: Counter[int]
    source_fertility: Counter[tuple[str, int]]
    target_fertility: Counter[tuple[str, int]]


class Priors(NamedTuple):
    """Hold what a file of priors says, in the order and the form of eflomal's `read_priors`."""

    lexical: list[tuple[str, str, float]]
    forward_jumps: dict[int, float]
    reverse_jumps: dict[int, float]
    source_fertility: list[tuple[str, int, float]]
    target_fertility: list[tuple[str, int, float]]


class Aligner:
    """Align as eflomal's class of this name does."""

    def __init__(
        self,
        model: int = 3,
        score_model: int = 0,
        n_iterations: Sequence[int] | None = None,
        n_samplers: int = 3,
        rel_iterations: float = 1.0,
        null_prior: float = 0.2,
        source_prefix_len: int = 0,
        source_suffix_len: int = 0,
        target_prefix_len: int = 0,
        target_suffix_len: int = 0,
        *,
        seed: int = 1,
        threads: int | None = None,
    ) -> None:
        """Choose how words are cut, and the seed; the other arguments do nothing here."""
        self.model = model
        self.score_model = score_model
        self.n_iterations = n_iterations
        self.n_samplers = n_samplers
        self.rel_iterations = rel_iterations
        self.null_prior = null_prior
        self.source_prefix_len = source_prefix_len
        self.source_suffix_len = source_suffix_len
        self.target_prefix_len = target_prefix_len
        self.target_suffix_len = target_suffix_len
        self.seed = seed
        self.threads = threads

    def align(
        self,
        src_input: Iterable[str],
        trg_input: Iterable[str],
        links_filename_fwd: AnyPath | None = None,
        links_filename_rev: AnyPath | None = None,
        scores_filename_fwd: AnyPath | None = None,
        scores_filename_rev: AnyPath | None = None,
        priors_input: Iterable[str] | None = None,
        quiet: bool = True,
        use_gdb: bool = False,
    ) -> None:
        """Learn from sentences and write their links and scores; files that exist are overwritten.

        Args:
            src_input: the source sentences, one an item, such as a file opened for reading.
            trg_input: the target sentences.
            links_filename_fwd: for the links of each target word, `source-target`.
            links_filename_rev: for the links of each source word, `source-target` too.
            scores_filename_fwd: for a score a line, lower is better.
            scores_filename_rev: the same.
            priors_input: lines of a file of priors.
            quiet: log nothing.
            use_gdb: does nothing.

        Raises:
            LineError: the inputs differ in their number of lines, or a line of priors is at fault.
        """
        pairs = self._pairs(src_input, trg_input)
        lexicon = [] if priors_input is None else self._lexicon(read_priors(priors_input), pairs)
        if not quiet:
            logger.info("Prepared %d sentences for alignment", len(pairs))
        names = (links_filename_fwd, links_filename_rev, scores_filename_fwd, scores_filename_rev)
        with ExitStack() as stack:
            streams = [
                None if name is None else stack.enter_context(open_output(name, force=True)) for name in names
            ]
            self._write(pairs, lexicon, streams)

    def _pairs(self, source: Iterable[str], target: Iterable[str]) -> list[tuple[Words, Words]]:
        pairs = []
        for number, (s, t) in enumerate(zip_longest(source, target), 1):
            if s is None or t is None:
                short = "source" if s is None else "target"
                raise LineError(f"the {short} sentences end before line {number:,}; both must have as many")
            pairs.append(
                (
                    _cut(s.split(), self.source_prefix_len, self.source_suffix_len),
                    _cut(t.split(), self.target_prefix_len, self.target_suffix_len),
                )
            )
        return pairs

    def _lexicon(self, priors: Priors, pairs: Sequence[tuple[Words, Words]]) -> list[WordPair]:
        """Take the word pairs of priors, of words that the text has, cut as these are."""
        known = [{word for pair in pairs for word in pair[side]} for side in (0, 1)]
        weights: Counter[tuple[str, str]] = Counter()
        for source, target, alpha in priors.lexical:
            (s,) = _cut([source], self.source_prefix_len, self.source_suffix_len)
            (t,) = _cut([target], self.target_prefix_len, self.target_suffix_len)
            if s in known[0] and t in known[1] and NULL not in (source, target):
                weights[s, t] += alpha  # type: ignore[assignment]
        nulls = sum(NULL in (source, target) for source, target, _ in priors.lexical)
        left = {
            "lexical priors of <NULL>": nulls,
            "jumps": len(priors.forward_jumps) + len(priors.reverse_jumps),
            "fertilities": len(priors.source_fertility) + len(priors.target_fertility),
        }
        logger.info("%d (of %d) pairs of lexical priors used", len(weights), len(priors.lexical))
        for name, count in left.items():
            if count:
                logger.info("%d %s have no meaning here and were left out", count, name)
        return [WordPair(s, t, min(weight, HEAVIEST)) for (s, t), weight in weights.items() if weight > 0]

    def _write(
        self, pairs: Sequence[tuple[Words, Words]], lexicon: list[WordPair], streams: Sequence[TextIO | None]
    ) -> None:
        # Imported late: the functions of priors need no model.
        from bitweft import aligner
        from bitweft.recipes.base import Decoding, Inference

        def inferences(direction: str) -> Iterator[Inference]:
            if learned is None:
                yield from (Inference(Alignment(), 0.0) for _ in pairs)
            else:
                found = learned.stream(pairs, decoding=Decoding(direction=direction))
                yield from (inference for _, inference in found)

        learned: aligner.Aligner | None = None  # where there is nothing to learn from
        with suppress(NothingToLearnError):
            learned = aligner.Aligner(seed=self.seed, threads=self.threads).fit(pairs, lexicon=lexicon)
        for direction, links, scores in zip(("forward", "backward"), streams[:2], streams[2:], strict=True):
            if links is None and scores is None:
                continue
            for inference in inferences(direction):
                if links is not None:
                    links.write(_line(inference.alignment.links, side=int(direction == "forward")) + "\n")
                if scores is not None:
                    scores.write(f"{-(inference.score or 0.0) + 0.0:g}\n")


def _cut(words: Words, prefix: int, suffix: int) -> Words:
    words = [word.lower() for word in words]
    if prefix:
        words = [word[:prefix] for word in words]
    if suffix:
        words = [word[-suffix:] for word in words]
    return words


def _line(links: Sequence[Link], *, side: int) -> str:
    """Write links in the order of the words that chose them."""
    return " ".join(f"{s}-{t}" for s, t in sorted(links, key=lambda link: (link[side], link[1 - side])))


def sentences_from_joint_file(
    joint_file: Iterable[str], index: int | None = None
) -> Iterator[str | tuple[str, str]]:
    """Give both sides of `source ||| target` lines, or the one of that number.

    Raises:
        LineError: a line has not two sides.
    """
    for number, line in enumerate(joint_file, 1):
        sides = line.strip().split(" ||| ")
        if len(sides) != 2:
            raise LineError("expected `source ||| target`", line=number)
        yield (sides[0], sides[1]) if index is None else sides[index]


def calculate_priors(
    src_sentences: Iterable[str],
    trg_sentences: Iterable[str],
    fwd_alignments: Iterable[str],
    rev_alignments: Iterable[str],
    reverse: bool = False,
) -> PriorCounts:
    """Count what links come to: word pairs, jumps and fertilities of both directions.

    Args:
        src_sentences: the source sentences.
        trg_sentences: the target sentences.
        fwd_alignments: lines of links `source-target`, in which target words chose.
        rev_alignments: the same, in which source words chose.
        reverse: give the priors of the other direction, target to source.

    Raises:
        LineError: a link cannot be read or is outside its sentences, or one input ends before another.
    """
    counts = PriorCounts(Counter(), Counter(), Counter(), Counter(), Counter())
    lines = zip_longest(src_sentences, trg_sentences, fwd_alignments, rev_alignments)
    for number, items in enumerate(lines, 1):
        if None in items:
            raise LineError("one of the four inputs ends here, and others go on", line=number)
        source, target = items[0].split(), items[1].split()
        forward, backward = (_links(line, len(source), len(target), number) for line in items[2:])
        if reverse:
            source, target = target, source
            forward, backward = ([(t, s) for s, t in links] for links in (backward, forward))
        _count(counts, source, target, forward, backward)
    return counts


def _count(
    counts: PriorCounts, source: Words, target: Words, forward: Sequence[Link], backward: Sequence[Link]
) -> None:
    counts.lexical.update((source[s], target[t]) for s, t in forward)
    counts.forward_jumps.update(_jumps([(t, s) for s, t in forward], len(source)))
    counts.reverse_jumps.update(_jumps(backward, len(target)))
    counts.source_fertility.update((source[s], n) for s, n in Counter(s for s, _ in forward).items())
    counts.target_fertility.update((target[t], n) for t, n in Counter(t for _, t in backward).items())


def _jumps(links: Sequence[Link], length: int) -> Iterator[int]:
    """Give how far the chosen words are apart, from before the first to after the last.

    A link here is (word that chose, word that was chosen); a word that chose twice jumps once.
    """
    last: Link = (-1, -1)
    for link in sorted(links, key=lambda link: link[0]):
        if link[0] != last[0]:
            yield link[1] - last[1]
        last = link
    yield length - last[1]


def _links(line: str, sources: int, targets: int, number: int) -> list[Link]:
    links = []
    for item in line.split():
        s, dash, t = item.partition("-")
        if not (dash and s.isdecimal() and t.isdecimal()):
            raise LineError(f"{item!r} is not a link like 0-0", line=number)
        links.append((int(s), int(t)))
    fault = outside(links, sources, targets)
    if fault is not None:
        raise LineError(fault, line=number)
    return links


def write_priors(
    priorsf: TextIO,
    priors_list: LexicalCounts,
    hmmf_priors: JumpCounts,
    hmmr_priors: JumpCounts,
    ferf_priors: FertilityCounts,
    ferr_priors: FertilityCounts,
) -> None:
    """Write counts as eflomal's file of priors; `priorsf` is open for writing."""
    for (source, target), alpha in sorted(priors_list.items()):
        priorsf.write(f"LEX\t{source}\t{target}\t{alpha:g}\n")
    for name, fertilities in (("FERF", ferf_priors), ("FERR", ferr_priors)):
        for (word, fertility), alpha in sorted(fertilities.items()):
            priorsf.write(f"{name}\t{word}\t{fertility}\t{alpha:g}\n")
    for name, jumps in (("HMMF", hmmf_priors), ("HMMR", hmmr_priors)):
        for jump, alpha in sorted(jumps.items()):
            priorsf.write(f"{name}\t{jump}\t{alpha:g}\n")


def read_priors(priors_file: Iterable[str]) -> Priors:
    """Read lines of a file of priors.

    Raises:
        LineError: a line is none of LEX, HMMF, HMMR, FERF and FERR, or its numbers are none.
    """
    found = Priors([], {}, {}, [], [])
    name = getattr(priors_file, "name", None)
    file = name if isinstance(name, str) else None
    for number, line in enumerate(priors_file, 1):
        fields = line.rstrip("\r\n").split("\t")
        try:
            _add(found, fields)
        except ValueError as error:
            expected = "`LEX source target alpha`, `HMMF|HMMR jump alpha` or `FERF|FERR word fertility alpha`"
            raise LineError(f"expected {expected}, with tabs: {error}", file=file, line=number) from error
    return found


def _add(priors: Priors, fields: Sequence[str]) -> None:
    kind, alpha = fields[0], float(fields[-1])
    if kind == "LEX" and len(fields) == 4:
        priors.lexical.append((fields[1], fields[2], alpha))
    elif kind in ("HMMF", "HMMR") and len(fields) == 3:
        jumps = priors.forward_jumps if kind == "HMMF" else priors.reverse_jumps
        jumps[int(fields[1])] = alpha
    elif kind in ("FERF", "FERR") and len(fields) == 4:
        own = priors.source_fertility if kind == "FERF" else priors.target_fertility
        own.append((fields[1], int(fields[2]), alpha))
    else:
        raise ValueError(f"got {kind!r} with {len(fields) - 1} columns")
