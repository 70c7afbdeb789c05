"""The state survives restarts and every race for the app."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType
from tests.state.conftest import FOR_EVER, Apps, numbers
from tests.state.examples import LIVE, REMEMBERED, control_result
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.errors import AppRunningError, FencedError, NotEnoughBrokersError, StateFormatError
from evertable.state import state_log
from evertable.state.records import ControlOffset, GenerationRow, Numbers, encode
from evertable.state.state import KEPT_GENERATIONS, KEPT_RESULTS, AppState

# --- memory


def test_a_restart_finds_all_records_and_waits_for_no_owner_that_left(apps: Apps, app: str) -> None:
    first = apps.opened(app)
    assert first.state == AppState(owner=first.owner)
    first.write(*REMEMBERED)
    remembered = first.state
    assert remembered.live == LIVE
    first.close()
    second = apps.opened(app)
    assert second.state == replace(remembered, owner=second.owner)


def test_later_records_win(apps: Apps, app: str) -> None:
    with closing(apps.opened(app)) as first:
        first.write(Numbers(1, 1), control_result(1, "pending"), control_result(2, "pending"))
        first.write(control_result(1, "applied"), Numbers(2, 2))
        first.heartbeat()
    state = apps.opened(app).state
    assert [each.result for each in state.control_results] == ["applied", "pending"]
    assert (state.last_generation, state.publication) == (2, 2)


def test_the_newest_results_and_generations_are_kept(apps: Apps, app: str) -> None:
    """Whether they are written together or one by one; older ones are deleted from the topic too."""
    with closing(apps.opened(app)) as first:
        first.write(*map(control_result, range(KEPT_RESULTS + 5)))
        for number in range(KEPT_RESULTS + 5, KEPT_RESULTS + 10):
            first.write(control_result(number))
        first.write(*(GenerationRow(number, LIVE.wiring, "retired", "") for number in range(1, KEPT_GENERATIONS + 3)))
        here = first.state
    state = apps.opened(app).state
    assert [each.offset for each in state.control_results] == list(range(10, KEPT_RESULTS + 10))
    assert [row.generation for row in state.generations] == list(range(3, KEPT_GENERATIONS + 3))
    assert replace(state, owner=here.owner) == here


def test_a_result_that_is_too_old_is_not_written(apps: Apps, app: str) -> None:
    with closing(apps.opened(app)) as first:
        first.write(*map(control_result, range(1, KEPT_RESULTS + 1)))
        first.write(control_result(0), Numbers(1, 1))
        assert [first.state.control_results[0].offset, numbers(first.state)] == [1, 1]
    assert apps.opened(app).state.control_results[0].offset == 1


def test_the_topic_is_created_with_its_settings(apps: Apps, app: str, broker: EmbeddedBroker) -> None:
    topic = apps.opened(app)
    assert topic.topic == f"evertable.{app}.state"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    [found] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic.topic)]).values()
    settings = found.result(timeout=30)
    assert {name: settings[name].value for name in state_log.SETTINGS} == state_log.SETTINGS


def test_a_topic_with_several_partitions_is_refused(apps: Apps, app: str, broker: EmbeddedBroker) -> None:
    """Claims would have no order."""
    name = f"evertable.{app}.state"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(timeout=30)
    with pytest.raises(StateFormatError, match=f"'{name}' has 2 partitions instead of one"):
        apps.opened(app)


def test_more_copies_than_brokers_are_refused(apps: Apps, app: str) -> None:
    with pytest.raises(NotEnoughBrokersError, match=r"cannot have 3 replicas.*changelog\.replication"):
        apps.new(app, replication=3).open()


def test_a_record_of_another_version_prevents_the_start_and_disturbs_no_owner(
    apps: Apps, app: str, broker: EmbeddedBroker
) -> None:
    running = apps.opened(app)
    value = json.dumps({**json.loads(encode(Numbers(1, 1))), "format": 2, "by": "9.9"})
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(running.topic, value, "numbers")
    assert producer.flush(30) == 0
    with pytest.raises(StateFormatError, match=r"written by Evertable 9\.9, in format 2"):
        apps.opened(app)
    running.heartbeat()
    running.write(Numbers(2, 2))


# --- one owner


def test_a_running_owner_is_not_replaced_without_take_over(apps: Apps, app: str) -> None:
    """The error names the owner, and the owner does not notice."""
    owner = apps.opened(app, address="http://127.0.0.1:10000")
    newcomer = apps.new(app)
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(newcomer.open, FOR_EVER)

        def is_decided() -> bool:
            owner.heartbeat()
            return opening.done()

        wait_until(is_decided)
        with pytest.raises(AppRunningError) as refused:
            opening.result()
        message = str(refused.value)
        assert message.startswith(f"[APP_RUNNING] The app '{app}' is already running: {owner.owner}.")
        for part in (str(owner.owner.pid), owner.owner.host, "http://127.0.0.1:10000", owner.owner.started):
            assert part in message
        assert "`app:`" in message
        assert "--take-over" in message
        newcomer.close()
        owner.write(Numbers(1, 1))
        taking = pool.submit(newcomer.open, FOR_EVER, take_over=True)
        wait_until(lambda: fenced(owner.heartbeat))
        owner.close()
        assert numbers(taking.result(timeout=60)) == 1


def test_a_silent_owner_is_fenced_with_the_name_of_its_successor(apps: Apps, app: str) -> None:
    """Its later records are not written."""
    older = apps.opened(app)
    older.write(Numbers(1, 1))
    newer = apps.opened(app, wait_s=0.1)
    assert numbers(newer.state) == 1
    with pytest.raises(FencedError) as fenced:
        older.write(Numbers(99, 99))
    assert str(fenced.value).startswith(
        f"[FENCED] Another Evertable took over the app '{app}': {newer.owner}. This one"
    )
    with pytest.raises(FencedError):
        older.heartbeat()
    newer.heartbeat()
    newer.write(Numbers(2, 2))
    older.close()
    newer.close()
    assert numbers(apps.opened(app).state) == 2


def test_a_running_owner_is_waited_for_until_it_has_left(apps: Apps, app: str) -> None:
    """Its heartbeat raises the error, even if it has nothing to write."""
    older, newer = apps.opened(app), apps.new(app)
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(newer.open, FOR_EVER, take_over=True)
        wait_until(lambda: fenced(older.heartbeat))
        assert not opening.done()
        older.close()
        assert opening.result(timeout=60) == AppState(owner=newer.owner)
    newer.write(Numbers(1, 1))


def test_an_owner_that_began_to_stop_is_waited_for_although_it_is_silent(apps: Apps, app: str) -> None:
    older, newer = apps.opened(app), apps.new(app)
    older.announce_leaving()
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(newer.open, 0.0)
        wait_until(lambda: fenced(older.heartbeat))
        assert not opening.done()
        older.close()
        opening.result(timeout=60)


def test_a_waiting_owner_is_fenced_by_a_later_one(apps: Apps, app: str) -> None:
    """The last one still waits for the first."""
    first, second, third = apps.opened(app), apps.new(app), apps.new(app)
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(second.open, FOR_EVER, take_over=True)
        wait_until(lambda: fenced(first.heartbeat))
        opening = pool.submit(third.open, FOR_EVER, take_over=True)
        with pytest.raises(FencedError):
            waiting.result(timeout=60)
        assert not opening.done()
        first.close()
        opening.result(timeout=60)
    third.heartbeat()


def test_an_owner_that_reconnects_during_a_takeover_writes_nothing(
    apps: Apps, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fences the later one for a moment, reads the claim, and stops; the later one continues."""
    older, newer = apps.opened(app), apps.new(app)
    older._producer = None  # as after an outage
    fence_others = older._fence_others

    def overtaken(timeout_s: float) -> None:
        newer.open(0.0, take_over=True)
        newer.write(Numbers(5, 5))
        fence_others(timeout_s)

    monkeypatch.setattr(older, "_fence_others", overtaken)
    with pytest.raises(FencedError):
        older.write(Numbers(99, 99))
    newer.write(ControlOffset(0, 1))
    newer.close()
    state = apps.opened(app).state
    assert (state.last_generation, state.control) == (5, {0: ControlOffset(0, 1)})


def test_no_number_is_given_twice_however_many_race_for_the_app(apps: Apps, app: str) -> None:
    """Each continues from the number it found; a confirmed write had no competitor."""
    written: list[int] = []

    def race(_: int) -> None:
        topic = apps.new(app)
        try:
            number = numbers(topic.open(0.0, take_over=True))
            for step in range(1, 4):
                topic.write(Numbers(number + step, 0))
                written.append(number + step)
        except FencedError:
            return
        finally:
            topic.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(race, range(12)))
    assert len(written) == len(set(written))
    assert max(written) <= numbers(apps.opened(app).state)
    assert written == sorted(written)


def fenced(act: Callable[[], None]) -> bool:
    try:
        act()
    except FencedError:
        return True
    return False


OWNER = """
import sys, time
from evertable.config import KafkaProperties
from evertable.state.records import Numbers
from evertable.state.state_topic import StateTopic
from evertable.errors import FencedError

topic = StateTopic(KafkaProperties.of({"bootstrap.servers": sys.argv[1]}), "evertable", sys.argv[2])
topic.open()
print("open", flush=True)
try:
    number = 0
    while True:
        number += 1
        topic.write(Numbers(number, number))
        print(number, flush=True)
except FencedError as error:
    print(error, flush=True)
topic.close()
"""


def start_owner(broker: EmbeddedBroker, app: str) -> subprocess.Popen[str]:
    """Starts another process that owns the app and counts as fast as it can."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, broker.bootstrap, app], stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert process.stdout
    assert [process.stdout.readline() for _ in range(2)] == ["open\n", "1\n"]
    return process


def test_an_owner_that_was_paused_finds_itself_replaced(apps: Apps, app: str, broker: EmbeddedBroker) -> None:
    with start_owner(broker, app) as paused:
        paused.send_signal(signal.SIGSTOP)
        newer = apps.opened(app, wait_s=0.5)
        newer.write(Numbers(1_000_000, 0))
        paused.send_signal(signal.SIGCONT)
        output, _ = paused.communicate(timeout=60)
    assert output.splitlines()[-1].startswith(f"[FENCED] Another Evertable took over the app '{app}': {newer.owner}")
    newer.close()
    assert numbers(apps.opened(app).state) == 1_000_000


def test_an_owner_that_was_killed_is_replaced_and_what_it_wrote_is_there(
    apps: Apps, app: str, broker: EmbeddedBroker
) -> None:
    with start_owner(broker, app) as killed:
        killed.kill()
        output, _ = killed.communicate(timeout=60)
    state = apps.opened(app, wait_s=0.5).state
    printed = max(map(int, ["1", *output.split()]))
    assert printed <= state.last_generation <= printed + 1
    assert state.last_generation == state.publication
