"""Install the wheel in new environments, outside of the tree, and see whether a stranger could use it.

    python scripts/try_wheel.py                                  with this Python: its size, and the demo
    python scripts/try_wheel.py --tests python3.10 python3.13    … and the sdist's tests, with each of these

PyTorch is not installed. The links of the demo must be the same, byte for byte, with every Python.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

DIST = Path(__file__).resolve().parents[1] / "dist"
MOST = 600  # MB that an installation may take
# Tests of what is installed without any extra, without a browser, and without text that is not shipped.
TESTS = (
    "alignment check cli_align cli_evaluate compile convert default demo evaluation fast_align finds "
    "installation knowledge lexicon lines link_formats meter output phrases sample shards spelling startup "
    "storage symmetrization text viewer"
)


class Trial:
    """One Python with the wheel, in a directory of its own."""

    def __init__(self, python: str, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        self.run(python, "-m", "venv", str(folder / "venv"))

    def run(self, program: str | Path, *arguments: str, folder: Path | None = None) -> str:
        """Run a program that knows nothing of the tree; stop if it fails."""
        hidden = ("PYTHONPATH", "PYTHONHOME", "NUMBA_CACHE_DIR", "VIRTUAL_ENV")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        done = subprocess.run(
            [str(program), *arguments],
            cwd=folder or self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        if done.returncode:
            sys.exit(f"{done.stdout}\n{program} {' '.join(arguments)}: exit code {done.returncode}")
        return done.stdout

    def install(self, *what: str) -> None:
        """Install with pip."""
        self.run(self.bin / "python", "-m", "pip", "install", "--quiet", *what)

    def megabytes(self) -> int:
        """Return what the environment takes, pip and all."""
        files = (file for file in (self.folder / "venv").rglob("*") if not file.is_symlink())
        return sum(file.stat().st_size for file in files if file.is_file()) // 1_000_000

    def demo(self) -> str:
        """Run the demo; return a digest of the links that it found."""
        self.run(self.bin / "bitweft", "demo", "-o", "demo")
        links = [(self.folder / "demo" / f"{part}.links").read_bytes() for part in ("sample", "natural")]
        return hashlib.sha256(b"".join(links)).hexdigest()[:12]

    def tests(self) -> str:
        """Run the tests of the sdist against what is installed; return pytest's last line."""
        self.install("pytest>=8", "hypothesis>=6.100")
        with tarfile.open(newest("*.tar.gz")) as archive:
            archive.extractall(self.folder)
        [tree] = self.folder.glob("bitweft-*")
        chosen = [f"tests/test_{name}.py" for name in TESTS.split()]
        said = self.run(self.bin / "python", "-m", "pytest", "-p", "no:cacheprovider", *chosen, folder=tree)
        return said.rstrip().splitlines()[-1]


def newest(pattern: str) -> Path:
    """Return the newest file of dist/ of this kind."""
    files = sorted(DIST.glob(pattern), key=lambda file: file.stat().st_mtime)
    if not files:
        sys.exit(f"{DIST} has no {pattern}: run `make dist`, or `python -m build`")
    return files[-1]


def try_python(python: str, *, tests: bool) -> str:
    """Install, run the demo, and print what it took; return the digest of the demo's links."""
    with tempfile.TemporaryDirectory(prefix="bitweft-") as folder:
        began = time.perf_counter()
        trial = Trial(python, Path(folder))
        trial.install(str(newest("*.whl")))
        installed = time.perf_counter()
        digest = trial.demo()
        took = f"installed in {installed - began:.0f} s, demo in {time.perf_counter() - installed:.0f} s"
        size = trial.megabytes()
        version = trial.run(trial.bin / "python", "--version").strip()
        print(f"{version}: {size} MB, {took}, links {digest}", flush=True)
        if size > MOST:
            sys.exit(f"an installation may take {MOST} MB")
        if tests:
            print(f"{version}: {trial.tests()}", flush=True)
        return digest


def main() -> None:
    """Try the wheel with each Python that is named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("pythons", nargs="*", default=[sys.executable], metavar="PYTHON")
    parser.add_argument("--tests", action="store_true", help="run the sdist's tests too")
    args = parser.parse_args()
    digests = {try_python(python, tests=args.tests) for python in args.pythons}
    if len(digests) > 1:
        sys.exit("the links differ between Pythons")


if __name__ == "__main__":
    main()
