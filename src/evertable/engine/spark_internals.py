"""Everything that Evertable uses of Spark, pyspark and py4j without a promise that the next version still has it.

``tests/engine/test_spark_internals.py`` has a contract test for each of these symbols; run it first on an upgrade.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subprocess import Popen

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

# fmt: off
SETTINGS: dict[str, str] = {
    "spark.sql.optimizer.avoidDoubleFilterEval": "true",
    "spark.sql.streaming.checkpointFileManagerClass":
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    # A single stage needs CoalesceExec, which works in real-time mode but is not on the list of those that were tried.
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    # Shuffle, with several readers: rows cross at once instead of waiting for a buffer to fill (45 ms by default).
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "2",
    "spark.shuffle.streaming.networkBufferSize": "65536",  # holds a pack: a larger row's true size is not counted
}
"""Settings that Spark does not document."""

LOCAL_SETTINGS: dict[str, str] = {
    "spark.shuffle.streaming.checksum.enabled": "false",  # the bytes never leave this machine's memory
}
# fmt: on


def start_jvm(settings: Mapping[str, str]) -> None:
    """Starts the JVM with these settings, all of which appear on its command line, where everybody can read them."""
    from pyspark import SparkConf, SparkContext

    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    SparkContext._ensure_initialized(conf=conf)


def jvm_process(spark: SparkSession) -> Popen[bytes] | None:
    """Returns Spark's JVM if pyspark started it; under spark-submit, the JVM started us."""
    gateway: Any = spark.sparkContext._gateway
    process: Popen[bytes] | None = getattr(gateway, "proc", None)
    return process


def connection_errors() -> tuple[type[Exception], ...]:
    """Returns the errors that a call raises once the JVM is gone."""
    from py4j.protocol import Py4JNetworkError

    return Py4JNetworkError, OSError


def task_slots(spark: SparkSession) -> int:
    """Counts the task slots of the executors that are connected, free or not."""
    context = _scala_context(spark)
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def causes(query: StreamingQuery, at_most: int = 10) -> list[str]:
    """Lists the causes of a failed query's error, outermost first; pyspark shows the error alone."""
    found: list[str] = []
    cause = query._jsq.exception().get().getCause()
    while cause is not None and len(found) < at_most:
        found.append(str(cause.toString()))
        cause = cause.getCause()
    return found


def keyed_join(spark: SparkSession, packs: DataFrame, join: str, max_matches: int) -> DataFrame:
    """Applies our join operator to packs of records; the result has one column."""
    from pyspark.sql import DataFrame

    joined = _operator(spark).KeyedJoin.join(packs._jdf, join, max_matches)
    return DataFrame(joined.toDF(), spark)


def write_changelog(
    spark: SparkSession, writer: DataStreamWriter, query: str, topic: str, kafka: Mapping[str, str]
) -> DataStreamWriter:
    """Sets our JVM writer as the sink; pyspark's ``foreach`` takes Python functions only."""
    writer._jwrite.foreach(_operator(spark).ChangelogWriter(query, topic, dict(kafka)))
    return writer


def release(spark: SparkSession, query: str) -> bool:
    """Closes the idle clients of an ended query in this JVM; returns whether no task uses one any more."""
    return bool(_operator(spark).EndedQuery.release(query))


def _operator(spark: SparkSession) -> Any:
    """Returns the Java package of our own classes."""
    jvm: Any = spark.sparkContext._jvm
    return jvm.dev.evertable


def _scala_context(spark: SparkSession) -> Any:
    context: Any = spark.sparkContext._jsc
    return context.sc()
