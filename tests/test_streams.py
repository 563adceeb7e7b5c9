"""Names that are not UTF-8, encodings that cannot hold the output, standard streams that are closed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from bitweft.cli import VERBS
from small import write_text

pytestmark = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are bytes on Linux")

ODD = b"caf\xe9"  # Latin-1


def bitweft(
    *arguments: str | bytes, shell: str = "", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own; `shell` is added for redirections."""
    line = [b'exec "$@" ' + shell.encode(), b"bash", sys.executable.encode(), b"-m", b"bitweft"]
    own = [each.encode() if isinstance(each, str) else each for each in arguments]
    done = subprocess.run(
        [b"bash", b"-c", *line, *own], capture_output=True, env={**os.environ, **(environment or {})}
    )
    assert b"Traceback" not in done.stderr + done.stdout, done.stderr.decode()
    return done


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory, model: Path) -> bytes:
    """Give a directory with a text and a model whose names are not UTF-8."""
    directory = tmp_path_factory.mktemp("odd")
    for path, ending in zip(write_text(directory), (b".en", b".fr"), strict=True):
        os.rename(path, os.fsencode(directory) + b"/" + ODD + ending)
    shutil.copytree(model, os.fsdecode(os.fsencode(directory) + b"/" + ODD + b".made"))
    return os.fsencode(directory) + b"/" + ODD


def test_a_model_of_oddly_named_files_is_kept_and_described(odd: bytes) -> None:
    place = odd + b".new"
    done = bitweft("train", odd + b".en", odd + b".fr", "-o", place, "--note", ODD, "--languages", ODD, "fr")
    assert done.returncode == 0, done.stderr
    assert rb"caf\udce9.new: learned from 300 pairs" in done.stderr
    assert b"caf\\udce9" in bitweft("show", place).stdout
    about = json.loads(bitweft("show", place, "--json").stdout)
    assert os.fsencode(about["training"]["files"][0]) == odd + b".en"
    assert os.fsencode(about["note"]) == os.fsencode(about["languages"][0]) == ODD
    assert bitweft("align", odd + b".en", odd + b".fr", "--model", place).stdout.count(b"\n") == 300


def test_every_verb_takes_odd_names(odd: bytes) -> None:
    text, made, links = (odd + b".en", odd + b".fr"), odd + b".made", odd + b".links"
    assert bitweft("align", *text, "--model", made, "-o", links).returncode == 0
    for command in (
        ("check", *text, links),
        ("evaluate", links, links, "--source", text[0], "--target", text[1]),
        ("convert", links, "--to", "jsonl", "--source", text[0], "--target", text[1], "-o", odd + b".jsonl"),
        ("symmetrize", links, links, "-o", odd + b".both"),
        ("lexicon", *text, links, "-o", odd + b".lexicon"),
        ("phrases", *text, links, "-o", odd + b".phrases"),
        ("view", *text, links, "-o", odd + b".html"),
        ("view", *text, links, "--line", "3", "--text"),
    ):
        done = bitweft(*command)
        assert done.returncode == 0, (command, done.stderr)
    assert json.loads(bitweft("check", *text, "--json").stdout)["ok"] is True
    for wrong in (("align", odd + b".no", text[1]), ("show", odd + b".no"), ("convert", odd + b".no")):
        done = bitweft(*wrong)
        assert done.returncode == 1 and rb"caf\udce9.no" in done.stderr
    for odd_command in (
        (ODD,),
        ("align", b"--" + ODD),
        ("train", *text, "-o", odd + b".x", "--set", ODD + b"=1"),
    ):
        done = bitweft(*odd_command)
        assert done.returncode == 2 and rb"caf\udce9" in done.stderr


def test_shards_of_odd_names_are_resumed(odd: bytes) -> None:
    command = (
        "align",
        "--shards",
        odd + b"*.en",
        odd + b"*.fr",
        "--out",
        odd + b".out",
        "--model",
        odd + b".made",
    )
    assert bitweft(*command).returncode == 0
    again = bitweft(*command, "--resume")
    assert again.returncode == 0 and b"done before" in again.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_no_output_fails_by_its_encoding(odd: bytes, encoding: str, tmp_path: Path, model: Path) -> None:
    environment = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for verb in VERBS:
        done = bitweft(verb, "--help", environment=environment)
        assert done.returncode == 0 and done.stdout.startswith(b"usage: bitweft " + verb.encode())
    source, target = tmp_path / "ja", tmp_path / "fr"
    source.write_text("猫 \U0001f600\n", encoding="utf-8")
    target.write_text("le déjà\n", encoding="utf-8")
    links, gold = tmp_path / "links", tmp_path / "gold"
    links.write_text("0-0\n")
    gold.write_text("0-1\n")
    words = ("--source", str(source), "--target", str(target))
    done = bitweft("evaluate", str(links), str(gold), *words, environment=environment)
    assert done.returncode == 0 and "猫  le".encode() in done.stdout
    done = bitweft("evaluate", str(links), str(gold), *words, "--json", environment=environment)
    assert json.loads(done.stdout)["missed"] == [{"source": "猫", "target": "déjà", "count": 1}]
    done = bitweft("view", str(source), str(target), str(links), "--text", environment=environment)
    assert done.returncode == 0 and "猫".encode() in done.stdout
    done = bitweft("align", str(tmp_path / "猫"), str(target), environment=environment)
    assert done.returncode == 1 and rb"\u732b: no such file" in done.stderr
    done = bitweft("show", str(model), environment=environment)
    assert done.returncode == 0 and "en – fr".encode() in done.stdout


def test_neighbors_are_written_in_utf_8(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    from bitweft.cli.neighbors import _table
    from bitweft.recipes.base import Neighbor

    lines = list(_table([Neighbor("le 猫", 0.5)], [Neighbor("\udce9", 2.0), Neighbor("b", 1.0)]))
    assert lines[1].split() == ["le", "猫", "0.500", "\udce9", "2.00"] and lines[2].split() == ["b", "1.00"]


def test_a_closed_output_is_a_fault_and_closed_others_are_none(odd: bytes, tmp_path: Path) -> None:
    align = ("align", odd + b".en", odd + b".fr", "--model", odd + b".made")
    for command in (align, ("check", odd + b".en", odd + b".fr"), ("show", odd + b".made")):
        done = bitweft(*command, shell=">&-")
        assert done.returncode == 1 and b"a standard stream is closed" in done.stderr, done.stderr
    assert bitweft(*align, shell="<&- 2>&-").stdout.count(b"\n") == 300
    for number, shell in enumerate((">&-", "2>&-", "<&- >&- 2>&-")):
        output = tmp_path / f"{number}.links"
        assert bitweft(*align, "-o", str(output), shell=shell).returncode == 0
        assert output.read_bytes().count(b"\n") == 300
    done = bitweft("align", "-", "--model", odd + b".made", shell="<&-")
    assert done.returncode == 1 and b"-: cannot be read" in done.stderr
    made = odd + b".silent"
    assert bitweft("train", odd + b".en", odd + b".fr", "-o", made, shell="<&- >&- 2>&-").returncode == 0
    assert bitweft("show", made).returncode == 0


def test_devices_and_pipes_are_written_straight(odd: bytes) -> None:
    align = ("align", odd + b".en", odd + b".fr", "--model", odd + b".made", "-q")
    assert bitweft(*align, "-o", "/dev/stdout").stdout.count(b"\n") == 300
    done = bitweft(*align, shell="-o >(wc -l)")
    assert done.returncode == 0 and done.stdout.split() == [b"300"]
    full = bitweft(*align, "-o", "/dev/full")
    assert full.returncode == 1 and b"No space left on device" in full.stderr
