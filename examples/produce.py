"""Sends a few users and accounts, one of them broken: ``python examples/produce.py localhost:9092``."""

from __future__ import annotations

import json
import sys
import time

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

NAMES = ("Ada Byron", "Grace Hopper", "Edsger Dijkstra", "Barbara Liskov")


def main(servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    existing = admin.list_topics(timeout=10).topics
    missing = [NewTopic(topic, 2, 1) for topic in ("users_v1", "accounts_v1") if topic not in existing]
    for made in (admin.create_topics(missing) if missing else {}).values():
        made.result()
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})

    def send(topic: str, **fields: object) -> None:
        producer.produce(topic, json.dumps(fields))
        producer.flush()

    for i, name in enumerate(NAMES):
        email = f"{name.split()[0].lower()}@example.org"
        send("users_v1", userId=f"u{i}", name=name, email=email, age=30 + i)
        send("accounts_v1", userId=f"u{i}", accountType="chq", balance=100.0 * i)
    send("users_v1", userId="u1", age="forty-two")
    print("Sent 4 users, 4 accounts and a user whose age is no number. A new balance every second; Ctrl-C ends it.")
    for i in range(10_000):
        time.sleep(1)
        send("accounts_v1", userId=f"u{i % len(NAMES)}", accountType="sav", balance=i / 4)


if __name__ == "__main__":
    try:
        main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092")
    except KeyboardInterrupt:
        print()
