"""Changelog topics have their generation in their name and keep all records until they are deleted."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType
from hypothesis import given
from hypothesis import strategies as st

from evertable.broker import EmbeddedBroker
from evertable.changelog.topics import (
    KAFKAS_MAX_MESSAGE_BYTES,
    ChangelogTopic,
    ChangelogTopics,
    generation_of,
    largest_message,
    topic_name,
)
from evertable.errors import NotEnoughBrokersError, TopicExistsError, TopicNotFoundError
from evertable.kafka.admin import Admin

names = st.text("ab.g01", min_size=1, max_size=6)


def test_a_name_has_prefix_app_and_generation() -> None:
    """Names are as in docs/CHANGELOG-FORMAT.md."""
    assert topic_name("evertable", "demo", 7) == "evertable.demo.g000007"
    assert topic_name("evertable", "demo", 1_234_567) == "evertable.demo.g1234567"
    with pytest.raises(ValueError, match="from 1, not 0"):
        topic_name("evertable", "demo", 0)


@given(names, names, st.integers(1, 10**8))
def test_the_generation_is_parsed_from_the_name(prefix: str, app: str, generation: int) -> None:
    """Prefix and app may contain dots and digits."""
    assert generation_of(prefix, app, topic_name(prefix, app, generation)) == generation


@pytest.mark.parametrize(
    "topic",
    ["users_v1", "evertable.demo.g", "evertable.demo.g7", "evertable.demo.g000000", "evertable.demo.g0000007",
     "evertable.demo.g00000x", "evertable.demo.g00000٣", "evertable.demo.g000007.more", "evertable.other.g000007",
     "000007", "-00007"],
)  # fmt: skip
def test_other_topics_belong_to_no_generation(topic: str) -> None:
    """Only names that this app would write itself count."""
    assert generation_of("evertable", "demo", topic) is None


@pytest.fixture
def topics(broker: EmbeddedBroker) -> ChangelogTopics:
    return ChangelogTopics({"bootstrap.servers": broker.bootstrap}, "evertable", f"app-{uuid.uuid4()}")


def settings_of(broker: EmbeddedBroker, topic: str) -> dict[str, str]:
    asked = ConfigResource(ResourceType.TOPIC, topic)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    answer = admin.describe_configs([asked])[asked].result(30)
    return {name: entry.value for name, entry in answer.items()}


def test_a_changelog_has_the_settings_of_the_document(broker: EmbeddedBroker, topics: ChangelogTopics) -> None:
    """It keeps everything, and accepts messages twice as large as the largest of the sources."""
    made = topics.create(7, 3_000_000)
    assert made == ChangelogTopic(f"evertable.{topics.app}.g000007", 6_000_000, partitions=1)
    settings = settings_of(broker, made.name)
    assert settings["cleanup.policy"] == "delete"
    assert settings["retention.ms"] == settings["retention.bytes"] == "-1"
    assert settings["max.message.bytes"] == "6000000"


def test_a_limit_is_never_less_than_twice_kafkas_nor_more_than_kafka_takes(topics: ChangelogTopics) -> None:
    """The changelog is usable even if sources have tiny or huge limits."""
    assert topics.create(1, 1000).max_message_bytes == 2 * KAFKAS_MAX_MESSAGE_BYTES
    assert topics.create(2, 2**31 - 1).max_message_bytes == 2**31 - 1


def test_changelogs_are_listed_by_generation_until_they_are_deleted(topics: ChangelogTopics) -> None:
    """One may be deleted twice."""
    assert topics.list() == {}
    second, first = topics.create(12, 1000), topics.create(3, 1000)
    assert list(topics.list().items()) == [(3, first.name), (12, second.name)]
    topics.delete(3)
    topics.delete(3)
    assert topics.list() == {12: second.name}


def test_a_changelog_that_exists_is_not_taken_over(topics: ChangelogTopics) -> None:
    """It may belong to another wiring."""
    topics.create(1, 1000)
    with pytest.raises(TopicExistsError, match="exists already"):
        topics.create(1, 1000)


def test_too_few_brokers_are_named(broker: EmbeddedBroker) -> None:
    """The error says which setting to change."""
    properties = {"bootstrap.servers": broker.bootstrap}
    topics = ChangelogTopics(properties, "evertable", str(uuid.uuid4()), replication=3)
    with pytest.raises(NotEnoughBrokersError, match=r"cannot have 3 replicas.*changelog\.replication"):
        topics.create(1, 1000)


def test_the_largest_message_of_a_source(broker: EmbeddedBroker, new_topic: Callable[..., str]) -> None:
    """It is read from the settings of the topic."""
    admin = Admin({"bootstrap.servers": broker.bootstrap})
    assert largest_message(admin, new_topic(**{"max.message.bytes": "5000000"})) == 5_000_000
    assert largest_message(admin, new_topic()) == KAFKAS_MAX_MESSAGE_BYTES


def test_a_missing_source_is_named_and_not_created(own_broker: EmbeddedBroker) -> None:
    """This also holds if the broker creates topics automatically; deleted changelogs stay deleted."""
    properties = {"bootstrap.servers": own_broker.bootstrap}
    with pytest.raises(TopicNotFoundError, match="no topic 'nowhere'"):
        largest_message(Admin(properties), "nowhere")
    topics = ChangelogTopics(properties, "evertable", "demo")
    topics.create(1, 1000)
    topics.delete(1)
    assert topics.list() == {}
    consumer = Consumer({**properties, "group.id": "x"})
    assert not {"nowhere", "evertable.demo.g000001"} & consumer.list_topics(timeout=30).topics.keys()
    consumer.close()
