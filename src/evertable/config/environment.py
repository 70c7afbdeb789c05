"""Environment twins: every scalar of the configuration can be set by a variable instead.

``EVERTABLE_ENGINE__TRIGGER`` is ``engine.trigger``: the path in capitals, ``__`` between its parts. Names of sources
and columns are matched whatever their case. In a property (``kafka``, ``engine.spark``) ``_`` stands for the dot:
``EVERTABLE_KAFKA__BOOTSTRAP_SERVERS``. A name that is not known yet is taken in lower case if the variable is all
capitals, else as it is written (``EVERTABLE_ENGINE__SPARK__spark_driver_extraJavaOptions``).
``EVERTABLE_TOKEN`` is short for ``EVERTABLE_SERVER__TOKEN``, which wins over it.
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
class Twins:
    """Lays the environment over a document's data, given the paths (``*`` for any name) of fields and of properties."""

    fields: Collection[Path]
    properties: Collection[Path]
    origins: dict[str, str] = field(default_factory=dict)  # dotted path → variable
    problems: list[Problem] = field(default_factory=list)

    def over(self, data: Mapping[str, Data], env: Mapping[str, str]) -> dict[str, Data]:
        """``data`` with the environment's values; an empty variable counts as not set."""
        result = self._with_flat_properties(dict(data), ())
        for variable in sorted(env):
            if variable in SHORT and env[variable] and not env.get(SHORT[variable]):
                self._set(result, SHORT[variable], env[variable], named=variable)
            elif variable.startswith(PREFIX) and env[variable]:
                self._set(result, variable, env[variable], named=variable)
        return result

    def _set(self, data: dict[str, Data], variable: str, value: str, *, named: str) -> None:
        first, *rest = variable.removeprefix(PREFIX).split("__")
        section = first.lower()
        sections = {path[0] for path in self.fields}
        nested = {path[0] for path in self.fields if len(path) > 1} | {path[0] for path in self.properties}
        if section not in sections:
            if rest:  # without __ it belongs to something else, such as a command
                found = nearest(section, sorted(sections))
                self.problems.append(Problem((variable,), f"there is no section '{section}'; {found}"))
        elif section in nested and not all(rest or [""]):
            self.problems.append(Problem((variable,), f"'{section}' is a section; name a value of it, after '__'"))
        elif section not in nested and rest:
            self.problems.append(Problem((variable,), f"'{section}' is one value; there is nothing below it"))
        else:
            path = self._put(data, (), [section, *rest], value)
            self.origins[dotted(path)] = named

    def _put(self, data: dict[str, Data], at: Path, parts: list[str], value: str) -> Path:
        if _matches(at, self.properties):
            parts = [".".join(parts).replace("_", ".")]
        key = _known_as(parts[0], data, is_property=_matches(at, self.properties))
        path = (*at, key)
        if len(parts) == 1:
            data[key] = value
            return path
        inner = data.get(key)
        inner = dict(inner) if isinstance(inner, dict) else {}
        data[key] = inner
        return self._put(inner, path, parts[1:], value)

    def _with_flat_properties(self, data: dict[str, Data], at: Path) -> dict[str, Data]:
        """``data`` with nested properties dotted, so that a variable meets the one it means."""
        result: dict[str, Data] = {}
        for key, value in data.items():
            path = (*at, key)
            if isinstance(value, dict) and _matches(path, self.properties):
                result[key] = _flat(value)
            elif isinstance(value, dict):
                result[key] = self._with_flat_properties(value, path)
            else:
                result[key] = value
        return result


def _flat(value: dict[str, Data]) -> dict[str, Data]:
    try:
        return dict(flatten(value))
    except ValueError:
        return value  # the models say what is wrong with it


def _matches(path: Path, patterns: Collection[Path]) -> bool:
    return any(
        len(path) == len(pattern) and all(want in ("*", part) for part, want in zip(path, pattern, strict=True))
        for pattern in patterns
    )


def _known_as(part: str, data: Mapping[str, Data], *, is_property: bool) -> str:
    wanted = _folded(part) if is_property else part.lower()
    for key in data:
        if (_folded(key) if is_property else key.lower()) == wanted:
            return key
    return part.lower() if part == part.upper() else part


def _folded(name: str) -> str:
    return re.sub(r"[._-]", ".", name).lower()
