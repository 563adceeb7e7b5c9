"""The folders are the architecture: imports go downwards, recipes are known by their contract alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import bitweft
from bitweft.recipes.registry import recipe_names

ROOT = Path(bitweft.__file__).parent
# What is in the package, from the bottom to the top; those of one line do not import each other.
LAYERS = (
    ("errors", "progress"),
    ("settings", "extras"),
    ("storage",),
    ("text",),
    ("links",),
    ("recipes", "sample"),
    ("aligner",),
    ("corpus",),
    ("cluster", "compat", "edit", "opusfilter", "viewer"),
    ("server", "cli"),
)
LAYER = {name: layer for layer, names in enumerate(LAYERS) for name in names}
APART = {("cli", "server")}  # `bitweft serve` is the one door to the server
# What is slow to import, and where it may be, wherever in a file.
HEAVY = {
    "torch": ("recipes/paper/", "recipes/default/pytorch/", "recipes/devices.py"),
    "numba": ("recipes/",),
    "scipy": ("recipes/",),
    "safetensors": ("recipes/", "storage/"),
    "ray": ("cluster/",),
    "fsspec": ("storage/places.py",),
    "pyarrow": ("text/", "corpus/"),
}
FILES = sorted(ROOT.rglob("*.py"))
MODULES = {".".join(("bitweft", *path.relative_to(ROOT).with_suffix("").parts)): path for path in FILES}


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def part(path: Path) -> str:
    """Name the folder or module of the package to which a file belongs."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path, *, at_once: bool = False) -> Iterator[tuple[str, int]]:
    """Name what a file imports, with the line: wherever in it, or when it is itself imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if at_once else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((name.name, node.lineno) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module is not None, f"{path}:{node.lineno}: a relative import"
            inner = [f"{node.module}.{name.name}" for name in node.names]
            yield from ((name if name in MODULES else node.module, node.lineno) for name in inner)


def test_every_folder_has_a_layer() -> None:
    found = {part(path) for path in FILES} - {"__init__", "__main__"}
    assert found <= set(LAYER), f"give {found - set(LAYER)} a layer in this test and in docs/architecture.md"


@pytest.mark.parametrize("path", FILES, ids=place)
def test_imports_go_downwards(path: Path) -> None:
    own = part(path)
    if own in ("__init__", "__main__"):
        return
    for name, line in imports(path):
        package, *rest = name.split(".")
        where = f"{place(path)}:{line}: {name}"
        if package == "bitweft" and rest:
            other = rest[0]
            beneath = LAYER[other] < LAYER[own] or (own, other) in APART
            assert other == own or beneath, f"{where} is not below {own}"
        allowed = HEAVY.get(package)
        assert allowed is None or place(path).startswith(allowed), f"{where} is slow to import"


def test_recipes_do_not_import_each_other() -> None:
    folders = {path.parent.name for path in (ROOT / "recipes").glob("*/recipe.py")}
    assert len(folders) > 1
    for folder in folders:
        others = folders - {folder}
        for path in (ROOT / "recipes" / folder).rglob("*.py"):
            for name, line in imports(path):
                assert not others & set(name.split(".")[2:3]), f"{place(path)}:{line}: {name}"


def test_recipes_are_imported_by_the_registry_alone() -> None:
    folders = {path.parent.name for path in (ROOT / "recipes").glob("*/recipe.py")}
    for path in FILES:
        if part(path) != "recipes":
            for name, line in imports(path):
                inner = name.removeprefix("bitweft.recipes.").split(".")[0]
                assert inner not in folders, f"{place(path)}:{line}: {name} is one recipe's own"


def test_no_import_goes_in_a_circle() -> None:
    edges = {
        name: {other for other, _ in imports(path, at_once=True) if other in MODULES}
        for name, path in MODULES.items()
    }
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, f"a circle: {' → '.join((*way, module))}"
        if module not in done:
            for other in sorted(edges[module]):
                visit(other, (*way, module))
            done.add(module)

    for module in sorted(edges):
        visit(module, ())


@pytest.mark.parametrize("path", [path for path in FILES if part(path) != "recipes"], ids=place)
def test_nothing_outside_branches_by_the_name_of_a_recipe(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        text = f"{place(path)}:{getattr(node, 'lineno', 0)}: {ast.unparse(node)}"
        if isinstance(node, ast.Compare):
            sides = {ast.unparse(side).rpartition(".")[2] for side in (node.left, *node.comparators)}
            assert "recipe" not in sides, text
            assert not sides & {repr(name) for name in recipe_names()}, text
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            assert not ast.unparse(node.args[1]).endswith("Recipe"), text


@pytest.mark.parametrize("path", FILES, ids=place)
def test_recipes_settings_and_aligners_have_types(path: Path) -> None:
    known = re.compile(r"recipe|aligner|config")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.arg):
            name, annotation = node.arg, node.annotation
        elif isinstance(node, ast.AnnAssign):
            name, annotation = ast.unparse(node.target), node.annotation
        elif isinstance(node, ast.FunctionDef):
            name, annotation = node.name, node.returns
        else:
            continue
        untyped = annotation is not None and ast.unparse(annotation) == "Any"
        assert not (untyped and known.search(name)), f"{place(path)}:{node.lineno}: {name}: Any"
