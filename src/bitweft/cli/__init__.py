"""The command line: one short module a verb, each imported only when its verb is called."""

from __future__ import annotations

import argparse
import atexit
import errno
import gc
import importlib
import os
import sys
from collections.abc import Sequence

from bitweft import __version__
from bitweft.cli.streams import prepare_streams
from bitweft.errors import BitweftError
from bitweft.storage.output import exit_on_signals

# verb -> what it does. The module bitweft.cli.<verb> has DESCRIPTION, EXAMPLES, configure(parser), run(args).
VERBS = {
    "align": "align parallel text; trains on it first unless a model is given",
    "train": "train a model and keep it",
    "count": "count one shard of a text, for a model that is trained in parts",
    "merge": "merge the counts of all shards into the model",
    "tune": "let a model learn from gold links which links to give",
    "show": "describe a kept model",
    "fast-align": "align with the flags, the input and the output of fast_align",
    "eflomal-align": "align with the flags, the input and the output of eflomal-align",
    "eflomal-makepriors": "make a file of eflomal's priors from text and links",
    "evaluate": "score links against gold links",
    "symmetrize": "combine the links of two directions",
    "convert": "turn links from one format into another",
    "check": "look for faults in text and links before they break something",
    "filter": "tell by a model which pairs are translations, and keep those",
    "lexicon": "make a dictionary of words from text and links",
    "phrases": "make a Moses phrase table from text and links",
    "project": "carry annotation (names, tags, trees, markup) onto a translation",
    "view": "draw links: a page for the browser, a picture, a grid for the terminal",
    "edit": "correct links in the browser, keep them as gold links, and learn from them",
    "neighbors": "list what a model of the paper's recipe puts close to a source window",
    "serve": "serve a model: a page to type into, and a JSON API",
    "demo": "show the whole job on the embedded sample",
}


def top_parser() -> argparse.ArgumentParser:
    """Build the parser that knows the verbs, but not their options."""
    top = argparse.ArgumentParser(
        prog="bitweft",
        description="Word alignment from parallel text alone.",
        epilog="`bitweft VERB --help` tells more, with examples.",
    )
    top.add_argument("--version", action="version", version=f"bitweft {__version__}")
    verbs = top.add_subparsers(metavar="VERB", required=True)
    for name, summary in VERBS.items():
        verbs.add_parser(name, help=summary)
    return top


def verb_parser(verb: str) -> argparse.ArgumentParser:
    """Build the parser of one verb: the other verbs stay unimported."""
    module = importlib.import_module(f"bitweft.cli.{verb.replace('-', '_')}")
    parser = argparse.ArgumentParser(
        prog=f"bitweft {verb}",
        description=module.DESCRIPTION,
        epilog="examples:\n" + module.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.configure(parser)
    parser.set_defaults(run=module.run)
    return parser


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; options may stand before, between and after files."""
    verb = arguments[0] if arguments else None
    if verb not in VERBS:
        return top_parser().parse_args(arguments)
    return verb_parser(verb).parse_intermixed_args(arguments[1:])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 (data or model at fault), 2 (usage)."""
    gc.set_threshold(500_000, 50, 50)  # lines make many short-lived tuples and no circles: look less often
    atexit.register(gc.freeze)  # nor look through all there is once more before the process ends
    prepare_streams()
    exit_on_signals()  # what is unfinished is removed on SIGTERM and SIGHUP too
    try:
        try:
            args = parse(sys.argv[1:] if arguments is None else list(arguments))
        except SystemExit as stopped:  # argparse has shown its help, or has said what is wrong
            return int(stopped.code or 0)
        code: int = args.run(args) or 0
        sys.stdout.flush()
        return code
    except BitweftError as error:
        sys.stderr.write(f"bitweft: {error}\n")
        return error.exit_code
    except BrokenPipeError:
        _drop_output()  # the reader has gone (`bitweft … | head`): leave quietly
        return 0
    except OSError as error:  # a full disk, an output that has gone
        _drop_output()
        place = f"{error.filename}: " if error.filename else ""
        reason = "a standard stream is closed" if error.errno == errno.EBADF else error.strerror or error
        sys.stderr.write(f"bitweft: {place}{reason}; nothing more was written\n")
        return 1
    except MemoryError:
        sys.stderr.write("bitweft: out of memory; a lower --max-length or fewer --threads need less\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("bitweft: interrupted\n")
        return 130


def _drop_output() -> None:
    """Keep Python's own flush of standard output at exit quiet: it would fail as the last one did."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # a standard output that is no file, as in tests
        return
