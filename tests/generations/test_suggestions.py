"""Topics are suggested for a source: all to choose from, or those that a misspelled name may mean."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.generations.cases import config
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.config import JoinType
from evertable.errors import KafkaUnreachableError, TopicNotFoundError
from evertable.generations.identity import topic_ids
from evertable.generations.suggestions import missing_topics, near, selectable_topics, suggesting, with_suggestions
from evertable.schema.wiring import Wiring


def test_selectable_topics_by_control_key(broker: EmbeddedBroker, new_topic: Callable[..., str]) -> None:
    """Neither Kafka's internal topics nor those of the app are among them."""
    mark = uuid.uuid4().hex[:12]
    chosen = config(servers=broker.bootstrap, app=f"a{mark}", control={"topic": f"c-{mark}"})
    ours = [f"evertable.a{mark}.g000007", f"evertable.a{mark}.state", f"c-{mark}"]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for answer in admin.create_topics([NewTopic(name, 1, 1) for name in ours]).values():
        answer.result(timeout=30)
    users = new_topic()
    wait_until(lambda: users in selectable_topics(chosen)["usersTopic"])
    found = selectable_topics(chosen)
    assert found["usersTopic"] == found["accountsTopic"] == sorted(found["usersTopic"])
    assert not {*found["usersTopic"]} & {*ours}
    assert not [name for name in found["usersTopic"] if name.startswith("__")]


def test_an_unreachable_kafka_is_an_error() -> None:
    with pytest.raises(KafkaUnreachableError, match=r"127\.0\.0\.1:1 "):
        selectable_topics(config(servers="127.0.0.1:1"), timeout_s=1)


@pytest.mark.parametrize(
    ("misspelled", "found"),
    [
        ("users", ["users_v1", "users_v2"]),
        ("user_v1", ["users_v1", "users_v2"]),
        ("Users-V2", ["users_v2", "users_v1"]),
        ("payment", ["Payments"]),
        ("weather", []),
        ("x1", ["x10", "x11", "x12"]),
    ],
)
def test_names_that_a_misspelled_one_may_mean(misspelled: str, found: list[str]) -> None:
    """The likeliest first, three at most; case does not count."""
    assert near(misspelled, ["users_v2", "users_v1", "Payments", "x13", "x12", "x11", "x10"]) == found


def test_the_error_of_a_misspelled_topic_names_similar_ones(broker: EmbeddedBroker) -> None:
    """Internal topics are not among them; the error of a missing internal topic is not changed."""
    mark = uuid.uuid4().hex[:12]
    there, misspelled, ours = [f"orders-{mark}", f"order_items-{mark}"], f"ordrs-{mark}", [f"ordr-{mark}"]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for answer in admin.create_topics([NewTopic(name, 1, 1) for name in there + ours]).values():
        answer.result(timeout=30)
    wait_until(lambda: {*there, *ours} <= {*admin.list_topics(timeout=30).topics})
    chosen = config(servers=broker.bootstrap, app=f"a{mark}", control={"topic": ours[0]})
    chosen = chosen.rewired(Wiring(misspelled, there[0], JoinType.LEFT))
    with pytest.raises(TopicNotFoundError) as caught, suggesting(chosen):
        topic_ids(chosen)
    assert str(caught.value) == (
        f"[TOPIC_NOT_FOUND] Kafka at {broker.bootstrap} has no topic '{misspelled}'. "
        f"Did you mean '{there[0]}' or '{there[1]}'? Correct the name, or create the topic."
    )
    other = TopicNotFoundError("The state topic is gone.", topic=f"evertable.a{mark}.state")
    with pytest.raises(TopicNotFoundError) as caught, suggesting(chosen):
        raise other
    assert caught.value is other


def test_both_topics_are_named_if_both_are_missing(broker: EmbeddedBroker, new_topic: Callable[..., str]) -> None:
    """Each is named with similar ones; one topic that is both sides is named once."""
    misspelled, other = f"{new_topic()}x", f"z{uuid.uuid4().hex}"
    chosen = config(servers=broker.bootstrap).rewired(Wiring(misspelled, other, JoinType.LEFT))
    with pytest.raises(TopicNotFoundError) as caught, suggesting(chosen):
        topic_ids(chosen)
    assert str(caught.value) == (
        f"[TOPIC_NOT_FOUND] Kafka at {broker.bootstrap} has no topic '{misspelled}'. "
        f"Did you mean '{misspelled[:-1]}'? Correct the name, or create the topic. "
        f"Kafka at {broker.bootstrap} has no topic '{other}'. Create it, or correct its name."
    )
    with pytest.raises(TopicNotFoundError) as caught:
        topic_ids(chosen.rewired(Wiring(other, other, JoinType.LEFT)))
    assert caught.value.what == f"Kafka at {broker.bootstrap} has no topic '{other}'."


def test_a_topic_is_missing_only_if_kafka_says_so(broker: EmbeddedBroker, new_topic: Callable[..., str]) -> None:
    there, gone = new_topic(), f"z{uuid.uuid4().hex}"
    chosen = config(servers=broker.bootstrap)
    assert missing_topics(chosen.rewired(Wiring(there, there, JoinType.LEFT)), timeout_s=30) == ""
    sentence = f"Kafka at {broker.bootstrap} has no topic '{gone}'. Create it, or correct its name."
    assert missing_topics(chosen.rewired(Wiring(there, gone, JoinType.LEFT)), timeout_s=30) == sentence
    assert missing_topics(config(servers="127.0.0.1:1"), timeout_s=0.5) == ""


def test_nothing_is_suggested_without_kafka_or_a_likely_name(broker: EmbeddedBroker) -> None:
    missing = TopicNotFoundError("It is not there.", "Create it.", topic="nothing-is-called-like-this")
    assert with_suggestions(missing, {"bootstrap.servers": broker.bootstrap}) is missing
    assert with_suggestions(missing, {"bootstrap.servers": "127.0.0.1:1"}) is missing
