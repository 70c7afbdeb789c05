"""Settings of other programs (Kafka's clients, Spark): dotted names and texts, some of them secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

from pydantic import GetCoreSchemaHandler, SecretStr
from pydantic_core import CoreSchema, core_schema

from evertable.problems import Problem, invalid
from evertable.secrets import MASK, SecretText, looks_secret, suggests_secret

Value = str | SecretStr


@dataclass(frozen=True)
class Properties:
    """An immutable map of properties; printing it masks secrets, ``reveal()`` returns them."""

    values: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: object) -> Self:
        """Parses a nested (``ssl: {ca: …}``) or dotted (``ssl.ca: …``) mapping; ignores nulls."""
        if isinstance(raw, cls):
            return raw
        if not isinstance(raw, Mapping):
            raise ValueError("must be a mapping (name: value)")
        flat = flatten(raw)
        return cls.of({name: text for name, text in flat.items() if text is not None})

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Self:
        """Creates properties from flat texts, and wraps those that are secret or look so."""
        return cls(
            {
                name: SecretStr(str(text))
                if isinstance(text, SecretText) or suggests_secret(name) or looks_secret(text)
                else text
                for name, text in texts.items()
            }
        )

    def reveal(self) -> dict[str, str]:
        """Returns everything in plain text. Never log it."""
        return {
            name: value.get_secret_value() if isinstance(value, SecretStr) else value
            for name, value in self.values.items()
        }

    def masked(self) -> dict[str, str]:
        """Returns everything, with secrets masked."""
        return {name: MASK if isinstance(value, SecretStr) else value for name, value in self.values.items()}

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.masked()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self.values),)  # a proxy cannot be pickled

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        shown = core_schema.plain_serializer_function_ser_schema(cls.masked)
        return core_schema.no_info_plain_validator_function(cls.parse, serialization=shown)


def flatten(raw: Mapping[Any, Any]) -> dict[str, str | None]:
    """Flattens nested mappings to dotted names, and lists to comma-separated texts, as Kafka and Spark write them."""
    flat: dict[str, str | None] = {}
    problems: list[Problem] = []

    def add(raw: Mapping[Any, Any], at: tuple[str, ...]) -> None:
        for key, value in raw.items():
            path = (*at, str(key))
            name = ".".join(path)
            if not str(key).strip():
                problems.append(Problem(at, "a property has an empty name"))
            elif isinstance(value, Mapping | list | tuple) and suggests_secret(name):
                # An unquoted password such as {a: b} must not become names, which are printed.
                problems.append(Problem(path, "must be one text; put it in quotes"))
            elif isinstance(value, Mapping):
                add(value, path)
            elif name in flat:
                problems.append(Problem(path, "is given twice, nested and with dots"))
            else:
                try:
                    flat[name] = _text(value)
                except ValueError as error:
                    problems.append(Problem(path, str(error)))

    add(raw, ())
    if problems:
        raise invalid(problems)
    return flat


def _text(value: object) -> str | None:
    match value:
        case None:
            return None
        case SecretStr():
            return SecretText(value.get_secret_value())
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case list() | tuple() if all(isinstance(item, str | int | float) for item in value):
            texts = [_text(item) or "" for item in value]
            joined = ",".join(texts)
            return SecretText(joined) if any(isinstance(text, SecretText) for text in texts) else joined
    raise ValueError("must be one text, a number, true, false, or a list of those")
