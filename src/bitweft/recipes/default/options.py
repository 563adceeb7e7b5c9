"""The default recipe's own command-line options: it has none beyond those of all recipes."""

from __future__ import annotations

import argparse

FLAGS: dict[str, str] = {}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add nothing."""


def settings_of(args: argparse.Namespace) -> list[str]:
    """Turn --lowercase into a setting."""
    return [] if args.lowercase is None else [f"lowercase={args.lowercase}"]
