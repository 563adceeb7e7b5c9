"""Outputs as people expect them: compressed by their names; and mistakes that are said plainly."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from bitweft.cli import main
from bitweft.text.encoding import foreign_encoding
from bitweft.text.lines import LineFile
from small import write_text

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    write_text(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress,
    "xz": lzma.decompress,
    "zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}


@pytest.mark.parametrize("ending", sorted(UNPACK))
def test_an_output_is_compressed_as_its_name_says(run: Run, small_model: Path, ending: str) -> None:
    text = ["text.en", "text.fr", "--model", str(small_model), "-q"]
    assert run("align", *text, "-o", "plain") == (0, "", "")
    assert run("align", *text, "-o", f"links.{ending}", "--scores", f"scores.{ending}") == (0, "", "")
    packed = Path(f"links.{ending}").read_bytes()
    assert UNPACK[ending](packed) == Path("plain").read_bytes()
    assert UNPACK[ending](Path(f"scores.{ending}").read_bytes()).count(b"\n") == 300
    assert list(LineFile(f"links.{ending}").lines()) == list(LineFile("plain").lines())
    assert run("align", *text, "-o", f"links.{ending}", "--force") == (0, "", "")
    assert Path(f"links.{ending}").read_bytes() == packed


@pytest.mark.parametrize("ending", sorted(UNPACK))
def test_a_fault_leaves_no_compressed_file(run: Run, small_model: Path, ending: str) -> None:
    Path("short").write_text("a\n")
    assert run("align", "text.en", "short", "--model", str(small_model), "-o", f"x.{ending}")[0] == 1
    assert not list(Path().glob("*x.*"))


def test_shards_with_scores_compressed(run: Run, small_model: Path) -> None:
    options = ["--shards", "text.e?", "text.f?", "--model", str(small_model), "-q"]
    assert run("align", *options, "--out", "a", "--scores", "s", "--compress", "zst")[0] == 1  # no partners
    Path("part1.en").write_bytes(Path("text.en").read_bytes())
    Path("part1.fr").write_bytes(Path("text.fr").read_bytes())
    options[1:3] = ["part*.en", "part*.fr"]
    order = ["align", *options, "--out", "links", "--scores", "scores", "--compress", "zst"]
    assert run(*order) == (0, "", "")
    links = UNPACK["zst"](Path("links/part1.en.links.zst").read_bytes())
    scores = UNPACK["zst"](Path("scores/part1.en.scores.zst").read_bytes())
    single = [
        "align",
        "part1.en",
        "part1.fr",
        "--model",
        str(small_model),
        "-q",
        "-o",
        "one",
        "--scores",
        "own",
    ]
    assert run(*single) == (0, "", "")
    assert (links, scores) == (Path("one").read_bytes(), Path("own").read_bytes())
    assert run(*order)[0] == 1
    assert run(*order, "--resume") == (0, "", "")
    Path("scores/part1.en.scores.zst").write_bytes(b"damaged")
    assert run(*order, "--resume") == (0, "", "")
    assert UNPACK["zst"](Path("scores/part1.en.scores.zst").read_bytes()) == scores
    assert run("align", "part1.en", "part1.fr", "--compress", "gz")[0] == 2


@pytest.mark.parametrize(
    ("encoding", "named"),
    [("latin-1", "LATIN1"), ("cp1252", "WINDOWS-1252"), ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16LE")],
)
@pytest.mark.parametrize("strict", [[], ["--strict"]])
def test_another_encoding_is_said_with_its_remedy(
    run: Run, small_model: Path, encoding: str, named: str, strict: list[str]
) -> None:
    dash = "–" if encoding == "cp1252" else "-"
    Path("fr").write_bytes(f"l'été {dash} déjà\n".encode(encoding) * 300)
    code, _, err = run("align", "text.en", "fr", "--model", str(small_model), "-o", "x", *strict)
    assert code == 1
    assert f"iconv -f {named} -t UTF-8 fr > fr.utf8" in err
    assert not Path("x").exists()


def test_a_few_damaged_lines_are_not_another_encoding() -> None:
    good = "l'été\n".encode()
    assert foreign_encoding(good * 100 + b"l'\xe9t\xe9\n" * 9) is None
    assert foreign_encoding(good * 100 + b"l'\xe9t\xe9\n" * 50) is None
    assert foreign_encoding(good * 10 + b"l'\xe9t\xe9\n" * 50) == "LATIN1"
    assert foreign_encoding("中文\n".encode("utf-16-be") * 50) is not None
    assert foreign_encoding(b"") is None


@pytest.mark.parametrize("verb", ["align", "filter"])
def test_swapped_sides_are_said(run: Run, small_model: Path, verb: str) -> None:
    code, _, err = run(verb, "text.fr", "text.en", "--model", str(small_model), "-q")
    assert code == 0
    assert "the sides look swapped: the model was trained on English and French, in this order" in err
    assert run(verb, "text.en", "text.fr", "--model", str(small_model), "-q")[2] == ""
