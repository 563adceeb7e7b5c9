"""Files and directories that appear whole or not at all; what others wrote is left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bitweft.errors import InputError, UsageError
from bitweft.storage import output
from bitweft.storage.output import (
    clear_leftovers,
    hidden_name,
    json_bytes,
    new_directory,
    open_binary,
    open_output,
    refuse_inputs,
    write_text,
)

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals, modes and /dev are those of POSIX")
# A program that begins to write a file and a directory, says so, and waits to be ended.
WRITER = """
import sys, time
from bitweft.storage.output import exit_on_signals, new_directory, open_output
exit_on_signals()
with open_output("file") as stream, new_directory("directory", manifest="m.json") as directory:
    stream.write("half")
    stream.flush()
    (directory / "a").write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


@contextmanager
def writer(directory: Path, program: str = WRITER) -> Iterator[subprocess.Popen[str]]:
    """Start a program and wait until it is writing; end it in the end."""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "writing\n"
            yield process
        finally:
            process.kill()


def write_directory(path: Path, *, force: bool = False) -> None:
    with new_directory(path, manifest="m.json", about={"by": "test"}, force=force) as directory:
        (directory / "a").write_text("content")


def test_a_file_appears_when_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with open_output(path) as stream:
        stream.write("é\n")
        assert not path.exists()
    assert path.read_bytes() == "é\n".encode()
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_when_writing_fails(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(error), open_output(path, force=True) as stream:
        stream.write("half")
        raise error
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_an_existing_file_is_kept_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(InputError, match="exists already; give --force"), open_output(path):
        pass
    with open_output(path, force=True) as stream:
        stream.write("new")
    assert path.read_text() == "new"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write here"), open_output(tmp_path / "no" / "out"):
        pass
    with pytest.raises(InputError, match="is a directory"), open_output(tmp_path, force=True):
        pass


def test_what_a_link_points_to_is_replaced(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    try:
        link.symlink_to(real)
    except OSError:
        pytest.skip("no symbolic links here")
    with open_output(link, force=True) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_a_device_is_written_straight() -> None:
    if not Path("/dev/null").is_char_device():
        pytest.skip("no /dev/null")
    with open_output("/dev/null", force=True) as stream:
        stream.write("x")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("path", [None, "-"])
def test_standard_output(path: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    with open_output(path) as stream:
        stream.write("é\n")
    assert capsys.readouterr().out == "é\n"


def test_bytes_and_texts_are_written_in_the_same_way(tmp_path: Path) -> None:
    with open_binary(tmp_path / "bytes") as stream:
        stream.write(b"\xff")
    with pytest.raises(InputError, match="exists already"), open_binary(tmp_path / "bytes"):
        pass
    write_text(tmp_path / "text", "old")
    write_text(tmp_path / "text", "é")
    assert (tmp_path / "text").read_bytes() == "é".encode()
    with pytest.raises(InputError, match="exists already"):
        write_text(tmp_path / "text", "new", force=False)
    assert sorted(os.listdir(tmp_path)) == ["bytes", "text"]


@pytest.mark.parametrize("length", [240, 250, 255])
def test_names_may_be_as_long_as_any(tmp_path: Path, length: int) -> None:
    name = "n" * length
    write_text(tmp_path / name, "x")
    assert os.listdir(tmp_path) == [name]
    name = "d" * length
    write_directory(tmp_path / name)
    assert len(os.fsencode(hidden_name("é" * 125))) <= 255


@POSIX
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_the_umask_is_followed_and_never_set(
    tmp_path: Path, mask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(mask)
    try:
        monkeypatch.setattr(os, "umask", None)
        write_text(tmp_path / "file", "x")
        write_directory(tmp_path / "directory")
        monkeypatch.undo()
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~mask
    assert (tmp_path / "directory").stat().st_mode & 0o777 == 0o777 & ~mask
    for name in ("a", "m.json"):
        assert (tmp_path / "directory" / name).stat().st_mode & 0o777 == 0o666 & ~mask


@POSIX
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP"])
def test_a_signal_leaves_nothing_unfinished(tmp_path: Path, number: str) -> None:
    # Whoever runs the tests by nohup has SIGHUP ignored.
    program = f"import signal; signal.signal(signal.{number}, signal.SIG_DFL)\n" + WRITER
    with writer(tmp_path, program) as process:
        process.send_signal(getattr(signal, number))
        assert process.wait(30) == 128 + getattr(signal, number)
    assert os.listdir(tmp_path) == []


@POSIX
def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    program = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + WRITER
    with writer(tmp_path, program) as process:
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)


@POSIX
def test_what_a_killed_writer_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    with writer(tmp_path) as process:
        process.kill()
    assert sorted(os.listdir(tmp_path)) == [".directory.bitweft", ".file.bitweft"]
    foreign = tmp_path / ".other.bitweft"
    foreign.mkdir()
    write_text(tmp_path / "file", "whole")
    write_directory(tmp_path / "directory")
    assert sorted(os.listdir(tmp_path)) == [".other.bitweft", "directory", "file"]
    assert sorted(os.listdir(tmp_path / "directory")) == ["a", "m.json"]
    (foreign / "precious").write_text("mine")
    with pytest.raises(InputError, match="which bitweft did not write"):
        write_text(tmp_path / "other", "x")
    assert (foreign / "precious").read_text() == "mine"


@POSIX
def test_leftovers_are_cleared_and_the_work_of_the_living_is_not(tmp_path: Path) -> None:
    with writer(tmp_path) as process:
        clear_leftovers(tmp_path / "file")
        assert (tmp_path / ".file.bitweft" / "new").read_text() == "half"
        process.kill()
    clear_leftovers(tmp_path / "file")
    clear_leftovers(tmp_path / "directory")
    clear_leftovers(tmp_path / "never")
    assert os.listdir(tmp_path) == []


@POSIX
def test_the_second_of_two_writers_is_told(tmp_path: Path) -> None:
    with writer(tmp_path):
        for force in (False, True):
            with pytest.raises(InputError, match="is being written by another process"):
                write_text(tmp_path / "file", "x", force=force)
            with pytest.raises(InputError, match="is being written by another process"):
                write_directory(tmp_path / "directory", force=force)


def test_a_file_that_came_meanwhile_is_kept(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exists already"), open_output(tmp_path / "out") as stream:
        stream.write("new")
        (tmp_path / "out").write_text("foreign")
    assert (tmp_path / "out").read_text() == "foreign"
    assert os.listdir(tmp_path) == ["out"]


def test_where_files_cannot_be_locked_who_made_the_place_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "_locked", lambda descriptor, *, alone: alone)
    write_text(tmp_path / "out", "x")
    (tmp_path / ".out.bitweft").mkdir()
    with pytest.raises(InputError, match=r"another process \(if not, remove .*\.out\.bitweft\)"):
        write_text(tmp_path / "out", "y")


@POSIX
@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("to_file", [False, True])
def test_open_descriptors_are_written_straight(tmp_path: Path, place: str, to_file: bool) -> None:
    if not os.path.exists(place):
        pytest.skip(f"no {place}")
    program = f"""
from bitweft.storage.output import open_output
print("first")
with open_output({place!r}) as stream:
    stream.write("second\\n")
print("third")
"""
    with (tmp_path / "all").open("w") as file:
        stdout = file if to_file else subprocess.PIPE
        done = subprocess.run([sys.executable, "-c", program], stdout=stdout, text=True, check=True)
    assert (done.stdout or (tmp_path / "all").read_text()) == "first\nsecond\nthird\n"


@POSIX
def test_a_named_pipe_is_written_straight(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        with open_output(tmp_path / "pipe") as stream:
            stream.write("x\n")
        assert reader.communicate()[0] == "x\n"


def test_a_directory_says_what_is_in_it(tmp_path: Path) -> None:
    write_directory(tmp_path / "deep" / "d")
    assert json.loads((tmp_path / "deep" / "d" / "m.json").read_text()) == {"by": "test", "files": ["a"]}
    with pytest.raises(InputError, match="exists already; give --force"):
        write_directory(tmp_path / "deep" / "d")
    (tmp_path / "deep" / "d" / "a").write_text("changed")
    write_directory(tmp_path / "deep" / "d", force=True)
    assert (tmp_path / "deep" / "d" / "a").read_text() == "content"
    assert os.listdir(tmp_path / "deep") == ["d"]


@pytest.mark.parametrize("name", ["precious", "m.json", "sub/file"])
def test_what_bitweft_did_not_write_is_not_replaced(tmp_path: Path, name: str) -> None:
    place = tmp_path / "d"
    if name != "m.json":
        write_directory(place)
    (place / name).parent.mkdir(parents=True, exist_ok=True)
    (place / name).write_text("{}")
    with pytest.raises(InputError, match="bitweft wrote it, so it is not replaced"):
        write_directory(place, force=True)
    assert (place / name).read_text() == "{}"
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="is a file"):
        write_directory(tmp_path / "file", force=True)


def test_a_directory_that_was_half_replaced_comes_back(tmp_path: Path) -> None:
    write_directory(tmp_path / "d")
    (tmp_path / ".d.bitweft").mkdir()
    (tmp_path / "d").rename(tmp_path / ".d.bitweft" / "old")  # as a kill between two renames leaves it
    with pytest.raises(InputError, match="exists already"):
        write_directory(tmp_path / "d")
    assert (tmp_path / "d" / "a").read_text() == "content"
    assert os.listdir(tmp_path) == ["d"]


def test_a_directory_whose_writing_fails_leaves_the_old_one(tmp_path: Path) -> None:
    write_directory(tmp_path / "d")
    with pytest.raises(KeyError), new_directory(tmp_path / "d", manifest="m.json", force=True) as directory:
        (directory / "b").write_text("half")
        raise KeyError
    assert sorted(os.listdir(tmp_path / "d")) == ["a", "m.json"]
    assert os.listdir(tmp_path) == ["d"]


def test_an_input_is_no_output(tmp_path: Path) -> None:
    inputs = [None, "-", str(tmp_path / "d" / ".." / "d" / "in")]
    refuse_inputs(None, inputs)
    refuse_inputs("-", inputs)
    refuse_inputs(tmp_path / "d" / "out", inputs)
    for place in (tmp_path / "d" / "in", tmp_path / "d", tmp_path):
        with pytest.raises(UsageError, match="is an input"):
            refuse_inputs(place, inputs)


def test_names_that_are_not_utf8_come_back_from_json() -> None:
    name = os.fsdecode(b"caf\xe9 \xc3\xa9\n")
    content = json_bytes({name: name})
    assert json.loads(content) == {name: name} and "é".encode() in content
