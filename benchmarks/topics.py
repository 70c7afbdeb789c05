"""Topics for benchmarks: users and accounts, spread over many keys or on one hot key."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from evertable.config import Config, JoinType

USERS = {"userId": "string", "name": "string", "email": "string", "age": "long"}
ACCOUNTS = {"userId": "string", "accountType": "string", "balance": "double", "sentAt": "long"}


def user(key: str | None, i: int, called: str = "name") -> bytes:
    return json.dumps({"userId": key, "name": f"{called}{i}", "email": f"e{i}@example.org", "age": i % 90}).encode()


def account(key: str, i: int, sent_at: int = 0) -> bytes:
    kind = "chq" if i % 2 else "sav"
    return json.dumps({"userId": key, "accountType": kind, "balance": i % 1000 / 4, "sentAt": sent_at}).encode()


def spread(bootstrap: str, users: int, accounts: int, name: str = "spread", called: str = "name") -> tuple[str, str]:
    """Fills topics with accounts spread over all users, whose names begin with ``called``."""
    return _fill(
        bootstrap,
        name,
        (user(f"u{i}", i, called) for i in range(users)),
        (account(f"u{i % users}", i) for i in range(accounts)),
    )


def hot(bootstrap: str, users: int, accounts: int) -> tuple[str, str]:
    """Fills topics with rows of a single key."""
    name = f"hot-{users}-{accounts}"
    return _fill(bootstrap, name, (user("hot", i) for i in range(users)), (account("hot", i) for i in range(accounts)))


def odd(bootstrap: str, rows: int) -> dict[str, tuple[str, str]]:
    """Fills topics with rows that match nothing: good ones with distinct keys, some without a key, and rejects."""
    kinds: dict[str, Iterable[bytes]] = {
        "good rows": (user(f"u{i}", i) for i in range(rows)),
        "no key": (user(None, i) for i in range(rows)),
        "wrong type": (user(f"u{i}", i).replace(b'"age": ', b'"age": "" , "x": ') for i in range(rows)),
        "not JSON": (user(f"u{i}", i)[:-1] for i in range(rows)),
    }
    return {kind: _fill(bootstrap, kind.replace(" ", "-"), values, []) for kind, values in kinds.items()}


def config(bootstrap: str, users: str, accounts: str, join: JoinType, trigger: str = "realtime") -> Config:
    return Config.model_validate(
        {
            "app": "bench",
            "kafka": {"bootstrap.servers": bootstrap},
            "sources": {
                "users": {"topic": users, "key": "userId", "columns": USERS},
                "accounts": {"topic": accounts, "key": "userId", "columns": ACCOUNTS},
            },
            "join": {"type": join.value},
            "engine": {"trigger": trigger},
        }
    )


def immediate_producer(bootstrap: str, topic: str) -> Producer:
    """Returns a connected producer that does not delay records; an idempotent one would delay the first."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": "all"})
    producer.list_topics(topic, timeout=10)  # connects
    return producer


def send_evenly(bootstrap: str, topic: str, keys: int, messages: int, rate: float) -> None:
    """Sends accounts with the current time at a steady rate."""
    producer = immediate_producer(bootstrap, topic)
    begin = time.perf_counter()
    for i in range(messages):
        time.sleep(max(0.0, begin + i / rate - time.perf_counter()))
        producer.produce(topic, account(f"u{i * 7919 % keys}", i, time.time_ns()))
        producer.poll(0)
    producer.flush()


def send_bad(bootstrap: str, topic: str) -> None:
    """Sends records that are not JSON or have values of wrong types."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for value in (
        b"not JSON",
        b'{"userId": "u1", "balance": "much"}',
        b'{"userId": "u1", "balance": 1, "sentAt": 1.5}',
    ):
        producer.produce(topic, value)
    producer.flush()


@contextmanager
def sending(bootstrap: str, topic: str, keys: int, messages: int, rate: float) -> Iterator[None]:
    """Sends accounts from a separate process, so that this one only measures."""
    arguments = [bootstrap, topic, str(keys), str(messages), str(rate)]
    sender = subprocess.Popen([sys.executable, "-m", "benchmarks.topics", *arguments])
    try:
        yield
    finally:
        sender.terminate()
        sender.wait()


def _fill(bootstrap: str, name: str, users: Iterable[bytes], accounts: Iterable[bytes]) -> tuple[str, str]:
    topics = (f"{name}-users", f"{name}-accounts")
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for answer in admin.create_topics([NewTopic(topic, 1, 1) for topic in topics]).values():
        answer.result()
    settings = {"linger.ms": 20, "enable.idempotence": True, "queue.buffering.max.messages": 1_000_000}
    producer = Producer({"bootstrap.servers": bootstrap, **settings})
    for topic, values in zip(topics, (users, accounts), strict=True):
        for value in values:
            while True:
                try:
                    producer.produce(topic, value)
                    break
                except BufferError:
                    producer.poll(0.1)
    producer.flush()
    return topics


if __name__ == "__main__":
    send_evenly(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
