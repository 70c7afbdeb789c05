"""``evertable send``: records as they stand, from the command line or a pipe, or why they were not taken."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from evertable.broker import EmbeddedBroker
from evertable.cli.app import build_app
from evertable.demo.sending import send_all
from evertable.errors import KafkaUnreachableError, TopicNotFoundError
from evertable.inference.sampling import newest


def test_records_from_arguments_and_from_a_pipe(broker: EmbeddedBroker, new_topic: Callable[..., str]) -> None:
    topic, cli = new_topic(), CliRunner()
    given = ["send", topic, "--kafka", broker.bootstrap, "--key", "k"]
    assert "Sent 2 records" in cli.invoke(build_app(), [*given, '{"a": 1}', "not JSON"]).output
    assert "Sent 1 record " in cli.invoke(build_app(), given, input="{}\n").output
    found = newest({"bootstrap.servers": broker.bootstrap}, topic, 10)
    assert found == [b'{"a": 1}', b"not JSON", b"{}"]


def test_a_topic_that_is_not_there(broker: EmbeddedBroker) -> None:
    """Is not made by sending to it."""
    with pytest.raises(TopicNotFoundError, match="no-such-topic"):
        send_all({"bootstrap.servers": broker.bootstrap}, "no-such-topic", [b"{}"], timeout_s=2)


def test_nobody_there() -> None:
    """It is told where nobody answers, how, and what to look at."""
    with pytest.raises(KafkaUnreachableError) as told:
        send_all({"bootstrap.servers": "127.0.0.1:1"}, "t", [b"{}"], timeout_s=1)
    assert str(told.value).startswith("[KAFKA_UNREACHABLE] Kafka at 127.0.0.1:1 does not answer: ")
    assert "failed: Connection refused. Check that the broker runs, " in str(told.value)
