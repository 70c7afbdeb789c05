"""One kafka section in two dialects."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from pydantic import ValidationError

from evertable.config import KafkaProperties
from evertable.kafka import property_names

SERVERS = {"bootstrap.servers": "a:1"}


def parse(**more: object) -> KafkaProperties:
    return KafkaProperties.parse(SERVERS | {name.replace("_", "."): value for name, value in more.items()})


def test_renamed_properties() -> None:
    """Java's name for Spark, librdkafka's for the reader, whichever was given."""
    for given in ("fetch.max.wait.ms", "fetch.wait.max.ms"):
        kafka = KafkaProperties.parse(SERVERS | {given: 20})
        assert kafka.for_java() == SERVERS | {"fetch.max.wait.ms": "20"}
        assert kafka.for_librdkafka() == SERVERS | {"fetch.wait.max.ms": "20"}


def test_properties_of_one_side() -> None:
    """The other client does not get them."""
    kafka = parse(max_poll_records=500, socket_keepalive_enable=True, client_id="me")
    assert kafka.for_java() == SERVERS | {"max.poll.records": "500", "client.id": "me"}
    assert kafka.for_librdkafka() == SERVERS | {"socket.keepalive.enable": "true", "client.id": "me"}


def test_an_unknown_property() -> None:
    """It may be new in Java: Spark gets it, librdkafka would reject it; a warning suggests a similar name."""
    kafka = parse(fetch_max_byte=1, my_own=2)
    assert kafka.for_java() == SERVERS | {"fetch.max.byte": "1", "my.own": "2"}
    assert kafka.for_librdkafka() == SERVERS
    sentence = "is not a known client property and is passed to Spark only"
    expected = [f"fetch.max.byte: {sentence}; did you mean 'fetch.max.bytes'?", f"my.own: {sentence}"]
    assert expected == [str(warning) for warning in kafka.warnings()]


def test_a_typo_in_a_security_property() -> None:
    """It is a warning too, except in families that clients keep extending."""
    kafka = parse(ssl_truststor_location="/ca", sasl_login_new_thing="x")
    (message,) = kafka.warnings()
    assert str(message).endswith("is passed to Spark only; did you mean 'ssl.truststore.location'?")


def test_other_spellings_are_not_used_either() -> None:
    """librdkafka's name for acks is the same thing."""
    (warning,) = parse(request_required_acks=1).warnings()
    assert str(warning).startswith("acks: is not used: ")


def test_a_property_in_two_spellings() -> None:
    """One of them would be ignored silently."""
    with pytest.raises(ValidationError, match=r"is given twice: it is another spelling of fetch.max.wait.ms"):
        KafkaProperties.parse({"fetch.max.wait.ms": 1, "fetch.wait.max.ms": 2})


VALUES = {
    "broker.address.family": "v4",
    "broker.version.fallback": "0.10.0",
    "client.dns.lookup": "use_all_dns_ips",
    "compression.type": "zstd",
    "debug": "conf",
    "heartbeat.interval.ms": "3000",
    "isolation.level": "read_committed",
    "linger.ms": "5",
    "max.poll.interval.ms": "300000",
    "metadata.recovery.strategy": "none",
    "queued.max.messages.kbytes": "65536",
    "queue.buffering.max.kbytes": "1048576",
    "queue.buffering.max.messages": "100000",
    "session.timeout.ms": "45000",
    "bootstrap.servers": "localhost:9",
    "log_level": "0",
}
FLAGS = ("allow.auto.create.topics", "check.crcs", "enable.metrics.push", "log.connection.close")


@pytest.mark.parametrize("client", ["consumer", "producer", "admin"])
def test_librdkafka_knows_every_name_it_is_given(client: str) -> None:
    """Every kind of real client takes all of them at once: an unknown one would be refused when it starts."""
    known = property_names.BOTH | property_names.LIBRDKAFKA_ONLY | set(property_names.RENAMED)
    known -= {"debug"}  # it would print
    texts = {name: VALUES.get(name, "false" if name in FLAGS else "1000") for name in known}
    texts = {name: text for name, text in texts.items() if not property_names.is_security(name)}
    texts |= dict.fromkeys(
        ("api.version.request", "socket.keepalive.enable", "socket.nagle.disable", "topic.metadata.refresh.sparse"),
        "true",
    )
    texts |= {"compression.level": "1", "receive.message.max.bytes": "100000000", "fetch.max.bytes": "1000000"}
    texts |= {"max.request.size": "1000000", "batch.size": "100000"}
    settings: dict[str, str | int | float | bool] = dict(KafkaProperties.of(texts).for_librdkafka())
    match client:
        case "consumer":
            Consumer(settings | {"group.id": "x"}).close()
        case "producer":
            Producer(settings)
        case "admin":
            AdminClient(settings)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a:1, b:2 ,", "a:1,b:2"),
        (["a:1", "b:2"], "a:1,b:2"),
        ("[::1]:9092", "[::1]:9092"),
        ("SASL_SSL://broker-1.example:9092", "SASL_SSL://broker-1.example:9092"),
    ],
)
def test_servers(given: object, kept: str) -> None:
    """A list or commas, with blanks or without."""
    assert kept == KafkaProperties.parse({"bootstrap.servers": given})["bootstrap.servers"]


def test_a_login_in_the_servers_is_not_repeated() -> None:
    """Some users write it as for a database."""
    with pytest.raises(ValidationError) as refused:
        KafkaProperties.parse({"bootstrap.servers": "me:hunter2@host:9092"})
    assert "hunter2" not in str(refused.value)


def test_every_name_is_listed_once() -> None:
    """The tables do not contradict each other."""
    tables = [set(property_names.NOT_USED), set(property_names.RENAMED), property_names.BOTH, property_names.JAVA_ONLY]
    tables += [property_names.LIBRDKAFKA_ONLY, set(property_names.SPELLINGS)]
    assert len(set().union(*tables)) == sum(map(len, tables))
