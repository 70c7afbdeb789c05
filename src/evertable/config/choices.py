"""Settings that are one of a few words, in any case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TypeVar

Choice = TypeVar("Choice", bound=StrEnum)


def one_of(choices: type[Choice], also: Mapping[str, Choice] | None = None) -> Callable[[object], Choice]:
    """What turns a word into one of ``choices``, or of the other spellings; ValueError lists them."""

    def parse(value: object) -> Choice:
        spelled = str(value).strip().lower()
        if also and spelled in also:
            return also[spelled]
        if spelled not in set(choices):
            raise ValueError(f"'{value}' is unknown; known are {', '.join(choices)}")
        return choices(spelled)

    return parse
