"""Join types: their canonical names and the spellings people use for them."""

from __future__ import annotations

from enum import StrEnum


class JoinType(StrEnum):
    INNER = "inner"
    LEFT = "left"
    NATURAL = "natural"
    ASOF = "asof"

    @classmethod
    def parse(cls, text: str) -> JoinType:
        """The join that ``text`` means, in any case; ValueError for anything else (a fallback would hide typos)."""
        spelled = text.strip().lower()
        if spelled in ("inner", "join"):
            return cls.INNER
        if spelled.startswith("left"):
            return cls.LEFT
        if spelled.startswith("natural"):
            return cls.NATURAL
        if spelled in ("asof", "aj", "as_of"):
            return cls.ASOF
        raise ValueError(f"'{text}' is no join type; known are {', '.join(cls)}")
