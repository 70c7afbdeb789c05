"""Who owns an app, as the state topic tells it: the orchestrator that claimed it last. docs/STATE.md has the rules."""

from __future__ import annotations

from dataclasses import dataclass

from evertable.state.records import Owner

LEASE_S = 4.0
"""How long an owner that says nothing may still be running; it says something every second."""
LEAVING_S = 15.0
"""How long one that has begun to stop may take."""


@dataclass(frozen=True)
class Sign:
    """The last that was heard of an owner, and when, by the broker's clock."""

    owner: Owner
    offset: int
    at_ms: int

    @property
    def claimed(self) -> int:
        """Where its claim stands in the topic."""
        return self.offset if self.owner.claimed is None else self.owner.claimed


class Ownership:
    """Folds the owners' records, as one of them sees it."""

    def __init__(self, own_id: str) -> None:
        self._own_id = own_id
        self._signs: dict[str, Sign] = {}
        self._last: Sign | None = None

    def heard(self, sign: Sign) -> None:
        self._signs[sign.owner.key] = sign

    def took_over(self, sign: Sign) -> None:
        """It counts as the successor of those that claimed before, even when it has left."""
        self._last = sign

    def left(self, key: str) -> None:
        self._signs.pop(key, None)

    @property
    def own(self) -> Sign | None:
        return next((sign for sign in self._signs.values() if sign.owner.id == self._own_id), None)

    @property
    def others(self) -> list[Sign]:
        """Those that have not said that they left."""
        return [sign for sign in self._signs.values() if sign.owner.id != self._own_id]

    def living(self, since: int) -> Owner | None:
        """Returns an owner that wrote a sign of life at offset ``since`` or later and has not begun to stop."""
        found = [sign.owner for sign in self.others if sign.offset >= since and not sign.owner.leaving]
        return found[0] if found else None

    def successor(self, claimed: int) -> Owner | None:
        """Who claimed last of those that are there or took over, if that is after an own claim at ``claimed``."""
        last = [self._last] if self._last and self._last.owner.id != self._own_id else []
        later = [sign for sign in (*last, *self.others) if sign.claimed > claimed]
        return max(later, key=lambda sign: sign.claimed).owner if later else None

    def wait_ms(self, now_ms: int, lease_s: float = LEASE_S, leaving_s: float = LEAVING_S) -> int:
        """How long the others may still be running, by the broker's clock; 0 if none can be."""
        patience = {False: lease_s, True: leaving_s}
        ends = [sign.at_ms + int(patience[sign.owner.leaving] * 1000) for sign in self.others]
        return max(0, max(ends, default=0) - now_ms)
