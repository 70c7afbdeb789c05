"""Problems of a configuration: where they are, and what is wrong, in an operator's words.

pydantic finds most of them, but its messages name Python's types and echo values, so they are replaced here.
A secret value is never echoed.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

NOT_SHOWN = "the value (not shown, it may be a secret) does not fit here"
MISSING = "is missing"

_SILENT = {"default_factory_not_called"}  # follows from another problem

_MESSAGES = {  # by pydantic's error type, or by its first word
    "missing": MISSING,
    "int": "{input} is not a whole number",
    "int_parsing_size": "{input} is too large a number",
    "float": "{input} is not a number",
    "finite_number": "{input} is not a finite number",
    "bool": "{input} is neither true nor false",
    "enum": "{input} is unknown; known are {expected}",
    "string_type": "must be one text, not a list or a mapping",
    "string_too_short": "is empty",
    "greater_than_equal": "{input} is too small; the least is {ge}",
    "less_than_equal": "{input} is too large; the most is {le}",
    "tuple_type": "must be a list ([one, another])",
    "dict": "must be a mapping (name: value)",
    "mapping": "must be a mapping (name: value)",
    "model": "must be a mapping (name: value)",
}


class Problem(NamedTuple):
    """One thing that is wrong, at one place of the configuration."""

    path: tuple[str, ...]
    what: str

    @property
    def where(self) -> str:
        return dotted(self.path)

    def __str__(self) -> str:
        return printable(f"{self.where}: {self.what}" if self.path else self.what)


def printable(text: str) -> str:
    """Replaces control characters and halves of surrogate pairs."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def dotted(path: Iterable[str | int]) -> str:
    """Returns a path as people write it; nested and dotted properties look the same."""
    return ".".join(str(part) for part in path)


def touches(path: Iterable[str | int], hidden: Collection[str]) -> bool:
    """Returns whether a value at or below ``path`` is at one of the (dotted) ``hidden`` paths."""
    where = dotted(path)
    return any(secret == where or secret.startswith(f"{where}.") for secret in hidden)


def nearest(word: str, known: Iterable[str]) -> str:
    """Returns advice for an unknown word: the most similar known word, or all of them."""
    choices = list(known)
    folded = {choice.lower(): choice for choice in choices}
    if close := difflib.get_close_matches(word.lower(), folded, n=1):
        return f"did you mean '{folded[close[0]]}'?"
    return f"known are {', '.join(choices)}" if choices else ""


def invalid(problems: Iterable[Problem]) -> ValidationError:
    """Wraps problems in pydantic's error, for validators that find several; pydantic prepends its path to theirs."""
    return ValidationError.from_exception_data(
        "configuration",
        [
            InitErrorDetails(type=PydanticCustomError("problem", "{what}", {"what": what}), loc=path, input=None)
            for path, what in problems
        ],
        hide_input=True,
    )


def problems_of(
    error: ValidationError, known_keys: Callable[[tuple[str, ...]], Iterable[str]], hidden: Collection[str] = ()
) -> list[Problem]:
    """Returns every problem that pydantic found, without the values at the ``hidden`` (dotted) paths."""
    found = []
    for details in error.errors(include_url=False):
        if details["type"] in _SILENT:
            continue
        path = tuple(str(part) for part in details["loc"] if part != "[key]")
        found.append(Problem(path, _sentence(details, path, known_keys, touches(path, hidden))))
    return found


def _sentence(
    details: ErrorDetails, path: tuple[str, ...], known_keys: Callable[[tuple[str, ...]], Iterable[str]], hidden: bool
) -> str:
    kind, context = details["type"], details.get("ctx", {})
    if kind == "extra_forbidden":
        return f"is unknown; {nearest(path[-1], known_keys(path[:-1]))}"
    template = _MESSAGES.get(kind) or _MESSAGES.get(kind.split("_")[0], "{message}")
    if hidden and kind != "missing":
        return NOT_SHOWN
    message = details["msg"].removeprefix("Value error, ")
    return template.format_map(_Values(context, input=_echo(details["input"]), message=message))


class _Values(dict[str, Any]):
    """Values for the placeholders in the messages; a limit of 1.0 is written as 1, and choices without quotes."""

    def __init__(self, context: Mapping[str, Any], **more: Any) -> None:
        limits = {name: f"{value:g}" if isinstance(value, float) else value for name, value in context.items()}
        choices = str(context.get("expected", "")).replace("'", "").replace(" or ", ", ")
        super().__init__({**limits, "expected": choices, **more})


def _echo(value: object) -> str:
    if not isinstance(value, str | int | float):
        return "a list or a mapping"
    text = str(value)
    return f"'{text[:60]}…'" if len(text) > 60 else f"'{text}'"
