"""A Deephaven server that joins two topics; runs in its own environment, with a request on each line of input.

    {"users": TOPIC, "accounts": TOPIC, "join": JOIN, "rows": [USERS, ACCOUNTS, JOINED]}

binds ``final_ui`` to a new join of these topics, as its console would, and prints a line when all rows are shown.
"""

from __future__ import annotations

import json
import sys
import time

from deephaven_server import Server

PORT, CYCLE_MS, BOOTSTRAP, HEAP = sys.argv[1:]
server = Server(
    port=int(PORT),
    jvm_args=[
        f"-Xmx{HEAP}",
        f"-DPeriodicUpdateGraph.targetCycleDurationMillis={CYCLE_MS}",
        f"-Dbarrage.minUpdateInterval={CYCLE_MS}",  # between updates of remote viewers; a second by default
        "-DAuthHandlers=io.deephaven.auth.AnonymousAuthenticationHandler",
    ],
)
server.start()

from deephaven import dtypes  # noqa: E402 - these need the JVM that has just started
from deephaven.experimental.outer_joins import left_outer_join  # noqa: E402
from deephaven.stream.kafka import consumer  # noqa: E402
from deephaven.table import Table  # noqa: E402
from deephaven.update_graph import shared_lock  # noqa: E402

USERS = {"userId": dtypes.string, "name": dtypes.string, "email": dtypes.string, "age": dtypes.int64}
ACCOUNTS = {"userId": dtypes.string, "accountType": dtypes.string, "balance": dtypes.double, "sentAt": dtypes.int64}


def read(topic: str, columns: dict[str, object]) -> Table:
    return consumer.consume(
        {"bootstrap.servers": BOOTSTRAP, "fetch.max.wait.ms": "10"},
        topic,
        offsets=consumer.ALL_PARTITIONS_SEEK_TO_BEGINNING,
        key_spec=consumer.KeyValueSpec.IGNORE,
        value_spec=consumer.json_spec(columns),
        table_type=consumer.TableType.append(),
    ).drop_columns(["KafkaPartition", "KafkaOffset"])


def join(kind: str, users: Table, accounts: Table) -> Table:
    if kind == "asof":
        return accounts.aj(users, on=["userId", "KafkaTimestamp"])
    users, accounts = users.drop_columns("KafkaTimestamp"), accounts.drop_columns("KafkaTimestamp")
    if kind == "inner":
        return users.join(accounts, on="userId")
    if kind == "left":
        return left_outer_join(users, accounts, on="userId")
    return users.natural_join(accounts.last_by("userId"), on="userId")


final_ui: Table | None = None
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    wanted = json.loads(line)
    begin = time.perf_counter()
    users, accounts = read(wanted["users"], USERS), read(wanted["accounts"], ACCOUNTS)
    final_ui = join(wanted["join"], users, accounts)
    print(json.dumps({"bound": time.time()}), flush=True)
    while True:
        with shared_lock(users):
            sizes = [users.size, accounts.size, final_ui.size]
        if all(size >= rows for size, rows in zip(sizes, wanted["rows"], strict=True)):
            break
        time.sleep(0.005)
    print(json.dumps({"seconds": time.perf_counter() - begin, "complete": time.time()}), flush=True)
