"""A seed decides everything that happens."""

from __future__ import annotations

from collections import Counter

from tests.chaos.schedule import DECK, HOLDS, PAUSE_S, SHARED, Kind, schedule, steps

LONG_S = 540


def test_a_seed_determines_the_schedule() -> None:
    assert schedule(7, LONG_S) == schedule(7, LONG_S)
    assert schedule(7, LONG_S) != schedule(8, LONG_S)


def test_a_longer_run_begins_like_a_shorter_one() -> None:
    short, long = schedule(7, 60), schedule(7, LONG_S)
    assert long[: len(short) - 2] == short[:-2]  # the last ones may have been delayed by one that is cut off


def test_everything_happens() -> None:
    for seed in range(50):
        counts = Counter(act.kind for act in schedule(seed, LONG_S))
        assert set(counts) == set(Kind)
        assert counts[Kind.SWAP_BY_POST] > counts[Kind.SPARK_KILL]


def test_acts_on_the_same_thing_do_not_overlap() -> None:
    for seed in range(50):
        ends: dict[str, float] = {}
        for act in schedule(seed, LONG_S):
            place = SHARED.get(act.kind, act.kind)
            assert act.at_s >= ends.get(place, 0.0)
            ends[place] = act.at_s + act.hold_s + PAUSE_S - 0.1  # it was rounded


def test_every_fault_is_healed() -> None:
    acts = schedule(3, LONG_S)
    done = steps(acts)
    assert [step.at_s for step in done] == sorted(step.at_s for step in done)
    healed = [step.act for step in done if step.heals]
    assert Counter(map(id, healed)) == Counter(id(act) for act in acts if act.kind in HOLDS)
    for act in healed:
        fault, repair = [at for at, step in enumerate(done) if step.act is act]
        assert fault < repair
        assert done[repair].heals


def test_the_deck_has_every_kind() -> None:
    assert set(DECK) == set(Kind)
