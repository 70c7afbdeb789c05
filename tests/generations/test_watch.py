"""Whatever happens to a source's topic is noticed, and told once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from tests.changelog.conftest import produce_to
from tests.generations.cases import config
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.changelog.caught_up import SourcePartition
from evertable.changelog.schema import Side
from evertable.config import Config
from evertable.generations.identity import identity_of, topic_ids
from evertable.generations.source_events import (
    KafkaLost,
    KafkaRegained,
    ObservedTopic,
    PartitionsGrew,
    Rewound,
    SourceEvent,
    SourceHistory,
    TopicBack,
    TopicGone,
    TopicRecreated,
    Truncated,
    WatchEvent,
)
from evertable.generations.watch import TopicWatch

USERS = 7, "users", "u1"
NOW = ObservedTopic("A", {0: 0, 1: 10}, {0: 5, 1: 20})


def history(topic_id: str | None = "A") -> SourceHistory:
    return SourceHistory(*USERS, topic_id, {0: 0, 1: 10})


def told(of: SourceHistory, now: ObservedTopic | None, positions: Mapping[int, int] | None = None) -> list[SourceEvent]:
    return list(of.missing() if now is None else of.found(now, positions or {}))


def test_a_topic_that_goes_on_is_nothing_to_tell() -> None:
    users = history()
    assert told(users, NOW) == []
    assert told(users, replace(NOW, ends={0: 50, 1: 60}), {0: 40, 1: 60}) == []


def test_a_missing_topic_is_told_once_and_so_is_its_return() -> None:
    """A single miss is not believed."""
    users = history()
    assert [told(users, now) for now in (None, NOW, None)] == [[], [], []]
    assert [told(users, now) for now in (None, None, None)] == [[TopicGone(*USERS)], [], []]
    assert [told(users, now) for now in (NOW, NOW)] == [[TopicBack(*USERS)], []]


def test_a_topic_made_again_is_told_once_and_not_measured_by_the_old_positions() -> None:
    users = history()
    again = ObservedTopic("B", {0: 0}, {0: 3})
    assert told(users, again, {0: 5, 1: 20}) == [TopicRecreated(*USERS, "A", "B")]
    assert told(users, again, {0: 5, 1: 20}) == []
    assert users.lag(again, {0: 5}) == {}
    assert told(users, replace(again, topic_id="C")) == [TopicRecreated(*USERS, "B", "C")]


def test_more_partitions_are_told_once() -> None:
    users = history()
    grown = replace(NOW, begins={**NOW.begins, 2: 0}, ends={**NOW.ends, 2: 9})
    assert told(users, grown) == [PartitionsGrew(*USERS, 2, 3)]
    assert told(users, grown) == []
    assert users.lag(grown, {0: 5, 1: 20}) == {0: 0, 1: 0, 2: 9}


def test_what_was_deleted_before_it_was_read_is_told_once_for_each_partition() -> None:
    users = history()
    cut = replace(NOW, begins={0: 3, 1: 15})
    assert told(users, cut, {0: 2, 1: 15}) == [Truncated(*USERS, partition=0, position=2, earliest=3)]
    assert told(users, cut, {0: 2, 1: 15}) == []
    assert told(users, cut, {0: 3, 1: 15}) == []
    assert told(users, replace(cut, begins={0: 5, 1: 15}), {0: 3, 1: 15}) == [Truncated(*USERS, 0, 3, 5)]


def test_a_partition_of_which_nothing_was_read_counts_from_its_start() -> None:
    assert told(history(), replace(NOW, begins={0: 0, 1: 11})) == [Truncated(*USERS, 1, 10, 11)]


def test_a_partition_that_ends_before_what_was_read_is_told() -> None:
    """Where Kafka tells no ids, that is how a topic made again may show."""
    assert told(history(None), ObservedTopic(None, {0: 0, 1: 0}, {0: 5, 1: 3}), {0: 5, 1: 20}) == [
        Rewound(*USERS, 1, 20, 3)
    ]


def test_the_lag_is_what_is_not_in_yet() -> None:
    assert history().lag(NOW, {0: 4}) == {0: 1, 1: 10}
    assert history().lag(NOW, {0: 9, 1: 20}) == {0: 0, 1: 0}


# --- on a real broker


class Watching:
    """A watch over one generation; ``look`` returns what it reports."""

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


def test_a_deleted_topic_is_gone_and_recreated_when_it_is_made_again(
    broker: EmbeddedBroker, new_topic: Callable[..., str], admin: AdminClient
) -> None:
    users = new_topic()
    watching = Watching(wired(broker, users, new_topic()))
    assert watching.poll() == []
    admin.delete_topics([users])[users].result(timeout=30)
    wait_until(lambda: watching.poll() == [TopicGone(7, "users", users)])
    assert watching.poll(3) == []
    admin.create_topics([NewTopic(users, 1, 1)])[users].result(timeout=30)
    wait_until(watching.poll)
    [made] = watching.reports
    assert isinstance(made, TopicRecreated)
    assert made.old_id != made.new_id
    assert watching.poll(3) == []


def test_a_topic_made_again_between_two_looks_is_noticed(
    broker: EmbeddedBroker, new_topic: Callable[..., str], admin: AdminClient
) -> None:
    accounts = new_topic()
    watching = Watching(wired(broker, new_topic(), accounts))
    admin.delete_topics([accounts])[accounts].result(timeout=30)
    admin.create_topics([NewTopic(accounts, 1, 1)])[accounts].result(timeout=30)
    wait_until(watching.poll)
    assert [type(report) for report in watching.reports] == [TopicRecreated]


def test_new_partitions_are_noticed(broker: EmbeddedBroker, new_topic: Callable[..., str], admin: AdminClient) -> None:
    """Two sources that read the same topic are both told."""
    users = new_topic()
    watching = Watching(wired(broker, users, users))
    admin.create_partitions([NewPartitions(users, 3)])[users].result(timeout=30)
    wait_until(watching.poll)
    assert watching.reports == [PartitionsGrew(7, name, users, 1, 3) for name in ("users", "accounts")]


def test_records_deleted_before_they_were_read_are_noticed(
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
    assert watching.poll() == [Truncated(7, "users", users, partition=1, position=4, earliest=8)]
    assert watching.poll(2) == []
    watching.positions = {(Side.LEFT, 1): 10}
    assert watching.watch.lag(7)["users", 1] == 0


def test_a_generation_that_is_no_longer_watched_is_not_looked_at(
    broker: EmbeddedBroker, new_topic: Callable[..., str], admin: AdminClient
) -> None:
    users = new_topic()
    watching = Watching(wired(broker, users, new_topic()))
    watching.poll()
    watching.watch.remove(7)
    admin.delete_topics([users])[users].result(timeout=30)
    assert watching.poll(3) == []
    assert watching.watch.lag(7) == {}


def test_a_broker_that_is_away_is_two_reports(own_broker: EmbeddedBroker) -> None:
    """On the thread; its topics are neither gone nor back, and the watch ends while the broker is away."""
    admin = AdminClient({"bootstrap.servers": own_broker.bootstrap})
    for answer in admin.create_topics([NewTopic("u", 1, 1), NewTopic("a", 1, 1)]).values():
        answer.result(timeout=30)
    watching = Watching(wired(own_broker, "u", "a"), interval_s=0.05, timeout_s=1)
    produce_to(own_broker.bootstrap)("u", [b"{}"])
    with watching.watch:
        wait_until(lambda: watching.watch.lag(7).get(("users", 0)) == 1)
        own_broker.kill()
        wait_until(lambda: watching.reports)
        own_broker.start()
        wait_until(lambda: len(watching.reports) == 2)
        own_broker.kill()
        wait_until(lambda: len(watching.reports) == 3)
    servers = own_broker.bootstrap
    assert [type(report) for report in watching.reports] == [KafkaLost, KafkaRegained, KafkaLost]
    assert str(watching.reports[0]).startswith(f"[KAFKA_UNREACHABLE] Kafka at {servers} does not answer")
    assert watching.reports[1] == KafkaRegained(servers)
