"""Ownership follows only from the order of claims, and waiting times only from the broker's clock."""

from __future__ import annotations

from evertable.state.ownership import Ownership
from evertable.state.records import LastOwner, Owner, Record, StoredRecord, encode


def owner(name: str, claimed: int | None = None, *, leaving: bool = False) -> Owner:
    return Owner(name, "host", 1, "2026-01-31T09:00:00+00:00", claimed, leaving)


def stored(record: Record, offset: int, at_ms: int) -> StoredRecord:
    return StoredRecord(record.key, encode(record), offset, at_ms)


def heartbeat(name: str, offset: int, at_ms: int, claimed: int | None = None, *, leaving: bool = False) -> StoredRecord:
    return stored(owner(name, claimed, leaving=leaving), offset, at_ms)


def left(name: str) -> StoredRecord:
    return StoredRecord(f"owner/{name}", None, 7, 700)


def seen_by(name: str, *records: StoredRecord) -> Ownership:
    ownership = Ownership(name)
    ownership.fold(records)
    return ownership


def successor(of: Ownership, claimed: int) -> str | None:
    found = of.successor(claimed)
    return found.id if found else None


def test_the_one_that_claimed_last_owns_the_app() -> None:
    """Later heartbeats of earlier owners do not matter."""
    heartbeats = heartbeat("a", 9, 900, claimed=1), heartbeat("b", 5, 500), heartbeat("c", 3, 300)
    assert successor(seen_by("a", *heartbeats), claimed=1) == "b"
    assert successor(seen_by("c", *heartbeats), claimed=3) == "b"
    assert successor(seen_by("b", *heartbeats), claimed=5) is None


def test_an_owner_that_took_over_and_left_is_a_successor() -> None:
    """One that only claimed the app, and left before it took over, is not."""
    claimed, taken = heartbeat("b", 5, 500), stored(LastOwner(owner("b", claimed=5)), 8, 800)
    assert successor(seen_by("a", claimed, left("b")), claimed=1) is None
    over = seen_by("a", claimed, taken, left("b"))
    assert (successor(over, claimed=1), successor(over, claimed=9)) == ("b", None)
    assert successor(seen_by("b", claimed, taken), claimed=4) is None


def test_one_that_left_is_not_waited_for() -> None:
    ownership = seen_by("b", heartbeat("a", 1, 1_000), heartbeat("b", 2, 2_000))
    assert ownership.wait_ms(2_000, lease_s=4) == 3_000
    ownership.fold([left("a")])
    assert ownership.wait_ms(2_000, lease_s=4) == 0


def test_one_that_is_silent_is_waited_for_until_its_lease_is_over() -> None:
    ownership = seen_by("b", heartbeat("a", 1, 1_000), heartbeat("b", 2, 9_000))
    assert [ownership.wait_ms(now, lease_s=4) for now in (3_000, 4_999, 5_000, 90_000)] == [2_000, 1, 0, 0]


def test_one_that_has_begun_to_stop_is_given_more_time() -> None:
    ownership = seen_by("b", heartbeat("a", 1, 1_000), heartbeat("a", 3, 3_000, claimed=1, leaving=True))
    assert ownership.wait_ms(9_000, lease_s=4) == 9_000


def test_all_that_may_be_running_are_waited_for() -> None:
    """The one before may itself have been waiting for its predecessor."""
    ownership = seen_by("c", heartbeat("a", 1, 1_000), heartbeat("b", 2, 2_000))
    ownership.fold([left("b")])
    assert ownership.wait_ms(2_000, lease_s=4) == 3_000
