"""`bitweft edit`: links corrected by hand in the browser."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bitweft.cli.options import add_allowed_hosts, at_least
from bitweft.cli.viewed import add_viewed, linked_pairs, settle_links, viewed_text
from bitweft.errors import UsageError
from bitweft.server import PORT, serve_editing
from bitweft.storage.output import open_output
from bitweft.text.bitext import SentencePair

DESCRIPTION = """\
Correct links in the browser. A model, or a file of links, suggests; what one says is written to GOLD at once,
as JSON lines with sure and possible links, which `bitweft evaluate` reads, and who said it and when. A GOLD
that exists is gone on with. Ctrl+C stops; nothing is lost, whenever that is. With --annotators, the files of
several people are compared, and their disagreements settled. It needs the extra `bitweft[serve]`."""
EXAMPLES = """\
  bitweft edit en.txt fr.txt --model enfr.weft -o gold.jsonl
  bitweft edit en.txt fr.txt links.txt -o gold.jsonl --by anna
  bitweft edit en.txt fr.txt --annotators anna.jsonl ben.jsonl -o gold.jsonl
  bitweft edit en.txt fr.txt --model enfr.weft -o gold.jsonl --export done"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_viewed(parser)
    parser.add_argument(
        "-o", "--output", metavar="GOLD", required=True, help="the file of gold links, made or gone on with"
    )
    add_editing(parser)
    parser.set_defaults(line=None, title=None)


def add_editing(parser: argparse.ArgumentParser) -> None:
    """Add the options of editing, which `bitweft view --edit` has too."""
    parser.add_argument("--by", metavar="NAME", help="who edits (default: the name of this account)")
    parser.add_argument(
        "--annotators", nargs="+", metavar="FILE", help="gold links of several people, to compare and settle"
    )
    parser.add_argument(
        "--tuned", metavar="DIR", help="keep the model here that has learned from corrections"
    )
    parser.add_argument(
        "--export", metavar="DIR", help="write text and gold links of what is done into DIR, and stop"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="the address to listen on (default: this machine)"
    )
    add_allowed_hosts(parser)
    parser.add_argument(
        "--port", type=at_least(0), default=PORT, help=f"the port (default: {PORT}); 0 is any that is free"
    )


def run(args: argparse.Namespace) -> None:
    """Serve the page for editing until told to stop."""
    if args.annotators and args.model is None and args.links is None:
        args.alone = False  # what most annotators say is suggested
    else:
        settle_links(args)
    edit(args)


def edit(args: argparse.Namespace) -> None:
    """Edit what settled arguments name."""
    if args.output in (None, "-"):
        raise UsageError("editing writes a file: give -o GOLD")
    text = viewed_text(args)
    pairs = list(text)
    if args.export is not None:
        _export(args, pairs)
        return
    given = args.model is not None or (args.annotators and not args.alone and args.links is None)
    links = None if given else [each.alignment for each in linked_pairs(args, text)]
    serve_editing(
        pairs,
        args.output,
        model=args.model,
        links=links,
        annotators=args.annotators or (),
        by=args.by or _account(),
        title=args.title or " – ".join(os.path.basename(name) for name in text.names),
        tuned=args.tuned,
        host=args.host,
        port=args.port,
        names=args.allow_host,
        ready=lambda address: _announce(address, args.host),
    )


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name
        return "annotator"


def _export(args: argparse.Namespace, pairs: Sequence[SentencePair]) -> None:
    """Write the pairs that are done as files that `bitweft evaluate` and `bitweft tune` take."""
    from bitweft.edit import GoldStore
    from bitweft.links.formats.registry import write_gold

    if not os.path.exists(args.output):
        raise UsageError(f"{args.output}: no such file; there is nothing to export")
    store = GoldStore(args.output, pairs)
    done = store.done()
    folder = Path(args.export)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "source.txt": [pairs[k].source.text for k in done],
        "target.txt": [pairs[k].target.text for k in done],
        "lines.txt": [str(k + 1) for k in done],
    }
    for name, lines in texts.items():
        with open_output(folder / name, force=True) as stream:
            stream.writelines(f"{line}\n" for line in lines)
    with open_output(folder / "gold.txt", force=True) as stream:
        write_gold(stream, store.gold(done))
    sys.stderr.write(f"bitweft: {args.export}: {len(done):,} of {len(pairs):,} pairs are done\n")


def _announce(address: str, host: str) -> None:
    from bitweft.server.run import is_loopback

    if not is_loopback(host):
        sys.stderr.write(f"bitweft: warning: {host} lets other machines in, and anyone there may edit GOLD\n")
    sys.stderr.write(f"bitweft: edit at {address} (Ctrl+C stops)\n")
    sys.stderr.flush()
