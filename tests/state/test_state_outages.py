"""The state survives broker crashes, compaction, and owners that were suspended."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from tests.state.conftest import Apps, numbers
from tests.state.examples import REMEMBERED
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.config import KafkaProperties
from evertable.errors import FencedError, KafkaUnreachableError
from evertable.state import state_log
from evertable.state.records import ControlOffset, LastOwner, Numbers, encode
from evertable.state.state_log import StateLog
from evertable.state.state_topic import StateTopic


def test_writing_goes_on_after_the_broker_was_killed(own_apps: Apps, app: str) -> None:
    """No owner counts as fenced, and each transaction is complete."""
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
    assert state.last_generation == reached[0]
    assert {each.partition: each.next for each in state.control.values()} == dict.fromkeys((0, 1), reached[0])


def test_a_long_outage_is_an_error_and_the_same_can_be_written_later(own_apps: Apps, app: str) -> None:
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
    """Kafka then fences the producer, as if another owner had taken over."""
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
    """Returns whether a transaction is open: committed records then end before the topic does."""
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
def test_heartbeats_do_not_accumulate(own_apps: Apps, app: str) -> None:
    """Compaction leaves the newest record of each key, and the state stays the same."""
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
def test_a_suspended_owner_is_fenced_although_its_successor_has_left(own_apps: Apps, app: str) -> None:
    """This holds even when compaction has removed the successor's claim."""
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
    """Lists the keys of all records, tombstones included."""
    kafka = KafkaProperties.of({"bootstrap.servers": broker.bootstrap})
    with closing(StateLog(kafka, topic, 1, 10).reader()) as reader:
        return [record.key for record in reader.to_the_end()]
