"""The owner of an app: the orchestrator that claimed it last, as the state topic records it.

docs/STATE.md has the rules.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evertable.shutdown import Shutdown
from evertable.state.records import LastOwner, Owner, StoredRecord, decode, is_about_owners
from evertable.state.state import StateFold

if TYPE_CHECKING:
    from evertable.state.state_log import StateReader

LEASE_S = 4.0
"""How long an owner counts as running after its last heartbeat; one is due every second."""
LEAVING_S = 15.0
"""How long an owner that has begun to stop may take."""
POLL_S = 0.1


@dataclass(frozen=True)
class Heartbeat:
    """An owner's newest record, with its offset and the broker's timestamp."""

    owner: Owner
    offset: int
    at_ms: int

    @property
    def claim_offset(self) -> int:
        """The offset of the owner's claim."""
        return self.offset if self.owner.claimed is None else self.owner.claimed


class Ownership:
    """Folds the owners' records, from the point of view of one of them, and all others into ``memory``, if given."""

    def __init__(self, own_id: str = "", memory: StateFold | None = None) -> None:
        self._own_id = own_id
        self._memory = memory
        self._heartbeats: dict[str, Heartbeat] = {}
        self._last_takeover: Heartbeat | None = None
        """The owner that took over last; it succeeds earlier claims even after it has left."""

    def fold(self, records: Iterable[StoredRecord]) -> None:
        for stored in records:
            if stored.value is None:  # an owner that has left, or a record that is too old to be kept
                self._heartbeats.pop(stored.key, None)
                if self._memory is not None:
                    self._memory.forget([stored.key])
                continue
            if self._memory is None and not is_about_owners(stored.key):
                continue
            record = decode(stored.key, stored.value)
            if isinstance(record, Owner):
                self._heartbeats[stored.key] = Heartbeat(record, stored.offset, stored.at_ms)
                continue
            if isinstance(record, LastOwner):
                self._last_takeover = Heartbeat(record.owner, stored.offset, stored.at_ms)
            if self._memory is not None:
                self._memory.apply(record)

    @property
    def own(self) -> Heartbeat | None:
        return next((each for each in self._heartbeats.values() if each.owner.id == self._own_id), None)

    @property
    def others(self) -> list[Heartbeat]:
        """The other owners that have not left."""
        return [each for each in self._heartbeats.values() if each.owner.id != self._own_id]

    def successor(self, claimed: int) -> Owner | None:
        """Returns the owner with the last claim, if that came after an own claim at offset ``claimed``."""
        last = [self._last_takeover] if self._last_takeover and self._last_takeover.owner.id != self._own_id else []
        later = [each for each in (*last, *self.others) if each.claim_offset > claimed]
        return max(later, key=lambda each: each.claim_offset).owner if later else None

    def wait_ms(self, now_ms: int, lease_s: float = LEASE_S) -> int:
        """Returns how long the others may still be running, by the broker's clock; 0 if none can be."""
        ends = [each.at_ms + int((LEAVING_S if each.owner.leaving else lease_s) * 1000) for each in self.others]
        return max(0, max(ends, default=0) - now_ms)

    def find_running(self, reader: StateReader, wait_s: float, shutdown: Shutdown) -> Owner | None:
        """Returns another owner that sends a heartbeat within ``wait_s``; None once all left, stop, or are silent."""
        since, deadline = reader.next, time.monotonic() + wait_s
        while (running := [each for each in self.others if not each.owner.leaving]) and shutdown.left():
            if beating := [each.owner for each in running if each.offset >= since]:
                return beating[0]
            if time.monotonic() >= deadline:
                return None
            self.fold(reader.poll(POLL_S))
        return None

    def await_leaving(self, reader: StateReader, wait_s: float) -> None:
        """Waits until stopping owners have left; one that has not after ``wait_s`` counts as dead."""
        deadline = time.monotonic() + wait_s
        while self.others and time.monotonic() < deadline:
            self.fold(reader.poll(POLL_S))
