"""The names of changelog topics: ``evertable.demo.g000007`` is generation 7 of app ``demo``."""

from __future__ import annotations


def topic_name(prefix: str, app: str, generation: int) -> str:
    """The changelog of that generation."""
    if generation < 1:
        raise ValueError(f"generations are numbered from 1, not {generation}")
    return f"{prefix}.{app}.g{generation:06d}"


def generation_of(prefix: str, app: str, topic: str) -> int | None:
    """The generation whose changelog this topic is; None if it is none of that app's."""
    digits = topic.removeprefix(f"{prefix}.{app}.g")
    if not (digits.isascii() and digits.isdecimal() and int(digits) > 0):
        return None
    return int(digits) if topic == topic_name(prefix, app, int(digits)) else None
