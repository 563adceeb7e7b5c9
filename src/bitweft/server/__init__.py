"""A local server: a page to type two sentences into, a JSON API, a page on which links are edited."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bitweft.errors import UsageError
from bitweft.extras import needs
from bitweft.server.limits import Limits

if TYPE_CHECKING:
    from bitweft.links.alignment import Alignment
    from bitweft.text.bitext import SentencePair

__all__ = ["PORT", "Limits", "serve", "serve_editing"]

PORT = 8765


def serve(
    directory: str | os.PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    limits: Limits | None = None,
    threads: int | None = None,
    names: Sequence[str] = (),
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a kept model until SIGINT or SIGTERM; `ready` is told the address once it answers.

    `threads` is how many requests are aligned at the same time (default: as many as there are cores), `names`
    further names of this machine under which it answers.
    """
    if threads is not None and threads < 1:
        raise UsageError(f"threads must be 1 or greater, got {threads}")
    with needs("serve"):
        from bitweft.server.run import run
    run(directory, host=host, port=port, limits=limits or Limits(), threads=threads, names=names, ready=ready)


def serve_editing(
    pairs: Sequence[SentencePair],
    gold: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    links: Sequence[Alignment] | None = None,
    annotators: Sequence[str | os.PathLike[str]] = (),
    by: str = "annotator",
    title: str = "Gold links",
    tuned: str | os.PathLike[str] | None = None,
    host: str = "127.0.0.1",
    port: int = PORT,
    names: Sequence[str] = (),
    ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a page on which the links of a text are corrected, until SIGINT or SIGTERM.

    Args:
        pairs: the text.
        gold: the file of gold links, made or gone on with.
        model: suggests the links, and learns from what is done if its recipe can.
        links: suggested instead.
        annotators: files of gold links of several people, whose disagreements are shown; what most of them
            say is suggested where there are neither model nor links.
        by: who edits.
        title: of the page.
        tuned: where a model is kept that has learned.
        host: the address to listen on.
        port: the port; 0 is any that is free.
        names: further names of this machine under which it answers.
        ready: is told the address once it answers.

    Raises:
        InputError: a file is not of this text, or the address cannot be had.
    """
    with needs("serve"):
        from bitweft.server.run import run_editing
    run_editing(
        pairs,
        gold,
        model=model,
        links=links,
        annotators=annotators,
        by=by,
        title=title,
        tuned=tuned,
        host=host,
        port=port,
        names=names,
        ready=ready,
    )
