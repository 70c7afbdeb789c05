"""The end of an app has one deadline, which all waits share."""

from __future__ import annotations

import threading

from tests.waiting import wait_until

from evertable.shutdown import Shutdown


def test_before_the_end_waits_are_not_limited() -> None:
    shutdown = Shutdown(within_s=1)
    assert not shutdown.begun
    assert [shutdown.left(most_s) for most_s in (0.5, 30)] == [0.5, 30]


def test_from_its_beginning_on_waits_share_the_rest() -> None:
    """Successive waits together do not exceed the deadline."""
    shutdown = Shutdown(within_s=0.2)
    shutdown.begin()
    assert shutdown.wait(0)
    assert shutdown.left(30) <= 0.2
    nobody = threading.Event()
    for _ in range(5):
        nobody.wait(shutdown.left(30))
    assert shutdown.left(30) == 0


def test_it_begins_once() -> None:
    """A second Ctrl-C does not extend it."""
    shutdown = Shutdown(within_s=0.05)
    shutdown.begin()
    wait_until(lambda: shutdown.left() == 0)
    shutdown.begin()
    assert shutdown.left() == 0
