"""Derives from the models which keys the configuration has, and which of them hold free properties."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from inspect import isclass

from pydantic.fields import FieldInfo

from evertable.config.models import Config
from evertable.config.section import Section
from evertable.properties import Properties

Path = tuple[str, ...]
ANY = "*"  # stands for the name of a source


def fields(model: type[Section] = Config, at: Path = ()) -> Iterator[tuple[Path, FieldInfo]]:
    """Yields every field that can be set, sections before their content."""
    for name, info in model.model_fields.items():
        if info.exclude:  # the name of a source
            continue
        yield (*at, name), info
        for inner, below in sections_of(info.annotation):
            yield from fields(inner, (*at, name, *below))


def sections_of(annotation: object) -> Iterator[tuple[type[Section], Path]]:
    """Yields the section that a field holds, if any, and the path to it."""
    if isclass(annotation) and issubclass(annotation, Section):
        yield annotation, ()
    elif typing.get_origin(annotation) is Mapping:
        for inner, below in sections_of(typing.get_args(annotation)[1]):
            yield inner, (ANY, *below)
    elif typing.get_origin(annotation) is types.UnionType:
        for choice in typing.get_args(annotation):
            yield from sections_of(choice)


def holds_names(annotation: object) -> bool:
    """Returns whether a field maps names to texts, each of which can be set on its own."""
    return typing.get_origin(annotation) is Mapping and not list(sections_of(annotation))


def holds_properties(annotation: object) -> bool:
    kinds = typing.get_args(annotation) or (annotation,)
    return any(isclass(kind) and issubclass(kind, Properties) for kind in kinds)


FIELDS: list[Path] = [
    *(path for path, _ in fields()),
    *((*path, ANY) for path, info in fields() if holds_names(info.annotation)),
]
PROPERTIES: list[Path] = [path for path, info in fields() if holds_properties(info.annotation)]


def matches(path: Path, pattern: Path) -> bool:
    return len(path) == len(pattern) and all(want in (ANY, part) for part, want in zip(path, pattern, strict=True))


def known_keys(path: Path) -> list[str]:
    """Returns the keys that the section at ``path`` may have."""
    return [known[-1] for known in FIELDS if matches(path, known[:-1])]
