"""Pathway joins two topics into a third; in its own environment: BOOTSTRAP USERS ACCOUNTS OUTPUT."""

from __future__ import annotations

import sys

import pathway as pw

bootstrap, users_topic, accounts_topic, output = sys.argv[1:]
COMMIT_MS = 20


class User(pw.Schema):
    userId: str  # noqa: N815 - as in the records
    name: str
    email: str
    age: int


class Account(pw.Schema):
    userId: str  # noqa: N815
    accountType: str  # noqa: N815
    balance: float
    sentAt: int  # noqa: N815


def read(topic: str, schema: type[pw.Schema]) -> pw.Table:
    settings = {"bootstrap.servers": bootstrap, "group.id": output, "auto.offset.reset": "earliest"}
    return pw.io.kafka.read(settings, topic=topic, schema=schema, format="json", autocommit_duration_ms=COMMIT_MS)


users, accounts = read(users_topic, User), read(accounts_topic, Account)
joined = users.join(accounts, users.userId == accounts.userId).select(
    users.userId, users.name, users.email, users.age, accounts.accountType, accounts.balance, accounts.sentAt
)
pw.io.kafka.write(joined, {"bootstrap.servers": bootstrap}, topic_name=output, format="json")
pw.run(monitoring_level=pw.MonitoringLevel.NONE)
