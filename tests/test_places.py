"""Files elsewhere, through fsspec, and text and links in Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bitweft.aligner import Aligner
from bitweft.cli import main
from bitweft.corpus.shards import find_shards
from bitweft.errors import InputError, UsageError
from bitweft.storage import places
from bitweft.text.bitext import Bitext
from small import aligner, sample

PAIRS = [(pair.source.text, pair.target.text) for pair in sample()[0]][:40]
LINKS = [str(links) for links in aligner().align(PAIRS)]


@pytest.fixture
def elsewhere() -> Any:
    """Give an empty file system in memory."""
    fsspec = pytest.importorskip("fsspec", reason="needs the extra remote")
    system = fsspec.filesystem("memory")
    system.store.clear()
    return system


@pytest.mark.parametrize(
    ("name", "remote"),
    [
        ("s3://bucket/a.zst", True),
        ("gs://b/*.gz", True),
        ("memory://x", True),
        ("zip::s3://b/a.zip", True),
        ("corpus/a.zst", False),
        ("C:\\text.en", False),
        ("a:/b", False),
        ("-", False),
    ],
)
def test_names_say_where_files_are(name: str, remote: bool) -> None:
    assert places.is_remote(name) is remote


def test_shards_elsewhere_are_found_aligned_and_resumed(
    elsewhere: Any, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(4):
        lines = "".join(f"{s}\t{t}\n" for s, t in PAIRS[10 * number : 10 * number + 10])
        elsewhere.pipe_file(f"/corpus/{number}.tsv", lines.encode())
    arguments = [
        "align",
        "--shards",
        "memory://corpus/*.tsv",
        "--out",
        "memory://links",
        "--model",
        str(model),
    ]
    assert main(arguments) == 0
    names = sorted(elsewhere.find("/links"))
    assert names == [f"/links/{n}.tsv.links{end}" for n in range(4) for end in ("", ".manifest.json")]
    joined = b"".join(elsewhere.cat_file(name) for name in names[::2]).decode()
    assert joined.split("\n")[:-1] == LINKS
    elsewhere.rm_file("/links/2.tsv.links")
    capsys.readouterr()
    assert main(arguments) == 1
    assert "memory://links/0.tsv.links: exists already" in capsys.readouterr().err
    assert main([*arguments, "--resume"]) == 0
    assert capsys.readouterr().err.count("done before") == 3


def test_a_text_and_a_model_elsewhere(elsewhere: Any, model: Path, tmp_path: Path) -> None:
    for path in model.iterdir():
        elsewhere.pipe_file(f"/models/enfr/{path.name}", path.read_bytes())
    assert [str(links) for links in Aligner.load("memory://models/enfr").align(PAIRS)] == LINKS
    elsewhere.pipe_file("/a.en", "\n".join(source for source, _ in PAIRS).encode())
    elsewhere.pipe_file("/a.fr", "\n".join(target for _, target in PAIRS).encode())
    text = Bitext("memory://a.en", "memory://a.fr")
    assert [(pair.source.text, pair.target.text) for pair in text] == PAIRS and text.count() == len(PAIRS)


def test_what_fails_leaves_nothing(elsewhere: Any) -> None:
    with pytest.raises(ValueError, match="half"), places.sent("memory://out/x") as stream:
        stream.write(b"one")
        raise ValueError("half way")
    assert not places.exists("memory://out/x")
    with pytest.raises(InputError, match="memory://no/file: there is no such file"):
        list(Bitext("memory://no/file"))
    with pytest.raises(InputError, match="no file has a name like this"):
        find_shards(["memory://no/*"], "out", "pharaoh")


def write_table(path: Path, columns: dict[str, list[Any]]) -> str:
    pytest.importorskip("pyarrow", reason="needs the extra parquet")
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return str(path)


def columns(*names: str) -> dict[str, list[Any]]:
    sides = (list(side) for side in zip(*PAIRS, strict=True))
    return {"id": list(range(len(PAIRS))), **dict(zip(names, sides, strict=True))}


@pytest.mark.parametrize("names", [("en", "fr"), ("src", "tgt"), ("source", "target")])
def test_two_columns_of_text_are_read(tmp_path: Path, names: tuple[str, str]) -> None:
    text = Bitext(write_table(tmp_path / "a.parquet", columns(*names)))
    assert [(pair.source.text, pair.target.text) for pair in text] == PAIRS and text.count() == len(PAIRS)
    assert text.format == "parquet"


def test_columns_are_named_where_there_are_more(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.parquet", {**columns("en", "fr"), "de": [""] * len(PAIRS)})
    with pytest.raises(InputError, match="name two columns of text with --keys; there are: en, fr, de"):
        list(Bitext(path))
    with pytest.raises(InputError, match="has no column 'it', but id, en, fr, de"):
        list(Bitext(path, languages=("en", "it")))
    assert next(iter(Bitext(path, languages=("fr", "en")))).source.text == PAIRS[0][1]


def test_a_row_without_a_text(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.parquet", {"src": ["a", None, "c"], "tgt": ["x", "y", "z"]})
    with pytest.raises(InputError, match=r"a\.parquet:2: no text in src or tgt"):
        list(Bitext(path))
    text = Bitext(path, strict=False)
    assert [len(pair.source) for pair in text] == [1, 0, 1] and text.oddities.damaged == 1
    with pytest.raises(UsageError, match="Parquet has no lines"):
        next(text.raw_lines())
    broken = tmp_path / "b.parquet"
    broken.write_bytes(Path(path).read_bytes()[:50])
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        list(Bitext(broken))


def test_links_are_written_as_a_table(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = write_table(tmp_path / "a.parquet", columns("en", "fr"))
    import pyarrow.parquet

    out = str(tmp_path / "links.parquet")
    assert main(["align", text, "--model", str(model), "--to", "parquet", "-o", out]) == 0
    table = pyarrow.parquet.read_table(out)
    assert table["links"].to_pylist() == LINKS
    inferences = aligner().infer(PAIRS)
    assert table["score"].to_pylist() == [inference.score for inference in inferences]
    kept = [list(inference.alignment.probabilities or ()) for inference in inferences]
    assert table["probabilities"].to_pylist() == [pytest.approx(own) for own in kept]
    shards = ["align", "--shards", text, "--out", str(tmp_path / "out"), "--model", str(model)]
    assert main([*shards, "--to", "parquet"]) == 0
    assert (tmp_path / "out" / "a.parquet").read_bytes() == Path(out).read_bytes()
    assert main(["align", text, "--model", str(model), "--to", "parquet"]) == 2
    assert "needs a file" in capsys.readouterr().err
