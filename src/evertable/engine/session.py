"""The Spark session: every setting that matters, in one place, with its reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evertable.engine import spark_internals
from evertable.secrets import looks_secret, suggests_secret

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RELEASE_S = 45.0
"""After so long an executor has closed the producer and the consumers of an ended query: ``Held`` in ``jvm/``."""

LOCAL_SLOTS = 256  # threads, mostly idle: in real-time mode every task of every generation keeps its own

# Throughput matters most, and a small heap pauses briefly; a JVM that is out of memory is better restarted.
JAVA_OPTIONS = "-XX:+UseParallelGC -XX:+ExitOnOutOfMemoryError"

# fmt: off
SETTINGS: dict[str, str] = {
    "spark.app.name": "evertable",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.locality.wait": "0",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",  # plans are not changed while a stream runs
    "spark.sql.shuffle.partitions": "1",  # with one reader no shuffle is needed
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "2",
    # State: RocksDB, which writes only what changed at the end of an epoch.
    "spark.sql.streaming.stateStore.providerClass":
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",  # counting costs a read for each write
    # History of jobs and queries, useless without the UI; by default the last 1,000 are kept.
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "10",
    # The second run of this task closes the state stores (RocksDB, files, threads) of a query that has ended.
    "spark.sql.streaming.stateStore.maintenanceInterval": "5s",
    # Real-time mode rejects these, and a cluster's defaults may set them.
    "spark.dynamicAllocation.enabled": "false",
    "spark.speculation": "false",
    # A failed task fails the query, in both modes. If Spark retried it, the changelog would hold rows of both attempts,
    # and readers could not know (docs/CHANGELOG-FORMAT.md).
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    **spark_internals.SETTINGS,
}

LOCAL_SETTINGS: dict[str, str] = {
    "spark.driver.host": "127.0.0.1",  # on a cluster, executors reach the driver by its name
    # The streaming shuffle of several readers ignores this: docs/SECURITY.md, "Ports of Spark".
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.rpc.netty.dispatcher.numThreads": "8",  # by default one for each of the 256 slots
    **spark_internals.LOCAL_SETTINGS,
}
# fmt: on


def slots_of(master: str) -> tuple[str, int | None]:
    """Returns the master with enough slots, and their number; None where a cluster decides."""
    spelled = "local[*]" if master == "local" else master
    match = re.fullmatch(r"local\[\s*(\d+|\*)\s*(,\s*\d+\s*)?\]", spelled)
    if match is None:
        return master, None
    slots = LOCAL_SLOTS if match[1] == "*" else int(match[1])
    return f"local[{slots}{match[2] or ''}]", slots


def is_cluster(master: str) -> bool:
    """Returns whether executors are separate processes, which come and go."""
    return slots_of(master)[1] is None


def create_session(master: str | None, jars: Sequence[Path], overrides: Mapping[str, str]) -> SparkSession:
    """Creates a session; ``overrides`` win over our settings. ``spark-submit`` sets the master, which is None then."""
    from pyspark.sql import SparkSession

    settings = dict(SETTINGS)
    if master is not None:
        settings["spark.master"] = slots_of(master)[0]
        if master.startswith("local"):
            settings |= LOCAL_SETTINGS
    if jars:
        settings["spark.jars"] = ",".join(map(str, jars))
    settings |= overrides
    spark_internals.start_jvm(
        {name: value for name, value in settings.items() if not (suggests_secret(name) or looks_secret(value))}
    )
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
