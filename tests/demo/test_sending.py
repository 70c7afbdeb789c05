"""``evertable send``: records from the command line or a pipe, and errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from evertable.broker import EmbeddedBroker
from evertable.cli.app import build_app
from evertable.demo.sending import send_records
from evertable.errors import KafkaUnreachableError, TopicNotFoundError
from evertable.inference.columns import newest_values


def test_records_from_arguments_and_from_a_pipe(broker: EmbeddedBroker, new_topic: Callable[..., str]) -> None:
    topic, cli = new_topic(), CliRunner()
    given = ["send", topic, "--kafka", broker.bootstrap, "--key", "k"]
    assert "Sent 2 records" in cli.invoke(build_app(), [*given, '{"a": 1}', "not JSON"]).output
    assert "Sent 1 record " in cli.invoke(build_app(), given, input="{}\n").output
    found = newest_values({"bootstrap.servers": broker.bootstrap}, topic, 10)
    assert found == [b'{"a": 1}', b"not JSON", b"{}"]


def test_a_missing_topic(broker: EmbeddedBroker) -> None:
    """Sending does not create it."""
    with pytest.raises(TopicNotFoundError, match="no-such-topic"):
        send_records({"bootstrap.servers": broker.bootstrap}, "no-such-topic", [b"{}"], timeout_s=2)


def test_an_unreachable_broker() -> None:
    """The error names the address, the reason and the next step."""
    with pytest.raises(KafkaUnreachableError) as error:
        send_records({"bootstrap.servers": "127.0.0.1:1"}, "t", [b"{}"], timeout_s=1)
    assert str(error.value).startswith("[KAFKA_UNREACHABLE] Kafka at 127.0.0.1:1 does not answer: ")
    assert "failed: Connection refused. Check that the broker runs, " in str(error.value)
