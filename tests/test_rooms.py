"""The rooms of the house: who may import whom. Imports go downwards, or stay on the floor."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import bitweft

ROOT = Path(bitweft.__file__).parent
ROOMS = (
    "errors lines tokenization joint text alignment pharaoh naacl giza jsonl dialects output progress "
    "lockstep configuration storage",
    "dictionary features initialization symmetrization evaluation significance conversion checking sample "
    "spelling tagging",
    "devices batches blas",
    "model aggregation objective kernels groups chains loops descent portable",
    "knowledge stages training decoding posterior learning",
    "models checkpoint default paper aligner",
    "analysis viewer lexicon phrases aligning sharding",
    "cli server",
)
FLOORS = {name: floor for floor, names in enumerate(ROOMS) for name in names.split()}
# What the floors below this one may not load: torch enters with the batches.
HEAVY = {"torch": 2, "numba": 2, "safetensors": 4}


def module_files() -> list[Path]:
    return [
        path
        for path in sorted(ROOT.rglob("*.py"))
        if path.parent != ROOT or path.stem not in ("__init__", "__main__")
    ]


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path, *, at_once: bool = False) -> Iterator[tuple[str, int]]:
    """Give each module that a file imports, with the line: wherever in it, or when it is itself imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if at_once else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((name.name, node.lineno) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            if node.module == "bitweft":
                yield from ((f"bitweft.{name.name}", node.lineno) for name in node.names)
            else:
                yield node.module, node.lineno


@pytest.mark.parametrize("path", module_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_downwards(path: Path) -> None:
    room = room_of(path)
    assert room in FLOORS, f"give the module {room} a room in this test and in docs/architecture.md"
    for name, line in imports(path):
        package, _, rest = name.partition(".")
        if package == "bitweft" and rest and rest != "__version__":
            other = rest.split(".")[0]
            assert FLOORS[other] <= FLOORS[room], f"{path}:{line}: {room} must not import {other}"
        assert HEAVY.get(package, 0) <= FLOORS[room], f"{path}:{line}: {package} in room {FLOORS[room]}"


def test_no_import_goes_in_a_circle() -> None:
    edges: dict[str, set[str]] = {}
    for path in module_files():
        others = {
            name.split(".")[1] for name, _ in imports(path, at_once=True) if name.startswith("bitweft.")
        }
        edges.setdefault(room_of(path), set()).update(others & set(FLOORS) - {room_of(path)})
    done: set[str] = set()

    def visit(room: str, way: tuple[str, ...]) -> None:
        assert room not in way, f"a circle: {' → '.join((*way, room))}"
        if room not in done:
            for other in sorted(edges.get(room, ())):
                visit(other, (*way, room))
            done.add(room)

    for room in sorted(edges):
        visit(room, ())
