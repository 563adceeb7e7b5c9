"""A phrase-based system of sil-thot (from PyPI), made from bitweft's tables.

What sil-thot 3.5 has, seen from Python: a stack decoder with n-best lists and their features
(`SmtDecoder.translate_n_batch`), weights that can be set (`SmtModel.weights`), and an n-gram model that it
loads but does not train. It has no tuner for whole sets and no reader of Moses' tables. So this writes its
files: n-gram counts, counts of bitweft's phrases, and the two lexical models that smooth them, all from the
links; `mert` is the tuner. Only phrases that the sentences to translate can use are written, with the counts
of the whole text: nothing is lost but time.
Its eight features are: word penalty, language model, target phrase lengths, jumps, source phrase lengths,
the two phrase probabilities (each with its lexical model mixed in), and sentence length.
"""

from __future__ import annotations

import math
import os
import struct
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from thot.alignment import AlignmentModelType, IncrIbm1AlignmentModel
from thot.common import NGramLanguageModel
from thot.translation import SmtDecoder, SmtModel

from bitweft.corpus.lexicon import Entry, Lexicon, Pruning
from bitweft.corpus.phrases import extract_phrases
from bitweft.links.alignment import Alignment
from bitweft.text.bitext import SentencePair
from mert import Candidate, Floats

Phrase: TypeAlias = tuple[str, ...]

# Where tuning went from equal weights, on mt-tune: from here its first lists are less misleading.
START = (-1.5, 0.6, -0.2, 0.1, 0.5, 1.5, 1.0, 0.0)
FIXED = (7,)  # the same for all translations of a sentence
MIXTURES = (0.05, 0.2, 0.5, 0.8, 0.95)  # weights tried in the language model
TABLE_LIMIT = 20  # translations kept for each source phrase, as in Moses
LONGEST = 5  # words of a phrase
MIXTURE = 0.7  # share of the phrase counts, beside the lexical model, in each direction


def write_language_model(sentences: Iterable[Sequence[str]], prefix: Path, *, order: int = 3) -> None:
    """Write n-gram counts as thot reads them; a word is unknown where it comes for the first time."""
    counts: Counter[tuple[str, ...]] = Counter()
    known: set[str] = set()
    with open(f"{prefix}.wp", "w", encoding="utf-8", newline="\n") as lines:
        for sentence in sentences:
            lines.write(" ".join(sentence) + "\n")
            words = ["<s>"]
            for word in sentence:
                words.append(word if word in known else "<unk>")
                known.add(word)
            words.append("</s>")
            for length in range(1, order + 1):
                counts.update(tuple(words[at : at + length]) for at in range(len(words) - length + 1))
    total = sum(count for ngram, count in counts.items() if len(ngram) == 1)
    with prefix.open("w", encoding="utf-8", newline="\n") as stream:
        for ngram in sorted(counts, key=lambda ngram: (len(ngram), ngram)):
            history = total if len(ngram) == 1 else counts[ngram[:-1]]
            stream.write(f"{' '.join(ngram)} {history} {counts[ngram]}\n")
    _write_mixture(prefix, [0.5] * (3 * order))


def tune_language_model(prefix: Path, sentences: Sequence[Sequence[str]]) -> float:
    """Choose the weights that mix n-grams of all lengths, one after the other; return the perplexity."""
    mixture = [float(word) for word in Path(f"{prefix}.weights").read_text(encoding="utf-8").split()[3:]]
    tried: dict[tuple[float, ...], float] = {}
    for place in range(len(mixture)):
        others = [[*mixture[:place], value, *mixture[place + 1 :]] for value in MIXTURES]
        for other in others:
            if tuple(other) not in tried:
                _write_mixture(prefix, other)
                tried[tuple(other)] = perplexity(prefix, sentences)
        mixture = min(others, key=lambda other: tried[tuple(other)])
    _write_mixture(prefix, mixture)
    return tried[tuple(mixture)]


def perplexity(prefix: Path, sentences: Sequence[Sequence[str]]) -> float:
    """Compute the perplexity of a language model, sentence ends counted."""
    model = NGramLanguageModel()
    if not model.load(os.fspath(prefix)):
        raise OSError(f"{prefix}: thot cannot load the language model")
    logarithm = sum(model.get_sentence_log_probability(list(sentence)) for sentence in sentences)
    model.clear()
    return float(10 ** (-logarithm / sum(len(sentence) + 1 for sentence in sentences)))


def _write_mixture(prefix: Path, weights: Sequence[float]) -> None:
    # Order, number of count classes, size of a class; then a weight for each order and class.
    text = f"{len(weights) // 3} 3 10 {' '.join(map(str, weights))}\n"
    Path(f"{prefix}.weights").write_text(text, encoding="utf-8")


def phrases_of(sentences: Iterable[str], longest: int = LONGEST) -> set[Phrase]:
    """Give every phrase of some sentences, up to a number of words."""
    found: set[Phrase] = set()
    for words in (tuple(sentence.split()) for sentence in sentences):
        for start in range(len(words)):
            found.update(words[start:end] for end in range(start + 1, min(start + longest, len(words)) + 1))
    return found


def count_phrases(
    pairs: Iterable[SentencePair], links: Iterable[Alignment], wanted: set[Phrase]
) -> Iterator[tuple[Phrase, Phrase, int, int]]:
    """Extract phrases, and give the commonest translations of the wanted ones.

    With each come the count of its target in the whole text and its own.
    """
    counts: defaultdict[Phrase, Counter[Phrase]] = defaultdict(Counter)
    seen = array("q")  # a number for each target: counted at once, in a tenth of the room
    for pair, alignment in zip(pairs, links, strict=True):
        source, target = tuple(pair.source.tokens), tuple(pair.target.tokens)
        for a, b, c, d in extract_phrases(alignment.links, len(source), len(target), max_length=LONGEST):
            translation = target[c:d]
            seen.append(hash(translation))
            if source[a:b] in wanted:
                counts[source[a:b]][translation] += 1
    numbers, totals = np.unique(np.array(seen, dtype=np.int64), return_counts=True)
    for phrase in sorted(counts):
        best = sorted(counts[phrase].items(), key=lambda item: (-item[1], item[0]))[:TABLE_LIMIT]
        for translation, count in best:
            yield phrase, translation, int(totals[np.searchsorted(numbers, hash(translation))]), count


def write_translation_model(
    text: Iterable[SentencePair], links: Iterable[Alignment], wanted: set[Phrase], prefix: Path
) -> None:
    """Write the counts of phrases, and both lexical models; text and links are walked several times."""
    with open(f"{prefix}.ttable", "w", encoding="utf-8", newline="\n") as stream:
        for source, target, target_count, count in count_phrases(text, links, wanted):
            stream.write(f"{' '.join(target)} ||| {' '.join(source)} ||| {target_count} {count}\n")
    lexicon = Lexicon.count(text, links)
    pairs = [(pair.source.tokens, pair.target.tokens) for pair in text]
    null = Pruning(null=True)
    _write_lexical_model(Path(f"{prefix}_invswm"), lexicon.by_source(null), pairs)
    _write_lexical_model(
        Path(f"{prefix}_swm"),
        (entry.inverse() for entry in lexicon.by_target(null)),
        [(target, source) for source, target in pairs],
    )
    for ending, content in (
        ("lambda", f"{MIXTURE} {MIXTURE}"),
        ("srcsegmlentable", "Uniform"),
        ("trgcutstable", "0.999"),
        ("trgsegmlentable", "Geometric"),
    ):
        Path(f"{prefix}.{ending}").write_text(content, encoding="utf-8")


def _write_lexical_model(
    prefix: Path, entries: Iterable[Entry], pairs: Sequence[tuple[Sequence[str], Sequence[str]]]
) -> None:
    model = IncrIbm1AlignmentModel()
    for source, target in pairs:
        model.add_sentence_pair(list(source), list(target))
    model.start_training()
    model.end_training()
    if not model.print(str(prefix)):
        raise OSError(f"{prefix}: thot cannot write here")
    sources, targets = (_vocabulary(Path(f"{prefix}.{ending}")) for ending in ("svcb", "tvcb"))
    # Source word, target word (NULL is 0), and the logarithms of both counts behind p(target|source).
    with open(f"{prefix}.ibm_lexnd", "wb") as stream:
        for entry in entries:
            if entry.target is not None:
                source_id = 0 if entry.source is None else sources[entry.source]
                numbers = math.log(entry.count), math.log(entry.source_count)
                stream.write(struct.pack("=IIff", source_id, targets[entry.target], *numbers))


def _vocabulary(path: Path) -> dict[str, int]:
    with path.open(encoding="utf-8", newline="\n") as stream:
        numbered = (line.rstrip("\n").split(" ", 1) for line in stream)
        return {word: int(number) for number, word in numbered}


class Search(NamedTuple):
    """Hold the limits of the decoder's search, by thot's names.

    Chosen on 100 sentences of mt-tune with weights START: in half the time of SIL's settings (w 0.4, a 10,
    e 2, s 10; 4 jumps) it finds better translations, by score and by BLEU (31.9 for 30.1), because of w.
    """

    jumps: int = 2  # words that may be passed over
    w: float = 0.1  # prunes the translations of a phrase; below 1, the lower, the more are kept
    a: int = LONGEST  # words of a source phrase
    e: int = 1
    heuristic: int = 6
    s: int = 3  # hypotheses of a stack
    size: int = 100  # of n-best lists


SEARCH = Search()


class ThotSystem:
    """Translate with a model written by this module."""

    def __init__(self, translation_model: Path, language_model: Path, search: Search = SEARCH) -> None:
        self._search = search
        self._model = SmtModel(AlignmentModelType.INCR_IBM1)
        if not self._model.load_translation_model(os.fspath(translation_model)):
            raise OSError(f"{translation_model}: thot cannot load the translation model")
        if not self._model.load_language_model(os.fspath(language_model)):
            raise OSError(f"{language_model}: thot cannot load the language model")
        self._model.non_monotonicity = search.jumps
        self._model.w, self._model.a, self._model.e = search.w, search.a, search.e
        self._model.heuristic = search.heuristic

    def _decoder(self, weights: Floats | Sequence[float]) -> SmtDecoder:
        self._model.weights = [float(weight) for weight in weights]
        decoder = SmtDecoder(self._model)
        decoder.s = self._search.s
        decoder.is_breadth_first = True
        return decoder

    def translate(self, sentences: Sequence[str], weights: Floats | Sequence[float]) -> list[str]:
        """Translate, one line for each line."""
        lines = [""] * len(sentences)
        places = _not_empty(sentences)
        results = self._decoder(weights).translate_batch([sentences[place] for place in places])
        for place, result in zip(places, results, strict=True):
            lines[place] = " ".join(result.target)
        return lines

    def candidates(
        self, sentences: Sequence[str], weights: Floats | Sequence[float]
    ) -> list[list[Candidate]]:
        """Give n-best lists with their features."""
        lists: list[list[Candidate]] = [[] for _ in sentences]
        places = _not_empty(sentences)
        wanted = [sentences[place] for place in places]
        results = self._decoder(weights).translate_n_batch(wanted, self._search.size)
        for place, items in zip(places, results, strict=True):
            for item in items:
                features = np.round(item.score_components, 9).tolist()
                lists[place].append(Candidate(tuple(item.target), tuple(features)))
        return lists


def _not_empty(sentences: Sequence[str]) -> list[int]:
    return [place for place, sentence in enumerate(sentences) if sentence]
