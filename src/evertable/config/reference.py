"""Generates the tables in ``docs/CONFIGURATION.md`` from the models.

``python -m evertable.config.reference docs/CONFIGURATION.md`` brings them up to date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from evertable.config import structure
from evertable.config.environment import PREFIX
from evertable.config.structure import ANY, PROPERTIES, fields, holds_names, sections_of
from evertable.kafka.property_names import NOT_USED, RENAMED
from evertable.properties import Properties


def updated(page: str) -> str:
    """Returns the page with its tables as the models have them now."""
    unused: dict[str, list[str]] = {}
    for name, why in NOT_USED.items():
        unused.setdefault(why, []).append(f"`{name}`")
    tables = {
        "keys": "\n".join(_sections()),
        "not used": _table(("properties", "why"), [(", ".join(names), why) for why, names in unused.items()]),
        "renamed": _table(("Java", "librdkafka"), [(f"`{java}`", f"`{other}`") for java, other in RENAMED.items()]),
    }
    for name, text in tables.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        head, rest = page.split(begin)
        page = f"{head}{begin}\n{text}{end}{rest.split(end)[1]}"
    return page


def _sections() -> Iterator[str]:
    listed = list(fields())
    yield "### At the top\n"
    yield _keys((path, info) for path, info in listed if len(path) == 1 and not list(sections_of(info.annotation)))
    for path, info in listed:
        for model, below in sections_of(info.annotation):
            at = (*path, *below)
            doc = (model.__doc__ or "").splitlines()[0]
            shown = ".".join("<name>" if part == ANY else part for part in at)
            yield f"### `{shown}`\n\n{doc}\n"
            yield _keys((inner, field) for inner, field in listed if inner[:-1] == at)


def _keys(keys: Iterable[tuple[structure.Path, FieldInfo]]) -> str:
    rows = [(f"`{path[-1]}`", info.description or "", _default(info), _variable(path, info)) for path, info in keys]
    return _table(("key", "what", "default", "environment"), rows)


def _default(info: FieldInfo) -> str:
    if isinstance(info.json_schema_extra, dict) and "default" in info.json_schema_extra:
        return str(info.json_schema_extra["default"])
    if info.default is PydanticUndefined:
        return "" if info.default_factory else "required"
    if info.default is None:
        return "null"
    if info.default == "" or list(sections_of(info.annotation)):
        return ""
    value = info.default.value if isinstance(info.default, Enum) else info.default
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return "`{}`" if isinstance(value, Properties) else f"`{value}`"


def _variable(path: structure.Path, info: FieldInfo) -> str:
    if list(sections_of(info.annotation)):
        return ""
    name = PREFIX + "__".join("<NAME>" if part == ANY else part.upper() for part in path)
    if path in PROPERTIES:
        return f"`{name}__…`"
    if holds_names(info.annotation):
        return f"`{name}__<NAME>`"
    if isinstance(info.json_schema_extra, dict) and "variable" in info.json_schema_extra:
        return f"`{info.json_schema_extra['variable']}`, `{name}`"
    return f"`{name}__<COLUMN>`" if path[-1] == "columns" else f"`{name}`"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


if __name__ == "__main__":
    document = Path(sys.argv[1])
    document.write_text(updated(document.read_text()))
