"""The base class of every section, and parsers of the values in them."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo, model_validator


class Choice(StrEnum):
    """One of a few words, in any case."""

    @classmethod
    def _missing_(cls, value: object) -> Choice | None:
        return cls.__members__.get(str(value).strip().upper())


class Section(BaseModel):
    """Part of the configuration: unknown keys are errors, a null means the default."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, arbitrary_types_allowed=True, coerce_numbers_to_str=True
    )

    @model_validator(mode="before")
    @classmethod
    def _nulls_are_defaults(cls, data: Any) -> Any:
        if data is None:
            return {}
        return {key: value for key, value in data.items() if value is not None} if isinstance(data, dict) else data


def parsed(kind: type[Any], parse: Callable[[str], Any]) -> BeforeValidator:
    """Parses values that are not of that type yet."""
    return BeforeValidator(lambda value: value if isinstance(value, kind) else parse(str(value)))


def absolute_path(value: str, info: ValidationInfo) -> str:
    """Resolves a path that is relative to the folder of the configuration file."""
    folder = (info.context or {}).get("folder", Path())
    try:
        return str((folder / Path(value).expanduser()).absolute())
    except RuntimeError:
        raise ValueError("there is no such user's folder (~)") from None


def split_list(value: object) -> object:
    """Splits the text of an environment variable, which separates values by commas."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
