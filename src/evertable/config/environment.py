"""Lays environment variables over the file: every scalar of the configuration has a variable.

``EVERTABLE_ENGINE__TRIGGER`` is ``engine.trigger``: the path in capitals, ``__`` between its parts. Names of sources
and columns match in any case. In a property (``kafka``, ``engine.spark``) ``_`` stands for the dot:
``EVERTABLE_KAFKA__BOOTSTRAP_SERVERS``. A new name is taken in lower case if the variable is all capitals, else as it is
written (``EVERTABLE_ENGINE__SPARK__spark_driver_extraJavaOptions``).
``EVERTABLE_TOKEN`` is short for ``EVERTABLE_SERVER__TOKEN``, which overrides it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

from evertable.config.document import Data
from evertable.config.structure import FIELDS, PROPERTIES, Path, matches
from evertable.problems import Problem, dotted, nearest
from evertable.properties import flatten

PREFIX = "EVERTABLE_"
SHORT = {f"{PREFIX}TOKEN": f"{PREFIX}SERVER__TOKEN"}  # a shorter name for a variable that people set by hand

_KEYS = {path[0] for path in FIELDS}
_SECTIONS = {path[0] for path in FIELDS if len(path) > 1} | {path[0] for path in PROPERTIES}


def overlay(
    data: Mapping[str, Data], env: Mapping[str, str], problems: list[Problem]
) -> tuple[dict[str, Data], dict[str, str]]:
    """Returns ``data`` with the environment's values, and the variable of each by its dotted path.

    An empty variable counts as not set. Adds what is wrong to ``problems``.
    """
    result = _with_flat_properties(data, ())
    origins = {}
    for variable in sorted(name for name in env if name.startswith(PREFIX) and env[name]):
        full = SHORT.get(variable, variable)
        if full != variable and env.get(full):
            continue
        first, *rest = full.removeprefix(PREFIX).split("__")
        key = first.lower()
        if key not in _KEYS:
            if rest:  # without __ it belongs to something else, such as a command
                what = f"there is no section '{key}'; {nearest(key, sorted(_KEYS))}"
                problems.append(Problem((variable,), what))
        elif key in _SECTIONS and not all(rest or [""]):
            problems.append(Problem((variable,), f"'{key}' is a section; name a key in it, after '__'"))
        elif key not in _SECTIONS and rest:
            problems.append(Problem((variable,), f"'{key}' is a single value without keys"))
        else:
            origins[dotted(_put(result, (), [key, *rest], env[variable]))] = variable
    return result, origins


def _put(data: dict[str, Data], at: Path, parts: list[str], value: str) -> Path:
    """Sets the value that a variable's parts name, and returns its path."""
    is_property = _holds_properties(at)
    if is_property:
        parts = [".".join(parts).replace("_", ".")]
    key = _key_in(data, parts[0], is_property=is_property)
    path = (*at, key)
    if len(parts) == 1:
        data[key] = value
        return path
    inner = data.get(key)
    data[key] = inner = dict(inner) if isinstance(inner, dict) else {}
    return _put(inner, path, parts[1:], value)


def _key_in(data: Mapping[str, Data], part: str, *, is_property: bool) -> str:
    """Returns the existing key that a variable's part means, or a new one."""

    def fold(name: str) -> str:
        return re.sub(r"[._-]", ".", name).lower() if is_property else name.lower()

    new = part.lower() if part == part.upper() else part
    return next((key for key in data if fold(key) == fold(part)), new)


def _with_flat_properties(data: Mapping[str, Data], at: Path) -> dict[str, Data]:
    """Returns ``data`` with dotted instead of nested properties, so that a variable replaces the right one."""
    result = dict(data)
    for key, value in data.items():
        path = (*at, key)
        if isinstance(value, dict) and not _holds_properties(path):
            result[key] = _with_flat_properties(value, path)
        elif isinstance(value, dict):
            with suppress(ValueError):  # the models report what is wrong
                result[key] = dict(flatten(value))
    return result


def _holds_properties(path: Path) -> bool:
    return any(matches(path, pattern) for pattern in PROPERTIES)
