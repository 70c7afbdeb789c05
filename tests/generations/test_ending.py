"""The end of an app has one deadline, whatever has to be waited for."""

from __future__ import annotations

import threading

import pytest
from tests.waiting import wait_until

from evertable.generations.ending import Ending, in_background


def test_before_the_end_everyone_has_the_time_they_want() -> None:
    ending = Ending(within_s=1)
    assert not ending.begun
    assert [ending.left(most_s) for most_s in (0.5, 30)] == [0.5, 30]


def test_from_its_beginning_on_all_share_what_is_left() -> None:
    """However many wait, one after the other: together not longer than the deadline."""
    ending = Ending(within_s=0.2)
    ending.begin()
    assert ending.wait(0)
    assert ending.left(30) <= 0.2
    nobody = threading.Event()
    for _ in range(5):
        nobody.wait(ending.left(30))
    assert ending.left(30) == 0


def test_it_begins_once() -> None:
    """Who presses Ctrl-C again does not get more time."""
    ending = Ending(within_s=0.05)
    ending.begin()
    wait_until(lambda: ending.left() == 0)
    ending.begin()
    assert ending.left() == 0


def test_work_in_the_background_tells_what_came_of_it() -> None:
    assert in_background(lambda: 7).result(30) == 7

    def fails() -> None:
        raise ValueError("so")

    with pytest.raises(ValueError, match="so"):
        in_background(fails).result(30)
