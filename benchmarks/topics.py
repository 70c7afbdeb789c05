"""Topics to measure on: the users and accounts of the design, spread over many keys or on one hot key."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from evertable.config import Config, JoinType

USERS = {"userId": "string", "name": "string", "email": "string", "age": "long"}
ACCOUNTS = {"userId": "string", "accountType": "string", "balance": "double", "sentAt": "long"}


def user(key: str | None, i: int) -> bytes:
    return json.dumps({"userId": key, "name": f"name{i}", "email": f"e{i}@example.org", "age": i % 90}).encode()


def account(key: str, i: int, sent_at: int = 0) -> bytes:
    kind = "chq" if i % 2 else "sav"
    return json.dumps({"userId": key, "accountType": kind, "balance": i % 1000 / 4, "sentAt": sent_at}).encode()


def spread(bootstrap: str, users: int, accounts: int, name: str = "spread") -> tuple[str, str]:
    """Accounts that go round all users."""
    return _fill(
        bootstrap,
        name,
        (user(f"u{i}", i) for i in range(users)),
        (account(f"u{i % users}", i) for i in range(accounts)),
    )


def hot(bootstrap: str, users: int, accounts: int) -> tuple[str, str]:
    """All rows on one key."""
    name = f"hot-{users}-{accounts}"
    return _fill(bootstrap, name, (user("hot", i) for i in range(users)), (account("hot", i) for i in range(accounts)))


def odd(bootstrap: str, rows: int) -> dict[str, tuple[str, str]]:
    """Rows that match nothing: good ones, each with a key of its own, rows without a key, and rejects."""
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


def send_paced(bootstrap: str, topic: str, keys: int, messages: int, rate: float) -> None:
    """Accounts stamped with the time they were sent, evenly paced."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "enable.idempotence": True})
    begin = time.perf_counter()
    for i in range(messages):
        time.sleep(max(0.0, begin + i / rate - time.perf_counter()))
        producer.produce(topic, account(f"u{i * 7919 % keys}", i, time.time_ns()))
        producer.poll(0)
    producer.flush()


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
