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

PRODUCER_IDLE_S = 30  # Spark closes a producer that has been idle for so long; making a new one delays a record
CLOSING_S = 15  # by then it is closed, wherever it was
RELEASE_S = PRODUCER_IDLE_S + CLOSING_S
PRODUCER_IDLE = "spark.kafka.producer.cache.timeout"

LOCAL_SLOTS = 256  # threads, mostly waiting: real-time mode keeps every task of every running generation

# Throughput counts here, and pauses of a small heap are short; a JVM out of memory is better started anew.
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
    "spark.sql.adaptive.enabled": "false",  # re-planning is for batches
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "2",
    # State: RocksDB, which writes only what changed at the end of an epoch.
    "spark.sql.streaming.stateStore.providerClass":
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",  # counting costs a read for each write
    # History of jobs and queries, which nobody reads without the UI; by default the last 1,000 are kept.
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "10",
    # The state stores of a query that has ended (RocksDB, files, threads) are closed by the second run of this task.
    "spark.sql.streaming.stateStore.maintenanceInterval": "5s",
    # An ended generation's producer must be closed before its changelog is deleted, or it would create the topic again.
    # child.py closes it at once where it can; on a cluster, this timeout does.
    PRODUCER_IDLE: f"{PRODUCER_IDLE_S}s",
    "spark.kafka.producer.cache.evictorThreadRunInterval": "1s",
    # An ended generation's consumers hold sockets and fetched records. Each run of the evictor checks ten consumers,
    # so it must run often. A running query's consumers are in use, but for the moment between two epochs.
    "spark.kafka.consumer.cache.timeout": "10s",
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "1s",
    "spark.kafka.consumer.fetchedData.cache.timeout": "10s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "1s",
    # What real-time mode refuses, and a cluster's own defaults may ask for.
    "spark.dynamicAllocation.enabled": "false",
    "spark.speculation": "false",
    # What fails fails the query, in micro-batches as in real-time mode. A task or stage that Spark tried again by
    # itself would leave rows of two tries in the changelog, and nobody would know (docs/CHANGELOG-FORMAT.md).
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    **spark_internals.SETTINGS,
}

LOCAL_SETTINGS: dict[str, str] = {
    "spark.driver.host": "127.0.0.1",  # a cluster's executors must reach the driver by its own name
    # Not so the streaming shuffle, which listens on all interfaces: docs/SECURITY.md, "Ports of Spark".
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.rpc.netty.dispatcher.numThreads": "8",  # by default one for each of the 256 slots
    **spark_internals.LOCAL_SETTINGS,
}
# fmt: on


def slots_of(master: str) -> tuple[str, int | None]:
    """The master with enough slots, and how many; None where a cluster decides."""
    spelled = "local[*]" if master == "local" else master
    match = re.fullmatch(r"local\[\s*(\d+|\*)\s*(,\s*\d+\s*)?\]", spelled)
    if match is None:
        return master, None
    slots = LOCAL_SLOTS if match[1] == "*" else int(match[1])
    return f"local[{slots}{match[2] or ''}]", slots


def is_cluster(master: str) -> bool:
    """Whether executors are processes of their own, which come and go."""
    return slots_of(master)[1] is None


def release_s(spark: SparkSession) -> float:
    """Returns after how many seconds the producer of a query that has ended is closed, on whichever executor it was."""
    return spark_internals.setting_in_seconds(spark, PRODUCER_IDLE, PRODUCER_IDLE_S) + CLOSING_S


def create_session(master: str | None, jars: Sequence[Path], overrides: Mapping[str, str]) -> SparkSession:
    """A session with our settings, then the user's; ``engine.spark`` wins. ``spark-submit`` says the master itself."""
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
