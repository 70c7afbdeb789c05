"""The life of generations: each move by itself, and any history of them against what must always hold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.generations.cases import A, B, C, live_on

from evertable.config import Swap, SwapMode
from evertable.generations.lifecycle import (
    MOVES,
    Action,
    End,
    Generation,
    GenerationState,
    Lifecycle,
    Publish,
    Result,
    Settle,
    StartBuild,
)
from evertable.schema.joins import JoinType
from evertable.schema.wiring import Wiring


def test_the_first_generation_is_built_warms_and_goes_live() -> None:
    life = Lifecycle(Swap(), last=6)
    assert life.want(A, 0, "m1") == [StartBuild(7, A)]
    assert life.started(7, 1) == []
    assert life.caught_up(7, 2) == [Publish(7), Settle("m1", Result.APPLIED)]
    assert life.live is not None
    assert (life.live.number, life.previous) == (7, None)


def test_a_swap_builds_beside_the_live_one_which_then_lingers_and_retires() -> None:
    life = live_on(A)
    assert life.want(B, 10, "m") == [StartBuild(2, B)]
    life.started(2, 11)
    assert life.caught_up(2, 12) == [Publish(2), Settle("m", Result.APPLIED)]
    assert (life.previous, life.next_due) == (A, 20)
    assert life.tick(19.9) == []
    assert life.tick(20) == [End(1)]
    assert life.ended(1, 21) == []
    assert list(life.generations) == [2]


def test_an_unchanged_wiring_changes_nothing() -> None:
    life = live_on(A)
    assert life.want(A, 1, "m") == [Settle("m", Result.UNCHANGED)]


def test_newer_messages_supersede_a_build_and_only_the_newest_is_built_next() -> None:
    """It waits until the one that was given up is cleaned up."""
    life = live_on(A)
    life.want(B, 1, "m1")
    assert life.want(C, 2, "m2") == [Settle("m1", Result.SUPERSEDED, "a newer message came"), End(2)]
    assert life.want(B, 3, "m3") == [Settle("m2", Result.SUPERSEDED, "a newer message came")]
    assert life.started(2, 4) == []
    assert life.ended(2, 5) == [StartBuild(3, B)]
    life.started(3, 6)
    assert life.caught_up(3, 7)[-1] == Settle("m3", Result.APPLIED)


def test_in_a_burst_the_next_build_waits_until_it_is_over() -> None:
    life = live_on(A)
    life.want(B, 1)
    life.want(C, 1.1)
    assert life.ended(2, 1.2) == []
    life.want(B, 1.3)
    assert life.tick(1.4) == []
    assert life.next_due == 1.55
    assert life.tick(1.55) == [StartBuild(3, B)]


def test_going_back_to_the_live_wiring_gives_up_the_build() -> None:
    life = live_on(A)
    life.want(B, 1, "m1")
    assert life.want(A, 2, "m2") == [
        Settle("m1", Result.SUPERSEDED, "a newer message came"),
        End(2),
        Settle("m2", Result.APPLIED),
    ]
    assert life.ended(2, 3) == []


def test_a_lingering_generation_is_revived_at_once() -> None:
    """That is what makes a rollback instant; the one that was live lingers in turn."""
    life = live_on(A)
    life.want(B, 1)
    life.started(2, 1)
    life.caught_up(2, 2)
    assert life.want(A, 3, "back") == [Publish(1), Settle("back", Result.APPLIED)]
    assert life.live is not None
    assert (life.live.number, life.previous, [one.number for one in life.lingering]) == (1, B, [2])
    assert life.tick(11) == [End(2)]


def test_only_so_many_linger() -> None:
    life = live_on(A, Swap(max_lingering=1, linger_s=900))
    for number, wiring in ((2, B), (3, C)):
        life.want(wiring, number)
        life.started(number, number)
        actions = life.caught_up(number, number)
    assert actions == [Publish(3), End(1)]
    assert [one.number for one in life.lingering] == [2]


@pytest.mark.parametrize("rules", [Swap(linger_s=0), Swap(max_lingering=0)])
def test_without_lingering_the_old_one_retires_at_the_flip(rules: Swap) -> None:
    life = live_on(A, rules)
    life.want(B, 1)
    life.started(2, 1)
    assert life.caught_up(2, 2) == [Publish(2), End(1)]


def test_an_eager_swap_does_not_wait() -> None:
    life = live_on(A, Swap(mode=SwapMode.EAGER))
    life.want(B, 1)
    assert life.started(2, 2) == [Publish(2)]
    assert life.caught_up(2, 3) == []


@pytest.mark.parametrize("how", ["fails", "takes too long"])
def test_a_swap_that_comes_to_nothing_leaves_the_live_one(how: str) -> None:
    life = live_on(A)
    life.want(B, 1, "m")
    life.started(2, 2)
    actions = life.failed(2, "no such topic", 3) if how == "fails" else life.tick(121)
    reason = "no such topic" if how == "fails" else "not warm within 120 s (swap.timeout_s)"
    assert actions == [Settle("m", Result.FAILED, reason), End(2)]
    assert life.ended(2, 130) == []
    assert (life.wanted, life.next_due) == (A, float("inf"))
    assert life.want(B, 140, "again") == [StartBuild(3, B)]


def test_the_first_generation_has_no_timeout() -> None:
    life = Lifecycle(Swap(timeout_s=1))
    life.want(A, 0)
    assert life.next_due == float("inf")


def test_before_anything_is_live_what_falls_back_is_tried_then_all_again() -> None:
    life = Lifecycle(Swap(), fallbacks=(A, B), retry_s=5)
    assert life.want(A, 0) == [StartBuild(1, A)]
    assert life.failed(1, "no topic", 1) == [End(1)]
    assert life.ended(1, 2) == [StartBuild(2, B)]
    assert life.failed(2, "no topic either", 3) == [End(2)]
    assert life.ended(2, 4) == []
    assert life.next_due == 8
    assert life.tick(8) == [StartBuild(3, A)]
    life.failed(3, "still not", 9)
    assert life.ended(3, 10) == [StartBuild(4, B)]
    life.started(4, 11)
    assert life.caught_up(4, 12) == [Publish(4)]
    assert life.wanted == B


def test_what_was_live_before_a_restart_is_retried_while_a_disk_is_full() -> None:
    """Another wiring under the same names would be a surprise, and would not fit on the disk either."""
    life = Lifecycle(Swap(), fallbacks=(A, B), retry_s=5)
    life.want(A, 0)
    assert life.failed(1, "disk full", 1, lasting=False) == [End(1)]
    assert life.ended(1, 2) == []
    assert life.tick(life.next_due) == [StartBuild(2, A)]


def test_a_message_that_failed_at_the_start_is_not_tried_again() -> None:
    life = Lifecycle(Swap(), fallbacks=(A, B), retry_s=5)
    assert life.want(C, 0, "m") == [StartBuild(1, C)]
    assert life.failed(1, "disk full", 1, lasting=False) == [Settle("m", Result.FAILED, "disk full"), End(1)]
    assert life.ended(1, 2) == [StartBuild(2, A)]
    life.failed(2, "disk full", 3, lasting=False)
    life.ended(2, 4)
    assert life.tick(life.next_due) == [StartBuild(3, A)]


def test_what_cannot_be_built_is_tried_less_and_less_often() -> None:
    """They are at most half a minute apart; a message starts anew."""
    life = Lifecycle(Swap(), retry_s=5)
    life.want(A, 0)
    now, waits = 0.0, []
    for number in range(1, 7):
        life.failed(number, "no topic", now)
        life.ended(number, now)
        waits.append(life.next_due - now)
        now = life.next_due
        assert life.tick(now) == [StartBuild(number + 1, A)]
    assert waits == [5, 10, 20, 30, 30, 30]
    life.want(B, now)
    life.ended(7, now)
    life.tick(life.next_due)
    life.failed(8, "no topic", now)
    life.ended(8, now)
    assert life.next_due - now == 5


def test_a_message_does_not_wait_for_the_next_try() -> None:
    life = Lifecycle(Swap(), retry_s=5)
    life.want(A, 0)
    life.failed(1, "no topic", 1)
    life.ended(1, 2)
    assert life.want(B, 3, "m") == [StartBuild(2, B)]


def test_what_ends_at_the_stop_is_not_built_again() -> None:
    life = live_on(A)
    life.want(B, 1, "m")
    assert life.close() == [Settle("m", Result.SUPERSEDED, "the orchestrator stops"), End(2)]
    assert life.ended(2, 2) == []
    assert list(life.generations) == [1]


def test_what_is_being_resumed_at_the_stop_stays() -> None:
    """It was live, and is nobody's to delete; what asked for its wiring has it."""
    life = Lifecycle(Swap())
    life.resume(9, A, "m")
    assert life.close() == [Settle("m", Result.UNCHANGED)]
    assert life.staying is life.generations[9]
    life = Lifecycle(Swap())
    life.resume(9, A)
    life.want(B, 1)
    assert life.staying is None


def test_a_generation_that_cannot_be_resumed_is_built_anew() -> None:
    life = Lifecycle(Swap())
    assert life.resume(9, A) == [StartBuild(9, A, resumed=True)]
    assert life.failed(9, "its topics were recreated", 1) == [End(9)]
    assert life.ended(9, 2) == [StartBuild(10, A)]


def test_a_live_generation_that_cannot_go_on_is_rebuilt_beside_it() -> None:
    """It is read until then, and does not linger."""
    life = live_on(A)
    assert life.failed(1, "data loss", 1) == [StartBuild(2, A)]
    assert life.failed(1, "reported twice", 1) == []
    assert life.live is not None
    assert life.live.broken
    life.started(2, 2)
    assert life.caught_up(2, 3) == [Publish(2), End(1)]


def test_a_held_generation_ends_and_what_is_live_stays() -> None:
    life = live_on(A)
    life.want(B, 1, "m")
    life.started(2, 2)
    assert life.held(2, "all rejected") == [Settle("m", Result.HELD, "all rejected"), End(2)]
    assert life.ended(2, 3) == []
    assert (life.live and life.live.number, life.wanted) == (1, A)
    assert life.want(B, 4, "again") == [StartBuild(3, B)]


def test_a_message_that_is_held_at_the_start_falls_back_and_is_not_tried_again() -> None:
    life = Lifecycle(Swap(), fallbacks=(A,), retry_s=5)
    life.want(B, 0, "m")
    life.started(1, 1)
    life.held(1, "all rejected")
    assert life.ended(1, 2) == [StartBuild(2, A)]
    life.failed(2, "no topic", 3)
    life.ended(2, 4)
    assert life.tick(life.next_due) == [StartBuild(3, A)]


def test_nothing_is_held_if_there_is_nothing_else_to_show() -> None:
    life = Lifecycle(Swap())
    life.want(A, 0, "m")
    life.started(1, 1)
    assert life.kept_instead_of(life.generations[1]) is None
    with pytest.raises(ValueError, match="nothing to show instead"):
        life.held(1, "all rejected")


def test_room_is_made_by_what_lingers() -> None:
    life = live_on(A)
    life.want(B, 1)
    life.started(2, 1)
    life.caught_up(2, 1)
    life.want(C, 2, "m")
    assert life.make_room(3) == [End(3), End(1)]
    assert life.ended(1, 4) == []
    assert life.ended(3, 5) == [StartBuild(4, C)]
    assert life.make_room(6) == []


def test_illegal_moves_name_both_states() -> None:
    with pytest.raises(ValueError, match="generation 3 is building, it cannot become live"):
        Generation(3, A).move(GenerationState.LIVE)
    assert set(MOVES) == set(GenerationState)


class Histories(RuleBasedStateMachine):
    """Random messages, failures and clock steps, carried out by an orchestrator that takes its time."""

    WIRINGS = (A, B, C, Wiring("users_a", "accounts_a", JoinType.INNER))

    @initialize(
        mode=st.sampled_from(SwapMode),
        linger_s=st.sampled_from([0, 8, 900]),
        max_lingering=st.integers(0, 3),
        resumed=st.booleans(),
    )
    def begin(self, mode: SwapMode, linger_s: int, max_lingering: int, resumed: bool) -> None:
        self.rules_of_swap = Swap(mode=mode, linger_s=linger_s, max_lingering=max_lingering)
        self.life = Lifecycle(self.rules_of_swap, last=3, fallbacks=(A,))
        self.now = 0.0
        self.building: set[int] = set()
        self.warming: set[int] = set()
        self.ending: set[int] = set()
        self.running: set[int] = set()
        self.published: list[int] = []
        self.asked: set[int] = set()
        self.settled: dict[int, Result] = {}
        self.failed: set[int] = set()
        self.closed = False
        self.do(self.life.resume(3, B) if resumed else self.life.want(A, 0))

    def do(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case StartBuild(number, _, resumed):
                    assert not self.closed, "a build after the end"
                    assert not self.building | self.warming, "two builds at a time"
                    assert number not in self.running
                    assert (number == 3) == resumed
                    self.building.add(number)
                    self.running.add(number)
                case Publish(number):
                    assert number in self.running
                    assert number not in self.ending | self.failed
                    self.warming.discard(number)
                    self.published.append(number)
                case End(number):
                    assert number in self.running
                    assert number not in self.ending
                    self.building.discard(number)
                    self.warming.discard(number)
                    self.ending.add(number)
                case Settle(request, result):
                    assert isinstance(request, int)
                    assert request not in self.settled, "settled twice"
                    self.settled[request] = result

    @rule(wiring=st.sampled_from(WIRINGS))
    def message(self, wiring: Wiring) -> None:
        if not self.closed:
            request = len(self.asked)
            self.asked.add(request)
            self.do(self.life.want(wiring, self.now, request))

    @precondition(lambda self: self.building)
    @rule()
    def query_starts(self) -> None:
        number = self.building.pop()
        self.warming.add(number)
        self.do(self.life.started(number, self.now))

    @precondition(lambda self: self.warming)
    @rule()
    def warm(self) -> None:
        self.do(self.life.caught_up(next(iter(self.warming)), self.now))

    @precondition(lambda self: self.warming)
    @rule()
    def held(self) -> None:
        number = next(iter(self.warming))
        generation = self.life.generations[number]
        if generation.state is GenerationState.WARMING and self.life.kept_instead_of(generation) is not None:
            self.do(self.life.held(number, "it looks wrong"))

    @precondition(lambda self: self.running)
    @rule(data=st.data(), lasting=st.booleans())
    def something_fails(self, data: st.DataObject, lasting: bool) -> None:
        number = data.draw(st.sampled_from(sorted(self.running)))
        self.failed.add(number)
        self.do(self.life.failed(number, "it fails", self.now, lasting=lasting))

    @precondition(lambda self: self.ending)
    @rule(data=st.data())
    def cleaned_up(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.ending)))
        self.ending.discard(number)
        self.running.discard(number)
        self.do(self.life.ended(number, self.now))

    @rule(seconds=st.sampled_from([0.1, 3, 9, 130, 1000]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.do(self.life.tick(self.now))

    @rule()
    def no_room(self) -> None:
        self.do(self.life.make_room(self.now))

    @rule()
    def close(self) -> None:
        if not self.closed and len(self.asked) > 8:
            self.closed = True
            self.do(self.life.close())

    @invariant()
    def one_is_live(self) -> None:
        if not hasattr(self, "life"):
            return
        live = [one.number for one in self.life.generations.values() if one.state is GenerationState.LIVE]
        assert len(live) == (1 if self.published else 0)
        assert live == self.published[-1:]
        coming = [
            one
            for one in self.life.generations.values()
            if one.state in (GenerationState.BUILDING, GenerationState.WARMING)
        ]
        assert len(coming) <= 1
        assert len(self.life.lingering) <= self.rules_of_swap.max_lingering
        assert set(self.life.generations) == self.running

    def teardown(self) -> None:
        """Left alone, without further failures, all that is wanted comes live and all else ends."""
        if not hasattr(self, "life"):
            return
        for _ in range(40):
            while self.ending:
                self.cleaned_up_first()
            if self.building:
                self.query_starts()
            if self.warming:
                self.warm()
            self.now += 1000 if not self.building | self.warming else 0
            self.do(self.life.tick(self.now))
        live: Any = self.life.live
        if not self.closed:
            assert live is not None
            assert not live.broken
            assert live.wiring == self.life.wanted
            assert self.settled.keys() == self.asked
        assert self.running == ({live.number} if live else set())

    def cleaned_up_first(self) -> None:
        number = min(self.ending)
        self.ending.discard(number)
        self.running.discard(number)
        self.do(self.life.ended(number, self.now))


Histories.TestCase.settings = settings(max_examples=400, stateful_step_count=40)
TestHistories = Histories.TestCase
