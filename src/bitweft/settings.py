"""Configurations: frozen dataclasses, from JSON and from `section.key=value`; an unknown key is an error."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args, get_type_hints

from bitweft.errors import UsageError

Config = TypeVar("Config")


def from_mapping(kind: type[Config], values: Mapping[str, Any], *, prefix: str = "") -> Config:
    """Build a configuration, and those inside it, from plain values."""
    hints = get_type_hints(kind)
    known = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    arguments = {}
    for key, value in values.items():
        if key not in known:
            raise UsageError(f"there is no setting {prefix}{key}; there are {', '.join(sorted(known))}")
        arguments[key] = _value(hints[key], value, f"{prefix}{key}")
    return kind(**arguments)


def to_mapping(config: object) -> dict[str, Any]:
    """Return the whole configuration as plain values, for JSON."""
    return dataclasses.asdict(config)  # type: ignore[call-overload,no-any-return]


def with_settings(config: Config, settings: Iterable[str]) -> Config:
    """Return the configuration changed by settings written `section.key=value`."""
    values = to_mapping(config)
    for setting in settings:
        path, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"{setting!r}: write a setting as section.key=value")
        *sections, key = path.split(".")
        place = values
        for section in sections:
            inner = place.get(section)
            if not isinstance(inner, dict):
                raise UsageError(f"there is no section {section!r} in {path!r}")
            place = inner
        place[key] = value
    return from_mapping(type(config), values)


def _value(kind: Any, value: Any, name: str) -> Any:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(value, Mapping):
            raise UsageError(f"{name} is a section; set {name}.key=value")
        return from_mapping(kind, value, prefix=f"{name}.")
    options = [option for option in get_args(kind) if option is not type(None)]
    if options:  # `kind | None`
        if value is None or value == "none":
            return None
        kind = options[0]
    if isinstance(value, str) and kind is not str:
        try:
            value = json.loads(value.lower())
        except json.JSONDecodeError as error:
            raise UsageError(f"{name}: {value!r} is no {kind.__name__}") from error
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not kind:
        raise UsageError(f"{name}: {value!r} is no {kind.__name__}")
    return value
