"""`bitweft serve`: a page to try a model on, and a JSON API."""

from __future__ import annotations

import argparse
import sys

from bitweft.cli.options import add_allowed_hosts, at_least
from bitweft.server import PORT, Limits, serve

DESCRIPTION = """\
Serve a model on this machine: a page where one types two sentences and sees the links at once, and a JSON
API (POST /align, GET /model, GET /health, described by GET /openapi.json). Ctrl+C stops it, after the
requests that are running. It needs the extra `bitweft[serve]`."""
EXAMPLES = """\
  bitweft serve enfr.weft
  bitweft serve enfr.weft --port 8000
  bitweft serve enfr.weft --host 0.0.0.0 --allow-host align.example.org
  curl -H 'Content-Type: application/json' \\
       -d '{"source": "the house", "target": "la maison"}' http://127.0.0.1:8765/align"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    limits = Limits()
    parser.add_argument("model", metavar="DIR", help="the model to serve")
    parser.add_argument(
        "--port", type=at_least(0), default=PORT, help=f"the port (default: {PORT}); 0 is any that is free"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="the address to listen on (default: 127.0.0.1, this machine alone)",
    )
    add_allowed_hosts(parser)
    parser.add_argument(
        "--threads",
        type=at_least(1),
        metavar="N",
        help="requests aligned at the same time (default: one a core)",
    )
    for name, kind, what in (
        ("body", int, "bytes of a request"),
        ("pairs", int, "sentence pairs of a request"),
        ("words", int, "words of a sentence"),
    ):
        default = getattr(limits, name)
        parser.add_argument(
            f"--max-{name}", type=kind, metavar="N", default=default, help=f"{what} (default: {default:,})"
        )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        default=limits.timeout,
        help=f"time for a request to arrive, and for its answer (default: {limits.timeout:g})",
    )


def run(args: argparse.Namespace) -> None:
    """Serve until told to stop."""
    limits = Limits(body=args.max_body, pairs=args.max_pairs, words=args.max_words, timeout=args.timeout)
    serve(
        args.model,
        host=args.host,
        port=args.port,
        limits=limits,
        threads=args.threads,
        names=args.allow_host,
        ready=lambda address: _announce(address, args.host),
    )


def _announce(address: str, host: str) -> None:
    from bitweft.server.run import is_loopback

    if not is_loopback(host):
        sys.stderr.write(
            f"bitweft: warning: {host} lets other machines in, and there is no password and no encryption\n"
        )
    sys.stderr.write(f"bitweft: serving at {address} (Ctrl+C stops)\n")
    sys.stderr.flush()
