"""Compiled code is kept, renewed when any file of its folder changes, and works where it cannot be kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from numba.core import caching, config

from bitweft import Aligner, sample
from bitweft.recipes import compile as compiling
from bitweft.recipes import libraries
from bitweft.recipes.compile import compiled, is_compiled, source_stamp
from bitweft.recipes.default import recipe

DECORATOR = "from bitweft.recipes.compile import compiled, is_compiled\n"
CALLER = DECORATOR + (
    "from two.callee import called\n@compiled(entry=True)\ndef call(x):\n    return called(x) + 1\n"
)
CALLEE = DECORATOR + "@compiled()\ndef called(x):\n    return {number} * x\n"
PROGRAM = """
from two.caller import call, is_compiled
before = is_compiled(call)
print(call(1), before, sum(call._cache_hits.values()))
"""
READY_TO_COMPILE = "import sys; print('numba.typed.typeddict' in sys.modules)"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Make a package of two files, in one of which a compiled function calls one of the other."""
    folder = tmp_path / "two"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "caller.py").write_text(CALLER)
    (folder / "callee.py").write_text(CALLEE.format(number=10))
    return folder


def run(package: Path, program: str = PROGRAM, **environment: str) -> tuple[str, str]:
    """Run a program in a process of its own; return what it prints, and its messages."""
    places = [str(package.parent), *sys.path]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(places),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": str(package.parent / "kept"),
            **environment,
        },
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def kept_files(package: Path, ending: str) -> list[Path]:
    return sorted((package.parent / "kept").rglob(f"*.{ending}"))


def test_compiled_code_is_kept(package: Path) -> None:
    assert run(package) == ("11 False 0", "")
    assert run(package) == ("11 True 1", "")


def test_what_only_compiled_code_calls_is_not_kept(package: Path) -> None:
    run(package)
    assert [file.name.split("-")[0] for file in kept_files(package, "nbc")] == ["caller.call"]


def test_what_is_kept_is_loaded_without_all_that_compiling_needs(package: Path) -> None:
    program = PROGRAM + READY_TO_COMPILE
    assert run(package, program) == ("11 False 0\nTrue", "")
    assert run(package, program) == ("11 True 1\nFalse", "")


def test_what_is_kept_is_loaded_by_a_numba_with_the_public_way_alone(package: Path) -> None:
    program = """
from numba.core.caching import Cache
private = Cache._load_overload
Cache.load_overload = lambda self, *wanted: private(self, *wanted)
del Cache._load_overload
"""
    run(package)
    assert run(package, program + PROGRAM) == ("11 True 1", "")


def test_an_entry_that_is_kept_is_linked_into_one_that_is_compiled_later(package: Path) -> None:
    (package / "caller.py").write_text(
        CALLER + "@compiled(entry=True)\ndef twice(x):\n    return call(call(x))\n"
    )
    run(package)
    later = "from two.caller import call, twice\nprint(call(1), sum(call._cache_hits.values()), twice(1))"
    assert run(package, later) == ("11 1 111", "")


@pytest.mark.parametrize(
    ("other", "hits"), [("from two.caller import call; call(1)", 1), ("raise SystemExit(1)", 0)]
)
def test_what_another_process_compiles_is_waited_for(package: Path, other: str, hits: int) -> None:
    (package / "ahead.py").write_text(other)
    start = "from bitweft.recipes.beside import compile_beside\ncompile_beside('two.ahead', ['call'])\n"
    assert run(package, start + PROGRAM) == (f"11 False {hits}", "")


def test_another_process_ends_with_this_one(package: Path) -> None:
    (package / "ahead.py").write_text("import time\ntime.sleep(600)\n")
    start = "from bitweft.recipes.beside import compile_beside\ncompile_beside('two.ahead', ['other'])\n"
    assert run(package, start + PROGRAM) == ("11 False 0", "")


@pytest.mark.parametrize("module", [compiling, libraries])
def test_a_change_in_how_to_compile_is_noticed(module: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text("")
    before = source_stamp.__wrapped__(tmp_path)
    changed = tmp_path / "changed"
    changed.write_text(Path(str(module.__file__)).read_text() + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "__file__", str(changed))
        assert source_stamp.__wrapped__(tmp_path) != before


def test_a_change_in_another_file_of_the_folder_is_noticed(package: Path) -> None:
    run(package)
    (package / "callee.py").write_text(CALLEE.format(number=20))
    assert run(package) == ("21 False 0", "")
    assert run(package) == ("21 True 1", "")


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_damaged_files_are_replaced(package: Path, ending: str, damage: str) -> None:
    run(package)
    for file in kept_files(package, ending):
        content = file.read_bytes()
        flipped = bytearray(content)
        flipped[2 * len(content) // 3] ^= 0x10
        file.write_bytes(content[: len(content) // 2] if damage == "cut" else flipped)
    result, messages = run(package)
    assert result.startswith("11 ") and messages == ""
    assert run(package) == ("11 True 1", "")


def test_code_of_an_earlier_version_is_not_taken_where_the_new_was_not_written(package: Path) -> None:
    """A stop between writing the index and the code leaves an index that names the old code."""
    run(package)
    old = {file: file.read_bytes() for file in kept_files(package, "nbc")}
    (package / "callee.py").write_text(CALLEE.format(number=20))
    run(package)
    for file, content in old.items():
        file.write_bytes(content)
    assert run(package)[0].startswith("21 ")


def test_without_a_place_to_write_there_is_one_line(package: Path) -> None:
    """Put a file where the directories would be: root, too, cannot write there."""
    (package / "__pycache__").write_text("")
    nowhere = package.parent / "nowhere"
    nowhere.write_text("")
    result, messages = run(package, NUMBA_CACHE_DIR="", HOME=str(nowhere), XDG_CACHE_HOME=str(nowhere))
    assert result == "11 False 0"
    assert messages.count("\n") == 1
    assert messages.startswith("bitweft: compiled code is not kept")
    assert "NUMBA_CACHE_DIR" in messages and "locator" not in messages


@pytest.mark.parametrize("method", ["_save_index", "_save_data"])
def test_on_a_full_disk_there_is_one_line(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    lines: list[str] = []
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(caching.IndexDataCacheFile, method, full)
    monkeypatch.setattr(compiling, "notice", lines.append)
    monkeypatch.setattr(compiling, "_said", [])
    assert some_function(2) == 4 and other_function(2) == 6
    assert len(lines) == 1 and "No space left on device" in lines[0]


@pytest.mark.parametrize("missing", ["FunctionCache", "_source_stamp"])
def test_another_numba_without_its_cache_still_compiles(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    if missing == "FunctionCache":
        monkeypatch.delattr(caching, missing)
    else:
        monkeypatch.setattr(caching, "IndexDataCacheFile", lambda **_: object())
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiling, "notice", lines.append)
    monkeypatch.setattr(compiling, "_said", [])
    function = compiled(entry=True)(double)
    assert not is_compiled(function)
    assert function(3) == 6 and is_compiled(function)
    assert len(lines) == 1 and "numba" in lines[0]


def test_a_model_that_is_kept_does_not_wait_for_what_learning_needs(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "needs_compiling", lambda *, learning: learning)
    kept = Aligner.load(model).recipe
    assert kept.preparation() is None
    assert kept.preparation(learning=True) == Aligner().recipe.preparation() == recipe.COMPILING


def double(x: int) -> int:
    return 2 * x


def triple(x: int) -> int:
    return 3 * x


def some_function(x: int) -> int:
    return compiled(entry=True)(double)(x)


def other_function(x: int) -> int:
    return compiled(entry=True)(triple)(x)


@pytest.mark.slow
def test_the_run_that_compiles_learns_the_same_model_as_later_ones(tmp_path: Path) -> None:
    text, _ = sample.bitext(sample.generate(400))
    for side, name in enumerate(("en", "fr")):
        (tmp_path / name).write_text("".join(f"{pair[side].text}\n" for pair in text), encoding="utf-8")
    weights = []
    for run in ("compiling", "loading"):
        train = ["train", "en", "fr", "-o", run, "--threads", "1", "-q"]
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        subprocess.run([sys.executable, "-m", "bitweft", *train], cwd=tmp_path, env=environment, check=True)
        weights.append((tmp_path / run / "weights.safetensors").read_bytes())
    assert weights[0] == weights[1]


@pytest.mark.slow
def test_what_is_compiled_ahead_is_what_counting_and_aligning_need(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    program = """
from bitweft import Aligner
from bitweft.recipes.default.compiled.counting import add_counts, add_unlinked
from bitweft.recipes.default.compiled.refine import refine
aligner = Aligner(settings=["lse_epochs=0", "chain_epochs=0"]).fit([("the cat", "le chat")] * 2)
aligner.align("the cat", "le chat")
for loop in (add_counts, add_unlinked, refine):
    print(sum(loop._cache_hits.values()), sum(loop._cache_misses.values()))
"""
    for command in (["-m", "bitweft.recipes.default.ahead"], ["-c", program]):
        done = subprocess.run(
            [sys.executable, *command], env=environment, capture_output=True, text=True, check=True
        )
    assert done.stdout == "1 0\n" * 3
