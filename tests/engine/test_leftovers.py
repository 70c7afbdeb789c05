"""Spark's JVM releases all resources of an ended query; otherwise each swap would leak some."""

from __future__ import annotations

import os
import re
import signal
import socket
from pathlib import Path

from tests.engine.conftest import NewGeneration
from tests.engine.rig import Sent, spark_jvm
from tests.sockets import connections, open_files
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.changelog.schema import Side
from evertable.config import JoinType
from evertable.engine.process import Engine

RECORDS = [Sent(Side.LEFT, b'{"userId": "u1"}'), Sent(Side.RIGHT, b'{"userId": "u1"}')]
QUERY = "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution"
RELEASED_S = 50.0
"""By Spark's own defaults it takes more than a minute until state stores and consumers of an ended query are closed."""


def state_stores(pid: int) -> set[str]:
    """The state stores whose files the process has open."""
    return {found[0] for path in open_files(pid) if (found := re.search(r"StateStoreId\([^/]*", path))}


def live_objects(pid: int, name: str) -> int:
    """Counts the objects of a class after a full collection, in jcmd's way, since only a JDK has jcmd."""
    address = Path(f"/tmp/.java_pid{pid}")  # where HotSpot listens, whatever its java.io.tmpdir
    if not address.exists():
        Path(f"/proc/{pid}/cwd/.attach_pid{pid}").touch()
        os.kill(pid, signal.SIGQUIT)  # with that file there, it is a request to listen
        wait_until(address.exists)
        Path(f"/proc/{pid}/cwd/.attach_pid{pid}").unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(address))
        connection.sendall(b"1\0inspectheap\0-live\0\0\0")
        histogram = connection.makefile().read()
    found = re.search(rf"(\d+) +\d+ +{re.escape(name)}\s", histogram)
    return int(found[1]) if found else 0


def test_the_producer_of_an_ended_query_is_closed(engine: Engine, new_generation: NewGeneration) -> None:
    """Otherwise it would be kept for the next epoch, and could create the deleted changelog again."""
    with new_generation(JoinType.INNER) as generation:
        generation.start().send(RECORDS)
        generation.read()
        engine.stop(generation.number)
        assert engine.wait_released(generation.number)


def test_state_stores_and_connections_of_ended_queries_are_closed(
    broker: EmbeddedBroker, engine: Engine, new_generation: NewGeneration
) -> None:
    jvm, port = spark_jvm(engine), int(broker.bootstrap.rpartition(":")[2])
    with new_generation(JoinType.LEFT) as generation:
        generation.start().send(RECORDS)
        generation.read()
        assert state_stores(jvm)
        assert connections(jvm, port)
    wait_until(
        lambda: not state_stores(jvm) and not connections(jvm, port),
        lambda: f"still open: {state_stores(jvm)}, {len(connections(jvm, port))} connections",
        RELEASED_S,
    )


def test_ended_queries_are_not_kept_in_memory(engine: Engine, new_generation: NewGeneration) -> None:
    """Each took more than a megabyte, for as long as Python's side referred to it."""
    jvm = spark_jvm(engine)
    for join in JoinType:
        with new_generation(join, partitions=1) as generation:
            generation.start().send(RECORDS)
            generation.read()
            assert live_objects(jvm, QUERY)
    wait_until(lambda: not live_objects(jvm, QUERY), "the queries are gone", RELEASED_S)
