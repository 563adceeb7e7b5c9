"""Parts of the paper's recipe that a user's own code may add, by a decorator or by an entry point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Generic, TypeVar

Part = TypeVar("Part")


class Registry(Generic[Part]):
    """Know parts of one kind by name: bitweft's own, registered ones, and those of installed packages.

    A package names them in its entry points, in the group `bitweft.paper.KIND`.
    """

    def __init__(self, kind: str, own: Mapping[str, Part] | None = None) -> None:
        self.group = f"bitweft.paper.{kind}"
        self._known = dict(own or {})
        self._registered: set[str] = set()

    def register(self, name: str) -> Callable[[Part], Part]:
        """Return a decorator that makes a part known by a name."""

        def keep(part: Part) -> Part:
            self._known[name] = part
            self._registered.add(name)
            return part

        return keep

    def find(self, name: str) -> Part | None:
        """Return the part of a name, or None if there is none."""
        if name not in self._known:
            for found in entry_points(group=self.group, name=name):
                self._known[name] = found.load()
        return self._known.get(name)

    def names(self) -> tuple[str, ...]:
        """Name those that are known so far."""
        return tuple(self._known)

    def is_local(self, name: str) -> bool:
        """Tell whether a part is known to this process alone, because its own code registered it."""
        return name in self._registered
