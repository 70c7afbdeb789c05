"""One generation as one Spark query: read and parse all topics, join, write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every PySpark program calls it
from pyspark.sql.streaming.query import StreamingQuery

from evertable.engine import spark_internals
from evertable.engine.spec import GenerationSpec, SourceSpec
from evertable.schema.columns import Column

SOURCE = "dev.evertable.Topics"

# What a changelog message needs besides the row: 5,000 matches of 8 bytes, and Kafka's own overhead.
MATCHES_ALLOWANCE = 64 * 1024

TIMEOUTS = {"request.timeout.ms": "10000"}  # only this detects a dead connection; Kafka's default is 30 s
CONSUMER_DEFAULTS = {
    **TIMEOUTS,
    "max.poll.records": "20000",  # a backlog would take 40 times as many polls with 500
    "fetch.max.bytes": str(16 * 1024 * 1024),  # limits what is read ahead, however many partitions there are
    "metadata.max.age.ms": "2000",  # how soon a new partition is found
}
CONSUMER_REQUIRED = {
    "isolation.level": "read_committed",  # the build found the end of the backlog this way
    "allow.auto.create.topics": "false",  # requesting a topic must not create it
}
PRODUCER_DEFAULTS = {**TIMEOUTS, "linger.ms": "0", "batch.size": "262144"}  # the messages are batches already
BUFFER_BYTES = 64 * 1024 * 1024
PRODUCER_REQUIRED = {"acks": "all", "enable.idempotence": "true"}  # a lost or repeated record cannot be repaired

EPOCH_SLACK = 4
"""Readers end an epoch after ``interval_s`` with a barrier; Spark would end it this many times later, without one."""


def start(spark: SparkSession, spec: GenerationSpec) -> StreamingQuery:
    """Starts the generation's query; it runs until it is stopped or fails."""
    return write(spark, join(spark, read(spark, spec), spec), spec)


def read(spark: SparkSession, spec: GenerationSpec) -> DataFrame:
    """Reads and parses the topics from the offsets that the build found; returns packs of records for each bucket."""
    reader = spark.readStream.format(SOURCE).option("plan", json.dumps(read_plan(spec)))
    for number, source in enumerate((spec.left, spec.right)):
        # One option for each property: Spark masks options with secrets by their names.
        properties = {**CONSUMER_DEFAULTS, **source.kafka, **CONSUMER_REQUIRED}
        reader = reader.options(**{f"kafka.{number}.{name}": value for name, value in properties.items()})
    packs = reader.load().select(F.inline("packs"))
    if spark.conf.get("spark.sql.shuffle.partitions") == "1" and spec.readers == 1:
        return packs.coalesce(1)  # Spark then plans no exchange: one stage, and no port of a shuffle
    return packs


def join(spark: SparkSession, packs: DataFrame, spec: GenerationSpec) -> DataFrame:
    """Joins both sides into changelog messages: each row with the ids it matches."""
    return spark_internals.keyed_join(spark, packs, spec.join.value, spec.max_matches).toDF("value")


def write(spark: SparkSession, changes: DataFrame, spec: GenerationSpec) -> StreamingQuery:
    """Writes the changes to the generation's changelog."""
    writer = (
        changes.writeStream.queryName(query_name(spec.generation))
        .outputMode("update")
        .option("checkpointLocation", spec.checkpoint)
    )
    properties = producer_properties(spec)
    writer = spark_internals.write_changelog(
        spark, writer, query_name(spec.generation), spec.changelog_topic, properties
    )
    if spec.trigger == "microbatch":
        return writer.trigger(processingTime=f"{spec.interval_s} seconds").start()
    epoch = f"{EPOCH_SLACK * spec.interval_s} seconds"
    return writer.trigger(realTime=epoch).start()  # type: ignore[call-overload, no-any-return]  # pyspark's stubs do not know `realTime` yet


def producer_properties(spec: GenerationSpec) -> Mapping[str, str]:
    """Returns the properties of the changelog's producer."""
    own = {
        "client.id": f"evertable-{query_name(spec.generation)}",
        "max.request.size": str(spec.max_message_bytes),
        "buffer.memory": str(max(BUFFER_BYTES, 2 * spec.max_message_bytes)),
    }
    return {**PRODUCER_DEFAULTS, **spec.changelog_kafka, **PRODUCER_REQUIRED, **own}


def query_name(generation: int) -> str:
    """Returns the name of the generation's query, by which its consumers and its producer are closed when it ends."""
    return f"generation-{generation}"


def read_plan(spec: GenerationSpec) -> dict[str, Any]:
    """Describes what is read, and how, to the source; without secrets."""
    return {
        "query": query_name(spec.generation),
        "readers": spec.readers,
        "epoch_ms": spec.interval_s * 1000,
        "is_eager": spec.is_eager,
        "throttled_until_ms": spec.throttled_until_ms,
        "sources": [
            {
                "topic": source.topic,
                "start": source.start,
                "backlog_ends": source.backlog_ends,
                "layout": layout(spec, source, side),
            }
            for side, source in enumerate((spec.left, spec.right))
        ],
    }


def layout(spec: GenerationSpec, source: SourceSpec, side: int) -> dict[str, Any]:
    """Describes one source to the Java parser."""
    return {
        "side": side,
        "key": source.key,
        "max_bytes": spec.max_message_bytes - MATCHES_ALLOWANCE,
        "max_ahead_ms": source.max_ahead_ms,
        "columns": [column_layout(column) for column in source.columns],
    }


def column_layout(column: Column) -> dict[str, str | int]:
    """Describes one column to the Java parser."""
    return {
        "name": column.name,
        "type": column.type.kind.value,
        "precision": column.type.precision,
        "scale": column.type.scale,
        "from": column.record_field.value.removeprefix("kafka.") if column.record_field else "json",
    }
