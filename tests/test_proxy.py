"""The proxy between tests and a broker: what it forwards, and what it drops."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient
from tests.proxy import Proxy, broker_behind_proxy

from evertable.broker.settings import HOST

API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)  # length, ApiVersions, version 0, correlation id, no client id


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with broker_behind_proxy() as (_, proxy):
        yield proxy


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection((HOST, proxy.port), timeout=30)


def ask(connection: socket.socket, timeout_s: float = 30) -> bytes:
    """Sends a request that Kafka answers on any connection; raises TimeoutError without an answer."""
    connection.settimeout(timeout_s)
    connection.sendall(API_VERSIONS)
    return connection.recv(65_536)


def test_clients_stay_behind_the_proxy(proxy: Proxy) -> None:
    brokers = AdminClient({"bootstrap.servers": proxy.bootstrap}).list_topics(timeout=30).brokers
    assert [f"{each.host}:{each.port}" for each in brokers.values()] == [proxy.bootstrap]


def test_a_dropped_connection_answers_nothing_and_a_new_one_works(proxy: Proxy) -> None:
    with connect(proxy) as old:
        assert ask(old)
        assert proxy.drop_established() >= 1
        assert proxy.connections == 0
        with pytest.raises(TimeoutError):
            ask(old, timeout_s=1)
    with connect(proxy) as new:
        assert ask(new)


def test_latency_applies_to_each_direction(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        ask(connection)
        proxy.delay_ms = 100
        begin = time.monotonic()
        ask(connection)
        took = time.monotonic() - begin
    proxy.heal()
    assert took >= 0.2  # a lower bound, which a busy machine cannot break


def test_a_black_hole_swallows_new_connections_until_it_is_healed(proxy: Proxy) -> None:
    proxy.black_hole()
    with connect(proxy) as swallowed, pytest.raises(TimeoutError):
        ask(swallowed, timeout_s=1)
    proxy.heal()
    with connect(proxy) as connection:
        assert ask(connection)
