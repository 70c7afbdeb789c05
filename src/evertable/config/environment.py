"""Lays environment variables over the file: every scalar of the configuration has a variable.

``EVERTABLE_ENGINE__TRIGGER`` is ``engine.trigger``: the path in capitals, ``__`` between its parts. Names of sources
and columns match in any case. In a property (``kafka``, ``engine.spark``) ``_`` stands for the dot:
``EVERTABLE_KAFKA__BOOTSTRAP_SERVERS``. A new name is taken in lower case if the variable is all capitals, else as it is
written (``EVERTABLE_ENGINE__SPARK__spark_driver_extraJavaOptions``).
``EVERTABLE_TOKEN`` is short for ``EVERTABLE_SERVER__TOKEN``, which overrides it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from evertable.config.document import Data
from evertable.problems import Problem, dotted, nearest
from evertable.properties import flatten

PREFIX = "EVERTABLE_"
SHORT = {f"{PREFIX}TOKEN": f"{PREFIX}SERVER__TOKEN"}  # a shorter name for a variable that people set by hand

Path = tuple[str, ...]


@dataclass
class EnvironmentOverlay:
    """Lays variables over a document's data, given the paths (``*`` for any name) of its fields and properties."""

    fields: Collection[Path]
    properties: Collection[Path]
    origins: dict[str, str] = field(default_factory=dict)  # dotted path → variable
    problems: list[Problem] = field(default_factory=list)

    def apply(self, data: Mapping[str, Data], env: Mapping[str, str]) -> dict[str, Data]:
        """Returns ``data`` with the environment's values; an empty variable counts as not set."""
        result = self._with_flat_properties(data, ())
        for variable in sorted(name for name in env if name.startswith(PREFIX) and env[name]):
            full = SHORT.get(variable, variable)
            if full == variable or not env.get(full):
                self._set(result, variable, full.removeprefix(PREFIX), env[variable])
        return result

    def _set(self, data: dict[str, Data], variable: str, name: str, value: str) -> None:
        first, *rest = name.split("__")
        section = first.lower()
        sections = {path[0] for path in self.fields}
        nested = {path[0] for path in self.fields if len(path) > 1} | {path[0] for path in self.properties}
        if section not in sections:
            if rest:  # without __ it belongs to something else, such as a command
                known = nearest(section, sorted(sections))
                self.problems.append(Problem((variable,), f"there is no section '{section}'; {known}"))
        elif section in nested and not all(rest or [""]):
            self.problems.append(Problem((variable,), f"'{section}' is a section; name a key in it, after '__'"))
        elif section not in nested and rest:
            self.problems.append(Problem((variable,), f"'{section}' is a single value without keys"))
        else:
            path = self._put(data, (), [section, *rest], value)
            self.origins[dotted(path)] = variable

    def _put(self, data: dict[str, Data], at: Path, parts: list[str], value: str) -> Path:
        is_property = _matches(at, self.properties)
        if is_property:
            parts = [".".join(parts).replace("_", ".")]
        key = _key_in(data, parts[0], is_property=is_property)
        path = (*at, key)
        if len(parts) == 1:
            data[key] = value
            return path
        inner = data.get(key)
        inner = dict(inner) if isinstance(inner, dict) else {}
        data[key] = inner
        return self._put(inner, path, parts[1:], value)

    def _with_flat_properties(self, data: Mapping[str, Data], at: Path) -> dict[str, Data]:
        """Returns ``data`` with dotted instead of nested properties, so that a variable replaces the right one."""
        result = dict(data)
        for key, value in data.items():
            if isinstance(value, dict):
                is_property = _matches((*at, key), self.properties)
                result[key] = _flat(value) if is_property else self._with_flat_properties(value, (*at, key))
        return result


def _flat(value: dict[str, Data]) -> dict[str, Data]:
    try:
        return dict(flatten(value))
    except ValueError:
        return value  # the models report what is wrong


def _matches(path: Path, patterns: Collection[Path]) -> bool:
    return any(
        len(path) == len(pattern) and all(want in ("*", part) for part, want in zip(path, pattern, strict=True))
        for pattern in patterns
    )


def _key_in(data: Mapping[str, Data], part: str, *, is_property: bool) -> str:
    """Returns the existing key that a variable's part means, or a new one."""
    fold = _fold_property if is_property else str.lower
    new = part.lower() if part == part.upper() else part
    return next((key for key in data if fold(key) == fold(part)), new)


def _fold_property(name: str) -> str:
    return re.sub(r"[._-]", ".", name).lower()
