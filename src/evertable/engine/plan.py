"""One generation as one Spark query: read and parse, union, join, write."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every PySpark program calls it
from pyspark.sql.streaming.query import StreamingQuery

from evertable.engine import spark_internals
from evertable.engine.spec import GenerationSpec, SourceSpec
from evertable.schema.columns import Column

SOURCE = "dev.evertable.PackedKafka"
LEFT, RIGHT = 0, 1

# What a changelog message needs besides the row: 5,000 matches of 8 bytes, and Kafka's own overhead.
MATCHES_ALLOWANCE = 64 * 1024

TIMEOUTS = {"request.timeout.ms": "10000"}  # only this detects a dead connection; Kafka's default is 30 s
CONSUMER_DEFAULTS = {**TIMEOUTS, "max.poll.records": "20000"}  # a backlog would take 40 times as many polls with 500
CONSUMER_REQUIRED = {
    "isolation.level": "read_committed",  # the build found each partition's last record this way
    "allow.auto.create.topics": "false",  # requesting a topic must not create it
}
PRODUCER_DEFAULTS = {**TIMEOUTS, "linger.ms": "2", "batch.size": "262144"}
BUFFER_BYTES = 64 * 1024 * 1024
PRODUCER_REQUIRED = {"acks": "all", "enable.idempotence": "true"}  # a lost or repeated record cannot be repaired


def start(spark: SparkSession, spec: GenerationSpec) -> StreamingQuery:
    """Starts the generation's query; it runs until it is stopped or fails."""
    packs = read(spark, spec, spec.left, LEFT).union(read(spark, spec, spec.right, RIGHT))
    return write(join(spark, packs, spec), spec)


def read(spark: SparkSession, spec: GenerationSpec, source: SourceSpec, side: int) -> DataFrame:
    """Reads and parses a topic from the offsets that the build found; returns packs of records for each bucket."""
    reader = (
        spark.readStream.format(SOURCE)
        .option("layout", json.dumps(layout(spec, source, side)))
        .option("subscribe", source.topic)
        .option("startingOffsets", json.dumps({source.topic: source.start}))
        .option("failOnDataLoss", "true")
        .options(**kafka({**CONSUMER_DEFAULTS, **source.kafka, **CONSUMER_REQUIRED}))
    )
    if spec.trigger == "microbatch":
        reader = reader.option("maxOffsetsPerTrigger", 200_000)  # keeps the batches of a backlog in memory
    return reader.load().select(F.inline("packs"))


def join(spark: SparkSession, packs: DataFrame, spec: GenerationSpec) -> DataFrame:
    """Joins both sides into changelog messages: each row with the ids it matches."""
    return spark_internals.keyed_join(spark, packs, spec.join.value).toDF("value")


def write(changes: DataFrame, spec: GenerationSpec) -> StreamingQuery:
    """Writes the changes to the generation's changelog."""
    own = {
        "client.id": producer_id(spec.generation),
        "max.request.size": str(spec.max_message_bytes),
        "buffer.memory": str(max(BUFFER_BYTES, 2 * spec.max_message_bytes)),
    }
    writer = (
        changes.writeStream.format("kafka")
        .queryName(f"generation-{spec.generation}")
        .outputMode("update")
        .option("topic", spec.changelog_topic)
        .option("checkpointLocation", spec.checkpoint)
        .options(**kafka({**PRODUCER_DEFAULTS, **spec.changelog_kafka, **PRODUCER_REQUIRED, **own}))
    )
    interval = f"{spec.interval_s} seconds"
    if spec.trigger == "microbatch":
        return writer.trigger(processingTime=interval).start()
    return writer.trigger(realTime=interval).start()  # type: ignore[call-overload, no-any-return]  # pyspark's stubs do not know `realTime` yet


def producer_id(generation: int) -> str:
    """Returns the client id of the generation's own producer, by which it is closed when the query ends."""
    return f"evertable-generation-{generation}"


def kafka(properties: dict[str, str]) -> dict[str, str]:
    """Turns Kafka properties into options of the connector."""
    return {f"kafka.{name}": value for name, value in properties.items()}


def layout(spec: GenerationSpec, source: SourceSpec, side: int) -> dict[str, Any]:
    """Describes one source to the Java parser."""
    return {
        "side": side,
        "key": source.key,
        "max_bytes": spec.max_message_bytes - MATCHES_ALLOWANCE,
        "columns": [column_layout(column) for column in source.columns],
        "past": source.backlog_ends,
        "paced_until_ms": spec.throttled_until_ms,
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
