"""What there is to say about properties while they are translated."""

from __future__ import annotations

from dataclasses import dataclass, field

Texts = dict[str, str]


@dataclass
class Notes:
    """Of one translation, as (property, sentence): what one side does not get, and what cannot be used at all."""

    warnings: list[tuple[str, str]] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)

    def warn(self, name: str, what: str) -> None:
        self.warnings.append((name, what))

    def refuse(self, name: str, what: str) -> None:
        self.refusals.append((name, what))
