"""Settings: frozen dataclasses with ranges, from JSON and from `section.key=value`."""

from __future__ import annotations

import dataclasses
import json
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar, get_args, get_type_hints

from bitweft.errors import UsageError

Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain] | None"
Value = TypeVar("Value")


class SettingError(UsageError):
    """Report a setting whose value cannot be used."""

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        self.problem = problem
        super().__init__(f"{name} {problem}")


def setting(
    default: Value,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    choices: tuple[str, ...] | None = None,
) -> Value:
    """Declare a setting with its default and its range, or the names it may have."""
    limits = {"at_least": at_least, "above": above, "at_most": at_most, "below": below, "choices": choices}
    found: Value = dataclasses.field(default=default, metadata=limits)
    return found


@dataclasses.dataclass(frozen=True)
class Settings:
    """Hold the settings of a recipe or of a part of it; values out of range are refused."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            problem = _problem(getattr(self, field.name), field.metadata)
            if problem is not None:
                raise SettingError(field.name, problem)


Config = TypeVar("Config", bound=Settings)


def _problem(value: object, limits: Mapping[str, Any]) -> str | None:
    """Say what is wrong with a value, if anything."""
    if isinstance(value, str):
        choices = limits.get("choices")
        if choices is not None and value not in choices:
            return f"must be one of {', '.join(choices)}, got {value!r}"
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value):
        return f"must be a finite number, got {value}"
    for name, (holds, words) in _LIMITS.items():
        limit = limits.get(name)
        if limit is not None and not holds(value, limit):
            return f"must be {words.format(limit)}, got {value}"
    return None


_LIMITS: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "at_least": (operator.ge, "{} or greater"),
    "at_most": (operator.le, "{} or less"),
    "above": (operator.gt, "greater than {}"),
    "below": (operator.lt, "less than {}"),
}


def from_mapping(kind: type[Config], values: Mapping[str, Plain], *, prefix: str = "") -> Config:
    """Build settings, and those inside them, from plain values.

    Raises:
        UsageError: a name is unknown, or a value has the wrong type or is out of range.
    """
    hints = get_type_hints(kind)
    known = {field.name for field in dataclasses.fields(kind)}
    arguments = {}
    for key, value in values.items():
        if key not in known:
            raise UsageError(f"unknown setting {prefix}{key}; known are {', '.join(sorted(known))}")
        arguments[key] = _value(hints[key], value, f"{prefix}{key}")
    try:
        return kind(**arguments)
    except SettingError as error:
        raise SettingError(f"{prefix}{error.name}", error.problem) from None


def to_mapping(config: Settings) -> dict[str, Any]:
    """Return all settings as plain values, for JSON."""
    return dataclasses.asdict(config)


def settings_of(kind: type[Config], config: Settings | None) -> Config:
    """Take settings for what they are, or make those that a kind has by default."""
    if config is None:
        return kind()
    if not isinstance(config, kind):
        raise UsageError(f"expected settings of the kind {kind.__name__}, got {type(config).__name__}")
    return config


def with_settings(config: Config, settings: Iterable[str]) -> Config:
    """Return the settings changed by some written `section.key=value`."""
    values = to_mapping(config)
    for setting in settings:
        path, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"{setting!r}: write a setting as KEY=VALUE")
        *sections, key = path.split(".")
        place = values
        for section in sections:
            inner = place.get(section)
            if not isinstance(inner, dict):
                raise UsageError(f"unknown section {section!r} in {path!r}")
            place = inner
        place[key] = value
    return from_mapping(type(config), values)


def _value(kind: Any, value: Plain, name: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, Settings):
        if not isinstance(value, Mapping):
            raise UsageError(f"{name} is a section; set {name}.KEY=VALUE")
        return from_mapping(kind, value, prefix=f"{name}.")
    options = [option for option in get_args(kind) if option is not type(None)]
    if options:  # `kind | None`
        if value is None or value == "none":
            return None
        kind = options[0]
    if isinstance(value, str) and kind is not str:
        try:
            value = json.loads(value.lower())
        except (json.JSONDecodeError, RecursionError, ValueError) as error:
            raise SettingError(name, f"must be {_NAMES[kind]}, got {value!r}") from error
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < 1e300 else math.inf
    if type(value) is not kind:
        raise SettingError(name, f"must be {_NAMES[kind]}, got {value!r}")
    return value


_NAMES = {int: "an integer", float: "a number", bool: "true or false", str: "a text"}
