"""Try to break bitweft: `python tests/torture` runs it, `docs/reliability.md` says what it found."""
