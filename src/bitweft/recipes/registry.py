"""The recipes by name; each is imported only when it is asked for."""

from __future__ import annotations

import argparse
import importlib
from typing import NamedTuple, Protocol, cast

from bitweft.errors import UsageError
from bitweft.extras import needs
from bitweft.recipes.base import Recipe

GROUP = "bitweft.recipes"  # the entry points by which other packages offer recipes


class RecipeOptions(Protocol):
    """What the module of a recipe's own command-line options has."""

    FLAGS: dict[str, str]  # by name in the parsed arguments, the option as it is written

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options to a verb that learns."""

    def settings_of(self, args: argparse.Namespace) -> list[str]:
        """Turn the options that were given into settings, `KEY=VALUE` each."""


class Registered(NamedTuple):
    """Say where a recipe is found."""

    place: str | type[Recipe]  # `module:class`, or the class
    options: str | None  # the module of its options, which imports nothing heavy
    extra: str = ""  # the extra that brings the packages it needs


_RECIPES = {
    "default": Registered("bitweft.recipes.default.recipe:DefaultRecipe", "bitweft.recipes.default.options"),
    "paper": Registered("bitweft.recipes.paper.recipe:PaperRecipe", "bitweft.recipes.paper.options", "paper"),
}
DEFAULT = "default"


def recipe_names() -> tuple[str, ...]:
    """Name the recipes that are registered, bitweft's own first."""
    return tuple(_RECIPES)


def register(recipe: type[Recipe], options: str | None = None) -> type[Recipe]:
    """Make a recipe known by its name; usable as a decorator."""
    _RECIPES[recipe.name] = Registered(recipe, options)
    return recipe


def recipe_named(name: str) -> type[Recipe]:
    """Return the class of a recipe.

    Raises:
        UsageError: there is no such recipe, here or among the entry points of installed packages.
    """
    if name not in _RECIPES:
        from importlib.metadata import entry_points

        for found in entry_points(group=GROUP, name=name):
            register(found.load())
    if name not in _RECIPES:
        raise UsageError(f"unknown recipe {name!r}; known are {', '.join(_RECIPES)}")
    place = _RECIPES[name].place
    if isinstance(place, str):
        module, _, kind = place.partition(":")
        with needs(_RECIPES[name].extra):
            return cast("type[Recipe]", getattr(importlib.import_module(module), kind))
    return place


def recipe_options() -> dict[str, RecipeOptions]:
    """Return the command-line options of each recipe that has some of its own."""
    modules = {name: entry.options for name, entry in _RECIPES.items() if entry.options is not None}
    return {name: cast(RecipeOptions, importlib.import_module(module)) for name, module in modules.items()}
