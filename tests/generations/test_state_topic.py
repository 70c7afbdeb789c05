"""What the orchestrator remembers outlives it, its broker's death and every race for the app."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType
from tests.generations.test_state import LIVE, RECORDS, verdict
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.config import KafkaProperties
from evertable.errors import EvertableError, FencedError, KafkaUnreachableError, StateFormatError
from evertable.generations import state_log
from evertable.generations.records import ControlOffset, GenerationRow, LastOwner, Numbers, Owner, encode
from evertable.generations.state import KEPT_GENERATIONS, KEPT_VERDICTS, State
from evertable.generations.state_log import StateLog
from evertable.generations.state_topic import StateTopic

FOR_EVER = 10_000.0
"""Longer than a test may take: whoever waits so long would fail it."""

REMEMBERED = [record for record in RECORDS if not isinstance(record, Owner | LastOwner)]


class Apps:
    """State topics of one app each; all are closed in the end."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self.broker = broker
        self._made: list[StateTopic] = []

    def new(self, app: str, **more: Any) -> StateTopic:
        kafka = KafkaProperties.of({"bootstrap.servers": self.broker.bootstrap})
        self._made.append(StateTopic(kafka, "evertable", app, **more))
        return self._made[-1]

    def opened(self, app: str, wait_s: float = FOR_EVER) -> StateTopic:
        topic = self.new(app)
        topic.open(wait_s)
        return topic

    def close(self) -> None:
        for topic in self._made:
            topic.close()


@pytest.fixture
def apps(broker: EmbeddedBroker) -> Iterator[Apps]:
    with closing(Apps(broker)) as made:
        yield made


@pytest.fixture(scope="module")
def own_broker() -> Iterator[EmbeddedBroker]:
    """One that may be killed, compacts eagerly, and gives up transactions soon."""
    soon = {
        "log.cleaner.backoff.ms": "100",
        "log.initial.task.delay.ms": "100",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    }
    with EmbeddedBroker(properties=soon) as running:
        yield running


@pytest.fixture
def own_apps(own_broker: EmbeddedBroker) -> Iterator[Apps]:
    with closing(Apps(own_broker.start())) as made:
        yield made


@pytest.fixture
def app() -> str:
    return f"app-{uuid.uuid4()}"


def numbers(state: State) -> int:
    return state.last_generation


# --- memory


def test_a_restart_remembers_all_and_waits_for_nobody_that_left(apps: Apps, app: str) -> None:
    first = apps.opened(app)
    assert first.state == State(owner=first.owner)
    first.write(*REMEMBERED)
    remembered = first.state
    assert remembered.live == LIVE
    first.close()
    second = apps.opened(app)
    assert second.state == replace(remembered, owner=second.owner)


def test_what_was_written_later_counts(apps: Apps, app: str) -> None:
    with closing(apps.opened(app)) as first:
        first.write(Numbers(1, 1), verdict(1, "pending"), verdict(2, "pending"))
        first.write(verdict(1, "applied"), Numbers(2, 2))
        first.heartbeat()
    state = apps.opened(app).state
    assert [each.result for each in state.verdicts] == ["applied", "pending"]
    assert (state.last_generation, state.publication) == (2, 2)


def test_the_newest_verdicts_and_generations_are_kept(apps: Apps, app: str) -> None:
    """Whether they come at once or one by one; the others are forgotten in the topic too."""
    with closing(apps.opened(app)) as first:
        first.write(*map(verdict, range(KEPT_VERDICTS + 5)))
        for number in range(KEPT_VERDICTS + 5, KEPT_VERDICTS + 10):
            first.write(verdict(number))
        first.write(*(GenerationRow(number, LIVE.wiring, "retired", "") for number in range(1, KEPT_GENERATIONS + 3)))
        here = first.state
    state = apps.opened(app).state
    assert [each.offset for each in state.verdicts] == list(range(10, KEPT_VERDICTS + 10))
    assert [row.generation for row in state.generations] == list(range(3, KEPT_GENERATIONS + 3))
    assert replace(state, owner=here.owner) == here


def test_an_old_verdict_is_not_written_to_be_forgotten(apps: Apps, app: str) -> None:
    with closing(apps.opened(app)) as first:
        first.write(*map(verdict, range(1, KEPT_VERDICTS + 1)))
        first.write(verdict(0), Numbers(1, 1))
        assert [first.state.verdicts[0].offset, numbers(first.state)] == [1, 1]
    assert apps.opened(app).state.verdicts[0].offset == 1


def test_the_topic_is_made_as_the_memory_needs_it(apps: Apps, app: str, broker: EmbeddedBroker) -> None:
    topic = apps.opened(app)
    assert topic.topic == f"evertable.{app}.state"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    [found] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic.topic)]).values()
    settings = found.result(timeout=30)
    assert {name: settings[name].value for name in state_log.SETTINGS} == state_log.SETTINGS


def test_a_topic_with_several_partitions_is_refused(apps: Apps, app: str, broker: EmbeddedBroker) -> None:
    """There would be no order of the claims."""
    name = f"evertable.{app}.state"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(timeout=30)
    with pytest.raises(EvertableError, match=f"'{name}' has 2 partitions instead of one"):
        apps.opened(app)


def test_more_copies_than_brokers_are_refused(apps: Apps, app: str) -> None:
    with pytest.raises(EvertableError, match=r"cannot be kept 3 times.*changelog\.replication"):
        apps.new(app, replication=3).open()


def test_what_another_version_wrote_stops_the_start_and_nobody_else(
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


def test_a_silent_owner_is_fenced_and_told_who_took_over(apps: Apps, app: str) -> None:
    """What it still wants to write is not written."""
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
    """It learns from its heartbeat that it has to go, even with nothing to write."""
    older, newer = apps.opened(app), apps.new(app)
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(newer.open, FOR_EVER)
        wait_until(lambda: fenced(older.heartbeat))
        assert not opening.done()
        older.close()
        assert opening.result(timeout=60) == State(owner=newer.owner)
    newer.write(Numbers(1, 1))


def test_an_owner_that_began_to_stop_is_waited_for_although_it_is_silent(apps: Apps, app: str) -> None:
    older, newer = apps.opened(app), apps.new(app)
    older.leaving()
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(newer.open, 0.0)
        wait_until(lambda: fenced(older.heartbeat))
        assert not opening.done()
        older.close()
        opening.result(timeout=60)


def test_one_that_waits_gives_way_to_a_later_one(apps: Apps, app: str) -> None:
    """The last one waits for the first all the same."""
    first, second, third = apps.opened(app), apps.new(app), apps.new(app)
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(second.open, FOR_EVER)
        wait_until(lambda: fenced(first.heartbeat))
        opening = pool.submit(third.open, FOR_EVER)
        with pytest.raises(FencedError):
            waiting.result(timeout=60)
        assert not opening.done()
        first.close()
        opening.result(timeout=60)
    third.heartbeat()


def test_one_that_comes_back_in_the_middle_of_a_takeover_writes_nothing(
    apps: Apps, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shuts the later one out for a moment, sees the claim, and goes; the later one goes on."""
    older, newer = apps.opened(app), apps.new(app)
    older._producer = None  # as after an outage
    shut_others_out = older._shut_others_out

    def overtaken(timeout_s: float) -> None:
        newer.open(0.0)
        newer.write(Numbers(5, 5))
        shut_others_out(timeout_s)

    monkeypatch.setattr(older, "_shut_others_out", overtaken)
    with pytest.raises(FencedError):
        older.write(Numbers(99, 99))
    newer.write(ControlOffset(0, 1))
    newer.close()
    state = apps.opened(app).state
    assert (state.last_generation, state.control_offsets) == (5, {0: 1})


def test_no_number_is_given_twice_however_many_race_for_the_app(apps: Apps, app: str) -> None:
    """Each counts on from what it found; whoever is told that it wrote was the only one."""
    written: list[int] = []

    def race(_: int) -> None:
        topic = apps.new(app)
        try:
            number = numbers(topic.open(0.0))
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
from evertable.generations.records import Numbers
from evertable.generations.state_topic import StateTopic
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
    """Another process that owns the app and counts as fast as it can."""
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
        said, _ = paused.communicate(timeout=60)
    assert said.splitlines()[-1].startswith(f"[FENCED] Another Evertable took over the app '{app}': {newer.owner}")
    newer.close()
    assert numbers(apps.opened(app).state) == 1_000_000


def test_an_owner_that_was_killed_is_replaced_and_what_it_wrote_is_there(
    apps: Apps, app: str, broker: EmbeddedBroker
) -> None:
    with start_owner(broker, app) as killed:
        killed.kill()
        said, _ = killed.communicate(timeout=60)
    state = apps.opened(app, wait_s=0.5).state
    told = max(map(int, ["1", *said.split()]))
    assert told <= state.last_generation <= told + 1
    assert state.last_generation == state.publication


# --- outages


def test_writing_goes_on_after_the_broker_was_killed(own_apps: Apps, app: str) -> None:
    """Nobody is taken for fenced, what was written is there, and what belongs together is there together."""
    topic, stop, reached = own_apps.opened(app), threading.Event(), [0]

    def count() -> None:
        while not stop.is_set():
            number = reached[0] + 1
            try:
                topic.write(Numbers(number, 0), ControlOffset(0, number), ControlOffset(1, number))
            except KafkaUnreachableError:
                continue
            reached[0] = number

    with ThreadPoolExecutor(1) as pool:
        counting = pool.submit(count)
        for _ in range(2):
            goal = reached[0] + 20
            wait_until(lambda goal=goal: reached[0] > goal or counting.done())  # type: ignore[misc]
            own_apps.broker.kill()
            own_apps.broker.start()
        goal = reached[0] + 20
        wait_until(lambda: reached[0] > goal or counting.done())
        stop.set()
        counting.result(timeout=60)
    topic.close()
    state = own_apps.opened(app).state
    assert (state.last_generation, state.control_offsets) == (reached[0], dict.fromkeys((0, 1), reached[0]))


def test_a_broker_that_stays_away_is_an_error_and_the_same_can_be_written_later(own_apps: Apps, app: str) -> None:
    topic = own_apps.opened(app)
    topic.write(Numbers(1, 1))
    topic._timeout_s = 1
    own_apps.broker.kill()
    with pytest.raises(KafkaUnreachableError, match="does not answer"):
        topic.heartbeat()
    with pytest.raises(KafkaUnreachableError, match="does not answer"):
        topic.write(Numbers(2, 2))
    assert numbers(topic.state) == 1
    own_apps.broker.start()
    wait_until(lambda: reachable(lambda: topic.write(Numbers(2, 2))))
    assert numbers(topic.state) == 2


def test_without_a_broker_nothing_is_opened() -> None:
    topic = StateTopic(KafkaProperties.of({"bootstrap.servers": "127.0.0.1:9"}), "evertable", "app", timeout_s=1)
    with pytest.raises(KafkaUnreachableError):
        topic.open()
    topic.close()


def test_a_transaction_that_the_broker_gave_up_is_written_again(
    own_apps: Apps, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To Kafka its writer is then a stranger, as if another had taken over."""
    monkeypatch.setattr(state_log, "TRANSACTION_MS", 1_000)
    topic = own_apps.opened(app)
    transact, stalled = topic._transact, list[bool]()

    def stall(values: dict[str, bytes | None], timeout_s: float) -> None:
        if not stalled:
            stalled.append(True)
            assert topic._producer
            topic._producer.begin_transaction()
            topic._producer.produce(topic.topic, values["numbers"], "numbers")
            topic._producer.flush(10)
            wait_until(lambda: not in_transaction(own_apps.broker, topic.topic))
            topic._producer.commit_transaction(timeout_s)
        transact(values, timeout_s)

    monkeypatch.setattr(topic, "_transact", stall)
    topic.write(Numbers(1, 1))
    topic.heartbeat()
    topic.close()
    assert numbers(own_apps.opened(app).state) == 1


def reachable(act: Callable[[], None]) -> bool:
    try:
        act()
    except KafkaUnreachableError:
        return False
    return True


def in_transaction(broker: EmbeddedBroker, topic: str) -> bool:
    """Whether a transaction is open: what is committed then ends before the end."""
    kafka = KafkaProperties.of({"bootstrap.servers": broker.bootstrap})
    with closing(StateLog(kafka, topic, 1, 10).reader()) as reader:
        return reader._end() < end_of(broker, topic)


def end_of(broker: EmbeddedBroker, topic: str) -> int:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    [end] = admin.list_offsets({TopicPartition(topic, 0): latest}).values()
    found: int = end.result(timeout=30).offset
    return found


@pytest.fixture
def compacted_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    soon = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "0"}
    monkeypatch.setattr(state_log, "SETTINGS", {**state_log.SETTINGS, **soon})


@pytest.mark.usefixtures("compacted_soon")
def test_signs_of_life_do_not_pile_up(own_apps: Apps, app: str) -> None:
    """Compaction leaves the newest of each key, and what is remembered stays the same."""
    topic = own_apps.opened(app)
    topic.write(*REMEMBERED)
    for _ in range(50):
        topic.heartbeat()

    def held() -> int:
        topic.heartbeat()  # what rolls a segment is the next record
        return len(keys_in(own_apps.broker, topic.topic))

    wait_until(lambda: held() < 30)
    remembered = topic.state
    topic.close()
    again = own_apps.opened(app)
    assert again.state == replace(remembered, owner=again.owner)


@pytest.mark.usefixtures("compacted_soon")
def test_an_owner_that_slept_knows_that_another_was_there_although_it_has_left(own_apps: Apps, app: str) -> None:
    """Even when compaction has taken the other one's claim away: what it wrote was not read."""
    asleep, meanwhile = own_apps.opened(app), own_apps.opened(app, wait_s=0.1)
    meanwhile.write(Numbers(7, 7))
    meanwhile.close()
    log = StateLog(KafkaProperties.of({"bootstrap.servers": own_apps.broker.bootstrap}), asleep.topic, 1, 10)

    def claim_is_gone() -> bool:
        log.append("owner/nobody", None)  # rolls the segment
        return meanwhile.owner.key not in keys_in(own_apps.broker, asleep.topic)

    wait_until(claim_is_gone)
    with pytest.raises(FencedError, match=re.escape(str(meanwhile.owner))):
        asleep.write(Numbers(8, 8))
    asleep.close()
    assert numbers(own_apps.opened(app).state) == 7


def test_a_successor_of_another_version_is_one_too(apps: Apps, app: str, broker: EmbeddedBroker) -> None:
    older, newer = apps.opened(app), apps.opened(app, wait_s=0.1)
    value = json.dumps({**json.loads(encode(LastOwner(newer.owner))), "format": 2, "by": "9.9"})
    StateLog(KafkaProperties.of({"bootstrap.servers": broker.bootstrap}), older.topic, 1, 10).append(
        "last-owner", value.encode()
    )
    with pytest.raises(FencedError, match=r"one of another version\..* written by Evertable 9\.9"):
        older.heartbeat()


def keys_in(broker: EmbeddedBroker, topic: str) -> list[str]:
    """Of the records that the topic holds, tombstones included."""
    kafka = KafkaProperties.of({"bootstrap.servers": broker.bootstrap})
    with closing(StateLog(kafka, topic, 1, 10).reader()) as reader:
        return [(message.key() or b"").decode() for message in reader.to_the_end()]
