"""Flink joins two topics into a third, in its own environment.

``in_flink.py BOOTSTRAP USERS ACCOUNTS OUTPUT CONNECTOR WARM_UPS`` first joins them WARM_UPS times into the topic
OUTPUT-before, to warm up its JVM.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

bootstrap, users_topic, accounts_topic, output, connector, warm_ups = sys.argv[1:]
USERS = "userId STRING, name STRING, email STRING, age BIGINT"
ACCOUNTS = "userId STRING, accountType STRING, balance DOUBLE, sentAt BIGINT"
JOINED = f"{USERS}, accountType STRING, balance DOUBLE, sentAt BIGINT"

table = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
for name, value in {
    "pipeline.jars": Path(connector).as_uri(),
    "execution.buffer-timeout.enabled": "true",
    "execution.buffer-timeout.interval": "0 ms",
    "parallelism.default": "2",
}.items():
    table.get_config().set(name, value)


def topic(name: str, columns: str, **options: str) -> None:
    options = {"topic": name, "properties.bootstrap.servers": bootstrap, "format": "json", **options}
    listed = ", ".join(f"'{option}' = '{value}'" for option, value in {"connector": "kafka", **options}.items())
    table.execute_sql(f"CREATE TABLE `{name}` ({columns}) WITH ({listed})")


def join(into: str, hint: str = "") -> None:
    table.execute_sql(
        f"INSERT INTO `{into}` SELECT u.userId, u.name, u.email, u.age, a.accountType, a.balance, a.sentAt"  # noqa: S608
        f" FROM `{users_topic}` {hint} AS u JOIN `{accounts_topic}` {hint} AS a ON u.userId = a.userId"
    ).wait()


reading = {"scan.startup.mode": "earliest-offset", "properties.group.id": output, "properties.fetch.max.wait.ms": "10"}
topic(users_topic, USERS, **reading)
topic(accounts_topic, ACCOUNTS, **reading)
topic(output, JOINED)
topic(f"{output}-before", JOINED)
for _ in range(int(warm_ups)):
    join(f"{output}-before", "/*+ OPTIONS('scan.bounded.mode' = 'latest-offset') */")
join(output)
