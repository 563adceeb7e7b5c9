"""A local server: a page where one types two sentences and sees the links, and a JSON API."""

from __future__ import annotations

import os
from collections.abc import Callable

from bitweft.errors import UsageError
from bitweft.extras import needs
from bitweft.server.limits import Limits

__all__ = ["PORT", "Limits", "serve"]

PORT = 8765


def serve(
    directory: str | os.PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    limits: Limits | None = None,
    threads: int | None = None,
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a kept model until SIGINT or SIGTERM; `ready` is told the address once it answers.

    `threads` is how many requests are aligned at the same time (default: as many as there are cores).
    """
    if threads is not None and threads < 1:
        raise UsageError(f"threads must be 1 or greater, got {threads}")
    with needs("serve"):
        from bitweft.server.run import run
    run(directory, host=host, port=port, limits=limits or Limits(), threads=threads, ready=ready)
