"""Each event of a source's topic is reported once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from tests.changelog.producer import produce_to
from tests.generations.cases import config
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.changelog.schema import Side, SourcePartition
from evertable.config import Config
from evertable.generations.identity import identity_of, topic_ids
from evertable.generations.source_events import (
    ClusterEvent,
    EventKind,
    ObservedTopic,
    SourceEvent,
    SourceHistory,
    WatchEvent,
)
from evertable.generations.watch import TopicWatch

USERS = 7, "users", "u1"
GONE = SourceEvent(7, "users", EventKind.GONE, "The topic 'u1' is gone.")
BACK = SourceEvent(7, "users", EventKind.BACK, "The topic 'u1' is back.")
NOW = ObservedTopic("A", {0: 0, 1: 10}, {0: 5, 1: 20})


def history(topic_id: str | None = "A") -> SourceHistory:
    return SourceHistory(*USERS, topic_id, {0: 0, 1: 10})


def recreated(was: str, is_: str) -> SourceEvent:
    what = f"The topic 'u1' was deleted and recreated: its id was {was} and is {is_}."
    return SourceEvent(7, "users", EventKind.RECREATED, what, is_fatal=True)


def truncated(partition: int, position: int, earliest: int, topic: str = "u1") -> SourceEvent:
    what = f"The topic '{topic}' begins at offset {earliest} of partition {partition}"
    message = f"{what}, but the next offset to read was {position}."
    return SourceEvent(7, "users", EventKind.TRUNCATED, message)


def events_of(
    source: SourceHistory, now: ObservedTopic | None, positions: Mapping[int, int] | None = None
) -> list[SourceEvent]:
    return list(source.missing() if now is None else source.found(now, positions or {}))


def test_new_records_are_no_event() -> None:
    users = history()
    assert events_of(users, NOW) == []
    assert events_of(users, replace(NOW, ends={0: 50, 1: 60}), {0: 40, 1: 60}) == []


def test_a_missing_topic_and_its_return_are_reported_once() -> None:
    """A single failed poll is no event."""
    users = history()
    assert [events_of(users, now) for now in (None, NOW, None)] == [[], [], []]
    assert [events_of(users, now) for now in (None, None, None)] == [[GONE], [], []]
    assert [events_of(users, now) for now in (NOW, NOW)] == [[BACK], []]


def test_a_recreated_topic_is_reported_once_and_old_positions_do_not_apply() -> None:
    users = history()
    again = ObservedTopic("B", {0: 0}, {0: 3})
    assert events_of(users, again, {0: 5, 1: 20}) == [recreated("A", "B")]
    assert events_of(users, again, {0: 5, 1: 20}) == []
    assert users.lag(again, {0: 5}) == {}
    assert events_of(users, replace(again, topic_id="C")) == [recreated("B", "C")]


def test_more_partitions_are_reported_once() -> None:
    users = history()
    grown = replace(NOW, begins={**NOW.begins, 2: 0}, ends={**NOW.ends, 2: 9})
    assert events_of(users, grown) == [
        SourceEvent(7, "users", EventKind.PARTITIONS_GREW, "The topic 'u1' had 2 partitions and has 3.")
    ]
    assert events_of(users, grown) == []
    assert users.lag(grown, {0: 5, 1: 20}) == {0: 0, 1: 0, 2: 9}


def test_records_deleted_before_they_were_read_are_reported_once_per_partition() -> None:
    users = history()
    cut = replace(NOW, begins={0: 3, 1: 15})
    assert events_of(users, cut, {0: 2, 1: 15}) == [truncated(0, 2, 3)]
    assert events_of(users, cut, {0: 2, 1: 15}) == []
    assert events_of(users, cut, {0: 3, 1: 15}) == []
    assert events_of(users, replace(cut, begins={0: 5, 1: 15}), {0: 3, 1: 15}) == [truncated(0, 3, 5)]


def test_records_deleted_before_any_was_read_are_fatal() -> None:
    """Spark takes the partition for empty, and waits forever."""
    [event] = events_of(history(), replace(NOW, begins={0: 3, 1: 10}))
    assert event == replace(truncated(0, 0, 3), is_fatal=True)


def test_a_partition_of_which_nothing_was_read_counts_from_its_start() -> None:
    assert events_of(history(), replace(NOW, begins={0: 0, 1: 11})) == [truncated(1, 10, 11)]


def test_a_partition_that_ends_before_its_position_is_reported() -> None:
    """Without topic ids, that is how a recreated topic may be noticed."""
    [event] = events_of(history(None), ObservedTopic(None, {0: 0, 1: 0}, {0: 5, 1: 3}), {0: 5, 1: 20})
    assert (event.kind, event.is_fatal) == (EventKind.REWOUND, True)
    assert event.message == ("The topic 'u1' ends at offset 3 of partition 1, but the next offset to read was 20.")


def test_the_lag_is_the_number_of_unread_offsets() -> None:
    assert history().lag(NOW, {0: 4}) == {0: 1, 1: 10}
    assert history().lag(NOW, {0: 9, 1: 20}) == {0: 0, 1: 0}


# --- on a real broker


class Watching:
    """A watch over one generation; ``poll`` returns what it reports."""

    def __init__(self, wired: Config, offsets: Mapping[int, int] | None = None, **timing: float) -> None:
        self.reports: list[WatchEvent] = []
        self.positions: dict[SourcePartition, int] = {}
        self.watch = TopicWatch(self.reports.append, **timing)
        begin = ({0: 0} if offsets is None else offsets), {0: 0}
        self.watch.add(7, wired, identity_of(wired, topic_ids(wired), begin), lambda: self.positions)

    def poll(self, times: int = 1) -> list[WatchEvent]:
        self.reports.clear()
        for _ in range(times):
            self.watch.poll()
        return list(self.reports)


def wired(broker: EmbeddedBroker, users: str, accounts: str) -> Config:
    plain = config(servers=broker.bootstrap)
    return plain.rewired(replace(plain.wiring, left_topic=users, right_topic=accounts))


@pytest.fixture
def admin(broker: EmbeddedBroker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


@pytest.fixture(scope="module")
def own_broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as running:
        yield running


def test_a_deleted_topic_and_its_recreation_are_reported(
    broker: EmbeddedBroker, new_topic: Callable[..., str], admin: AdminClient
) -> None:
    users = new_topic()
    watching = Watching(wired(broker, users, new_topic()))
    assert watching.poll() == []
    admin.delete_topics([users])[users].result(timeout=30)
    wait_until(lambda: watching.poll() == [replace(GONE, message=f"The topic '{users}' is gone.")])
    assert watching.poll(3) == []
    admin.create_topics([NewTopic(users, 1, 1)])[users].result(timeout=30)
    wait_until(watching.poll)
    [made] = watching.reports
    assert isinstance(made, SourceEvent)
    assert (made.kind, made.is_fatal) == (EventKind.RECREATED, True)
    assert watching.poll(3) == []


def test_a_topic_recreated_between_two_polls_is_reported(
    broker: EmbeddedBroker, new_topic: Callable[..., str], admin: AdminClient
) -> None:
    accounts = new_topic()
    watching = Watching(wired(broker, new_topic(), accounts))
    admin.delete_topics([accounts])[accounts].result(timeout=30)
    admin.create_topics([NewTopic(accounts, 1, 1)])[accounts].result(timeout=30)
    wait_until(watching.poll)
    [event] = watching.reports
    assert isinstance(event, SourceEvent)
    assert (event.source, event.kind) == ("accounts", EventKind.RECREATED)


def test_new_partitions_are_reported(broker: EmbeddedBroker, new_topic: Callable[..., str], admin: AdminClient) -> None:
    """Each of two sources that read the same topic has an event."""
    users = new_topic()
    watching = Watching(wired(broker, users, users))
    admin.create_partitions([NewPartitions(users, 3)])[users].result(timeout=30)
    wait_until(watching.poll)
    assert watching.reports == [
        SourceEvent(7, name, EventKind.PARTITIONS_GREW, f"The topic '{users}' had 1 partitions and has 3.")
        for name in ("users", "accounts")
    ]


def test_deleted_records_are_reported(
    broker: EmbeddedBroker, new_topic: Callable[..., str], admin: AdminClient
) -> None:
    users = new_topic(partitions=2)
    produce_to(broker.bootstrap)(users, [b"{}"] * 10, partition=1)
    watching = Watching(wired(broker, users, new_topic()), offsets={0: 0, 1: 0})
    watching.positions = {(Side.LEFT, 1): 4, (Side.RIGHT, 1): 99}
    assert watching.poll() == []
    assert watching.watch.lag(7) == {("users", 0): 0, ("users", 1): 6, ("accounts", 0): 0}
    [answer] = admin.delete_records([TopicPartition(users, 1, 8)]).values()
    answer.result(timeout=30)
    assert watching.poll() == [truncated(1, 4, 8, users)]
    assert watching.poll(2) == []
    watching.positions = {(Side.LEFT, 1): 10}
    assert watching.watch.lag(7)["users", 1] == 0


def test_a_removed_generation_is_not_polled(
    broker: EmbeddedBroker, new_topic: Callable[..., str], admin: AdminClient
) -> None:
    users = new_topic()
    watching = Watching(wired(broker, users, new_topic()))
    watching.poll()
    watching.watch.remove(7)
    admin.delete_topics([users])[users].result(timeout=30)
    assert watching.poll(3) == []
    assert watching.watch.lag(7) == {}


def test_an_outage_and_its_end_are_reported_once(own_broker: EmbeddedBroker) -> None:
    """Its topics have no events meanwhile, and the watch can be closed during an outage."""
    admin = AdminClient({"bootstrap.servers": own_broker.bootstrap})
    for answer in admin.create_topics([NewTopic("u", 1, 1), NewTopic("a", 1, 1)]).values():
        answer.result(timeout=30)
    watching = Watching(wired(own_broker, "u", "a"), interval_s=0.05, timeout_s=1)
    produce_to(own_broker.bootstrap)("u", [b"{}"])
    with closing(watching.watch):
        watching.watch.start()
        wait_until(lambda: watching.watch.lag(7).get(("users", 0)) == 1)
        watching.positions = {(Side.LEFT, 0): 1}  # all is read, so a slow start of the broker stalls no source
        own_broker.kill()
        wait_until(lambda: watching.reports)
        own_broker.start()
        wait_until(lambda: len(watching.reports) == 2)
        own_broker.kill()
        wait_until(lambda: len(watching.reports) == 3)
    servers = own_broker.bootstrap
    lost, regained, again = watching.reports
    assert isinstance(lost, ClusterEvent)
    assert lost.message.startswith(f"[KAFKA_UNREACHABLE] Kafka at {servers} does not answer")
    assert regained == ClusterEvent(f"Kafka at {servers} answers again.", is_lost=False)
    assert isinstance(again, ClusterEvent)
    assert (lost.is_lost, again.is_lost) == (True, True)
