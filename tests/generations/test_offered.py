"""The topics that people may choose from."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.generations.test_identity import config
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.errors import KafkaUnreachableError
from evertable.generations.offered import offered


def test_topics_of_people_by_control_key(broker: EmbeddedBroker, new_topic: Callable[..., str]) -> None:
    """Not those of Kafka and not ours."""
    mark = uuid.uuid4().hex[:12]
    chosen = config(servers=broker.bootstrap, app=f"a{mark}", control={"topic": f"c-{mark}"})
    ours = [f"evertable.a{mark}.g000007", f"evertable.a{mark}.state", f"c-{mark}"]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for answer in admin.create_topics([NewTopic(name, 1, 1) for name in ours]).values():
        answer.result(timeout=30)
    users = new_topic()
    wait_until(lambda: users in offered(chosen)["usersTopic"])
    found = offered(chosen)
    assert found["usersTopic"] == found["accountsTopic"] == sorted(found["usersTopic"])
    assert not {*found["usersTopic"]} & {*ours}
    assert not [name for name in found["usersTopic"] if name.startswith("__")]


def test_nobody_there() -> None:
    with pytest.raises(KafkaUnreachableError, match=r"127\.0\.0\.1:1 "):
        offered(config(servers="127.0.0.1:1"), timeout_s=1)
