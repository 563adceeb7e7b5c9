"""Output files: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bitweft.errors import InputError
from bitweft.storage.output import open_output


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
