"""bitweft inside spaCy and sil-machine: the real packages, or skipped where they are not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitweft.aligner import Aligner
from bitweft.errors import UsageError
from small import sample

PAIRS = [(list(pair.source.tokens), list(pair.target.tokens)) for pair in list(sample()[0])[:5]]


def test_a_word_aligner_of_sil_machine(small_model: Path) -> None:
    pytest.importorskip("machine", reason="sil-machine is not installed")
    from bitweft.compat.machine import BitweftWordAligner

    aligner = BitweftWordAligner(small_model)
    expected = [set(links) for links in Aligner.load(small_model).align(PAIRS)]
    matrices = aligner.align_batch([*PAIRS, ([], ["x"])])
    found = [{(p.source_index, p.target_index) for p in m.to_aligned_word_pairs()} for m in matrices]
    assert found == [*expected, set()]
    one = aligner.align(*PAIRS[0])
    assert (one.row_count, one.column_count) == tuple(map(len, PAIRS[0]))
    assert {(p.source_index, p.target_index) for p in one.to_aligned_word_pairs()} == expected[0]


def test_a_component_of_spacy(small_model: Path) -> None:
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    import bitweft.compat.spacy  # noqa: F401  # makes the component known

    nlp, other = spacy.blank("en"), spacy.blank("fr")
    nlp.add_pipe("bitweft", config={"model": str(small_model)})
    docs = []
    for source, target in PAIRS:
        doc = spacy.tokens.Doc(nlp.vocab, words=source)
        doc._.translation = spacy.tokens.Doc(other.vocab, words=target)
        docs.append(doc)
    alone = nlp.make_doc("no translation")
    done = list(nlp.pipe([*docs, alone]))
    assert [doc._.links for doc in done] == [*Aligner.load(small_model).align(PAIRS), None]
    assert nlp(docs[0])._.links == done[0]._.links
    alone._.translation = "text"
    with pytest.raises(UsageError, match="must be a Doc, got str"):
        nlp(alone)
    with pytest.raises(UsageError, match="needs a model"):
        spacy.blank("en").add_pipe("bitweft")
