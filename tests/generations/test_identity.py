"""A generation is resumed only if it would be built the same way now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.generations.cases import OFFSETS, config, identity
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.errors import KafkaUnreachableError, TopicNotFoundError
from evertable.generations.identity import identity_of, topic_ids
from evertable.kafka.admin import Admin
from evertable.kafka.topics import topic_id
from evertable.state.identity import Identity, mismatch


def test_the_same_configuration_and_topics_agree() -> None:
    assert mismatch(identity(), identity()) is None


@pytest.mark.parametrize(
    ("now", "sentence"),
    [
        (identity(("id-u", "other")), "The topic 'a1' was deleted and recreated: its id was id-a and is other."),
        (identity(users={"topic": "u2"}), "The topic was 'u1' and is 'u2'."),
        (identity(users={"start": "latest"}), "The start of 'u1' was earliest and is latest."),
        (identity(join="asof"), "The join was left and is asof."),
        (
            identity(users={"columns": {"userId": "string", "age": "int"}}),
            "The left source was users by userId (userId string, age long) and is "
            "users by userId (userId string, age int).",
        ),
        (identity(engine={"trigger": "microbatch"}), "The trigger was realtime and is microbatch."),
    ],
)
def test_a_mismatch_names_what_differs(now: Identity, sentence: str) -> None:
    assert mismatch(identity(), now) == sentence


def test_a_layout_that_another_version_had_differs() -> None:
    """That is so even for an entry that this version does not know."""
    older = replace(identity(), layout={**identity().layout, "engine format": "0"})
    assert mismatch(older, identity()) == "The engine format was 0 and is 3."
    newer = replace(identity(), layout={**identity().layout, "packing": "b"})
    assert mismatch(newer, identity()) == "The packing was b and is unknown."


def test_an_unknown_id_differs_from_none() -> None:
    assert mismatch(identity((None, None)), identity()) is None
    assert mismatch(identity(), identity((None, None))) is None


def test_settings_that_do_not_affect_rows_do_not_matter() -> None:
    assert mismatch(identity(), identity(server={"port": 1234}, engine={"interval_s": 20})) is None


def test_a_recreated_topic_has_another_id(broker: EmbeddedBroker, new_topic: Callable[..., str]) -> None:
    """An id stays the same as long as its topic exists."""
    properties = {"bootstrap.servers": broker.bootstrap}
    users, accounts = new_topic(partitions=2), new_topic()
    wired = config(users={"topic": users}, servers=broker.bootstrap)
    wired = wired.rewired(replace(wired.wiring, right_topic=accounts))
    before = topic_ids(wired)
    assert None not in before
    assert (topic_ids(wired), topic_id(Admin(properties), users)) == (before, before[0])

    admin = AdminClient({**properties})
    admin.delete_topics([users])[users].result(timeout=30)
    admin.create_topics([NewTopic(users, 2, 1)])[users].result(timeout=30)

    wait_until(lambda: topic_ids(wired) != before)  # brokers notice a little later
    after = topic_ids(wired)
    assert after[1] == before[1]
    sentence = mismatch(identity_of(wired, before, OFFSETS), identity_of(wired, after, OFFSETS))
    assert sentence == f"The topic '{users}' was deleted and recreated: its id was {before[0]} and is {after[0]}."


def test_requesting_the_id_of_a_missing_topic_does_not_create_it(broker: EmbeddedBroker) -> None:
    properties = {"bootstrap.servers": broker.bootstrap}
    with pytest.raises(TopicNotFoundError, match="no topic 'no-such-topic'"):
        topic_id(Admin(properties), "no-such-topic", grace_s=0)


def test_a_cluster_that_does_not_answer_is_named() -> None:
    with pytest.raises(KafkaUnreachableError, match=r"127\.0\.0\.1:9 does not answer"):
        topic_id(Admin({"bootstrap.servers": "127.0.0.1:9"}), "users", timeout_s=1)
