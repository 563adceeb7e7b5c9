"""eflomal's place: its names, flags, files and directions; beside the real one where that is installed."""

from __future__ import annotations

import importlib
import importlib.util
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from bitweft.cli import main
from bitweft.compat import eflomal
from bitweft.compat.eflomal import Aligner, LineError, calculate_priors, read_priors, write_priors
from small import sample, write_joint, write_text

Run = Callable[..., tuple[int, str, str]]
SOURCE = ["the house", "the big house", "a cat"]
TARGET = ["la maison", "la grande maison", "un chat"]
FORWARD = ["0-0 1-1", "0-0 1-1 2-2", "1-1 0-0"]
REVERSE = ["0-0 1-1", "0-0 2-2", "0-0"]
PRIORS = """\
LEX\ta\tun\t1
LEX\tbig\tgrande\t1
LEX\tcat\tchat\t1
LEX\thouse\tmaison\t2
LEX\tthe\tla\t2
FERF\ta\t1\t1
FERF\tbig\t1\t1
FERF\tcat\t1\t1
FERF\thouse\t1\t2
FERF\tthe\t1\t2
FERR\tla\t1\t2
FERR\tmaison\t1\t2
FERR\tun\t1\t1
HMMF\t1\t10
HMMR\t1\t6
HMMR\t2\t2
"""
INSTALLED = importlib.util.find_spec("eflomal") is not None


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def written(counts: eflomal.PriorCounts) -> str:
    stream = io.StringIO()
    write_priors(stream, *counts)
    return stream.getvalue()


def test_priors_by_hand() -> None:
    counts = calculate_priors(SOURCE, TARGET, FORWARD, REVERSE)
    assert written(counts) == PRIORS
    assert calculate_priors(SOURCE, TARGET, FORWARD, REVERSE, False) == counts


def test_priors_of_the_other_direction() -> None:
    turned = calculate_priors(SOURCE, TARGET, FORWARD, REVERSE, True)
    inverse = [
        [" ".join(link[::-1] for link in line.split()) for line in side] for side in (REVERSE, FORWARD)
    ]
    assert turned == calculate_priors(TARGET, SOURCE, inverse[0], inverse[1])


def test_priors_there_and_back() -> None:
    found = read_priors(io.StringIO(PRIORS))
    assert found.lexical[3] == ("house", "maison", 2)
    assert found.reverse_jumps == {1: 6, 2: 2}
    assert found.target_fertility[0] == ("la", 1, 2)


@pytest.mark.parametrize(
    "line", ["LEX\ta\tb", "LEX\ta\tb\tmuch", "HMMF\tx\t1", "FERF\ta\t1", "JUMP\t1\t1", "", "LEX a b 1"]
)
def test_a_line_of_priors_at_fault(line: str) -> None:
    with pytest.raises(LineError, match="2: expected `LEX source target alpha`"):
        read_priors(["LEX\ta\tb\t1\n", line + "\n"])


def test_faulty_links() -> None:
    with pytest.raises(ValueError, match=r"2: link 0-3 .* outside a pair of 3 and 3 words"):
        calculate_priors(SOURCE, TARGET, ["", "0-3", ""], ["", "", ""])
    with pytest.raises(ValueError, match="1: '0:0' is not a link"):
        calculate_priors(SOURCE, TARGET, ["0:0", "", ""], ["", "", ""])
    with pytest.raises(ValueError, match="3: one of the four inputs ends here"):
        calculate_priors(SOURCE, TARGET, FORWARD[:2], REVERSE)
    with pytest.raises(ValueError, match="the target sentences end before line 3"):
        Aligner().align(SOURCE, TARGET[:2])


def text() -> tuple[list[str], list[str]]:
    pairs = list(sample()[0])
    return [pair.source.text for pair in pairs], [pair.target.text for pair in pairs]


def test_the_class_writes_links_and_scores(tmp_path: Path) -> None:
    source, target = text()
    source[3] = target[5] = ""
    paths = [tmp_path / name for name in ("fwd", "rev", "fs", "rs")]
    Aligner(model=3, threads=1).align(source, target, paths[0], paths[1], paths[2], paths[3])
    forward, reverse, scores, same = (path.read_text().split("\n")[:-1] for path in paths)
    assert len(forward) == len(reverse) == len(scores) == len(source)
    assert forward[3] == reverse[5] == ""
    assert scores == same
    assert sum(float(score) < 0 for score in scores) > 0.9 * len(scores)  # lower is better
    for line in forward:
        chosen = [int(link.split("-")[1]) for link in line.split()]
        assert chosen == sorted(set(chosen))  # each target word once, in order
    for line in reverse:
        chosen = [int(link.split("-")[0]) for link in line.split()]
        assert chosen == sorted(set(chosen))


def test_priors_are_used(tmp_path: Path) -> None:
    source, target = text()
    source, target = [*source, "owl bat"], [*target, "chouette hibou"]
    priors = [f"LEX\t{s}\t{t}\t50\n" for s, t in (("Owl", "hibou"), ("bat", "chouette"), ("<NULL>", "un"))]
    links = tmp_path / "links"
    Aligner(threads=1).align(source, target, links, priors_input=[*priors, "HMMF\t1\t5\n"])
    assert "0-1" in links.read_text().split("\n")[-2].split()
    Aligner(threads=1).align(source, target, links)
    assert "0-1" not in links.read_text().split("\n")[-2].split()


def test_words_are_cut() -> None:
    assert eflomal._cut(["Houses", "a"], 3, 0) == ["hou", "a"]
    assert eflomal._cut(["Houses", "a"], 0, 2) == ["es", "a"]


def test_the_commands(run: Run, tmp_path: Path) -> None:
    joint = write_joint(tmp_path)
    source, target = write_text(tmp_path)
    files = ["-f", "f", "-r", "r", "-F", "F", "-R", "R", "--threads", "1"]
    code, out, err = run("eflomal-align", "-s", source, "-t", target, *files, "-m", "3", "-l", "0.5")
    assert (code, out) == (0, "")
    assert err == "bitweft: --model, --length: accepted, but without a meaning here\n"
    kept = Path("f").read_bytes()
    Aligner(threads=1).align(*text(), "own-f", "own-r", "own-F", "own-R")
    for name in "frFR":
        assert Path(name).read_bytes() == Path(f"own-{name}").read_bytes()
    code, _, err = run("eflomal-align", "-i", joint, *files)
    assert code == 1
    assert "f: exists already; give --overwrite" in err
    assert run("eflomal-align", "-i", joint, *files, "--overwrite")[0] == 0
    assert Path("f").read_bytes() == kept
    assert run("eflomal-makepriors", "-i", joint, "-f", "f", "-r", "r", "--priors", "p") == (0, "", "")
    assert run("eflomal-makepriors", "-i", joint, "-f", "f", "-r", "r")[1] == Path("p").read_text()
    forward, reverse = (Path(name).read_text().splitlines() for name in "fr")
    assert Path("p").read_text() == written(calculate_priors(*text(), forward, reverse))
    code, _, err = run("eflomal-align", "-i", joint, *files, "-p", "p", "--overwrite", "-v")
    assert code == 0
    assert "have no meaning here and were left out" in err


def test_faults_of_the_commands(run: Run, tmp_path: Path) -> None:
    joint = write_joint(tmp_path)
    assert run("eflomal-align", "-f", "f")[0] == 2
    assert run("eflomal-align", "-i", joint, "-s", "a", "-t", "b")[0] == 2
    Path("bad").write_text("LEX\ta\tb\t1\nLEX\ta\n")
    code, _, err = run("eflomal-align", "-i", joint, "-p", "bad", "-f", "f")
    assert code == 1
    assert "bad:2: expected `LEX" in err
    Path("one").write_text("no bar here\n")
    code, _, err = run("eflomal-align", "-i", "one", "-f", "f")
    assert code == 1
    assert "one:1: no `|||`" in err
    code, _, err = run("eflomal-align", "-i", joint, "-f", joint, "--overwrite")
    assert code == 2
    assert not Path("f").exists()


@pytest.mark.skipif(not INSTALLED, reason="eflomal is not installed: pip install eflomal")
class TestBesideTheRealOne:
    """Make the same calls of both."""

    @pytest.fixture
    def real(self) -> ModuleType:
        return importlib.import_module("eflomal")

    def test_priors_are_the_same(self, real: ModuleType) -> None:
        source, target = text()
        links = [str(gold_links) for gold_links in _gold()]
        own, theirs = (module.calculate_priors(source, target, links, links) for module in (eflomal, real))
        assert list(own) == list(theirs)
        files = io.StringIO(), io.StringIO()
        write_priors(files[0], *own)
        real.write_priors(files[1], *theirs)
        assert files[0].getvalue() == files[1].getvalue()
        found = [module.read_priors(io.StringIO(files[0].getvalue())) for module in (eflomal, real)]
        assert list(found[0]) == list(found[1])

    def test_each_reads_the_priors_of_the_other(self, real: ModuleType, tmp_path: Path) -> None:
        source, target = text()
        links = tmp_path / "f", tmp_path / "r"
        for module, other in ((eflomal, real), (real, eflomal)):
            module.Aligner().align(
                source, target, links_filename_fwd=str(links[0]), links_filename_rev=str(links[1]), quiet=True
            )
            lines = [path.read_text().splitlines() for path in links]
            priors = io.StringIO()
            module.write_priors(priors, *module.calculate_priors(source, target, *lines))
            priors.seek(0)
            out = tmp_path / "out"
            other.Aligner().align(source, target, links_filename_fwd=str(out), priors_input=priors)
            assert len(out.read_text().splitlines()) == len(source)

    def test_the_files_look_alike(self, real: ModuleType, tmp_path: Path) -> None:
        source, target = text()
        source[3] = target[3] = ""
        wrong = target[1:100] + target[:1]
        shapes = []
        for module in (eflomal, real):
            paths = [str(tmp_path / name) for name in ("f", "r", "F", "R")]
            module.Aligner(model=3).align([*source, *source[:100]], [*target, *wrong], *paths)
            lines = [Path(path).read_text().splitlines() for path in paths]
            shapes.append([len(own) for own in lines])
            scores = [float(line) for line in lines[2]]
            good, bad = sum(scores[:100]) / 100, sum(scores[-100:]) / 100
            assert good < bad, module  # lower is better in both
        assert shapes[0] == shapes[1]

    def test_the_commands_take_the_same_flags(self, tmp_path: Path) -> None:
        source, target = write_text(tmp_path)
        order = ["-s", source, "-t", target, "-m", "2", "-M", "1", "-l", "0.5", "-1", "2", "-2", "2"]
        order += ["--n-samplers", "1", "--null-prior", "0.1", "--source-prefix", "4", "--overwrite"]
        order += ["-f", str(tmp_path / "f"), "-r", str(tmp_path / "r"), "-F", str(tmp_path / "F")]
        theirs = [sys.executable, str(Path(sys.executable).with_name("eflomal-align"))]
        for command in (theirs, [sys.executable, "-m", "bitweft", "eflomal-align"]):
            subprocess.run([*command, *order], check=True, capture_output=True)
            lines = [(tmp_path / name).read_text().splitlines() for name in ("f", "r", "F")]
            assert {len(own) for own in lines} == {300}


def _gold() -> list[str]:
    return [" ".join(f"{s}-{t}" for s, t in sorted(gold.sure)) for gold in sample()[1]]
