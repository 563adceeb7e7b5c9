"""The one way a file or a directory appears: made in a hidden place beside, synced, and renamed when whole.

What is to become `DIR/NAME` is made in the directory `DIR/.NAME.bitweft`, which holds

    lock   held by the writer as long as it lives, so that there is only one, and what a killed writer
           left is known to be nobody's: the next writer of the same output clears it away
    new    the file or directory in the making
    old    the directory that is being replaced, between its going and the new one's coming

No mode is set anywhere: files and directories get what the kernel gives under the umask.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import signal
import stat
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import BinaryIO, TextIO, TypeAlias, cast

from bitweft.errors import InputError, OccupiedError, UsageError
from bitweft.storage.places import is_remote, sent

AnyPath: TypeAlias = str | os.PathLike[str]

LONGEST_NAME = 255  # bytes of a file's name, on all common file systems
_LOCK, _NEW, _OLD = "lock", "new", "old"
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


@contextmanager
def open_output(path: AnyPath | None, *, force: bool = False) -> Iterator[TextIO]:
    """Open `path` for writing UTF-8 text; the file appears, whole, when the block ends well.

    Bytes of file names that are not UTF-8 are written as escapes, `\\udce9`, which JSON reads back.

    Arguments:
        path: `None` and `-` mean standard output. A device, a pipe, or an open descriptor (`/dev/stdout`,
            `/dev/fd/3`) is written straight. A name that ends in `.gz`, `.zst` or `.xz` gets compressed text.
        force: replace a file that exists.

    Raises:
        InputError: the file exists, is a directory, is being written by another, or cannot be written.
    """
    if path is None or str(path) == "-":
        yield _standard_output()
        sys.stdout.flush()
        return
    with open_binary(path, force=force) as raw, _packed(raw, os.fspath(path)) as packed:
        stream = io.TextIOWrapper(packed, encoding="utf-8", errors="backslashreplace", newline="\n")
        yield stream
        stream.detach()  # flushed; the file is closed by who opened it


@contextmanager
def open_binary(path: AnyPath, *, force: bool = False) -> Iterator[BinaryIO]:
    """Open `path` for writing bytes, as `open_output` does for text."""
    if is_remote(path):
        with sent(os.fspath(path), force=force) as file:
            yield cast(BinaryIO, file)
        return
    straight = _straight(path)
    if straight is not None:
        with straight:
            yield straight
        return
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(path))
    with _workspace(target, path) as place:
        _check_file(target, path, force)
        with (place / _NEW).open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        _check_file(target, path, force)  # another program may have made one meanwhile
        os.replace(place / _NEW, target)


@contextmanager
def _packed(raw: BinaryIO, name: str) -> Iterator[BinaryIO]:
    """Compress what is written, as the ending of the name says: the same bytes always come to the same."""
    if name.endswith(".gz"):
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
            yield cast(BinaryIO, packed)
    elif name.endswith(".xz"):
        with lzma.LZMAFile(raw, "wb") as stream:
            yield cast(BinaryIO, stream)
    elif name.endswith(".zst"):
        import zstandard

        with zstandard.ZstdCompressor(write_checksum=True).stream_writer(raw, closefd=False) as writer:
            yield cast(BinaryIO, writer)
    else:
        yield raw


@contextmanager
def gzip_text(raw: BinaryIO, level: int = 9) -> Iterator[TextIO]:
    """Write UTF-8 text, compressed with gzip: the same text always gives the same bytes."""
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=level, fileobj=raw, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as stream,
    ):
        yield stream


def write_text(path: AnyPath, text: str, *, force: bool = True) -> None:
    """Write a small file at once, in UTF-8; it replaces one that exists unless `force` is false."""
    write_bytes(path, text.encode("utf-8"), force=force)


def write_bytes(path: AnyPath, content: bytes, *, force: bool = True) -> None:
    """Write a file at once; it replaces one that exists unless `force` is false.

    Raises:
        InputError: it cannot be written, the disk is full for example; what was there is there still.
    """
    try:
        with open_binary(path, force=force) as stream:
            stream.write(content)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=os.fspath(path)) from error


def json_bytes(value: object) -> bytes:
    """Write JSON to be read by people too; bytes of names that are not UTF-8 come back as they were."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return text.encode("utf-8", "backslashreplace")  # JSON writes half a surrogate pair just so: \udcff


@contextmanager
def new_directory(
    path: AnyPath, *, manifest: str, about: Mapping[str, object] | None = None, force: bool = False
) -> Iterator[Path]:
    """Give an empty directory to write files into; it becomes `path`, whole, when the block ends well.

    Arguments:
        path: the directory to make, with its parents.
        manifest: the name of a JSON file that is written last into the directory: all of `about`, and under
            `files` the names of the files beside it. By it, bitweft knows again what it wrote.
        about: what else the manifest says.
        force: replace a directory that bitweft wrote, with such a manifest, and that holds nothing else.

    Raises:
        InputError: the directory exists, holds something else, is being written by another, or cannot be
            written.
    """
    target = Path(os.path.realpath(path))
    with _workspace(target, path, parents=True) as place:
        check_replaceable(path, manifest=manifest, force=force)
        new = place / _NEW
        new.mkdir()
        yield new
        files = sorted(os.listdir(new))
        (new / manifest).write_bytes(json_bytes({**(about or {}), "files": files}))
        for name in (manifest, *files):
            with (new / name).open("rb+") as file:
                os.fsync(file.fileno())
        check_replaceable(path, manifest=manifest, force=force)
        if target.exists():
            target.rename(place / _OLD)
        new.rename(target)


def check_new_directory(path: AnyPath, *, manifest: str, force: bool = False) -> None:
    """Refuse before the work what `new_directory` would refuse after it."""
    check_replaceable(path, manifest=manifest, force=force)
    with _workspace(Path(os.path.realpath(path)), path, parents=True):
        return


def check_replaceable(path: AnyPath, *, manifest: str, force: bool) -> None:
    """Refuse a place that is taken; with `force`, only if by anything that bitweft did not write."""
    if not os.path.lexists(path):
        return
    name = os.fspath(path)
    if not force:
        raise InputError("exists already; give --force to replace it", file=name)
    if not os.path.isdir(path):
        raise InputError("is a file; a directory would be written here", file=name)
    foreign = sorted(set(os.listdir(path)) - own_files(Path(path), manifest))
    if foreign:
        raise InputError(
            f"holds {foreign[0]}, and no {manifest} says that bitweft wrote it, so it is not replaced; "
            "give another directory, or remove this one",
            file=name,
        )


def own_files(directory: Path, manifest: str) -> set[str]:
    """Name the files of a directory that bitweft wrote, by its manifest: none if there is none."""
    try:
        names = json.loads((directory / manifest).read_bytes())["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()
    if not isinstance(names, list) or not all(isinstance(name, str) and _is_plain(name) for name in names):
        return set()
    return {name for name in (manifest, *names) if not (directory / name).is_dir()}


def _is_plain(name: str) -> bool:
    """Tell whether a directory can hold a file of this name: nothing elsewhere, and nothing impossible."""
    try:
        encoded = os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return name == os.path.basename(name) and b"\0" not in encoded and 0 < len(encoded) <= LONGEST_NAME


def refuse_inputs(output: AnyPath | None, inputs: Iterable[AnyPath | None]) -> None:
    """Refuse an output that is one of the inputs, or a directory that holds one: it would be lost."""
    if output is None or str(output) == "-":
        return
    for path in inputs:
        if path is None or str(path) == "-" or not is_within(path, output):
            continue
        raise UsageError(
            f"{os.fspath(output)} is an input, or holds {os.fspath(path)}, which is one: "
            "it would be lost; write to another place"
        )


def is_within(path: AnyPath, place: AnyPath) -> bool:
    """Tell whether `path` is `place` itself, or in that directory; neither need exist."""
    own, outer = Path(os.path.realpath(path)), Path(os.path.realpath(place))
    return own == outer or outer in own.parents


def same_place(one: AnyPath, other: AnyPath) -> bool:
    """Tell whether two names are of one file, which may not exist yet."""
    return os.path.realpath(one) == os.path.realpath(other)


def clear_leftovers(path: AnyPath) -> None:
    """Remove what killed writers of `path` have left beside it; what a living one makes stays."""
    if is_remote(path):
        return
    target = Path(os.path.realpath(path))
    if _beside(target).is_dir():
        with suppress(InputError), _workspace(target, path):
            pass


def hidden_name(name: str) -> str:
    """Name the hidden directory in which an output of this name is made."""
    hidden = f".{name}.bitweft"
    if len(os.fsencode(hidden)) <= LONGEST_NAME:
        return hidden
    return f".{hashlib.sha256(os.fsencode(name)).hexdigest()}.bitweft"


def exit_on_signals() -> None:
    """Let SIGTERM and SIGHUP end the process by SystemExit, so that unfinished output is removed.

    A signal that is ignored (`nohup`) or handled otherwise stays so. For the main thread, at the start of a
    command.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _exit)


def _exit(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # a second one would cut the clearing short
    raise SystemExit(128 + number)


def _standard_output() -> TextIO:
    """Give standard output, in UTF-8 with plain line feeds whatever the system's habits."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    return sys.stdout


def _straight(path: AnyPath) -> BinaryIO | None:
    """Open what cannot be replaced but only written to: a descriptor, a device, a pipe."""
    descriptor = _descriptor(os.fspath(path))
    if descriptor is not None:
        sys.stdout.flush()
        return os.fdopen(os.dup(descriptor), "wb")
    with suppress(OSError):
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return open(path, "wb")
    return None


def _descriptor(path: str) -> int | None:
    """Return the number of the open descriptor that a path names, if it does."""
    own = {"/dev/fd", "/proc/self/fd", f"/proc/{os.getpid()}/fd"}
    for _ in range(40):  # as many links as the kernel follows
        parent, name = os.path.split(os.path.abspath(path))
        if {parent, os.path.realpath(parent)} & own and name.isdecimal():
            return int(name)
        if not os.path.islink(path):
            return None
        path = os.path.join(parent, os.readlink(path))
    return None


def _check_file(target: Path, path: AnyPath, force: bool) -> None:
    if target.is_dir():
        raise InputError("is a directory; give a file", file=os.fspath(path))
    if target.exists() and not force:
        raise InputError("exists already; give --force to overwrite it", file=os.fspath(path))


def _beside(target: Path) -> Path:
    return target.parent / hidden_name(target.name)


@contextmanager
def _workspace(target: Path, path: AnyPath, *, parents: bool = False) -> Iterator[Path]:
    """Give the hidden directory beside `target` to one writer at a time, empty but for the lock."""
    place = _beside(target)
    try:
        if parents:
            target.parent.mkdir(parents=True, exist_ok=True)
        lock = _lock(place, os.fspath(path))
    except OSError as error:
        raise InputError(f"cannot write here: {error.strerror}", file=os.fspath(path)) from error
    try:
        _clear(place, target)
        yield place
    finally:
        _clear(place, target)
        if sys.platform == "win32":
            os.close(lock)  # there, nothing that is open can be removed
        shutil.rmtree(place, ignore_errors=True)
        if sys.platform != "win32":
            os.close(lock)


def _lock(place: Path, name: str) -> int:
    """Make the hidden directory, or take over that of a writer that is no more; return its locked file."""
    for _ in range(100):
        try:
            place.mkdir()
            fresh = True
        except FileExistsError:
            fresh = False
            _check_own(place, name)
        try:
            lock = os.open(place / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # the other writer has just finished
            continue
        if not _locked(lock, alone=fresh):
            os.close(lock)
            break
        with suppress(OSError):
            if os.path.samestat(os.fstat(lock), os.stat(place / _LOCK)):
                return lock
        os.close(lock)
    raise OccupiedError(f"is being written by another process (if not, remove {place})", file=name)


def _check_own(place: Path, name: str) -> None:
    """Refuse a hidden directory that no writer has made."""
    try:
        foreign = sorted(set(os.listdir(place)) - {_LOCK, _NEW, _OLD})
    except FileNotFoundError:
        return
    if foreign:
        raise InputError(f"{place} holds {foreign[0]}, which bitweft did not write: remove it", file=name)


def _locked(descriptor: int, *, alone: bool) -> bool:
    """Lock a file if nobody else has; where files cannot be locked, only who made it may write."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return alone and error.errno in _NO_LOCKS
    return True


def _clear(place: Path, target: Path) -> None:
    """Remove what is unfinished, and put back a directory that was to be replaced and was not."""
    new, old = place / _NEW, place / _OLD
    if new.is_dir():
        shutil.rmtree(new, ignore_errors=True)
    else:
        new.unlink(missing_ok=True)
    if old.exists():
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(target)
