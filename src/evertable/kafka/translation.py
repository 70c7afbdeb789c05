"""The state of translating security properties into the dialect of one client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evertable.problems import Problem


@dataclass
class Translation:
    """Security properties that are translated step by step; each step moves some from ``rest`` to ``done``."""

    rest: dict[str, str]
    done: dict[str, str] = field(default_factory=dict)
    warnings: list[Problem] = field(default_factory=list)
    """What one client ignores."""
    refusals: list[Problem] = field(default_factory=list)
    """What cannot be used at all."""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Translation:
        words = ("security.protocol", "sasl.mechanism")
        return cls({name: text.strip().upper() if name in words else text for name, text in given.items()})

    @property
    def mechanism(self) -> str:
        return self.rest.get("sasl.mechanism", "")

    def take(self, name: str) -> str | None:
        """Removes a property and returns its value; None if it was not given."""
        return self.rest.pop(name, None)

    def take_all(self, *names: str) -> dict[str, str]:
        """Removes these properties and returns those that were given."""
        return {name: self.rest.pop(name) for name in names if name in self.rest}

    def warn(self, name: str, what: str) -> None:
        self.warnings.append(Problem((name,), what))

    def refuse(self, name: str, what: str) -> None:
        self.refusals.append(Problem((name,), what))
