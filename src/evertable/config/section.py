"""What every section of the configuration is: frozen, typed, strict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationInfo, model_validator


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


def beside_the_file(value: str, info: ValidationInfo) -> str:
    """A path as an absolute one, where a relative one starts at the configuration's folder."""
    folder = (info.context or {}).get("folder", Path())
    try:
        return str((folder / Path(value).expanduser()).absolute())
    except RuntimeError:
        raise ValueError("there is no such user's folder (~)") from None


def listed(value: object) -> object:
    """Splits a text as the environment has it: several values with commas between them."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
