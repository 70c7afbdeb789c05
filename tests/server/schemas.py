"""Checks responses against the part of JSON Schema that ``openapi.yaml`` uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
_KNOWN = {
    "type",
    "required",
    "additionalProperties",
    "properties",
    "items",
    "enum",
    "description",
    "$ref",
    "format",
} | {"minimum", "maximum"}


def problems(value: Any, schema: dict[str, Any], whole: dict[str, Any], at: str = "$") -> Iterator[str]:
    """Yields the places where ``value`` violates the schema."""
    while "$ref" in schema:
        schema = resolved(schema["$ref"], whole)
    assert set(schema) <= _KNOWN, set(schema) - _KNOWN
    types = schema.get("type", list(_TYPES))
    if not any(_is(value, kind) for kind in ([types] if isinstance(types, str) else types)):
        yield f"{at}: {value!r} is no {types}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    elif isinstance(value, dict):
        yield from (f"{at}: {key} is missing" for key in schema.get("required", ()) if key not in value)
        for key, item in value.items():
            if key in schema.get("properties", {}):
                yield from problems(item, schema["properties"][key], whole, f"{at}.{key}")
            elif schema.get("additionalProperties") is False:
                yield f"{at}: {key} is unknown"
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from problems(item, schema["items"], whole, f"{at}[{index}]")


def resolved(reference: str, whole: dict[str, Any]) -> dict[str, Any]:
    found: Any = whole
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    assert isinstance(found, dict)
    return found


def _is(value: object, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
