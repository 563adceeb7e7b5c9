"""A `bitweft` that starts at once: each command is a forked copy of a process that has all in memory.

The program that `warm_bitweft` writes sends its arguments, directory and standard streams to a server,
which is this module run as a script, and ends as the copy does. For shell scripts of many commands; what the
start of a process is like is tested elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CLIENT = """\
#!{python} -IS
import os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({socket!r})
    socket.send_fds(server, ["\\0".join([os.getcwd(), *sys.argv[1:]]).encode()], [0, 1, 2])
    sys.exit(server.recv(1)[0])
"""


@contextlib.contextmanager
def warm_bitweft(directory: Path, text: tuple[str, str], model: Path) -> Iterator[Path]:
    """Give a directory with a program `bitweft`, to be put first on PATH."""
    place = str(directory / "socket")
    program = directory / "bitweft"
    program.write_text(CLIENT.format(python=sys.executable, socket=place))
    program.chmod(0o755)
    command = [sys.executable, __file__, place, *text, str(model)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None and server.stdout.readline() == b"ready\n"
        try:
            yield directory
        finally:
            server.terminate()


def serve(place: str, text: tuple[str, str], model: str) -> None:
    """Answer every client by a copy of this process, until it is stopped."""
    from bitweft.cli import main

    for command in (["align", *text, "--model", model], ["align", *text]):
        main([*command, "-q", "-o", os.devnull])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen()
        os.write(1, b"ready\n")
        while True:
            client, _ = server.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _answer(client)
            client.close()


def _answer(client: socket.socket) -> None:
    """Run one command with the streams and in the directory of a client, and end this process."""
    code = 70
    try:
        message, streams, _, _ = socket.recv_fds(client, 1 << 16, 3)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        folder, *arguments = message.decode().split("\0")
        os.chdir(folder)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, closefd=False)  # noqa: SIM115
            for number, mode in enumerate("rww")
        )
        from bitweft.cli import main

        code = main(arguments)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        client.sendall(bytes([code]))
        os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1], (sys.argv[2], sys.argv[3]), sys.argv[4])
