"""Ownership follows only from the order of claims, and waiting times only from the broker's clock."""

from __future__ import annotations

from evertable.state.ownership import Heartbeat, Ownership
from evertable.state.records import Owner


def heartbeat(name: str, offset: int, at_ms: int, claimed: int | None = None, *, leaving: bool = False) -> Heartbeat:
    return Heartbeat(Owner(name, "host", 1, "2026-01-31T09:00:00+00:00", claimed, leaving), offset, at_ms)


def seen_by(name: str, *heartbeats: Heartbeat) -> Ownership:
    ownership = Ownership(name)
    for each in heartbeats:
        ownership.add(each)
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
    taken = heartbeat("b", 8, 800, claimed=5)
    for ownership in (left := seen_by("a", heartbeat("b", 5, 500)), over := seen_by("a", heartbeat("b", 5, 500))):
        ownership.remove("owner/b")
    over.add_takeover(taken)
    assert (successor(left, claimed=1), successor(over, claimed=1)) == (None, "b")
    assert successor(over, claimed=9) is None
    own = seen_by("b", heartbeat("b", 5, 500))
    own.add_takeover(taken)
    assert successor(own, claimed=4) is None


def test_one_that_left_is_not_waited_for() -> None:
    ownership = seen_by("b", heartbeat("a", 1, 1_000), heartbeat("b", 2, 2_000))
    assert ownership.wait_ms(2_000, lease_s=4) == 3_000
    ownership.remove("owner/a")
    assert ownership.wait_ms(2_000, lease_s=4) == 0


def test_one_that_is_silent_is_waited_for_until_its_lease_is_over() -> None:
    ownership = seen_by("b", heartbeat("a", 1, 1_000), heartbeat("b", 2, 9_000))
    assert [ownership.wait_ms(now, lease_s=4) for now in (3_000, 4_999, 5_000, 90_000)] == [2_000, 1, 0, 0]


def test_one_that_has_begun_to_stop_is_given_more_time() -> None:
    ownership = seen_by("b", heartbeat("a", 1, 1_000), heartbeat("a", 3, 3_000, claimed=1, leaving=True))
    assert ownership.wait_ms(9_000, lease_s=4, leaving_s=15) == 9_000


def test_all_that_may_be_running_are_waited_for() -> None:
    """The one before may itself have been waiting for its predecessor."""
    ownership = seen_by("c", heartbeat("a", 1, 1_000), heartbeat("b", 2, 2_000))
    ownership.remove("owner/b")
    assert ownership.wait_ms(2_000, lease_s=4) == 3_000
